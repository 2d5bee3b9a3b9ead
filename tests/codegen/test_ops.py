"""Every op among others: in-place updates around it must not reach what it has given out."""

import numpy as np
import pytest

from tapec.ir import OPS, Builder, input_node, type_of
from tests.codegen.kit import check
from tests.ops.cases import WITHOUT_SAMPLE, cases

TESTED = {name for name, op in OPS.items() if op.sample is not None} - WITHOUT_SAMPLE
NAMES = sorted(name for name in TESTED if OPS[name].kind != "dynamic")  # those have no type before they run


def busy_graph(op, case):
    """The op on fresh arrays, and then sums with its operands and results, which may all be computed in place."""
    builder = Builder()
    inputs = [input_node(f"x{k}", type_of(v)) for k, v in enumerate(case.inputs)]
    params = tuple(case.params.items())
    fresh = [_times(builder, i, 2) for i in inputs]
    node = builder.emit(op, tuple(i if i.type.dtype.kind in "iub" else f for i, f in zip(inputs, fresh)), params)
    results = list(builder.items(node)) if op.multi else [node]
    later = [_times(builder, n, 3) for n in (*fresh, *results)]
    return builder.graph(inputs, [*results, *later], "busy")


def _times(builder, node, factor):
    return builder.emit(OPS["multiply"], (node, builder.constant(factor)))


@pytest.mark.sampled(one_in=2, per="name")
@pytest.mark.parametrize("big", [1024, 1], ids=["as is", "all big"])
@pytest.mark.parametrize("name", NAMES)
def test_neighbours_in_place(name, big, monkeypatch):
    """With every array called big, `out=` and workspaces are used wherever they can be."""
    monkeypatch.setattr("tapec.codegen.tuning.BUFFER_MIN_BYTES", big)
    monkeypatch.setattr("tapec.codegen.tuning.BUFFER_ALWAYS_MIN_BYTES", big)
    for case in cases(OPS[name]).values():
        check(busy_graph(OPS[name], case), *case.inputs)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", sorted(TESTED))
def test_results_that_share_memory_say_so(name):
    """Only an op with `view` may give out memory of its operands."""
    op = OPS[name]
    for case in cases(op).values():
        given = [v if isinstance(v, np.generic) else np.array(v) for v in case.inputs]
        made = op.run(*given, **case.params)
        for y in made if op.multi else [made]:
            shares = op.view or name in ("real", "imag")
            if isinstance(y, np.ndarray) and y.ndim and not shares:
                assert not any(np.shares_memory(y, v) for v in given)
