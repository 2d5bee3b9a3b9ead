"""Symmetric and antisymmetric values: what is known of them, and the transposes and sums that are saved."""

import itertools

import numpy as np
import pytest

import tapec
from tapec.ir import Builder, Type, input_node, interpret, parse
from tapec.ops import Symbol
from tapec.passes.engine.axis_symmetry import swap_parity
from tapec.passes.rules import SYMMETRIC_COTANGENTS
from tests.ops.cases import OPS  # all that there are, whatever ran before
from tests.ops.derivatives import check
from tests.passes.support import Case, check_regular_case, table_tests, text
from tests.properties import call_count, count_of


def is_drawn(op):
    """Are its operands arrays of real numbers?"""
    return isinstance(op.sample, tuple) and all(d.kind == "f" for d in op.sample)


X = "%x: f64[4,3], %v: f64[4], %s: f64[4,4], %k: f64[], %w: f64[3]"
T = "transpose %x {axes=(1, 0)}"
GRAM = f"{T}; matmul %x, %0"
PAIRS = "reshape %v {shape=(4, 1)}; subtract %0, %v"
FAR = "reshape %x {shape=(4, 1, 3)}; subtract %0, %x"
TWO_PLACES = "constant {value=[[3], [1]]}; constant {value=[[3, 1]]}"
FILLED = f"full {{shape=(4, 4), value=0.0, dtype=f64}}; {T}; matmul %x, %1; setitem %0, %2 {{index=(:, :)}}"
CROSS = "setitem %3, 0.0 {index=(0,)}; setitem %4, 0.0 {index=(:, 0)}"


def part(k, place):
    """k is added to a part of the matrix %k; what comes of it is %(k + 3)."""
    index = f"{{index=({place}, {place})}}"
    return f"getitem %{k} {index}; add %{k + 1}, %k; setitem %{k}, %{k + 2} {index}"


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
        ("transpose %s {axes=(1, 0)}; add %s, %0", 1),
        ("transpose %s {axes=(1, 0)}; subtract %0, %s", -1),
        (PAIRS, -1),
        (f"{PAIRS}; sin %1", -1),
        (f"{PAIRS}; cos %1", 1),
        (f"{PAIRS}; power %1, 2", 1),
        (f"{PAIRS}; multiply %1, %1", 1),
        (f"{PAIRS}; absolute %1; multiply %2, %1", -1),
        (f"{FAR}; multiply %1, %1; sum %2 {{axis=(2,), keepdims=False}}; sqrt %3", 1),
        (f"{FAR}; multiply %1, %w", -1),
        (f"{PAIRS}; cofactors %1", -1),
        ("reshape %w {shape=(3, 1)}; subtract %0, %w; cofactors %1", 1),
        ("diag %v {k=0}", 1),
        (f"{GRAM}; getitem %1 {{index=(1:3, 1:3)}}", 1),
        (f"{PAIRS}; getitem %1 {{index=(::-1, ::-1)}}", -1),
        (f"{PAIRS}; {TWO_PLACES}; getitem %1, %2, %3 {{index=($0, $1)}}", -1),
        (f"{GRAM}; scatter %1 {{shape=(9, 9), index=(2:6, 2:6)}}", 1),
        (f"{FILLED}; {part(3, '2:4')}; {part(6, '0:2')}; {part(9, '1:3')}", 1),
        (f"{FILLED}; {CROSS}", 1),
        (f"{FILLED}; {CROSS}; {part(5, '2:4')}", 1),
        (f"{FILLED}; setitem %3, %k {{index=(2, 2)}}", 1),
        (f"{FILLED}; {TWO_PLACES}; setitem %3, %k, %4, %5 {{index=($0, $1)}}", 1),
        (f"{PAIRS}; setitem %1, 0.0 {{index=(0,)}}; setitem %2, 0.0 {{index=(:, 0)}}", -1),
        # nothing known
        (f"{GRAM}; getitem %1 {{index=(1:3, 0:2)}}", 0),
        (f"{GRAM}; getitem %1 {{index=(1, 1)}}", 0),
        (f"{GRAM}; {TWO_PLACES}; getitem %1, %3, %2 {{index=($0, $1)}}", 0),
        (f"{GRAM}; getitem %1 {{index=(1:3,)}}; getitem %2 {{index=(:, 1:3)}}", 0),
        (f"{GRAM}; scatter %1 {{shape=(9, 9), index=(2:6, 1:5)}}", 0),
        (f"{FILLED}; setitem %3, %k {{index=(2, 1)}}", 0),
        (f"{FILLED}; setitem %3, %w {{index=(1:, 1:)}}", 0),
        (f"{FILLED}; setitem %3, 0.0 {{index=(0,)}}", 0),
        (f"{FILLED}; setitem %3, 0.0 {{index=(0,)}}; setitem %4, 0.0 {{index=(:, 1)}}", 0),
        (f"{FILLED}; setitem %3, 1.0 {{index=(0,)}}; setitem %4, 0.0 {{index=(:, 0)}}", 0),
        (f"{PAIRS}; setitem %1, 1.0 {{index=(0, 0)}}", 0),
        (f"{PAIRS}; getitem %s {{index=(0:2, 0:2)}}; setitem %1, %2 {{index=(0:2, 0:2)}}", 0),
        ("return %s", 0),
        (f"{GRAM}; add %1, %s", 0),
        (f"{GRAM}; multiply %1, %v", 0),
        (f"{PAIRS}; add %1, 1.0", 0),
        (f"{PAIRS}; exp %1", 0),
        (f"{PAIRS}; power 2.0, %1", 0),
        (f"{PAIRS}; cast %1 {{dtype=bool}}; cast %2 {{dtype=f64}}", 0),
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


