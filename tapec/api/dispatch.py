"""The fast road of a call: generated code that checks a signature, reads captured state, runs, and packs the result.

For two arrays it is, in effect,
    if type(a0) is not ndarray or a0.dtype is not float64 or a0.shape != (3, 4) or ...: return MISS
    r = compiled(a0, a1)
    return (r[0], r[1])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.config import base, changes, in_force
from tapec.runtime.notes import annotate
from tapec.trace.recorder import CURRENT
from tapec.trace.structure import LEAF, build
from tapec.trace.tensor import Tensor

__all__ = ["MISS", "Out", "fast_call", "packer"]


class _Miss:
    """What a fast call answers when it does not know."""

    def __repr__(self) -> str:
        return "MISS"


MISS = _Miss()
_NUMBERS = (float, int, complex)


class Out:
    """Stands, in the template of a result, for the k-th output of the generated function."""

    __slots__ = ("k",)

    def __init__(self, k: int):
        self.k = k


class _Writer:
    """Lines of a function under construction and the objects they name."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"MISS": MISS, "ndarray": np.ndarray, "build": build, "CURRENT": CURRENT.get}
        self.lines: list[str] = []
        self.tests: list[str] = []

    def name(self, value: Any, stem: str) -> str:
        key = f"{stem}{len(self.space)}"
        self.space[key] = value
        return key

    def test(self, text: str) -> None:
        self.tests.append(text)

    def flush(self) -> None:
        if self.tests:
            self.lines.append(f"if {' or '.join(self.tests)}: return MISS")
            self.tests = []


def result_text(tree: Any, leaves: Any, w: _Writer) -> str:
    """The expression that builds a result from the tuple `r` of outputs."""
    it = iter(leaves)

    def text(t: Any) -> str:
        if t is LEAF:
            leaf = next(it)
            if type(leaf) is Out:
                return f"r[{leaf.k}]"
            return "None" if leaf is None else w.name(leaf, "static")
        parts = [text(c) for c in t.children]
        if t.kind is tuple:
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if t.kind is list:
            return f"[{', '.join(parts)}]"
        if t.kind is dict:
            keys = [repr(k) if type(k) in (str, int) else w.name(k, "key") for k in t.meta]
            return f"{{{', '.join(f'{k}: {p}' for k, p in zip(keys, parts))}}}"
        return f"build({w.name(t.kind, 'kind')}, {w.name(t.meta, 'meta')}, [{', '.join(parts)}])"

    return text(tree)


def packer(template: tuple[Any, list[Any]]) -> Callable[[Any], Any]:
    """A function from the outputs of the generated code to what the caller gets."""
    w = _Writer()
    exec(f"def pack(r): return {result_text(*template, w)}", w.space)
    return w.space["pack"]


def fast_call(info: Any, call: Any, program: Any, count: Any) -> Callable[..., Any] | None:
    """The fast road for one signature and one program; None when it has none."""
    if call.tree.children[1].children:
        return None
    w = _Writer()
    variables: list[str] = []
    trees = call.tree.children[0].children
    leaves = iter(zip(call.leaves, call.dynamic))
    for k, tree in enumerate(trees):
        if not _argument(tree, f"a{k}", leaves, variables, w):
            return None
    inputs = []
    for source in program.sources.values():
        text = _input(source, variables, w)
        if text is None:
            return None
        inputs.append(text)
    for path, value in program.checks.values():
        w.space.update(path.names)
        simple = isinstance(value, (int, str, bytes)) and not isinstance(value, bool)
        if simple and type(value) in (int, str, bytes):
            w.test(f"{path.source} != {value!r}")
        elif isinstance(value, tuple):
            w.test(f"{path.source} != {w.name(value, 'fact')}")
        else:
            w.test(f"{path.source} is not {w.name(value, 'fact')}")
    w.flush()
    parameters = ", ".join([*[f"a{k}=MISS" for k in range(len(trees))], "*rest"])
    body = "\n        ".join(["if rest: return MISS", *w.lines])
    w.space["compiled"] = program.function
    w.space["annotate"], w.space["program"] = annotate, program
    w.space["settings"], w.space["values"], w.space["changes"] = in_force, in_force(), changes
    w.space["count"] = count
    tree = len(program.paths) > 1 or bool(program.paths[0].guards)
    tree_of, leaves_of = program.paths[0].template
    result = "packs[int(r[-1])](r)" if len(program.paths) > 1 else result_text(tree_of, leaves_of, w)
    w.space["packs"] = [p.pack for p in program.paths]
    text = f"""def fast({parameters}):
    try:
        if {'changes[0] and ' if in_force() is base else ''}settings() is not values: return MISS
        {body}
    except (KeyError, AttributeError, IndexError, TypeError, ValueError, NameError):
        return MISS
    try:
        r = compiled({", ".join(inputs)})
    except Exception as error:
        annotate(error, program.compiled)
        raise
{"    if r is None: return MISS" if tree else ""}
    count[0] += 1
    return {result}
"""
    exec(text, w.space)
    return w.space["fast"]


