"""Symmetric and antisymmetric values: what is known of them, and the transposes and sums that are saved."""

import numpy as np
import pytest

import tapec
from tapec.ir import interpret, parse
from tapec.passes.rules import SYMMETRIES
from tapec.passes.symmetry import swap_parity
from tests.passes.support import Case, check_regular_case, check_table, text

X = "%x: f64[4,3], %v: f64[4], %s: f64[4,4], %k: f64[], %w: f64[3]"
T = "transpose %x {axes=(1, 0)}"
GRAM = f"{T}; matmul %x, %0"
PAIRS = "reshape %v {shape=(4, 1)}; subtract %0, %v"
FAR = "reshape %x {shape=(4, 1, 3)}; subtract %0, %x"


@pytest.mark.parametrize(
    ("body", "parity"),
    [
        (GRAM, 1),
        (f"{GRAM}; multiply %1, 2.0; exp %2; add %3, %k", 1),
        (f"{GRAM}; inv %1", 1),
        (
            f"{GRAM}; constant {{value=[[2.0, 1.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], "
            "[0.0, 0.0, 0.0, 1.0]]}; subtract %1, %2",
            1,
        ),
        (f"{GRAM}; transpose %1 {{axes=(1, 0)}}", 1),
        (f"{GRAM}; transpose %s {{axes=(1, 0)}}; matmul %s, %1; matmul %3, %2", 1),
        ("reshape %v {shape=(4, 1)}; add %0, %v", 1),
        ("reshape %v {shape=(4, 1)}; reshape %v {shape=(1, 4)}; multiply %1, %0", 1),
        (PAIRS, -1),
        (f"{PAIRS}; sin %1", -1),
        (f"{PAIRS}; cos %1", 1),
        (f"{PAIRS}; power %1, 2", 1),
        (f"{PAIRS}; multiply %1, %1", 1),
        (f"{PAIRS}; absolute %1; multiply %2, %1", -1),
        (f"{FAR}; multiply %1, %1; sum %2 {{axis=(2,), keepdims=False}}; sqrt %3", 1),
        (f"{FAR}; multiply %1, %w", -1),
        ("diag %v {k=0}", 1),
        # nothing known
        ("return %s", 0),
        (f"{GRAM}; add %1, %s", 0),
        (f"{GRAM}; multiply %1, %v", 0),
        (f"{PAIRS}; add %1, 1.0", 0),
        (f"{PAIRS}; exp %1", 0),
        ("matmul %s, %s", 0),
        ("reshape %v {shape=(4, 1)}; divide %0, %v", 0),
        (f"{FAR}; sum %1 {{axis=(0,), keepdims=True}}", 0),
        ("diag %w {k=1}", 0),
        (T, 0),
    ],
)
def test_parity(body, parity):
    graph = parse(text(X, body))
    (node,) = graph.outputs
    assert swap_parity(node) == parity
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(i.type.shape) for i in graph.inputs]
    (y,) = interpret(graph, *values)
    if parity:
        assert np.allclose(np.swapaxes(y, 0, 1), parity * y, rtol=1e-12, atol=1e-14)


CASES = {
    "transpose-of-symmetric": Case(
        X,
        [
            (
                f"{GRAM}; transpose %1 {{axes=(1, 0)}} !ct; matmul %2, %v !ct",
                f"{GRAM}; matmul %1, %v !ct",
            ),
            (
                f"{PAIRS}; transpose %1 {{axes=(1, 0)}} !ct; matmul %2, %v !ct",
                f"{PAIRS}; negative %1 !ct; matmul %2, %v !ct",
            ),
        ],
        [f"{GRAM}; transpose %1 {{axes=(1, 0)}}", "transpose %s {axes=(1, 0)} !ct"],
    ),
    "sum-of-symmetric": Case(
        X,
        [
            (
                f"{FAR}; sum %1 {{axis=(0,), keepdims=False}} !ct; sum %1 {{axis=(1,), keepdims=False}} !ct; "
                "add %2, %3 !ct",
                f"{FAR}; sum %1 {{axis=(0,), keepdims=False}} !ct; negative %2 !ct; add %2, %3 !ct",
            )
        ],
        [
            f"{GRAM}; sum %1 {{axis=(1,), keepdims=False}} !ct",  # there is but one
            "sum %s {axis=(0,), keepdims=False} !ct; sum %s {axis=(1,), keepdims=False} !ct; return %0, %1",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    check_regular_case(name, CASES[name], SYMMETRIES)


def test_each_rule_has_a_case():
    check_table(CASES, SYMMETRIES)


def test_forces_between_all_pairs():
    def energy(x):
        d = x[:, None, :] - x
        return 0.5 * np.sum(1.0 / np.sqrt(np.sum(d**2, axis=-1) + 0.1))

    x = np.random.default_rng(0).standard_normal((6, 3))
    f = tapec.grad(energy)
    d = x[:, None, :] - x
    s = np.sum(d**2, axis=-1) + 0.1
    assert np.allclose(f(x), -np.sum(d / s[..., None] ** 1.5, axis=1), rtol=1e-12)
    code = "".join(line.split("#")[0] for line in f.source(x).splitlines())
    assert code.count(".sum(") == 1


def test_one_factorisation_of_a_symmetric_matrix():
    def loss(a, b):
        s = a @ a.T + 3.0 * np.eye(4)
        return b @ np.linalg.solve(s, b) + np.linalg.slogdet(s)[1]

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 4)), rng.standard_normal(4)
    f = tapec.grad(loss)
    inverse = np.linalg.inv(a @ a.T + 3.0 * np.eye(4))
    u = inverse @ b
    assert np.allclose(f(a, b), 2.0 * (inverse - np.outer(u, u)) @ a, rtol=1e-11)
    assert ".T @" not in f.source(a, b) and ".T.dot" not in f.source(a, b)
