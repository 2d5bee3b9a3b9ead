"""`place_of` finds where the user wrote an operation: an instruction's file, line, expression and variable.

A node's origin is the pair `(code object, instruction offset)` of the user's frame when the operation ran. What it says
is worked out only when somebody asks, and remembered.
"""

from __future__ import annotations

import ast
import dis  # the store instruction alone tells a value's variable, of `u, v = a, b` and without source as well
import linecache
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import wraps
from itertools import islice
from types import CodeType
from typing import Any, TypeVar

from tapec.errors import place_name
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import tuning
from tapec.ir.op import OpSet, ops

__all__ = ["Place", "augmented", "is_returned", "line_of", "operand_name", "place_of", "positions_of", "repeats"]
__all__ += ["counted_to", "name_for", "stored_names", "variable_for", "variable_of"]

Origin = tuple[CodeType, int]
Answer = TypeVar("Answer")


def remembered(ask: Callable[..., Answer]) -> Callable[..., Answer]:
    """`lru_cache` for what is asked of a place in a code object, which goes by who it is: since Python 3.12 its hash
    takes in every instruction, and a function as long as a program has as many places."""
    known: dict[tuple[Any, ...], tuple[CodeType, Answer]] = {}  # held here, so that nothing else gets its identity

    @wraps(ask)
    def answer(origin: Origin, *more: Any) -> Answer:
        code, offset = origin
        key = (id(code), offset, *more)
        found = known.get(key)
        if found is None:
            if len(known) >= tuning.ANSWERS_KEPT_MAX:
                known.clear()
            found = known[key] = code, ask(origin, *more)
        return found[1]

    return answer


class Place(NamedTuple):
    """Names a place in the user's source. `text` is the expression there, on one line, or empty when it cannot be
    read."""

    file: str
    line: int
    text: str

    @property
    def short(self) -> str:
        """`model.py:7`."""
        return place_name(self.file, self.line)


@remembered
def line_of(origin: Origin) -> int:
    """The line number; 0 when there is none."""
    return positions_of(origin)[0] or 0


@remembered
def place_of(origin: Origin) -> Place:
    """Return everything known about an origin."""
    code, _ = origin
    line, end_line, column, end_column = positions_of(origin)
    text = _excerpt(code.co_filename, line, end_line, column, end_column) if line else ""
    return Place(code.co_filename, line or 0, text)


