"""Write call stubs: generated code that looks whether compiled code answers a call, and runs it.

For a function of two arrays it is, in effect,
    def stub(args, kwargs, own):
        _a0, _a1 = args
        if type(_a0) is not ndarray or _a0.shape != (4, 3) or _a0.dtype != float64: return MISS  # and so on
        if not _a0.flags.c_contiguous or not _a1.flags.c_contiguous or _a0 is _a1 or <other settings>: return MISS
        return compiled(_a0, _a1)
A stub tests all that a call depends on: the types of arguments and what they hold, in which order arrays lie in memory,
which of them are one, the defaults of parameters that are not given, captured facts and the settings. MISS says that it
is another's. `CallPath` asks the stub that answered last, then those of the same `call_types`. `own` is the function.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy import ndarray

from tapec.api import tuning
from tapec.api.compiled.fresh.roots import NotShared, Roots, is_inner, is_value
from tapec.api.compiled.packing import MISS, Out, key_in, name_in, result_text
from tapec.api.compiled.programs.path_set import InputSource, Program
from tapec.api.compiled.signature import Binder, Call
from tapec.codegen.list_inputs import gathered
from tapec.config import base, call_settings, changes, in_force
from tapec.errors import PACKAGE_FOLDER
from tapec.ir.types import WEAK_NUMBERS
from tapec.pytree import LEAF, Nested, in_order, part_texts, unplain_keys
from tapec.trace.capture.captured_paths import holds
from tapec.trace.inplace.memory_order import memory_order
from tapec.trace.recording_stack import CURRENT
from tapec.trace.tensor import Tensor

__all__ = ["call_types", "write_shared_stub", "write_stub"]

_FILE = os.path.join(PACKAGE_FOLDER, "generated", "calls.py")  # ours


class _Writer:
    """Collects the lines of a function under construction and the objects they name."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"_MISS": MISS, "_ndarray": np.ndarray, "_CURRENT": CURRENT.get}
        self.lines: list[str] = []
        self.tests: list[str] = []  # those since the last line
        self.about = "an argument"  # what is tested now
        self.told: list[tuple[int, str, str]] = []  # all tests: how many lines stand before, the test, what it is about
        self.lists: dict[int, str] = {}  # the code's parameters that are lists, by the first input that is an element

    def name(self, value: Any, stem: str) -> str:
        return name_in(self.space, value, stem)

    def same_items(self, now: str, items: Any) -> str:
        """Return the condition, as source, that a tuple or a set holds these items: 2 and 2.0 are equal, but where a
        class of ours says otherwise."""
        is_exact = isinstance(items, tuple) and type(items).__eq__ is not tuple.__eq__
        if is_exact or (type(items) is tuple and all([type(x) is str for x in items])):
            return f"{now} == {self.name(items, 'items')}"
        return f"{self.name(holds, 'holds')}({now}, {self.name(items, 'items')})"

    def test(self, text: str) -> None:
        """Add a condition, as source, under which the call is not for this stub."""
        self.tests.append(text)
        self.told.append((len(self.lines), text, self.about))

    def flush(self) -> None:
        if self.tests:
            self.lines.append(f"if {' or '.join(self.tests)}: return _MISS")
            self.tests = []

    def difference(self) -> str:
        """Return the source of a function that returns what the first test is about which a call does not pass."""
        lines: list[str] = []
        before: defaultdict[int, list[str]] = defaultdict(list)
        for k, test, about in self.told:
            before[k] += [f"_about = {about!r}", f"if {test}: return _about"]
        for k, line in enumerate([*self.lines, "return None"]):
            lines += before[k]
            lines += [] if line.endswith(": return _MISS") else [line]
        caught = "except (KeyError, AttributeError, IndexError, TypeError, ValueError, NameError): return _about"
        return "\n".join(["def difference(args, kwargs, own):", *_indented(["try:", *_indented(lines), caught])])

    def looks(self) -> list[str]:
        """Return the lines that find out whether the call is for the stub."""
        caught = "except (KeyError, AttributeError, IndexError, TypeError, ValueError, NameError): return _MISS"
        return ["try:", *_indented(self.lines), caught]


