"""Turn the outputs of generated code into tensors, recorded by whatever records the inputs."""

from __future__ import annotations

from typing import Any

from tapec.api.compiled.programs.guarded_paths import TracedPath
from tapec.ir import Graph, Op, prune
from tapec.ir.dead_code import with_inputs_read
from tapec.ops.control.select_and_call import CALL
from tapec.trace.classes import wrap
from tapec.trace.perform import record
from tapec.trace.recording_stack import CURRENT
from tapec.trace.tensor import Tensor

__all__ = ["recorded_outputs"]


def recorded_outputs(op: Op, path: TracedPath, read: list[Any], outputs: Any, as_tensors: bool) -> Any:
    """Return tensors for the outputs, recorded as one call by whatever records the inputs; guards go to an outer
    trace."""
    rec = CURRENT.get()
    watched = rec is not None and any(
        type(x) is Tensor and x._mark is not None and x._mark.tokens & rec.mark.tokens for x in read
    )
    if not (as_tensors or watched):
        return outputs
    made = len(path.target.outputs)
    out = [wrap(v) for v in outputs[:made]]
    if rec is not None and watched:
        objects = tuple(read[: len(path.target.inputs)])
        record(rec, op, objects, (("bodies", (path.target,)),), tuple(out))
        for guard in path.guards if rec.trace is not None else ():
            _record_guard(rec, guard, path, objects)
    return [*out, *outputs[made:]]


def _record_guard(rec: Any, guard: Any, path: TracedPath, objects: tuple[Any, ...]) -> None:
    """Record a guard of the path as an operation on those inputs that it depends on, and on no others."""
    inputs = path.forward.inputs
    graph = with_inputs_read(prune(Graph(inputs, path.forward.nodes, [guard.node], path.forward.name)))
    operands = tuple([x for x, i in zip(objects, inputs) if i in graph.inputs])
    condition = wrap(guard.node.type.dtype.type(guard.value))
    record(rec, CALL, operands, (("bodies", (graph,)),), (condition,))
    rec.trace.guard(guard.kind, condition, guard.value, guard.origin)
