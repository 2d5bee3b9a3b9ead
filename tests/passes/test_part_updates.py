"""Parts that derivatives clear and fill again: where each rule fires and where it must not, and nan and inf."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapec
from tapec.ir import interpret, parse
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.rules import CLEARED_PARTS, PART_UPDATES
from tests.passes.support import Case, table_tests, text
from tests.properties import copies, has

I3 = "constant {value=[0, 1, 2]}"
INPUTS = "%x: f64[5,4], %a: f64[3,3], %y: f64[4], %z: f64[5,4], %j: i64[2], %s: f64[]"
CLEARED = "setitem %x, 0.0 {index=(1,)} !ct; getitem %x {index=(1,)} !ct"
AMONG_ZEROS = "scatter {} {{shape=(5, 4), index=(1,)}} !ct".format

CASES = {
    "part-put-back": Case(
        INPUTS,
        [
            (f"{CLEARED}; {AMONG_ZEROS('%1')}; add %0, %2 !ct", "%x"),
            (f"{CLEARED}; {AMONG_ZEROS('%1')}; add %2, %0 !ct", "%x"),
            (
                "constant {value=[3, 0, 1]}; setitem %x, 0.0, %0 {index=($0,)} !ct; "
                "getitem %x, %0 {index=($0,)} !ct; scatter %2, %0 {shape=(5, 4), index=($0,)} !ct; add %3, %1 !ct",
                "%x",
            ),
            (
                f"{I3}; setitem %a, 0.0, %0, %0 {{index=($0, $1)}} !ct; "
                "diagonal %a {offset=0, axis1=0, axis2=1} !ct; diag %2 {k=0} !ct; add %1, %3 !ct",
                "%a",
            ),
            (
                f"{CLEARED}; add %y, %1 !ct; {AMONG_ZEROS('%2')}; add %0, %3 !ct",
                f"{AMONG_ZEROS('%y')}; add %x, %0 !ct",
            ),
            (
                f"{CLEARED}; subtract %1, %y !ct; {AMONG_ZEROS('%2')}; add %0, %3 !ct",
                f"{AMONG_ZEROS('%y')}; subtract %x, %0 !ct",
            ),
            (  # with other places between the two
                "setitem %x, 0.0 {index=(1,)} !ct; getitem %x {index=(1,)} !ct; subtract %1, %y !ct; "
                "multiply %y, %y !ct; subtract %2, %3 !ct; scatter %4 {shape=(5, 4), index=(1,)} !ct; "
                "scatter %y {shape=(5, 4), index=(2,)} !ct; add %0, %6 !ct; subtract %7, %z !ct; add %8, %5 !ct",
                "multiply %y, %y !ct; scatter %y {shape=(5, 4), index=(2,)} !ct; add %x, %1 !ct; "
                "subtract %2, %z !ct; add %y, %0 !ct; scatter %4 {shape=(5, 4), index=(1,)} !ct; subtract %3, %5 !ct",
            ),
        ],
        [
            f"{CLEARED}; scatter %1 {{shape=(5, 4), index=(2,)}} !ct; add %0, %2 !ct",
            f"{CLEARED}; {AMONG_ZEROS('%1')}; subtract %0, %2 !ct",
            f"{CLEARED}; subtract %y, %1 !ct; {AMONG_ZEROS('%2')}; add %0, %3 !ct",
            f"{CLEARED}; multiply %y, %1 !ct; {AMONG_ZEROS('%2')}; add %0, %3 !ct",
            f"{CLEARED}; getitem %x {{index=(2,)}} !ct; {AMONG_ZEROS('%2')}; add %0, %3 !ct",
            f"{CLEARED}; {AMONG_ZEROS('%1')}; add %0, %2 !ct; return %3, %2",  # the part is there for others
            f"{CLEARED}; {AMONG_ZEROS('%1')}; add %0, %2 !ct; return %3, %0",
            "setitem %x, 1.0 {index=(1,)} !ct; getitem %x {index=(1,)} !ct; "
            f"{AMONG_ZEROS('%1')}; add %0, %2 !ct",
            "setitem %x, 0.0, %j {index=($0,)} !ct; getitem %x, %j {index=($0,)} !ct; "
            "scatter %1, %j {shape=(5, 4), index=($0,)} !ct; add %0, %2 !ct",  # a place may come twice
            "setitem %x, 0.0 {index=(1,)}; getitem %x {index=(1,)}; scatter %1 {shape=(5, 4), index=(1,)}; add %0, %2",
        ],
    ),
    "part-written-at-once": Case(
        INPUTS,
        [
            (f"{CLEARED}; multiply %1, %s !ct; {AMONG_ZEROS('%2')}; add %0, %3 !ct",
             "getitem %x {index=(1,)} !ct; multiply %0, %s !ct; setitem %x, %1 {index=(1,)} !ct"),
            (
                f"setitem %x, 0.0 {{index=(1,)}} !ct; {AMONG_ZEROS('%y')}; subtract %0, %z !ct; add %2, %1 !ct",
                "setitem %x, %y {index=(1,)} !ct; subtract %0, %z !ct",
            ),
        ],
        [
            f"setitem %x, 0.0 {{index=(2,)}} !ct; {AMONG_ZEROS('%y')}; add %0, %1 !ct",
            f"setitem %x, 1.0 {{index=(1,)}} !ct; {AMONG_ZEROS('%y')}; add %0, %1 !ct",
            f"setitem %x, 0.0 {{index=(1,)}} !ct; {AMONG_ZEROS('%y')}; add %0, %1 !ct; return %2, %0",
            f"setitem %x, 0.0 {{index=(1,)}} !ct; {AMONG_ZEROS('%y')}; subtract %0, %1 !ct",
            "setitem %x, 0.0, %j {index=($0,)} !ct; getitem %z, %j {index=($0,)} !ct; "
            "scatter %1, %j {shape=(5, 4), index=($0,)} !ct; add %0, %2 !ct",
            "setitem %x, 0.0 {index=(1,)}; scatter %y {shape=(5, 4), index=(1,)}; add %0, %1",
        ],
    ),
    "part-cleared-last": Case(
        INPUTS,
        [
            (
                f"{CLEARED}; multiply %1, %s !ct; scatter %2 {{shape=(5, 4), index=(0,)}} !ct; add %0, %3 !ct",
                "getitem %x {index=(1,)} !ct; multiply %0, %s !ct; scatter %1 {shape=(5, 4), index=(0,)} !ct; "
                "add %x, %2 !ct; setitem %3, 0.0 {index=(1,)} !ct",
            ),
            (
                "setitem %x, 0.0 {index=(::2,)} !ct; getitem %x {index=(:-1:2,)} !ct; "
                "scatter %1 {shape=(5, 4), index=(1::2,)} !ct; subtract %0, %z !ct; subtract %3, %2 !ct",
                "getitem %x {index=(:-1:2,)} !ct; scatter %0 {shape=(5, 4), index=(1::2,)} !ct; "
                "subtract %x, %1 !ct; setitem %2, 0.0 {index=(::2,)} !ct; subtract %3, %z !ct",
            ),
        ],
        [
            "setitem %x, 0.0 {index=(1:,)} !ct; getitem %x {index=(1:,)} !ct; "
            "scatter %1 {shape=(5, 4), index=(:-1,)} !ct; add %0, %2 !ct",  # they overlap
            f"{CLEARED}; scatter %y {{shape=(5, 4), index=(0,)}} !ct; add %0, %2 !ct",  # it reads something else
            f"{CLEARED}; scatter %1 {{shape=(5, 4), index=(0,)}} !ct; add %0, %2 !ct; return %3, %0",
            f"{CLEARED}; scatter %1 {{shape=(5, 4), index=(0,)}} !ct; subtract %2, %0 !ct",
            "setitem %x, 1.0 {index=(1,)} !ct; getitem %x {index=(1,)} !ct; "
            "scatter %1 {shape=(5, 4), index=(0,)} !ct; add %0, %2 !ct",
            "setitem %x, 0.0 {index=(1,)}; getitem %x {index=(1,)}; scatter %1 {shape=(5, 4), index=(0,)}; add %0, %2",
        ],
    ),
}  # fmt: skip

test_rule, test_each_rule_has_a_case = table_tests(CASES, (*PART_UPDATES, *CLEARED_PARTS))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_not_finite_stays(value: float, place: int) -> None:
    """Where the sum is inf or nan before a rule fires, it is so afterwards, and nowhere else."""
    body = (
        f"{CLEARED}; add %1, %y !ct; {AMONG_ZEROS('%2')}; "
        "scatter %y {shape=(5, 4), index=(2,)} !ct; add %0, %4 !ct; add %5, %3 !ct"
    )
    graph = parse(text(INPUTS, body))
    result = RuleSet("", list(PART_UPDATES))(graph)
    assert len(result.nodes) < len(graph.nodes)
    x, y = np.ones((5, 4)), np.ones(4)
    x[place], y[1:3] = value, (value, -value)
    values = x, np.ones((3, 3)), y, x, np.arange(2), np.float64(1.0)
    for a, b in zip(interpret(graph, *values), interpret(result, *values), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_gradient_of_an_update_adds_to_what_is_there() -> None:
    @tapec.grad
    def f(u: Any, k: Any) -> Any:
        u = u.copy()
        u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        return np.sum(u**2)

    u = np.linspace(-1.0, 2.0, 50)
    source = f.source(u, 0.1)
    assert not has(source, "_[1:-1] = 0.0") and copies(source) <= 1
    h = 1e-6
    for i in (0, 1, 7, 48, 49):
        step = h * (np.arange(50) == i)

        def value(v: Any) -> Any:
            w = v.copy()
            w[1:-1] += 0.1 * (v[2:] - 2.0 * v[1:-1] + v[:-2])
            return np.sum(w**2)

        np.testing.assert_allclose(f(u, 0.1)[i], (value(u + step) - value(u - step)) / (2 * h), rtol=1e-7)