def call_types(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the key under which the stubs of such calls are found."""
    types = tuple([(x.shape, x.dtype) if type(x) is ndarray else type(x) for x in args])
    return (types, *kwargs, call_types((*kwargs.values(),), {})) if kwargs else types


def write_stub(
    binder: Binder, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], program: Program
) -> Callable[..., Any] | None:
    """Return the stub for calls like this one that the program answers; None when it can have none."""
    w = _writer_for(program)

    def default(name: str) -> str:  # it may be another one by then
        w.space["_default"] = binder.default
        return f"_default({name!r})"

    variables = _variables(binder, call, args, kwargs, default, w)
    inputs = None if variables is None else _inputs(program.sources.values(), variables, w)
    if variables is None or inputs is None:
        return None
    _facts(program, variables, w)
    captures = bool(program.checks) or any(s.kind == "path" for s in program.sources.values())
    w.test(_settings_test(w, captures))
    w.space["_program"] = program
    stub = _made(w, program, inputs)
    stub.program = program
    return stub


def write_shared_stub(
    binder: Binder, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], program: Program
) -> Callable[..., Any] | None:
    """Return a stub for calls like this one of any function of the same code, which `own` has; None when it can have
    none.

    It reads what that function has captured, and holds nothing that the recorded one has.
    """
    w = _writer_for(program)
    w.about = "settings"
    w.test(_settings_test(w, captures=True))
    try:
        roots = Roots(binder.function, program.seen, w)
        roots.test_functions(program.checks.values())
        w.about = "an argument"
        variables = _variables(binder, call, args, kwargs, roots.default, w)
        sources = [s._replace(key=roots.at(s.key)) if s.kind == "path" else s for s in program.sources.values()]
        inputs = None if variables is None else _inputs(sources, variables, w)
        if variables is None or inputs is None or not _can_share(call, program, sources):
            return None
        roots.test_facts(program.checks.values())
        roots.test_reads({*program.checks, *[s.key.source for s in program.sources.values() if s.kind == "path"]})
        for path, k, same in program.with_arguments.values():
            w.about = path.label
            w.test(f"{roots.at(path).source} is {'not ' if same else ''}{variables[k]}")
    except NotShared:
        return None
    w.space["_program"] = SimpleNamespace(compiled=program.compiled)
    stub = _made(w, program, inputs)
    stub.difference = partial(_difference, w.difference(), w.space)
    return stub


def _writer_for(program: Program) -> _Writer:
    """Return a writer that knows which parameters of a program's code are lists."""
    assert program.compiled is not None
    w = _Writer()
    w.lists = {places.start: "" for places in program.compiled.code.lists}
    return w


def _difference(source: str, space: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], own: Any) -> Any:
    """Return what is another one in this call, of what a shared stub tests; None where it answers the call."""
    exec(compile(source, _FILE, "exec", dont_inherit=True), space)
    return space["difference"](args, kwargs, own)


def _lasts(x: Any) -> bool:
    """Return whether a stub that is shared may hold something: values, structures of classes that last, and what a
    transform has made of these."""
    if type(x) is Nested:
        return not is_inner(x.kind) and _lasts(x.meta) and all(map(_lasts, x.children))
    if type(x) is list or type(x) is tuple:
        return all(map(_lasts, x))
    is_of_transform = hasattr(type(x), "_tapec_template")
    return x is LEAF or type(x) is Out or is_value(x) or (is_of_transform and _lasts(x._tapec_template))


def _can_share(call: Call, program: Program, sources: list[InputSource]) -> bool:
    """Return whether a stub of this program holds nothing that a function of the same code has captured or returned."""
    static = [x for x, moving in zip(call.leaves, call.dynamic) if not moving]
    return (
        not any([path.count is not None for path in program.paths])
        and {s.kind for s in sources} <= _READ
        and all(map(_lasts, [call.tree, static, *[path.template for path in program.paths]]))
    )


_READ = {"argument", "path"}


def _variables(
    binder: Binder, call: Call, args: Any, kwargs: Any, default: Callable[[str], str], w: _Writer
) -> list[str] | None:
    """Read and test the arguments; return the names of the inputs among their leaves, or None where no stub can."""
    variables: list[str] = []
    leaves = iter(zip(call.leaves, call.dynamic, call.memory))
    trees = [tree for branch in call.tree.children for tree in branch.children]
    for name, tree in zip(_arguments(binder, call, args, kwargs, default, w), trees, strict=True):
        if not _argument(tree, name, leaves, variables, w):
            return None
    return variables if _identities(call, variables, w) else None


def _inputs(sources: Iterable[InputSource], variables: list[str], w: _Writer) -> list[str] | None:
    """Return the expressions of the inputs of the generated function; None where no stub can read one."""
    inputs = []
    for source in sources:
        w.about = source.key.label if source.kind == "path" else w.about
        text = _input(source, variables, w)
        if text is None:
            return None
        inputs.append(text)
    return inputs


def _made(w: _Writer, program: Program, inputs: list[str]) -> Any:
    """Make the stub of what was written."""
    w.flush()
    assert program.compiled is not None
    code = program.compiled.code
    inputs = [w.lists[x[0]] if type(x) is list else inputs[x] for x in gathered(range(len(inputs)), code.lists)]
    w.space |= {
        "_compiled": code.generated if code.errors else code.run,
        "_errors": code.errors,
        "_instead": code.instead,
    }
    text = _text(w, program, f"({', '.join(inputs)})")
    exec(compile(text, _FILE, "exec", dont_inherit=True), w.space)
    return w.space["stub"]


