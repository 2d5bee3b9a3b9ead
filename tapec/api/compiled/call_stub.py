"""Write call stubs: generated code that checks a signature, reads captured state, and calls the compiled function.

For a function of two arrays it is, in effect,
    def call(w, x):
        if type(w) is not ndarray or w.shape != (3, 4) or w.dtype is not float64 or ...: return otherwise(w, x)
        return compiled(w, x)
A stub takes the parameters of the user's function, under their names. It hands other calls to the stub that was made
before it; the last stub hands them to the code that takes any call apart. A stub is written when its call comes again.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from tapec.api import tuning
from tapec.api.compiled.signature import Binder
from tapec.api.compiled.stub_table import MISS, Out
from tapec.config import base, call_settings, changes, in_force
from tapec.errors import PACKAGE_FOLDER
from tapec.fast_namedtuple import NamedTuple
from tapec.ir.types import WEAK_NUMBERS
from tapec.pytree import LEAF, Nested, build, build_text, in_order, part_texts
from tapec.trace.inplace.memory_order import memory_order
from tapec.trace.recording_stack import CURRENT
from tapec.trace.tensor import Tensor

__all__ = ["fast_call", "packer"]

_FILE = os.path.join(PACKAGE_FOLDER, "generated", "calls.py")  # ours


class _Test(str):
    """Holds a condition on the arguments, as source, under which the call is not for this stub."""


class _Writer:
    """Collects the lines of a function under construction and the objects they name. No name of the user's begins as
    ours do."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"_MISS": MISS, "_ndarray": np.ndarray, "_build": build, "_CURRENT": CURRENT.get}
        self.lines: list[str] = []
        self.tests: list[str] = []  # those since the last line
        self.given: list[str] = []  # the lines that read the defaults of the user's function, which may be others now
        self.fails = False  # may looking at the arguments raise an error?

    def name(self, value: Any, stem: str) -> str:
        key = f"_{stem}{len(self.space)}"
        self.space[key] = value
        return key

    def key(self, key: Any) -> str:
        return repr(key) if type(key) in (str, int) else self.name(key, "key")

    def test(self, text: str) -> None:
        self.tests.append(text)

    def flush(self) -> None:
        if self.tests:
            self.lines.append(_Test(" or ".join(self.tests)))
            self.tests = []

    def looks(self, miss: str) -> list[str]:
        """Return the lines; each test does `miss` where the call is not for the stub."""
        return [f"if {line}: {miss}" if type(line) is _Test else line for line in self.lines]


class _Parameters(NamedTuple):
    """Holds the parameters of a stub: how it takes them, what it calls them, and how it hands them on."""

    text: str
    names: list[str]
    given: str
    surplus: list[str]  # what must be empty


def result_text(tree: Any, leaves: Any, w: _Writer) -> str:
    """The expression that builds a result from the tuple `r` of outputs."""

    def leaf(x: Any) -> str:
        if type(x) is Out:
            return f"r[{x.k}]"
        return "None" if x is None else w.name(x, "static")

    def other(t: Nested, parts: list[str]) -> str:
        return f"_build({w.name(t.kind, 'kind')}, {w.name(t.meta, 'meta')}, [{', '.join(parts)}])"

    return build_text(tree, map(leaf, leaves), w.key, other)


def packer(template: tuple[Any, list[Any]]) -> Callable[[Any], Any]:
    """A function from the outputs of the generated code to what the caller gets."""
    w = _Writer()
    exec(f"def pack(r): return {result_text(*template, w)}", w.space)
    return w.space["pack"]


