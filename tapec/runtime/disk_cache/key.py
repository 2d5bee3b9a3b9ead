"""`key_of` digests everything that generated code depends on to the key of a compilation on disk.

That is the graph as it stands before any pass, with the names and the lines of the user that the source shows; the
decision tree; the target with its version; the settings in force; the versions of NumPy, SciPy and Python; and the
contents of tapec's own files. Equal keys mean the same code, to the last character. What is patched while tapec runs,
as tests patch thresholds, is not in the key.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

import tapec
from tapec.codegen.target import target_key
from tapec.config import CODE_SETTINGS, settings
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Graph, Node, Op, prune
from tapec.ir.decision_tree import Branch, Tree
from tapec.ir.source_location import place_of, positions_of
from tapec.ir.static_index import Slice, Slot
from tapec.passes.zero_safety.guard_products import multiplies_structural_zeros

if TYPE_CHECKING:
    from tapec.runtime.compile import Options

__all__ = ["Key", "NoKey", "key_of", "settings_now", "versions"]


class NoKey(Exception):
    """The graph holds something that another process cannot know again."""


class Key(NamedTuple):
    """Holds the key of an entry: `text`; `codes` are the user's code objects, in the order in which the graph mentions
    them."""

    text: str
    codes: tuple[CodeType, ...]


def key_of(graph: Graph, options: Options) -> Key:
    """Return the key of a graph and of what is wanted of its code; raise NoKey where there is none."""
    digest = _Digest()
    digest.graph(graph)
    if graph.past is not None and multiplies_structural_zeros(graph):  # what guards ask
        digest.graph(prune(graph.past))
    written = ",".join([str(k) for k, i in enumerate(graph.inputs) if i in options.donated])
    about = [
        options.name,
        str(options.all_inputs),
        *options.silenced,
        written,
        _tree_text(options.tree),
        repr(options.lists),
        *target_key(options.target),
        repr(versions()),
        repr(settings_now()),
        *digest.about_codes(),
    ]
    text = "\n".join([*about, *digest.lines])
    return Key(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40], tuple(digest.codes))


def settings_now() -> dict[str, Any]:
    return {name: getattr(settings, name) for name in CODE_SETTINGS}


def versions() -> dict[str, str]:
    """Return the versions that generated code, and the form it is kept in, depend on."""
    found = _versions()
    scipy = sys.modules.get("scipy")
    return {**found, "scipy": scipy.__version__} if scipy is not None else found


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    python = f"{sys.implementation.cache_tag} {platform.python_version()}"
    machine = f"{sys.platform} {platform.machine()}"
    own = f"{tapec.__version__}+{digest_of_files(tapec.__path__[0])}"  # files change while the version stays
    return {"tapec": own, "numpy": np.__version__, "python": python, "machine": machine}


def digest_of_files(folder: str) -> str:
    """Digest the names and contents of all Python files in a folder: 5 ms for the package's own."""
    digest = hashlib.blake2b(digest_size=8)
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(name for name in files if name.endswith(".py")):
            path = os.path.join(place, name)
            with open(path, "rb", buffering=0) as file:
                content = file.read()
            digest.update(f"{os.path.relpath(path, folder)} {len(content)}\n".encode("utf-8", "surrogateescape"))
            digest.update(content)
    return digest.hexdigest()


def _tree_text(tree: Tree | None) -> str:
    """A decision tree, however deep, on one line."""
    words: list[str] = []
    stack: list[Any] = [tree]
    while stack:
        t = stack.pop()
        if type(t) is Branch:
            words.append(f"{t.output}?{[v for v, _ in t.cases]!r}")
            stack.extend(case for _, case in t.cases)
        else:
            words.append(repr(t))
    return " ".join(words)


