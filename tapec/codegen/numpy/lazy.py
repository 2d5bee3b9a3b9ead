"""Import what few programs need: helpers as functions; block loops, moves of short axes, copies of small slices."""

from __future__ import annotations

from typing import Any

from tapec.codegen import tuning
from tapec.codegen.numpy.blocks.large_arrays import are_worth_a_loop, has_short_axis, reads_huge
from tapec.ir import CONSTANT, INPUT, Graph
from tapec.ir.cost import bytes_of
from tapec.ir.decision_tree import Tree

__all__ = ["in_blocks", "name_inputs_of_bodies", "with_helpers", "with_short_axes_moved", "with_small_parts"]


def in_blocks(graph: Graph, tree: Tree | None = None) -> Graph:
    """Return the program with parts of it as loops over blocks; the same graph when there are none."""
    if not are_worth_a_loop(graph.nodes, graph.nodes) and not any(map(reads_huge, graph.nodes)):
        return graph
    from tapec.codegen.numpy.blocks.block_loops import with_block_loops

    return with_block_loops(graph, tree)


def with_short_axes_moved(graph: Graph) -> Graph:
    """Return the program with short last axes before longer ones; the same graph when there are none."""
    if not any(map(has_short_axis, graph.nodes)):
        return graph
    from tapec.codegen.numpy.passes.move_short_axis import short_axes_moved

    return short_axes_moved(graph)


def with_small_parts(graph: Graph) -> Graph:
    """Return the program with copies of small parts of large arrays; the same graph when there are none."""
    least = tuning.SMALL_PART_MIN_WHOLE_BYTES
    if not any([n.op.view and n.inputs and bytes_of(n.inputs[0]) >= least for n in graph.nodes]):
        return graph
    from tapec.codegen.numpy.passes.copy_small_slices import small_parts_copied

    return small_parts_copied(graph)


def with_helpers(graph: Graph, names: dict[Any, Any]) -> tuple[Graph, list[Graph]]:
    """Return the program with calls of helpers, and the bodies of these; the same graph when there are none."""
    if len(graph.nodes) < 2 * tuning.HELPER_MIN_OPS + tuning.HELPER_MIN_SPARED_LINES:
        return graph, []
    origins = [n.origin for n in graph.nodes if n.origin is not None and n.op is not CONSTANT and n.op is not INPUT]
    if len({id(code) for code, _ in origins}) < 2:
        return graph, []
    from tapec.codegen.numpy.passes.outline_helpers import outlined

    return outlined(graph, names)


def name_inputs_of_bodies(graph: Graph, names: dict[Any, Any]) -> None:
    """Note how helpers call what bodies of loops read, as far as helpers in the loops before are known."""
    if names:
        from tapec.codegen.numpy.passes.helper_names import name_inputs_of_bodies

        name_inputs_of_bodies(graph, names.values())