def fast_call(binder: Binder, call: Any, program: Any, recovered: Callable[..., Any]) -> Callable[..., Any] | None:
    """The stub for one signature and one program; None when it has none. `recovered` answers calls whose code raised
    an error, if it can."""
    positional, keyword = [branch.children for branch in call.tree.children]
    w = _Writer()
    takes = _parameters(binder, len(positional), call.tree.children[1].meta, program, w)
    if takes is None:
        return None
    variables: list[str] = []
    leaves = iter(zip(call.leaves, call.dynamic, call.memory))
    for name, tree in zip(takes.names, (*positional, *keyword), strict=True):
        if not _argument(tree, name, leaves, variables, w):
            return None
    if not _identities(call, variables, w):
        return None
    inputs = []
    for source in program.sources.values():
        text = _input(source, variables, w)
        if text is None:
            return None
        inputs.append(text)
    _facts(program, variables, w)
    w.tests += takes.surplus
    captures = bool(program.checks) or any(s.kind == "path" for s in program.sources.values())
    w.test(_settings_test(w, captures))
    w.flush()
    w.space |= {"_compiled": program.function, "_program": program}
    w.space["_recovered"] = recovered
    text = _text(takes, w, program, f"_compiled({', '.join(inputs)})")
    exec(compile(text, _FILE, "exec", dont_inherit=True), w.space)
    return w.space["stub"]()


def _settings_test(w: _Writer, captures: bool) -> str:
    """Return the condition, as source, under which the stub's code was made for other settings.

    Where nobody has changed a setting, the condition costs one look at `_changes`. A stub that reads captured state
    also steps aside while a trace records: that trace must capture the same state.
    """
    now = in_force()
    usual = call_settings(now) == call_settings(base)
    w.space |= {"_settings": in_force, "_values": base if usual else now, "_changes": changes}
    w.space |= {"_of": call_settings, "_those": call_settings(now)}
    others = "_settings() is not _values and _of(_settings()) != _those"
    traced = " or _CURRENT() is not None" * captures
    return f"_changes[0] and ({others}{traced})" if usual else f"{others}{traced}"


def _text(takes: _Parameters, w: _Writer, program: Any, run: str) -> str:
    """The source of a stub."""
    miss = f"return _otherwise({takes.given})"
    lines = [] if w.fails else w.looks(miss)
    tree, leaves = program.paths[0].template
    several = len(program.paths) > 1
    if several:
        w.space["_packs"] = [p.pack for p in program.paths]
    counted = [p.count or _nothing for p in program.paths]
    counts = any([p.count is not None for p in program.paths])
    w.space |= {"_counts": counted} if counts else {}
    found = "_packs[int(r[-1])](r)" if several else result_text(tree, leaves, w)
    if found == f"({', '.join([f'r[{k}]' for k in range(len(program.paths[0].target.outputs))])})":
        found = "r"  # the tuple of the outputs as they are
    count = ["_counts[int(r[-1])]()" if several else "_counts[0]()"] * counts
    if program.branches:
        after = [f"if r is None: {miss}", "_hits += 1", *count, f"return {found}"]
    elif count:
        lines = [*lines, "_hits += 1"]
        after = [*count, f"return {found}"]
    else:
        lines = [*lines, "_hits += 1"]
        after = [] if found == "r" else [f"return {found}"]
        if tree is LEAF and type(leaves[0]) is Out:
            run, after = f"{run}[{leaves[0].k}]", []
    name = "r =" if after else "return"
    body = [
        *lines,
        "try:",
        f"    {name} {run}",
        "except Exception as error:",
        "    _program.compiled.code.annotate(error)",
        f"    found = _recovered(error, {takes.given})",
        "    if found is _MISS: raise",
        "    return found",
        *after,
    ]
    if w.fails:  # whoever takes over is called when the error is dealt with, and outside of the `try`
        caught = "except (KeyError, AttributeError, IndexError, TypeError, ValueError, NameError): pass"
        body = ["try:", *_indented(w.looks("raise KeyError")), caught, "else:", *_indented(body), miss]
    call = [f"def call({takes.text}):", "    nonlocal _hits", *_indented(w.given), *_indented(body)]
    return "\n".join(["def stub():", "    _hits = 0", *_indented(call), "    return call"])


