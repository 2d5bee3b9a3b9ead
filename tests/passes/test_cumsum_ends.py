"""Running sums that are read at one place, and what flows back: each rule where it fires and where it must not."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import CUMSUM_ENDS, SCATTERED_LINES
from tests.passes.support import Case, table_tests

X = "%x: f64[3,4], %v: f64[3], %w: f64[4], %p: f64[2,4], %i: i64[2]"
LINE = "scatter %v {shape=(3, 4), index=(:, -1)} !ct"
PART = "scatter %p {shape=(3, 4), index=(1:,)} !ct"
ROWS = "sum %0 {axis=(0,), keepdims=False} !ct"
COLUMNS = "sum %0 {axis=(1,), keepdims=False} !ct"

CASES = {
    "end-of-running-sum": Case(
        X,
        [
            ("cumsum %x {axis=1}; getitem %0 {index=(:, -1)}", "sum %x {axis=(1,), keepdims=False}"),
            (
                "cumsum %x {axis=0}; getitem %0 {index=(-1, 2)}",
                "getitem %x {index=(:, 2)}; sum %0 {axis=(0,), keepdims=False}",
            ),
            (
                "cumsum %x {axis=1}; getitem %0 {index=(1:, 2)}",
                "getitem %x {index=(1:, :3)}; sum %0 {axis=(1,), keepdims=False}",
            ),
            (
                "cumsum %x {axis=1}; getitem %0 {index=(1, 2)}",
                "getitem %x {index=(1, :3)}; sum %0 {axis=(0,), keepdims=False}",
            ),
            ("cumsum %w {axis=0}; getitem %0 {index=(3,)}", "sum %w {axis=(0,), keepdims=False}"),
        ],
        [
            "cumsum %x {axis=1}; getitem %0 {index=(:, -1)}; return %0, %1",  # all of it is needed
            "cumsum %x {axis=1}; getitem %0 {index=(1,)}",
            "cumsum %x {axis=1}; getitem %0 {index=(:, 1:)}",
            "exp %x; getitem %0 {index=(:, -1)}",
        ],
    ),
    "reversed-part": Case(
        X,
        [(f"{LINE}; getitem %0 {{index=(:, ::-1)}} !ct", "scatter %v {shape=(3, 4), index=(:, 0)} !ct")],
        [
            f"{LINE}; getitem %0 {{index=(::-1,)}} !ct",
            f"{LINE}; getitem %0 {{index=(::-1, ::-1)}} !ct",
            f"{LINE}; getitem %0 {{index=(:, ::-2)}} !ct",
            f"{PART}; getitem %0 {{index=(::-1,)}} !ct",
            "scatter %i {shape=(3,), index=(1:,)}; getitem %x, %0 {index=($0,)} !ct",  # the index is one
        ],
    ),
    "running-sum-of-part": Case(
        X,
        [
            (
                "scatter %v {shape=(3, 4), index=(:, 0)} !ct; cumsum %0 {axis=1} !ct",
                "reshape %v {shape=(3, 1)} !ct; broadcast_to %0 {shape=(3, 4)} !ct",
            ),
            (
                "scatter %w {shape=(3, 4), index=(1,)} !ct; cumsum %0 {axis=0} !ct",
                "reshape %w {shape=(1, 4)} !ct; broadcast_to %0 {shape=(2, 4)} !ct; "
                "scatter %1 {shape=(3, 4), index=(1:,)} !ct",
            ),
        ],
        [
            f"{LINE}; cumsum %0 {{axis=0}} !ct",
            f"{PART}; cumsum %0 {{axis=0}} !ct",
            "scatter %v {shape=(3, 4), index=(1, 1:)} !ct; cumsum %0 {axis=0} !ct",
        ],
    ),
    "sum-of-part": Case(
        X,
        [
            (f"{LINE}; sum %0 {{axis=(0, 1), keepdims=False}} !ct", "sum %v {axis=(0,), keepdims=False} !ct"),
            (f"{LINE}; {COLUMNS}", "return %v"),
            (f"{LINE}; {ROWS}", "sum %v {axis=(0,), keepdims=False} !ct; scatter %0 {shape=(4,), index=(-1,)} !ct"),
            (f"{PART}; {ROWS}", "sum %p {axis=(0,), keepdims=False} !ct"),
            (
                f"{PART}; sum %0 {{axis=(1,), keepdims=True}} !ct",
                "sum %p {axis=(1,), keepdims=False} !ct; scatter %0 {shape=(3,), index=(1:,)} !ct; "
                "reshape %1 {shape=(3, 1)} !ct",
            ),
        ],
        [
            f"{LINE[:-4]}; {COLUMNS[:-4]}",  # the user's own
            "reshape %v {shape=(3, 1)} !ct; scatter %0 {shape=(3, 5), index=(:, ::5)} !ct; "
            "sum %1 {axis=(1,), keepdims=False} !ct",
        ],
    ),
}

test_rule, test_each_rule_has_a_case = table_tests(CASES, (*CUMSUM_ENDS, *SCATTERED_LINES))


def european(rate, volatility, z):
    steps = (rate - 0.5 * volatility**2) / z.shape[1] + volatility / np.sqrt(z.shape[1]) * z
    return np.exp(-rate) * np.mean(np.maximum(100.0 * np.exp(np.cumsum(steps, axis=1)[:, -1]) - 5.0, 0.0))


def last_column(rate, volatility, z):
    return np.mean(np.tanh(np.cumsum(np.sin(z) * volatility + rate, axis=1) * rate - z)[:, -1])


@pytest.mark.parametrize("f", [european, last_column])
def test_what_is_read_at_the_end_is_not_computed_on_the_way(f):
    args = (0.05, 0.2, np.random.default_rng(0).normal(size=(7, 6)))
    gradient = tapec.value_and_grad(f, argnums=(0, 1, 2))
    gradient(*args)
    assert "cumsum" not in {node.op.name for node in gradient.ir(*args).nodes}
    assert gradient(*args)[0] == pytest.approx(f(*args), rel=1e-14)
    tapec.check_grads(f, args, order=2)