def springs(stiffness, load):
    """Moved by this load: each spring between two of six points, the first of which is held."""
    k = np.zeros((6, 6))
    for n, one in enumerate(stiffness):
        k[np.ix_([n % 5, n % 5 + 1], [n % 5, n % 5 + 1])] += one * np.array([[1.0, -1.0], [-1.0, 1.0]])
    k[0, :] = 0.0
    k[:, 0] = 0.0
    k[0, 0] = 1.0
    return load @ np.linalg.solve(k, load)


@pytest.mark.parametrize("count", [5, 700])  # more than a function may call itself
def test_a_filled_matrix_is_solved_with_once(count):
    rng = np.random.default_rng(0)
    stiffness, load = rng.uniform(1.0, 2.0, count), rng.standard_normal(6)
    f = tapec.grad(springs)
    found = f(stiffness, load)
    assert [n.op.name for n in f.ir(stiffness, load).nodes].count("solve") == 1
    moved = np.diff(np.linalg.solve(np.diag([1.0, *[0.0] * 5]) + _of_springs(stiffness), [0.0, *load[1:]]))
    assert np.allclose(found, -(np.resize(moved, count) ** 2), rtol=1e-9)


def _of_springs(stiffness):
    total = [sum(stiffness[n::5]) for n in range(5)]
    ends = np.diff(np.eye(6), axis=0)
    k = ends.T @ np.diag(total) @ ends
    k[0] = k[:, 0] = 0.0
    return k


ELEMENTWISE = sorted(n for n, op in OPS.items() if op.kind == "elementwise" and not op.multi and is_drawn(op))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_parity_of_every_elementwise_op(name):
    """On symmetric and antisymmetric operands, numbers beside them, in every order."""
    op = OPS[name]
    v, c = (input_node(n, Type(s, float)) for n, s in (("v", (4,)), ("c", ())))
    values = np.array([0.3, -0.2, 0.9, 0.5]), np.float64(0.4)
    for kinds in itertools.product("san", repeat=len(op.sample)):
        builder = Builder()
        x, number = Symbol(v, builder), Symbol(c, builder)
        operands = {"s": 0.3 * x[:, None] * x, "a": 0.4 * (x[:, None] - x), "n": number}
        try:
            node = builder.emit(op, tuple([operands[k].node for k in kinds]))
        except TypeError:
            continue  # of integers alone
        parity = swap_parity(node)
        if parity:
            (y,) = interpret(builder.graph([v, c], [node], "f"), *values)
            y[np.isinf(y)] = 0  # 1 / 0 on the diagonal
            np.testing.assert_allclose(y.T, parity * y, rtol=1e-12, atol=1e-14, err_msg=f"{name} of {kinds}")


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


test_rule, test_each_rule_has_a_case = table_tests(CASES, SYMMETRIC_COTANGENTS, check_regular_case)


def test_forces_between_all_pairs():
    def energy(x):
        d = x[:, None, :] - x
        return 0.5 * np.sum(1.0 / np.sqrt(np.sum(d**2, axis=-1) + 0.1))

    x = np.random.default_rng(0).standard_normal((6, 3))
    f = tapec.grad(energy)
    d = x[:, None, :] - x
    s = np.sum(d**2, axis=-1) + 0.1
    assert np.allclose(f(x), -np.sum(d / s[..., None] ** 1.5, axis=1), rtol=1e-12)
    assert call_count(f.source(x), ".sum") == 1


@pytest.mark.parametrize("n", [3, 4])
def test_determinants_of_antisymmetric_matrices(n):
    """Those of odd size are zero whatever the differences."""
    f = tapec.grad(lambda v: np.linalg.det(np.arctan(v[:, None] - v)))
    v = np.array([0.1, 0.5, 1.2, 0.8])[:n]
    check(lambda v: np.linalg.det(np.arctan(v[:, None] - v)), v, order=1)
    if n % 2:
        assert np.allclose(f(v), 0, atol=1e-14)


def test_powers_of_differences():
    v = np.array([0.1, 0.5, 1.2])
    d = v[:, None] - v
    slope = np.log(2.0) * 2.0**d
    found = tapec.grad(lambda v: np.sum(2.0 ** (v[:, None] - v)))(v)
    assert np.allclose(found, slope.sum(1) - slope.sum(0), rtol=1e-12)


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
    assert not count_of(f.source(a, b), "_.T @ _") + count_of(f.source(a, b), "_.T.dot(...)")