def _nothing() -> None:
    """Do nothing: a path without counters has nothing to count."""


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _parameters(binder: Binder, n: int, keys: tuple[str, ...], program: Any, w: _Writer) -> _Parameters | None:
    """Return the stub's parameters for a call of n positions and these keywords.

    None when the call gives keywords that are no parameters of the function.
    """
    if binder.signature is None or n != len(binder.names) or not _names_are_free([*binder.names, *keys], program):
        return None if keys else _positions(n, binder.takes_keywords)
    return _own_parameters(binder, keys, w) if set(keys) == set(binder.by_name) else None


def _positions(n: int, takes_keywords: bool) -> _Parameters:
    """Return n optional positional parameters, and whatever else a call may give."""
    names = [f"_a{k}" for k in range(n)]
    surplus = ["*_rest"] + ["**_more"] * takes_keywords
    texts = [*[f"{a}=_MISS" for a in names], *["/"] * (n > 0), *surplus]
    return _Parameters(", ".join(texts), names, ", ".join([*names, *surplus]), [s.lstrip("*") for s in surplus])


def _own_parameters(binder: Binder, keys: tuple[str, ...], w: _Writer) -> _Parameters:
    """Return the parameters of the user's function, so that keywords and defaults work and errors are Python's own."""

    def text(p: Any) -> str:
        if p.default is p.empty:
            return p.name
        w.space["_default"] = binder.default
        w.given.append(f"if {p.name} is _MISS: {p.name} = _default({p.name!r})")
        return f"{p.name}=_MISS"

    rest, more = ["*_rest"] * (binder.variadic is not None), ["**_more"] * binder.surplus_keywords
    last = sum([p.kind is p.POSITIONAL_ONLY for p in binder.positional])
    texts = [text(p) for p in binder.positional]
    texts[last:last] = ["/"] * (last > 0)
    texts += (rest or ["*"] * bool(keys)) + [text(binder.by_name[key]) for key in keys] + more
    given = [*binder.names, *rest, *[f"{key}={key}" for key in keys], *more]
    surplus = [s.lstrip("*") for s in (*rest, *more)]
    return _Parameters(", ".join(texts), [*binder.names, *keys], ", ".join(given), surplus)


def _names_are_free(names: list[str], program: Any) -> bool:
    """Return whether a stub may use the names of the user's parameters beside its own names and those of captured
    state."""
    paths = [path for path, _ in program.checks.values()]
    paths += [s.key for s in program.sources.values() if s.kind == "path"]
    foreign = {name for path in paths for name in path.names}
    return not any(n.startswith("_") or n == "r" or n in foreign or hasattr(builtins, n) for n in names)


def _facts(program: Any, variables: list[str], w: _Writer) -> None:
    """Add tests of the facts about captured state that the program relies on."""
    for path, value in program.checks.values():
        w.space.update(path.names)
        w.fails = True
        kind = type(value)
        if kind in (int, str, bytes):  # mostly the same object; 2 and 2.0 are equal, and another dtype
            now, fact = path.source, w.name(value, "fact")
            w.test(f"{now} is not {fact} and (type({now}) is not {kind.__name__} or {now} != {fact})")
        elif isinstance(value, tuple):
            w.test(f"{path.source} != {w.name(value, 'fact')}")
        else:
            w.test(f"{path.source} is not {w.name(value, 'fact')}")
    for path, k, same in program.with_arguments.values():
        w.space.update(path.names)
        w.fails = True
        w.test(f"{path.source} is {'not ' if same else ''}{variables[k]}")


