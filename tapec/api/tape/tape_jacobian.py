"""Compute Jacobians of what a tape recorded: the gradient's program, run along all unit vectors of the target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.api.tape.gradient_request import Request, by_source, done, name_of, tape_gradient
from tapec.api.tape.python_gradient_cuts import cuts_known
from tapec.autodiff.batching import batch_graph
from tapec.autodiff.jacobian.basis import Basis, Rows
from tapec.autodiff.jacobian.basis_pushforward import along_basis
from tapec.errors import TapeValueError, UnsupportedError, at_user_line
from tapec.ir import Builder, Graph
from tapec.ir.types import Type
from tapec.log_gradients.gradient_program import Derivation, Segment, Span, run
from tapec.log_gradients.log_to_graph import Forward
from tapec.ops import Symbol
from tapec.trace.classes import wrap
from tapec.trace.tensor import Tensor

__all__ = ["batch_jacobian", "check_batch", "chunk", "jacobian", "zeros"]


def chunk(parallel_iterations: Any, vectorized: bool) -> int:
    """Return the number of rows to compute at a time: 0 for all of them, 1 for a loop."""
    if parallel_iterations is None:
        return 0 if vectorized else 1
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TapeValueError(at_user_line(f"parallel_iterations must be 1 or more, not {parallel_iterations!r}"))
    return parallel_iterations if vectorized else 1


def check_batch(target: Any, source: Any) -> None:
    """Check that target and source have a batch axis, of one length."""
    for what, x in (("target", target), ("source", source)):
        if len(x.shape) < 2:
            raise TapeValueError(
                at_user_line(
                    f"batch_jacobian needs a {what} of rank 2 or more, with the examples along the first axis; "
                    f"this one has shape {x.shape}. Fix: tape.jacobian"
                )
            )
    if target.shape[0] != source.shape[0]:
        raise TapeValueError(
            at_user_line(
                f"Need first dimension of target shape {target.shape} and source shape {source.shape} to match. "
                f"Fix: tape.jacobian, if the examples do not belong together"
            )
        )


def zeros(target: Any, source: Any) -> Tensor:
    return wrap(np.zeros(target.shape + source.shape, source.dtype))


def jacobian(tape: Any, target: Any, sources: list[Any], at_once: int) -> list[Any]:
    """Return the Jacobian for each source; None where no path leads."""
    found = _along(tape, target, sources, at_once, 0)
    return [g if g is None else np.reshape(g, target.shape + s.shape) for g, s in zip(found, sources)]


def batch_jacobian(tape: Any, target: Any, source: Any, at_once: int) -> Any:
    """Return one Jacobian for each example; zeros where no path leads."""
    [found] = _along(tape, target, [source], at_once, 1)
    shape = (target.shape[0], *target.shape[1:], *source.shape[1:])
    if found is None:
        return wrap(np.zeros(shape, source.dtype))
    return np.reshape(np.swapaxes(found, 0, 1), shape)


def _along(tape: Any, target: Any, sources: list[Any], at_once: int, skip: int) -> list[Any]:
    """Return, for each source, its gradients from every unit vector of the target, stacked along a new first axis.

    The unit vectors are those of the target's axes after the first `skip`; along those all entries are one.
    """
    request = Request(tape, [target], None, sources)
    cut = cuts_known(request)
    vectors = math.prod(target.shape[skip:])
    if at_once != 1 and request.targets and not cut:
        try:
            if at_once == 0 or at_once >= vectors:
                return done(tape, request, _all_at_once(request, skip))
            return done(tape, request, _in_chunks(request, target, skip, at_once))
        except UnsupportedError:  # something that has no batched form
            pass
    return _one_by_one(tape, target, sources, skip)


def _derived(forward: Forward, request: Request) -> Derivation:
    """The gradient's program, from a cotangent of the target that is given."""
    return Derivation(forward, Span(0, request.targets, (True,), request.wanted), rows=False)


def _run(request: Request, code: Segment, seeds: list[Tensor] | None = None) -> list[Any]:
    if code not in request.segments:  # chunks run it again and again
        request.segments.append(code)
    return by_source(request, run(code, request.log, seeds))