class _Digest:
    """Collects lines that say what graphs are; nodes are numbered as they come."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.codes: dict[CodeType, int] = {}
        self.places: dict[Any, None] = {}  # in the top level of a script, most of which has no part in this
        self.types: dict[Any, str] = {}
        self.ops: dict[Op, str] = {}

    def graph(self, graph: Graph) -> None:
        number: dict[Node, int] = {}
        add, types = self.lines.append, self.types
        for node in (*graph.inputs, *graph.nodes):
            number[node] = len(number)
            kind = types.get(node.type) or self.type(node.type)
            op = self.ops.get(node.op) or self.op(node.op)
            given = ",".join([str(number[i]) for i in node.inputs])
            told = "" if node.origin is None else self.origin(node.origin)
            static = self.params(node) if node.params or node.bodies else ""
            add(f"{op} {given} {static} {kind} {node.name} {node.role} {told}")
        add("return " + ",".join([str(number[o]) for o in graph.outputs]))

    def type(self, t: Any) -> str:
        if isinstance(t, tuple):
            text = f"({' '.join([self.type(part) for part in t])})"
        else:
            text = f"{t.dtype.str}{t.shape}{'weak' if t.weak else ''}"
        self.types[t] = text
        return text

    def op(self, op: Op) -> str:
        if not is_ours(op):
            raise NoKey(f"the op {op.name} is not tapec's own")
        self.ops[op] = op.name.replace("\n", " ")
        return self.ops[op]

    def origin(self, origin: tuple[CodeType, int]) -> str:
        code, _ = origin
        if code.co_name == "<module>":
            self.places[origin] = None
        return f"{self.codes.setdefault(code, len(self.codes))}:{positions_of(origin)}"

    def params(self, node: Node) -> str:
        if node.op is CONSTANT:
            return value_text(node.value)
        return " ".join([f"{k}={self.value(v)}" for k, v in node.given])

    def value(self, x: Any) -> str:
        if type(x) is Graph:
            self.lines.append("graph")
            self.graph(x)
            return f"graph before line {len(self.lines)}"
        if type(x) in (tuple, list, Slice, Slot):
            return f"{type(x).__name__}({', '.join([self.value(part) for part in x])})"
        return value_text(x)

    def about_codes(self) -> list[str]:
        """Return what places in the user's code look like: file, lines, columns, names."""
        functions = [about_code(code) for code in self.codes if code.co_name != "<module>"]
        return [*functions, *[repr(place_of(origin)[1:]) + place_of(origin).short for origin in self.places]]


_PLAIN = (float, int, bool, complex, str, bytes, type(None), type(Ellipsis))


def value_text(x: Any) -> str:
    """A number, a word, a dtype or an array; NoKey for anything else."""
    if type(x) in _PLAIN:
        return repr(x)
    if isinstance(x, np.dtype):
        return f"dtype {x.str}"
    if isinstance(x, type) and (issubclass(x, np.generic) or x in _PLAIN):
        return x.__name__
    if type(x) is np.ndarray or isinstance(x, np.generic):
        array = np.asarray(x)
        if not array.dtype.hasobject:
            order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
            data = hashlib.sha256(array.tobytes()).hexdigest()
            return f"array {array.dtype.str}{array.shape}{order}{data}"
    raise NoKey(f"a parameter is {type(x).__name__}")


def is_ours(op: Op) -> bool:
    """Return whether an op is written by functions of tapec, NumPy or SciPy. A user's function may change unnoticed."""
    parts = (op.run, op.rule, op.source)
    return all([_is_known(f) for f in parts if callable(f)])


def _is_known(f: Any) -> bool:
    ufunc = getattr(f, "__self__", f)  # of `np.add.reduce`
    if isinstance(ufunc, np.ufunc):
        return "(vectorized)" not in ufunc.__name__  # made by np.frompyfunc
    module = getattr(getattr(f, "func", f), "__module__", None) or ""
    return module.partition(".")[0] in ("tapec", "numpy", "scipy")


def about_code(code: CodeType) -> str:
    """Return what the generated source can show of a function; this changes with the function's text and its place."""
    parts = (
        os.path.basename(code.co_filename),
        code.co_firstlineno,
        code.co_code,
        code.co_linetable,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        [c for c in code.co_consts if type(c) in _PLAIN],
    )
    return repr(parts)
