"""Run the user's function once, with stand-ins for its arguments and captured state."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import zip_longest
from types import MappingProxyType, MethodType
from typing import Any

import numpy as np

from tapec.errors import DetachError, InPlaceError, UnsupportedError, at_user_line
from tapec.ir.checks.rounding import apart
from tapec.ops.core.define import fold_objects
from tapec.pytree import LEAF, class_behind, flatten, is_namedtuple, is_of_dataclass, unflatten, unplain_keys
from tapec.trace.capture.captured_paths import CapturedPath, class_file, is_own_code, is_plain_class, looked_up
from tapec.trace.capture.captures import Captures
from tapec.trace.capture.module_stand_ins.pandas_tables import without_stand_in
from tapec.trace.capture.proxies.container_facts import note_members
from tapec.trace.capture.random_state import DRAWS, IMPORTS, states
from tapec.trace.capture.stale_reads import stale_read
from tapec.trace.capture.stores import STORES
from tapec.trace.capture.unseen_code import are_plain_data
from tapec.trace.classes import unwrap
from tapec.trace.function.call_adapter import Adapter
from tapec.trace.function.computed_parts import holds_computed
from tapec.trace.function.function_trace import CATCHES, LOOKED, Trace
from tapec.trace.function.kept_defaults import KeptDefaults
from tapec.trace.recording_stack import unrecorded
from tapec.trace.tensor import Tensor

__all__ = ["Recorded", "run_traced"]


class Recorded:
    """Holds one run of the user's function: its trace, what it captured, and the structure and leaves of its result.

    `plain` is what plain NumPy comes to; `unchecked` says why nobody compares the run with that.
    """

    plain: Any = None
    unchecked: str | None = None

    def __init__(
        self,
        trace: Trace,
        captures: Captures,
        arguments: list[Tensor],
        tree: Any,
        results: list[Any],
        defaults: KeptDefaults,
    ):
        self.trace = trace
        self.captures = captures
        self.arguments = arguments
        self.tree = tree
        self.results = results
        self.defaults = defaults

    def agrees(self, tree: Any, results: list[Any]) -> bool:
        """Return whether another run with the same values came to the same results, but for rounding."""
        if self.tree != tree:
            return False
        pairs = [(np.asarray(unwrap(a)), np.asarray(unwrap(b))) for a, b in zip(self.results, results)]
        same = [a.dtype == b.dtype and a.shape == b.shape for a, b in pairs]
        return all(same) and all([_is_near(a, b) for a, b in pairs])

    def forget_results(self) -> None:
        """Let go of the values that the run computed. Generated code computes them once more, without these beside."""
        self.results = [self.trace.log.known_as(x) if isinstance(x, Tensor) else x for x in self.results]

    def let_go(self) -> None:
        """Forget the run."""
        self.trace.log.clear()
        self.captures.identities.given.clear()
        self.arguments, self.results = [], []


def _is_near(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    with np.errstate(all="ignore"):
        return np.allclose(a, b, 1e-6, 0.0, True) or not apart(a, b)[0].any()


def run_traced(
    function: Callable[..., Any],
    tree: Any,
    leaves: list[Any],
    dynamic: list[bool],
    names: list[str],
    batched: Sequence[bool] = (),
    making: bool = False,
    merges: bool = False,
    changing: Collection[str] = (),
    takes_numbers: bool = True,
    left_out: Mapping[int | str, tuple[str, Any]] = MappingProxyType({}),
) -> Recorded:
    """Run a function once with stand-ins for its arguments and captured state. `tree` describes (args, kwargs).

    `batched` says which leaves are one example of many, `merges` that one array for two parameters is one tensor,
    `making` that arrays which the run makes are tensors, and classes that it looks up copies: so they are, too, where a
    tensor was stored into such an array, or code that is not followed may have read what the run has set (see
    `_storing`). `changing` are the labels of captured paths whose whole numbers are inputs; one that `takes_numbers`
    has those as inputs, too, that code only computes with. `left_out` are the names and defaults of arguments that the
    caller has left out, by their places or names.
    """
    trace = Trace(making, changing, takes_numbers)
    run = functools.partial(run_traced, function, tree, leaves, dynamic, names, batched, left_out=left_out)
    try:
        return _run(trace, function, tree, leaves, dynamic, names, batched, merges, left_out)
    except _StaleReadError as error:
        made: Recorded | str = ""
        if trace.captures.is_taken_back and not making:
            made = _storing(lambda: run(True, merges, changing, takes_numbers), function, tree, leaves, trace)
        if not isinstance(made, str):
            return made
        if error.__cause__ is not None:
            error.__cause__.add_note(str(error))
            raise error.__cause__ from None
        raise UnsupportedError(str(error)) from None
    except (AttributeError, TypeError, DetachError, ValueError) as error:
        _tell_of_fields(error, tree)
        # a tensor may lack what the function asks of a whole number (`n.bit_length()`): then numbers stay facts
        is_of_kind = isinstance(error, (AttributeError, TypeError))
        if is_of_kind and (changing or trace.captures.inputs.early) and _may_run_again(trace):
            return run(making, merges, takes_numbers=False)
        if making or not _may_be_of_arrays(error, trace):
            raise
        if not (trace.retrace_reason in _REPEATABLE and _may_run_again(trace)):  # that would draw or change more
            _tell_why_once(error, trace)
            raise
        made = _storing(lambda: run(True, merges, changing, takes_numbers), function, tree, leaves, trace)
        if isinstance(made, str):
            if str(error) not in made:
                said = "tapec has run the function once more, with tensors for the arrays that it makes"
                error.add_note(f"{said}: {made}")
            raise
        return made


def _may_be_of_arrays(error: Exception, trace: Trace) -> bool:
    """Return whether a run may have failed because the arrays that it makes are no tensors: it stores into one, writes
    to what np.asarray has made, or computes with an array of objects."""
    if isinstance(error, DetachError):
        return True
    return trace.gives_objects or (trace.shows_elements and isinstance(error, ValueError))


_REPEATABLE = (None, LOOKED, CATCHES, DRAWS)  # reasons to record a function at each call, for which it may run again


class _StaleReadError(UnsupportedError):
    """Says that code which is not followed has read what the run has set."""

    def __init__(self, label: str):
        super().__init__(
            at_user_line(
                f"the function sets {label}, and code that cannot be followed may read it afterwards, as that of a "
                f"constructor, a cached function or a member of an Enum: it gets what was there before, or a number "
                f"without its gradient. Fix: pass it as an argument, or read it in the function itself"
            )
        )


def _takes_back(trace: Trace) -> bool:
    """Take back what the run has stored, so that the function may run once more, if that can be done: a run that has
    drawn random numbers, or taken something out of an iterator, is not repeated."""
    captures = trace.captures
    captures.untraced.note_taken()
    draws = captures.untraced.has_drawn() or any([states().get(k) != v for k, v in trace.generators.items()])
    captures.is_taken_back = not draws and not captures.is_for_once and captures.stores.take_back()
    return captures.is_taken_back


def _may_run_again(trace: Trace) -> bool:
    """Return whether what a run that failed stored could be taken back, and generators from which it has drawn."""
    again = None, IMPORTS, trace.captures.stores.what
    reason = trace.retrace_reason
    if trace.captures.is_for_once:
        return False
    changes = reason not in _REPEATABLE and not reason.startswith(STORES)
    return not changes and trace.single_use_reason in again and trace.rewind() and trace.captures.stores.undo()


def _tell_why_once(error: Exception, trace: Trace) -> None:
    """Say why a function is not run again with tensors in the place of arrays."""
    reason = trace.retrace_reason if trace.retrace_reason != LOOKED else None
    reason = reason or trace.captures.stores.what or trace.single_use_reason
    if isinstance(error, DetachError) and "np.zeros" in str(error):
        error.add_note(
            f"tapec runs a function once more, with tensors for the arrays that it makes, but not this one: {reason}. "
            f"Fix: do that outside of the function, or make the array by np.zeros(n, like=x)."
        )


def _tell_of_fields(error: Exception, tree: Any) -> None:
    """Say that an argument is made anew of its fields alone, where it lacks an attribute."""
    owner: Any = getattr(error, "obj", None)
    if isinstance(error, AttributeError) and error.name is not None and _has_kind(tree, class_behind(type(owner))):
        if is_of_dataclass(owner) or is_namedtuple(owner):
            instead = (
                "a property" if is_namedtuple(owner) else f"`{error.name}: Any = field(init=False)`, or a property"
            )
            error.add_note(
                f"an argument of class {type(owner).__name__} is made anew of its fields, without its constructor or "
                f"__post_init__, so attributes that are no fields are lost. Fix: make {error.name} {instead}"
            )


def _has_kind(tree: Any, kind: type) -> bool:
    """Return whether there is a container of a class in a structure."""
    return tree is not LEAF and (tree.kind is kind or any([_has_kind(child, kind) for child in tree.children]))


def _storing(
    run: Callable[[], Recorded], function: Callable[..., Any], tree: Any, leaves: list[Any], trace: Trace
) -> Recorded | str:
    """A run, after that of this trace, in which arrays that it makes are tensors, and take tensors; a text where it was
    something else by which one would lose its gradient, or the function comes to something else with plain numbers: it
    may ask for classes, or let others look at such an array that it then changes. An error that it raises with plain
    numbers, too, is its own, and so is one that names another line at which a tensor would lose its gradient.
    """
    failed: Exception | None = None
    try:
        recorded = run()
    except Exception as error:
        failed = error
    results: list[Any] = []
    (trace if failed else recorded.trace).rewind()  # plain numbers draw the same
    try:
        with nullcontext() if failed else recorded.captures.stores.unchanged():
            plain = flatten(_with_plain_numbers(function, tree, leaves), results)
    except Exception as error:
        if failed is None or not isinstance(failed, type(error)):
            return f"with plain numbers it raises {_told(error)}"
        raise failed from None
    if failed is None:
        return recorded if recorded.agrees(plain, results) else "it comes to something else with plain numbers"
    # who mends the first, meets these
    if isinstance(failed, DetachError) or (isinstance(failed, InPlaceError) and _OF_THE_CALLER in str(failed)):
        raise failed from None
    return f"there it raises {_told(failed)}"


_OF_THE_CALLER = "belongs to the caller"


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _with_plain_numbers(function: Callable[..., Any], tree: Any, leaves: list[Any]) -> Any:
    """Return what the function returns when nobody records it, for copies of these arguments."""
    values = map(unwrap, leaves)
    args, kwargs = unflatten(tree, [x.copy() if type(x) is np.ndarray else x for x in values])
    with np.errstate(all="ignore"):  # of which the run has told
        return unrecorded(function, *args, **kwargs)


def _run(
    trace: Trace,
    function: Callable[..., Any],
    tree: Any,
    leaves: list[Any],
    dynamic: list[bool],
    names: list[str],
    batched: Sequence[bool],
    merges: bool,
    left_out: Mapping[int | str, tuple[str, Any]],
) -> Recorded:
    captures = Captures(trace)
    with trace.recording():
        arguments: list[Tensor] = []
        stand_ins = []
        merged: dict[int, Tensor] = {}
        for leaf, moving, one_of_many in zip_longest(leaves, dynamic, batched, fillvalue=False):
            if moving:
                value = leaf._value if type(leaf) is Tensor else leaf
                arguments.append(trace.input(value, names[len(arguments)]))
                has_identity = merges and isinstance(leaf, (np.ndarray, Tensor))
                stand_ins.append(merged.setdefault(id(leaf), arguments[-1]) if has_identity else arguments[-1])
                if isinstance(leaf, (np.ndarray, Tensor)):
                    captures.identities.given[id(arguments[-1])] = len(arguments) - 1, leaf
                if one_of_many:
                    trace.varying.add(id(arguments[-1]))
            else:
                stand_ins.append(captures.argument(leaf, f"static{len(stand_ins)}"))
        trace.log.give(arguments)
        args, kwargs = unflatten(captures.structure(tree), stand_ins)
        defaults = KeptDefaults(left_out, args, kwargs)
        note_members(captures, unplain_keys(tree), "a key of an argument")
        if not (are_plain_data(args) and are_plain_data(kwargs)):  # objects of the user's, with methods
            captures.stores.may_change_unseen()
        found: list[Any] = []
        stale: str | None = None
        failed: Exception | None = None
        try:
            out = prepared(function, captures)(*args, **kwargs)
            out_tree = flatten(out, found, lambda x: is_of_dataclass(x) and id(x) in captures.identities.originals)
        except Exception as error:
            stale, failed = stale_read(captures), error  # which may come from that
            if stale is None:
                raise
        else:
            stale = stale_read(captures)
        finally:
            if stale is None or not _takes_back(trace):
                captures.stores.write_back()
            captures.judge()
        if stale is not None:
            raise _StaleReadError(stale) from failed
        _check_variables(captures.clones.changed_by_others)
        _check_containers(captures)
        _check_identities(captures, names)
        results = [_beyond_int64(as_result(x, captures), trace) for x in found]
        trace.guard_finite()
        captures.followed.check()
        _check_around(trace, captures)
        defaults.judge(captures)
        trace.refuse_from_bodies([*results, *[x for entry in trace.log.records if trace.inside for x in entry[1]]])
        trace.inside.clear()  # whoever holds arrays is asked for next
    _check_given(captures.untraced.changed_array(results))
    return Recorded(trace, captures, arguments, out_tree, results, defaults)


def _beyond_int64(x: Any, trace: Trace) -> Any:
    """Return a whole number of Python's that no integer of NumPy's holds as it is, and what else is a result."""
    if isinstance(x, Tensor) and type(x._value) is int and not -(2**63) <= x._value < 2**63:
        trace.require_retrace("it returns a whole number of more than 64 bits")
        return x._value
    return x


def _check_variables(name: str | None) -> None:
    """Refuse a run that did not see how code that is not followed has changed a variable of an enclosing function."""
    if name is not None:
        raise UnsupportedError(
            at_user_line(
                f"{name}, a variable of an enclosing function, was changed by code that cannot be followed, such as a "
                f"constructor, while the function was traced. Fix: keep it in a list, or in an attribute of an object"
            )
        )


def _check_containers(captures: Captures) -> None:
    """Refuse a run in which C code has put something into a captured container past its methods, or taken it out."""
    for stand_in in captures.containers:
        if stand_in._tapec_is_changed_past_methods():
            raise UnsupportedError(
                at_user_line(
                    f"{stand_in._tapec_path.label} was changed past its methods by code that cannot be followed, as "
                    f"`heapq.heappush` does in a method of an object that the function makes. Fix: do that in the "
                    f"function itself, or by methods of the container"
                )
            )


def _check_around(trace: Trace, captures: Captures) -> None:
    """Refuse a run that read what the traced functions around it have set."""
    for recording in () if trace.outer is None else trace.outer.tapes:
        around = getattr(recording, "captures", None)
        if around is not None:
            around.stores.refuse_changed(captures.facts.checks.values())
            around.stores.refuse_changed(captures.inputs.found())


def _check_given(tensor: Tensor | None) -> None:
    """Refuse a run in which an array has changed that the recording takes for what it was."""
    if tensor is not None:
        raise UnsupportedError(
            at_user_line(
                f"an array of shape {tensor.shape} was changed in place by code that cannot be followed, such as that "
                f"of an installed package. Fix: give it a copy, `x.copy()`, and use what it returns"
            )
        )


def _check_identities(captures: Captures, names: list[str]) -> None:
    """Refuse a run that may have asked by `is` for an argument that it captures as well: these are two tensors."""
    for path, k, same in captures.identities.with_arguments:
        if same:
            raise UnsupportedError(
                at_user_line(
                    f"the argument {names[k]} is the array {path.label}, which the function reads as well, and what it "
                    f"compares by `is` is told apart there. Fix: pass {names[k]}.copy(), or a flag beside it"
                )
            )


def prepared(function: Any, captures: Captures, name: str = "function", takes_all: bool = True) -> Callable[..., Any]:
    """The function as it is called while traced: a clone that reads its captured state through us.

    One that `takes_all` of its arguments reads no defaults.
    """
    given = captures.clones.given if takes_all else []
    if type(function) is Adapter:
        made = [prepared(f, captures, f"{name}{k}", False) for k, f in enumerate(function.functions)]
        return functools.partial(function.call, *made)
    key = f"_{name}_{id(function)}"  # functions that are called by each other share their paths
    root = CapturedPath(name, key, {key: function}, lambda: function)
    if isinstance(function, functools.partial):
        inner = prepared(function.func, captures, takes_all=takes_all)
        args = [captures.read(a, root.attribute("args").item(i)) for i, a in enumerate(function.args)]
        own, where = function.keywords, root.attribute("keywords")

        def call(*a: Any, **k: Any) -> Any:
            read = {name: captures.read(x, where.item(name)) for name, x in own.items() if name not in k}
            return inner(*args, *a, **{name: k.get(name, read.get(name)) for name in {**own, **k}})

        return call
    if hasattr(function, "__func__"):
        owner = captures.read(function.__self__, root.attribute("__self__"))
        given.append(function.__func__)
        clone = captures.function_of(function.__func__)
        return lambda *a, **k: clone(owner, *a, **k)
    if hasattr(function, "__code__"):
        given.append(function)
        return captures.function_of(function)
    if isinstance(function, type) and is_own_code(class_file(function)):
        captures.stores.may_change_unseen()
        return captures.read(function, root)
    call = looked_up(type(function), "__call__")
    if isinstance(call, staticmethod):
        captures.facts.add_of_class(type(function), "__call__", call.__func__)
        return prepared(call.__func__, captures, name, takes_all)
    if hasattr(call, "__code__") and not hasattr(type(function), "_tapec_answers"):
        owner = captures.read(function, CapturedPath("self", key, {key: function}, lambda: function))
        captures.facts.add_of_class(type(function), "__call__", call)
        given.append(call)
        clone = captures.function_of(call)
        return lambda *a, **k: clone(owner, *a, **k)
    captures.stores.may_change_unseen()
    return function


def as_result(x: Any, captures: Captures) -> Any:
    """Return a result as it leaves the function.

    Object arrays fold back into tensors, Variables are read, and real objects take the place of stand-ins.
    """
    if isinstance(x, np.ndarray) and x.dtype == object:
        return fold_objects(x)
    read = getattr(type(x), "_tapec_read", None)
    if read is not None:
        return read(x)
    if isinstance(x, MethodType):
        return MethodType(captures.stores.plain(x.__func__), as_result(x.__self__, captures))
    if id(x) in captures.identities.originals:
        return captures.identities.original(x)
    _check_result(x, captures)
    captures.followed.note_leaving(x)
    return without_stand_in(x)


def _check_result(x: Any, captures: Captures) -> None:
    """Refuse results that belong to this run alone: later calls give back what is no structure, as it is."""
    kind = type(x).__name__
    if isinstance(x, Coroutine):
        x.close()  # Python would warn that nobody has awaited it
    if isinstance(x, (Coroutine, AsyncIterator)):
        raise UnsupportedError(at_user_line("the function is asynchronous: nothing ran. Fix: def, not async def"))
    if isinstance(x, Iterator):
        message = f"the function returns a {kind}, which can be gone through once. Fix: return a list"
        raise UnsupportedError(at_user_line(message))
    if not is_plain_class(type(x)) and holds_computed(x, captures):
        raise UnsupportedError(
            at_user_line(
                f"the function returns a {kind} that holds what it computed, and later calls would return the same. "
                f"Fix: return a list, a dict, a named tuple or a dataclass, or register the class with optree"
            )
        )