def _argument(tree: Any, name: str, leaves: Any, variables: list[str], w: _Writer) -> bool:
    """Check one argument, and bind its leaves to names."""
    if tree is LEAF:
        leaf, dynamic, order = next(leaves)
        if dynamic:
            variables.append(name)
            return _leaf_test(leaf, name, w) and _order_test(order, leaf, name, w)
        if leaf is None or isinstance(leaf, bool):
            w.test(f"{name} is not {leaf!r}")
        elif type(leaf) is str:
            w.test(f"type({name}) is not str or {name} != {leaf!r}")
        else:
            w.test(f"{name} is not {w.name(leaf, 'static')}")
        return True
    kind = tree.kind
    if kind is tuple or kind is list:
        w.test(f"type({name}) is not {kind.__name__} or len({name}) != {len(tree.children)}")
    elif kind is dict:
        order = tuple([k for k, _ in in_order(tree.meta, tree.children)])
        w.test(f"type({name}) is not dict or tuple({name}) != {w.name(order, 'order')}")
    else:
        w.test(f"type({name}) is not {w.name(kind, 'kind')}")
    parts = part_texts(tree, w.key)
    if parts is None:
        return False
    w.flush()
    w.fails = True
    for i, (part, child) in enumerate(zip(parts, tree.children)):
        inner = f"_{name.lstrip('_')}_{i}"
        w.lines.append(f"{inner} = {name}{part}")
        if not _argument(child, inner, leaves, variables, w):
            return False
    return True


def _identities(call: Any, variables: list[str], w: _Writer) -> bool:
    """Check which arrays are one array; only those of one type can be. False where there are too many."""
    arrays = [x for x, moving in zip(call.leaves, call.dynamic) if moving]
    alike: dict[Any, list[int]] = {}
    for k, x in enumerate(arrays):
        if type(x) is np.ndarray:
            alike.setdefault((x.shape, x.dtype), []).append(k)
    for places in alike.values():
        names = [variables[k] for k in places]
        if len(places) > tuning.ALIKE_ARRAYS_BY_PAIRS_MAX:
            if len({id(arrays[k]) for k in places}) != len(places):
                return False
            w.space["_id"] = id
            w.test(f"len({{{', '.join(f'_id({name})' for name in names)}}}) != {len(names)}")
            continue
        for (k, a), (m, b) in combinations(zip(places, names), 2):
            w.test(f"{a} is not {b}" if arrays[k] is arrays[m] else f"{a} is {b}")
    return True


def _leaf_test(leaf: Any, name: str, w: _Writer) -> bool:
    kind = type(leaf)
    if kind is np.ndarray:
        dtype = w.name(leaf.dtype, "dtype")
        w.test(f"type({name}) is not _ndarray or {name}.shape != {leaf.shape!r} or {name}.dtype is not {dtype}")
        return True
    if kind in WEAK_NUMBERS:
        w.test(f"type({name}) is not {kind.__name__}")
        return True
    if isinstance(leaf, np.generic):
        w.test(f"type({name}) is not {w.name(kind, 'kind')}")
        return True
    return False


def _order_test(order: Any, leaf: Any, name: str, w: _Writer) -> bool:
    """Check how an array among the arguments lies in memory; that of a captured one is a fact."""
    if order is not True:
        w.test(f"{w.name(memory_order, 'memory_order')}({name}) != {order!r}")
    elif type(leaf) is np.ndarray and leaf.shape:
        w.test(f"not {name}.flags.c_contiguous")
    return True


def _input(source: Any, variables: list[str], w: _Writer) -> str | None:
    """The expression of one input of the generated function, with the checks that it needs."""
    if source.kind == "argument":
        return variables[source.key]
    if source.kind == "path":
        name = f"_captured{len(w.space)}"
        w.space.update(source.key.names)
        w.space[name] = None
        w.fails = True
        w.flush()
        w.lines.append(f"{name} = {source.key.source}")
        value = source.key.get()
        if type(value) is Tensor or not _leaf_test(value, name, w):
            return None
        return name
    if source.kind == "variable":
        held = w.name(source.key, "variable")
        w.test("_CURRENT() is not None")
        w.test(f"{held}._tensor._value.shape != {source.node.type.shape!r}")
        w.fails = True
        return f"{held}._tensor._value"
    if type(source.key) is np.ndarray:
        return w.name(source.key, "kept")
    return None