@remembered
def positions_of(origin: Origin) -> tuple[Any, ...]:
    """Return first and last line, first and last column of an instruction: offsets vary, as Python adapts what often
    runs."""
    code, offset = origin
    return next(islice(code.co_positions(), offset // 2, None), (None, None, None, None))


@remembered
def augmented(origin: Origin) -> str:
    """The operator, `+=` or another one, of the augmented assignment whose target stands there; empty where none does.

    The source tells: the target reads and writes at one place, and no attribute of Python's says with which operator.
    """
    _, line, _, column = positions_of(origin)
    if line is None or column is None:
        return ""
    following = linecache.getline(origin[0].co_filename, line).encode()[column:].split(b"=")
    operator = following[0].strip() if len(following) > 1 else b""
    return f"{operator.decode()}=" if operator in _OPERATORS else ""


@remembered
def repeats(origin: Origin) -> bool:
    """Return whether an instruction stands in a loop of its code, so that one call of that may run it several times."""
    offset = origin[1]
    return any(["JUMP" in i.opname and i.argval <= offset <= i.offset for i in _body(origin[0])[1]])


@remembered
def counted_to(origin: Origin) -> tuple[str, ...]:
    """Return the variables to which loops around an operation count, the inner first: `n` of `for k in range(n):`."""
    code, line = origin[0], line_of(origin)
    found: list[str] = []
    least: int | None = None
    for n in range(line, max(code.co_firstlineno, line - tuning.LOOP_MAX_LINES), -1):
        text = linecache.getline(code.co_filename, n)
        indent = len(text) - len(text.lstrip())
        if text.strip() and (least is None or indent < least):
            head, least = _COUNTED.match(text), indent
            found += [head[1]] if head else []
    return tuple(found)


_COUNTED = re.compile(r"\s*for [^()]* in range\((\w+)\):")
_OPERATORS = frozenset(b"+ - * / // % @ & | ^ >> << **".split())


@remembered
def operand_name(origin: Origin, place: int) -> str | None:
    """Return the variable that an operation reads as its operand of this place; None where that is an expression."""
    try:
        (statement,) = ast.parse(place_of(origin).text).body
    except (SyntaxError, ValueError):  # of a part of a line
        return None
    operands: list[ast.expr] = []
    match statement:
        case ast.AugAssign(target=target, value=value):
            operands = [target, value]
        case ast.Expr(value=ast.BinOp(left=left, right=right)):
            operands = [left, right]
        case ast.Expr(value=ast.Compare(left=left, comparators=others)):
            operands = [left, *others]
        case ast.Expr(value=ast.Call(args=args)):
            operands = args
    found = operands[place] if place < len(operands) else None
    return found.id if isinstance(found, ast.Name) else None


def _excerpt(file: str, line: int, end_line: int | None, column: int | None, end_column: int | None) -> str:
    """The source between two positions (columns count bytes), blanks and line breaks made one blank."""
    if end_line is None or column is None or end_column is None:
        return linecache.getline(file, line).strip()
    lines = [linecache.getline(file, n).encode() for n in range(line, end_line + 1)]
    if not lines[0] or not lines[-1]:
        return ""
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    if lines[0].startswith(b"for "):  # a loop takes its next value: Python 3.11 says that all the loop does
        lines = [lines[0].split(b"#")[0].rstrip(b" :\n")]
    return " ".join(b" ".join(lines).decode(errors="replace").split())


# ---------------------------------------------------------------------------------------------------------------
# the variable: the name of the store instruction that takes the value off the stack
# ---------------------------------------------------------------------------------------------------------------
_STORES = {"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"}


def variable_for(node: Any) -> str | None:
    """The variable that the user stored a node's value to: also by `q, r = np.linalg.qr(a)` and by `u, v = y`."""
    origin = node.origin
    if origin is None or node.op is ops.length:  # how long a value is, and not the value
        return None
    if node.op is ops.item:
        return variable_of(origin, node.param("index"))
    if node.op is ops.getitem and len(node.inputs) == 1:
        index = node.param("index")
        if type(index) is tuple and len(index) == 1 and type(index[0]) is int and _unpacks(origin):
            return variable_of(origin, index[0])
    return variable_of(origin)


def name_for(node: Any) -> str | None:
    """Return the variable that the user stored a value to, or into: `u[1:-1] = v` makes the next value of `u`."""
    is_write = node.op is ops.setitem  # if `part += 1.0` makes one, it is that of the array that the part is a view of
    found = None if is_write else variable_for(node)
    if found is not None or node.origin is None or node.op not in _CHANGED:
        return found
    if is_write and node.inputs[1].op is ops.setitem and node.inputs[1].origin == node.origin:
        return None  # the same, written through a view: `part[0] = 1.0`
    return _array_written(node.origin)


@remembered
def _array_written(origin: Origin) -> str | None:
    """Return the variable of an array that an assignment writes a part of: `u` of `u[1:-1] = v` and of `u[i] += v`."""
    instruction = _body(origin[0])[1][_at(origin)]
    if instruction.opname not in ("STORE_SUBSCR", "STORE_SLICE", "BINARY_OP"):
        return None
    target = _TARGET.fullmatch(place_of(origin).text)
    is_written = target is not None and (target[2] is not None) == (instruction.opname == "BINARY_OP")
    return target[1] if target is not None and is_written else None


_CHANGED = OpSet("setitem where input")
_TARGET = re.compile(r"(?:self\.)?([^\W\d]\w*)\[(?:[^\[\]]|\[[^\[\]]*\])*\]( (?:[-+*/@%&|^]|//|\*\*|<<|>>)= .*)?")


@remembered
def is_returned(origin: Origin) -> bool:
    """Return whether the user's function returns a value as soon as it is computed."""
    return any([i.opname.startswith("RETURN") for i in _body(origin[0])[1][_at(origin) + 1 : _at(origin) + 2]])


@remembered
def _unpacks(origin: Origin) -> bool:
    """Return whether an origin is the unpacking of an array, `u, v = y`, or of a call's result, `u, v = y.tolist()`."""
    return _body(origin[0])[1][_at(origin)].opname.startswith(("UNPACK_SEQUENCE", "CALL"))


def _at(origin: Origin) -> int:
    """Return the number of the instruction."""
    code, offset = origin
    return bisect_right(_body(code)[2], offset) - 1  # a frame that called Python code stands behind the call


@remembered
def variable_of(origin: Origin, item: int | None = None) -> str | None:
    """The variable (or attribute) that the value is stored to, `item` telling which of several results it is."""
    following = _body(origin[0])[1]
    start = _at(origin)
    depth, built = 0, False  # how many values lie on top of ours; is it in a tuple that is taken apart at once?
    if following[start].opname == "UNPACK_SEQUENCE":
        if item is None:
            return None
        depth, item = item, None
    for k, instruction in enumerate(following[start + 1 : start + tuning.VARIABLE_MAX_INSTRUCTIONS], start + 1):
        name, arg = instruction.opname, instruction.arg or 0
        if name == "UNPACK_SEQUENCE" and built:
            built = False
        elif name == "UNPACK_SEQUENCE" and depth == 0:
            if item is None:
                return None
            depth, item = item, None
        elif name == "SWAP":
            depth = arg - 1 if depth == 0 else 0 if depth == arg - 1 else depth
        elif name == "COPY":
            depth += 1
        elif name == "BUILD_TUPLE" and depth < arg and _takes_apart(following[k + 1 : k + 2], arg):
            depth = arg - 1 - depth  # `u, v, w = a, b, c`: what was put in last comes out last
            built = True
        elif name in _STORES:
            if depth == 0:
                return instruction.argval if item is None else None
            depth -= 1
        elif name == "STORE_FAST_STORE_FAST":
            if depth < 2:
                return instruction.argval[depth] if item is None else None
            depth -= 2
        elif name == "STORE_FAST_LOAD_FAST":
            if depth == 0:
                return instruction.argval[0] if item is None else None
        elif name == "STORE_ATTR":
            if depth == 1:
                return instruction.argval if item is None else None
            depth -= 2
        elif name not in _NEUTRAL:
            effect = _effect(instruction)
            pushed = 0 if name.startswith(("POP_", "STORE_SUBSCR", "PRECALL")) else 2 if "FAST_LOAD_FAST" in name else 1
            if effect is None or pushed - effect > depth:
                return None  # it jumps, or takes our value
            depth += effect
        if depth < 0:
            return None
    return None


def _takes_apart(instructions: list[dis.Instruction], count: int) -> bool:
    return any(i.opname == "UNPACK_SEQUENCE" and i.arg == count for i in instructions)


_NEUTRAL = {"CACHE", "NOP", "EXTENDED_ARG", "KW_NAMES", "RESUME"}


def _effect(instruction: Any) -> int | None:
    """Return by how much an instruction changes the height of the stack; None for jumps and ends."""
    name = instruction.opname
    if "JUMP" in name or name.startswith(("RETURN", "RAISE", "YIELD", "FOR_ITER", "SEND")):
        return None
    return dis.stack_effect(instruction.opcode, instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None)


def stored_names(code: CodeType) -> list[str]:
    """Return the variables that a code object assigns to or deletes, once for each instruction that does."""
    found: list[str] = []
    for instruction in _body(code)[1]:
        name, of = instruction.opname, instruction.argval
        if name.startswith(("STORE_", "DELETE_")) and name != "STORE_ATTR":
            both = of if name == "STORE_FAST_STORE_FAST" else of[:1] if type(of) is tuple else (of,)
            found += [variable for variable in both if type(variable) is str]
    return found


_BODIES: dict[int, tuple[CodeType, list[dis.Instruction], list[int]]] = {}


def _body(code: CodeType) -> tuple[CodeType, list[dis.Instruction], list[int]]:
    """A code object with its instructions, and their offsets."""
    found = _BODIES.get(id(code))
    if found is None:
        if len(_BODIES) >= tuning.CODE_OBJECTS_KEPT_MAX:
            _BODIES.clear()
        instructions = list(dis.get_instructions(code))
        found = _BODIES[id(code)] = code, instructions, [instruction.offset for instruction in instructions]
    return found