def _argument(tree: Any, name: str, leaves: Any, variables: list[str], w: _Writer) -> bool:
    """Check one argument, and bind its leaves to names."""
    if tree is LEAF:
        leaf, dynamic = next(leaves)
        if dynamic:
            variables.append(name)
            return _leaf_test(leaf, name, w)
        if leaf is None or isinstance(leaf, bool):
            w.test(f"{name} is not {leaf!r}")
        elif type(leaf) is str:
            w.test(f"{name} != {leaf!r} or type({name}) is not str")
        else:
            w.test(f"{name} is not {w.name(leaf, 'static')}")
        return True
    kind = tree.kind
    n = len(tree.children)
    if kind is tuple or kind is list:
        w.test(f"type({name}) is not {kind.__name__} or len({name}) != {n}")
        keys = [f"[{i}]" for i in range(n)]
    elif kind is dict:
        w.test(f"type({name}) is not dict or len({name}) != {n}")
        keys = [f"[{k!r}]" if type(k) in (str, int) else f"[{w.name(k, 'key')}]" for k in tree.meta]
    elif hasattr(kind, "_fields"):
        w.test(f"type({name}) is not {w.name(kind, 'kind')}")
        keys = [f"[{i}]" for i in range(n)]
    elif hasattr(kind, "__dataclass_fields__"):
        w.test(f"type({name}) is not {w.name(kind, 'kind')}")
        keys = [f".{f}" for f in tree.meta]
    else:
        return False
    w.flush()
    for i, (key, child) in enumerate(zip(keys, tree.children)):
        inner = f"{name}_{i}"
        w.lines.append(f"{inner} = {name}{key}")
        if not _argument(child, inner, leaves, variables, w):
            return False
    return True


def _leaf_test(leaf: Any, name: str, w: _Writer) -> bool:
    kind = type(leaf)
    if kind is np.ndarray:
        dtype = w.name(leaf.dtype, "dtype")
        w.test(f"type({name}) is not ndarray or {name}.shape != {leaf.shape!r} or {name}.dtype is not {dtype}")
        return True
    if kind in _NUMBERS or isinstance(leaf, np.generic):
        w.test(f"type({name}) is not {w.name(kind, 'kind')}")
        return True
    return False


def _input(source: Any, variables: list[str], w: _Writer) -> str | None:
    """The expression of one input of the generated function, with the checks that it needs."""
    if source.kind == "argument":
        return variables[source.key]
    if source.kind == "path":
        name = f"captured{len(w.space)}"
        w.space.update(source.key.names)
        w.space[name] = None
        w.flush()
        w.lines.append(f"{name} = {source.key.source}")
        value = source.key.get()
        if type(value) is Tensor or not _leaf_test(value, name, w):
            return None
        return name
    if source.kind == "variable":
        held = w.name(source.key, "variable")
        w.test("CURRENT() is not None")
        w.test(f"{held}._tensor._value.shape != {source.node.type.shape!r}")
        return f"{held}._tensor._value"
    if type(source.key) is np.ndarray:
        return w.name(source.key, "kept")
    return None