# ---------------------------------------------------------------------------------------------------------------
# all rows at once
# ---------------------------------------------------------------------------------------------------------------
def _all_at_once(request: Request, skip: int) -> list[Any]:
    code = request.structure.find(request.log, ("rows", skip), lambda forward: _rows(forward, request, skip))
    return _run(request, code)


def _rows(forward: Forward, request: Request, skip: int) -> Segment:
    """The gradient's graph along the whole basis, which knows what of it is diagonal."""
    derived = _derived(forward, request)
    graph = derived.graph(f"{name_of(forward, request)}s")
    builder = Builder()
    t = forward.slots[request.targets[0]].type
    basis = Basis(builder, t.shape[skip:])
    seed = _unit_vectors(basis, Type(t.shape, t.dtype), skip)
    inputs = list(derived.origins)
    given = Graph(inputs, graph.nodes, graph.outputs, graph.name)
    found = along_basis(basis, given, [seed if i in derived.seeds else Symbol(i, builder) for i in inputs])
    outputs = [(basis.flat(y) if isinstance(y, Rows) else _repeated(y, math.prod(basis.shape))).node for y in found]
    return Segment(builder.graph((), outputs, graph.name), derived.lift.inputs, derived.gives, derived.span, forward)


def _unit_vectors(basis: Basis, t: Type, skip: int) -> Rows:
    seed = basis.seed(t)
    pairs = tuple([(i, i + skip) for i, n in enumerate(basis.shape) if n != 1])
    return Rows(seed.data, pairs)


def _repeated(y: Any, n: int) -> Any:
    return np.broadcast_to(y, (n, *y.shape))


# ---------------------------------------------------------------------------------------------------------------
# some rows at a time
# ---------------------------------------------------------------------------------------------------------------
def _in_chunks(request: Request, target: Any, skip: int, size: int) -> list[Any]:
    code = request.structure.find(request.log, ("chunk", size), lambda forward: _chunk(forward, request, size))
    vectors = _vectors(target, skip)
    parts = []
    for start in range(0, len(vectors), size):
        some = np.zeros((size, *target.shape), target.dtype)
        some[: len(vectors) - start] = vectors[start : start + size]
        parts.append(_run(request, code, [wrap(some)]))
    return [None if column[0] is None else np.concatenate(column)[: len(vectors)] for column in zip(*parts)]


def _chunk(forward: Forward, request: Request, size: int) -> Segment:
    derived = _derived(forward, request)
    graph = derived.graph(f"{name_of(forward, request)}s")
    inputs = list(derived.origins)
    flags = [i in derived.seeds for i in inputs]
    batched, has_axis = batch_graph(Graph(inputs, graph.nodes, graph.outputs, graph.name), flags, size)
    builder = Builder()
    builder.nodes.extend(batched.nodes)
    outputs = [o if axis else _repeated(Symbol(o, builder), size).node for o, axis in zip(batched.outputs, has_axis)]
    origins = {new: derived.origins[old] for new, old in zip(batched.inputs, inputs)}
    return Segment(builder.graph((), outputs, graph.name), origins, derived.gives, derived.span, forward)


def _vectors(target: Any, skip: int) -> np.ndarray:
    """Return unit vectors of the axes after the first `skip`, and ones along those."""
    n = math.prod(target.shape[skip:])
    unit = np.eye(n, dtype=target.dtype).reshape(n, *(1,) * skip, *target.shape[skip:])
    return np.broadcast_to(unit, (n, *target.shape))


def _one_by_one(tape: Any, target: Any, sources: list[Any], skip: int) -> list[Any]:
    vectors = _vectors(target, skip)
    if not len(vectors):
        found = tape_gradient(tape, [target], [wrap(np.zeros(target.shape, target.dtype))], sources)
        return [None if g is None else wrap(np.zeros((0, *s.shape), s.dtype)) for g, s in zip(found, sources)]
    rows = [tape_gradient(tape, [target], [wrap(v)], sources) for v in vectors]
    return [None if column[0] is None else np.stack([g._tapec_read() for g in column]) for column in zip(*rows)]
