"""The parser reads the text of a graph, as `tapec.ir.text.printer` writes it; its errors name line and column.

A type may be left out: then the op's rule gives it.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tapec.errors import ParseError, filtered_warnings
from tapec.ir import tuning
from tapec.ir.graph import Graph
from tapec.ir.node import CONSTANT, CT, INPUT, ITEM, Node, constant, input_node
from tapec.ir.op import OPS, get_op, wrong_bodies, wrong_params
from tapec.ir.static_index import Slice, Slot
from tapec.ir.text.printer import VERSION
from tapec.ir.types import NUMBERS, Type, dtype_from_name, weak_type

__all__ = ["parse"]

_BLANK = re.compile(r"(?:\s|#[^\n]*)*")
_END = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|$)")
_VERSION = re.compile(r"graph[ \t]+text[ \t]+(\d+)[ \t]*(?=#|\n|$)", re.ASCII)
_NAME = re.compile(r'%([A-Za-z0-9_.]+|"(?:[^"\\]|\\.)*")')
_LABEL = re.compile(r'[A-Za-z_][\w.]*|"(?:[^"\\]|\\.)*"')
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OP = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*", re.ASCII)
_TYPE = re.compile(r"\w+(?:\[[\d, ]*\])?|\((?:\w+(?:\[[\d, ]*\])?(?:, ?|(?=\))))*\)", re.ASCII)
_ONE_TYPE = re.compile(r"(\w+)(\[[\d, ]*\])?", re.ASCII)
_DIGITS = r"\d+(?:_\d+)*"
_NUMBER = re.compile(
    rf"True\b|False\b|-?(?:{_DIGITS}\.?\d*(?:e[+-]?\d+)?|inf\b|nan\b)j?(?!:)|-?(?:inf|nan)j\b|\([^(),\s]*j\)",
    re.ASCII,
)
_SLICE = re.compile(r"(-?\d+)?:(-?\d+)?(?::(-?\d+)?)?", re.ASCII)
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_SCALAR = re.compile(r"([bfciu]\w*)\(")
_PLACE = re.compile(r"\d+", re.ASCII)
_COMMA = re.compile(r"[ \t]*,[ \t]*")


def parse(text: str, constants: Mapping[str, Any] | None = None) -> Graph:
    """The graph that a text describes; of several, the last. `constants` holds what the text refers to as `@name`."""
    parser = _Parser(text, constants or {})
    try:
        text.encode()
    except UnicodeEncodeError as e:  # half a character, which no message could show
        raise parser.error(f"{text[e.start]!a} is no character", e.start) from None
    return parser.program()


class _Parser:
    """Holds a place in the text, the graphs read so far, and the values of the graph that is being read."""

    def __init__(self, text: str, constants: Mapping[str, Any]):
        self.text = text
        self.pos = 0
        self.constants = constants
        self.graphs: dict[str, Graph] = {}
        self.values: dict[str | int, Node] = {}
        self.nodes: list[Node] = []
        self.types: dict[str, Any] = {}
        self.literals: dict[str, Node] = {}
        self.levels: dict[str, int] = {}  # how deep the graphs call others
        self.level = 0
        self.depth = 0  # of the parentheses around this place

    # -- the cursor -------------------------------------------------------------------------------------------------
    def error(self, message: str, pos: int | None = None) -> ParseError:
        pos = self.pos if pos is None else pos
        start = self.text.rfind("\n", 0, pos) + 1
        return ParseError(message, self.text.count("\n", 0, pos) + 1, pos - start + 1)

    def take(self, mark: str) -> bool:
        """Step over a mark and the blanks before it, if it stands here."""
        text, pos = self.text, self.pos
        while text.startswith((" ", "\t"), pos):
            pos += 1
        if not text.startswith(mark, pos):
            return False
        self.pos = pos + len(mark)
        return True

    def need(self, mark: str) -> None:
        if not self.take(mark):
            self.blanks()
            raise self.error(f"expected {mark!r}, found {self.rest()}")

    def match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        found = pattern.match(self.text, self.pos)
        if found is None:
            raise self.error(f"expected {what}, found {self.rest()}")
        self.pos = found.end()
        return found

    def blanks(self) -> None:
        text = self.text
        while text.startswith((" ", "\t"), self.pos):
            self.pos += 1

    def skip(self) -> None:
        """Step over blanks, line ends and comments."""
        self.pos = self.match(_BLANK, "").end()

    def rest(self) -> str:
        """Return the text that stands here, for messages."""
        found = re.compile(r"[^\s,(){}=]+|\S").match(self.text, self.pos)
        return repr(found.group()) if found else "the end of the line" if self.pos < len(self.text) else "the end"

    # -- graphs -----------------------------------------------------------------------------------------------------
    def program(self) -> Graph:
        self.skip()
        if (found := _VERSION.match(self.text, self.pos)) is not None:
            if self.integer(found.group(1), self.pos) != VERSION:
                raise self.error(f"graph text {found.group(1)} is not known: this tapec reads {VERSION}")
            self.pos = found.end()
            self.skip()
        graph = self.graph()
        self.skip()
        while self.pos < len(self.text):
            graph = self.graph()
            self.skip()
        return graph

    def graph(self) -> Graph:
        start = self.pos
        if not self.take("graph"):
            raise self.error(f"expected 'graph', found {self.rest()}")
        self.values, self.nodes, self.literals, self.level = {}, [], {}, 0
        name = "graph"
        self.blanks()
        if not self.text.startswith("(", self.pos):
            name = self.unquoted(self.match(_LABEL, "a name or '('").group(), start)
        if name in self.graphs:
            raise self.error(f"graph {name} is defined twice", start)
        inputs = self.header()
        outputs = None
        while outputs is None:
            self.skip()
            outputs = self.statement()
        self.skip()
        self.need("}")
        graph = self.graphs[name] = Graph(inputs, self.nodes, outputs, name)
        self.levels[name] = self.level
        return graph

    def header(self) -> list[Node]:
        inputs: list[Node] = []
        self.need("(")
        self.skip()
        while not self.take(")"):
            pos = self.pos
            label = self.match(_NAME, "an input such as '%x: f64[3]'").group(1)
            self.need(":")
            t = self.type()
            if isinstance(t, tuple):
                raise self.error("an input has one type", pos)
            key = self.key(label, pos)
            inputs.append(self.define(key, input_node(key if isinstance(key, str) else None, t), pos))
            self.skip()
            if not self.take(","):
                self.need(")")
                break
            self.skip()
        self.need("{")
        return inputs

    def define(self, key: str | int, node: Node, pos: int) -> Node:
        if key in self.values:
            raise self.error(f"%{key} is defined twice", pos)
        self.values[key] = node
        return node

    # -- statements -------------------------------------------------------------------------------------------------
    def statement(self) -> list[Node] | None:
        """Read one line; gives the outputs if it is the last."""
        pos = self.pos
        if self.text.startswith("return", pos):
            self.pos += len("return")
            outputs = self.operands()
            self.end()
            return outputs
        label = self.match(_NAME, "'%name: type = op ...' or 'return ...'").group(1)
        key = self.key(label, pos)
        t = self.type() if self.take(":") else None
        self.need("=")
        self.blanks()
        node = self.operation(t)
        if self.take("!"):
            role = self.match(_WORD, "a role")
            if role.group() != CT:
                raise self.error(f"expected the role {CT!r}, found {role.group()!r}", role.start())
            node.role = CT
        node.name = key if isinstance(key, str) else None
        self.end()
        self.define(key, node, pos)
        self.nodes.append(node)
        return None

    def end(self) -> None:
        self.blanks()
        self.match(_END, "the end of the line")

    def operation(self, t: Any) -> Node:
        pos = self.pos
        if self.text.startswith("%", pos):
            whole = self.operand()
            self.need("[")
            index = self.number(self.match(_NUMBER, "an index"))
            self.need("]")
            return self.node(ITEM, (whole,), (("index", index),), t, pos)
        name = self.match(_OP, "an op").group()
        try:
            op = get_op(name)
        except KeyError:
            op = INPUT
        if op is INPUT:
            raise self.error(_unknown_op(name), pos)
        inputs = tuple(self.operands())
        params = self.params() if self.take("{") else ()
        bodies = self.bodies()
        if op is CONSTANT:
            return self.constant(params, t, pos)
        return self.node(op, inputs, params, t, pos, bodies)

    def bodies(self) -> tuple[Graph, ...]:
        """Read what stands behind operands and parameters: `@then, @otherwise`."""
        found: list[Graph] = []
        self.blanks()
        while self.take("@"):
            pos = self.pos
            body = self.reference(pos)
            if not isinstance(body, Graph):
                raise self.error("a body is a graph", pos)
            found.append(body)
            if not self.take(","):
                break
            self.blanks()
        return tuple(found)

    def node(
        self, op: Any, inputs: tuple[Node, ...], params: Any, t: Any, pos: int, bodies: tuple[Graph, ...] = ()
    ) -> Node:
        wrong = wrong_params(op, params) or wrong_bodies(op, bodies)
        if wrong:
            raise self.error(f"{op.name} {wrong}", pos)
        node = Node(op, inputs, params, t, bodies=bodies)
        if t is None:
            try:
                node.type = op.rule(*[i.type for i in inputs], **dict(node.given))
            except Exception as e:  # whatever a type rule does with operands that do not fit
                raise self.error(f"{op.name} does not fit its operands: {e}", pos) from e
        return node

    def constant(self, params: Any, t: Any, pos: int) -> Node:
        if [k for k, _ in params] != ["value"]:
            raise self.error("a constant is written 'constant {value=...}'", pos)
        if isinstance(t, tuple):
            raise self.error("a constant has one type", pos)
        value = params[0][1]
        if not isinstance(value, (np.ndarray, np.generic)):
            try:
                value = np.asarray(value) if t is None else np.asarray(value, t.dtype).reshape(t.shape)
            except (ValueError, TypeError, OverflowError) as e:
                raise self.error(f"the value is no {t!r}: {e}", pos) from e
        if value.dtype.kind not in "biufc":
            raise self.error("the value is no number, and no array of numbers", pos)
        node = constant(value)
        if t is not None and node.type != t:
            raise self.error(f"the value is {node.type!r}, not {t!r}", pos)
        return node

    # -- operands and parameters ------------------------------------------------------------------------------------
    def operands(self) -> list[Node]:
        self.blanks()
        found: list[Node] = []
        if self.text.startswith(("\n", "{", "!", "#", "@"), self.pos) or self.pos == len(self.text):
            return found
        found.append(self.operand())
        while (comma := _COMMA.match(self.text, self.pos)) is not None:
            self.pos = comma.end()
            found.append(self.operand())
        return found

    def operand(self) -> Node:
        found = _NAME.match(self.text, self.pos)
        if found is not None:
            node = self.values.get(self.key(found.group(1), self.pos))
            if node is None:
                raise self.error(f"{found.group()} is not defined before it is used")
            self.pos = found.end()
            return node
        found = self.match(_NUMBER, "an operand: '%name' or a number")
        node = self.literals.get(found.group())
        if node is None:
            node = self.literals[found.group()] = constant(self.number(found))
            self.nodes.append(node)
        return node

    def number(self, found: re.Match[str]) -> Any:
        text = found.group()
        if text in ("True", "False"):
            return text == "True"
        try:
            if text.endswith(("j", "j)")):
                return complex(text)
            return self.integer(text, found.start()) if text.lstrip("-").isdigit() else float(text)
        except ValueError:
            raise self.error(f"expected a number, found {text!r:.60}", found.start()) from None

    def integer(self, digits: str, pos: int) -> int:
        if len(digits) > tuning.INTEGER_MAX_DIGITS:
            raise self.error(f"the number has {len(digits)} digits, more than {tuning.INTEGER_MAX_DIGITS}", pos)
        return int(digits)

    def params(self) -> tuple[tuple[str, Any], ...]:
        found = []
        self.blanks()
        while not self.take("}"):
            key = self.match(_WORD, "a parameter such as 'axis=(0,)'").group()
            self.need("=")
            found.append((key, self.value()))
            if not self.take(","):
                self.need("}")
                break
            self.blanks()
        return tuple(found)

    def value(self) -> Any:
        self.blanks()
        text, pos = self.text, self.pos
        if (found := _SLICE.match(text, pos)) is not None:
            self.pos = found.end()
            return Slice(*[None if part is None else self.integer(part, pos) for part in found.groups()])
        if (found := _NUMBER.match(text, pos)) is not None:
            self.pos = found.end()
            return self.number(found)
        if (found := _STRING.match(text, pos)) is not None:
            self.pos = found.end()
            return self.string(found)
        if self.take("..."):
            return Ellipsis
        if self.take("("):
            return tuple(self.sequence(")"))
        if self.take("["):
            return self.sequence("]")
        if self.take("@"):
            return self.reference(pos)
        if self.take("$"):
            return Slot(self.integer(self.match(_PLACE, "a number").group(), pos))
        return self.word()

    def sequence(self, close: str) -> list[Any]:
        items = []
        self.depth += 1
        if self.depth > tuning.NESTED_VALUES_MAX_DEPTH:
            raise self.error(f"more than {tuning.NESTED_VALUES_MAX_DEPTH} parentheses stand in each other")
        while not self.take(close):
            items.append(self.value())
            if not self.take(","):
                self.need(close)
                break
        self.depth -= 1
        return items

    def reference(self, pos: int) -> Any:
        label = self.unquoted(self.match(_LABEL, "a name").group(), pos)
        if label in self.graphs:
            self.level = max(self.level, self.levels[label] + 1)
            if self.level > tuning.CALLED_GRAPHS_MAX_DEPTH:
                raise self.error(f"graphs call each other more than {tuning.CALLED_GRAPHS_MAX_DEPTH} deep", pos)
            return self.graphs[label]
        if label not in self.constants:
            raise self.error(f"@{label} was not given: pass it as parse(text, constants={{{label!r}: ...}})", pos)
        return self.constants[label]

    def word(self) -> Any:
        """Parse None, a dtype, or a NumPy scalar such as `f32(0.5)`."""
        pos = self.pos
        found = _SCALAR.match(self.text, pos)
        word = found.group(1) if found else self.match(_WORD, "a value").group()
        if word == "None":
            return None
        try:
            dtype = dtype_from_name(word)
        except KeyError:
            raise self.error(f"expected a value, found {word!r}", pos) from None
        if found is None:
            return dtype
        self.pos = found.end()
        value = self.value()
        self.need(")")
        if type(value) not in NUMBERS:
            raise self.error(f"expected a number in {word}(...)", pos)
        try:
            return np.asarray(value, dtype)[()]
        except (ValueError, TypeError, OverflowError) as e:
            raise self.error(f"the value is no {word}: {e}", pos) from None

    # -- types ------------------------------------------------------------------------------------------------------
    def type(self) -> Any:
        self.blanks()
        pos = self.pos
        text = self.match(_TYPE, "a type such as 'f64[3,4]'").group()
        t = self.types.get(text)
        if t is None:
            parts = [self.one_type(m.group(1), m.group(2), pos) for m in _ONE_TYPE.finditer(text)]
            t = self.types[text] = tuple(parts) if text.startswith("(") else parts[0]
        return t

    def one_type(self, name: str, shape: str | None, pos: int) -> Type:
        weak = {"float": float, "int": int, "complex": complex}.get(name)
        if shape is None and weak is not None:
            return weak_type(weak)
        try:
            dtype = dtype_from_name(name)
        except KeyError:
            raise self.error(f"no dtype is called {name!r}", pos) from None
        if shape is None:
            raise self.error(f"a type has a shape: write '{name}[]' for a scalar", pos)
        found = Type(tuple([self.integer(n, pos) for n in _PLACE.findall(shape)]), dtype)
        if found.ndim > tuning.AXES_MAX or max(found.nbytes, *found.shape, 0) > np.iinfo(np.intp).max:
            raise self.error("no array has such a shape", pos)
        return found

    # -- names and texts --------------------------------------------------------------------------------------------
    def unquoted(self, name: str, pos: int) -> str:
        """Return a name without its quotes."""
        if not name.startswith('"'):
            return name
        try:
            found = json.loads(name)
            found.encode()
        except ValueError:  # an escape that JSON does not know, or half a character
            raise self.error(f"{name:.60} is no name", pos) from None
        return found

    def key(self, label: str, pos: int) -> str | int:
        """Return the key that a value is found by: its number, or its name, which may consist of digits, too."""
        return self.integer(label, pos) if label.isdigit() else self.unquoted(label, pos)

    def string(self, found: re.Match[str]) -> str:
        """Return the text that a literal of Python's stands for."""
        try:
            with filtered_warnings("ignore"):  # of escapes that Python does not know
                text = ast.literal_eval(found.group())
            text.encode()
        except (SyntaxError, ValueError):
            raise self.error(f"{found.group():.60} is no text", found.start()) from None
        return text


def _unknown_op(name: str) -> str:
    close = difflib.get_close_matches(name, OPS, n=3)
    hint = f". Did you mean {' or '.join(close)}?" if close else ""
    return f"no op is called {name!r}{hint}"
