"""A block loop is a region: its body says on all rows what the loop computes block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapec
from tapec.codegen.numpy.pipeline import run_passes
from tapec.ir import interpret, parse, verify
from tapec.ir.text.printer import constant_table
from tapec.ops.control.cond import REGION

RNG = np.random.default_rng(0)
X, W, Y = RNG.normal(size=(4000, 60)), RNG.normal(size=60), RNG.normal(size=(4000, 1))

PROGRAMS: dict[str, Any] = {
    "kept": lambda x: np.tanh(x) * np.exp(-x * x) + np.sin(x),
    "sums": lambda x: np.sum(np.tanh(x) * np.exp(-x * x), axis=0) @ W,
    "means": lambda x: np.mean(np.tanh(x * W) * np.exp(-x * x) + Y),
    "products": lambda x: np.sum(np.tanh(np.exp(-x * x) @ (W[:, None] * W))),
    "places": lambda x: np.sum(np.tanh(x[1:] - x[:-1]) * np.exp(-(x[1:] ** 2))),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("transform", ["value", "gradient"])
def test_regions_verify_print_parse_and_compute_the_same(name: str, transform: str) -> None:
    f = PROGRAMS[name]
    loss = f if transform == "value" else tapec.grad(lambda x: np.sum(f(x)))
    graph = tapec.compile(loss).ir(X, stage="optimized")
    blocks = verify(run_passes(graph, ["sums-of-products", "blocks"]))
    regions = [n for n in blocks.nodes if n.op is REGION]
    assert regions
    assert parse(str(blocks), constant_table(blocks)) == blocks
    given = [{x.shape: x for x in (X, W, Y)}[i.type.shape] for i in graph.inputs]  # W and Y are captured
    for a, b in zip(interpret(blocks, *given), interpret(graph, *given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