def _arguments(
    binder: Binder,
    call: Call,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    default: Callable[[str], str],
    w: _Writer,
) -> list[str]:
    """Read the arguments; return their names, in the order of the parameters. `default` is the text of a default."""
    given = [f"_a{k}" for k in range(len(args))]
    named = {key: f"_k{k}" for k, key in enumerate(kwargs)}
    w.lines.append(f"{', '.join(given)}, = args" if given else "() = args")
    w.lines += [f"{name} = kwargs[{key!r}]" for key, name in named.items()]
    w.test(f"len(kwargs) != {len(named)}" if named else "kwargs")
    if binder.signature is None:
        return [*given, *[named[key] for key in call.tree.children[1].meta]]
    bound = binder.signature.bind(*given, **named)
    left_out = [p for p in binder.signature.parameters.values() if p.name not in bound.arguments]
    bound.apply_defaults()
    for p in left_out:
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            name = bound.arguments[p.name] = f"_d{len(w.lines)}"
            w.lines.append(f"{name} = {default(p.name)}")
    return [*bound.args, *[bound.kwargs[key] for key in call.tree.children[1].meta]]


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


def _text(w: _Writer, program: Program, given: str) -> str:
    """Return the source of a stub, which gives these arguments, as source, to the generated function."""
    tree, leaves = program.paths[0].template
    several = len(program.paths) > 1
    if several:
        w.space["_packs"] = [p.pack for p in program.paths]
    found = "_packs[int(r[-1])](r)" if several else result_text(tree, leaves, w.space)
    if found == f"({', '.join([f'r[{k}]' for k in range(len(program.paths[0].target.outputs))])})":
        found = "r"  # the tuple of the outputs as they are
    after = ["if r is None: return _MISS"] if program.branches else []
    if any([p.count is not None for p in program.paths]):
        w.space["_counts"] = [p.count or _nothing for p in program.paths]
        after.append("_counts[int(r[-1])]()" if several else "_counts[0]()")
    after += [] if found == "r" and not after else [f"return {found}"]
    item = ""
    if not program.branches and tree is LEAF and type(leaves[0]) is Out and len(after) == 1:
        item, after = f"[{leaves[0].k}]", []
    run = [f"{'r =' if after else 'return'} {f}{given}{item}" for f in ("_compiled", "_instead")]
    if w.space["_errors"]:
        run = ["try:", f"    {run[0]}", "except _errors:", f"    {run[1]}"]
    else:
        del run[1]
    body = [
        *w.looks(),
        "try:",
        *_indented(run),
        "except Exception as error:",
        "    _program.compiled.code.annotate(error)",
        "    found = own._recorded_after(error, args, kwargs)",
        "    if found is _MISS: raise",
        "    return found",
        *after,
    ]
    return "\n".join(["def stub(args, kwargs, own):", *_indented(body)])


def _nothing() -> None:
    """Do nothing: a path without counters has nothing to count."""


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _facts(program: Program, variables: list[str], w: _Writer) -> None:
    """Add tests of the facts about captured state that the program relies on."""
    for path, value in program.checks.values():
        w.space.update(path.names)
        kind = type(value)
        if kind in (int, str, bytes):  # mostly the same object; 2 and 2.0 are equal, and another dtype
            now, fact = path.source, w.name(value, "fact")
            w.test(f"{now} is not {fact} and (type({now}) is not {kind.__name__} or {now} != {fact})")
        elif isinstance(value, (tuple, set, frozenset)):
            w.test(f"not {w.same_items(path.source, value)}")
        else:
            w.test(f"{path.source} is not {w.name(value, 'fact')}")
    for path, k, same in program.with_arguments.values():
        w.space.update(path.names)
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
        w.test(f"type({name}) is not dict or not {w.same_items(f'tuple({name})', order)}")
    elif issubclass(kind, dict) and unplain_keys(tree):
        return False
    else:
        w.test(f"type({name}) is not {w.name(kind, 'kind')}")
    if len(variables) in w.lists and tree.children[0] is LEAF:  # the code takes the list as one parameter
        found = [next(leaves) for _ in tree.children]
        number, leaves = found[0][0], iter(found)
        w.space |= {"_array": np.array, "_type": type}
        w.lists[len(variables)] = name if type(number) in WEAK_NUMBERS else f"_array({name})"
        if type(number) is not np.ndarray:
            w.test(f"{{*map(_type, {name})}} != {{{w.name(type(number), 'kind')}}}")
            variables += [f"{name}[{k}]" for k in range(len(found))]
            return True
    parts = part_texts(tree, partial(key_in, w.space))
    if parts is None:
        return False
    w.flush()
    for i, (part, child) in enumerate(zip(parts, tree.children)):
        inner = f"_{name.lstrip('_')}_{i}"
        w.lines.append(f"{inner} = {name}{part}")
        if not _argument(child, inner, leaves, variables, w):
            return False
    return True


def _identities(call: Call, variables: list[str], w: _Writer) -> bool:
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
        w.test(f"type({name}) is not _ndarray or {name}.shape != {leaf.shape!r} or {name}.dtype != {dtype}")
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
        return f"{held}._tensor._value"
    if type(source.key) is np.ndarray:
        return w.name(source.key, "kept")
    return None
