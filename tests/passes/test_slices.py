"""Slices of slices and of elementwise operations: each rule where it fires and where it must not."""

import numpy as np

import tapec
from tapec.ir import parse
from tapec.ir.static_index import Slice
from tapec.passes.engine.rewrite import Rewriter, RuleSet
from tapec.passes.engine.use_counts import Uses
from tapec.passes.rules import SLICES, SUMS_OF_PARTS
from tapec.passes.rules.selection.slices import composed
from tapec.passes.tuning import SLICED_MAX_OPS
from tests.passes.support import Case, table_tests, text
from tests.properties import allocates, has

X = "%x: f64[6,8], %y: f64[6,8], %r: f64[8], %c: f64[6,1], %s: f64[], %i: i64[3], %v: f64[4,8], %w: f64[4,7]"

PUT = "scatter %v {shape=(6, 8), index=(2:,)} !ct; scatter %v {shape=(6, 8), index=(1:-1,)} !ct; "


def chain(n, first="x"):
    """That many operations on a value, each on the result of the one before."""
    return "".join([f"sin %{first if k == 0 else k - 1 + (first == 0)}; " for k in range(n)])


CASES = {
    "difference": Case(
        X,
        [
            ("diff %x {n=1, axis=0}", "getitem %x {index=(1:,)}; getitem %x {index=(:-1,)}; subtract %0, %1"),
            ("diff %x {n=1, axis=1}", "getitem %x {index=(:, 1:)}; getitem %x {index=(:, :-1)}; subtract %0, %1"),
            (
                "diff %r {n=2, axis=0}",
                "getitem %r {index=(1:,)}; getitem %r {index=(:-1,)}; subtract %0, %1; getitem %2 {index=(1:,)}; "
                "getitem %2 {index=(:-1,)}; subtract %3, %4",
            ),
        ],
        ["diff %r {n=9, axis=0}", "diff %i {n=1, axis=0}"],
    ),
    "slice-of-product": Case(
        "%a: f64[6, 4], %b: f64[4, 8], %c: f64[4], %s: f64[2, 6, 4]",
        [
            ("matmul %a, %b; getitem %0 {index=(:, :3)}", "getitem %b {index=(:, :3)}; matmul %a, %0"),
            (
                "matmul %a, %b; getitem %0 {index=(1:, 2)}",
                "getitem %a {index=(1:,)}; getitem %b {index=(:, 2)}; matmul %0, %1",
            ),
            ("matmul %a, %b; getitem %0 {index=(3,)}", "getitem %a {index=(3,)}; matmul %0, %b"),
            (
                "matmul %a, %b; getitem %0 {index=(-1, 0)}",
                "getitem %a {index=(-1,)}; getitem %b {index=(:, 0)}; matmul %0, %1",
            ),
        ],
        [
            "matmul %a, %b; getitem %0 {index=(:, :3)}; return %0, %1",  # all of it is needed
            "matmul %a, %b; getitem %0 {index=(:, :3)}; getitem %0 {index=(:, 3:)}; return %1, %2",
            "matmul %a, %b; getitem %0 {index=(::2,)}",
            "matmul %a, %c; getitem %0 {index=(:3,)}",
            "matmul %s, %b; getitem %0 {index=(1,)}",
        ],
    ),
    "slice-of-part": Case(
        X,
        [
            (
                "scatter %v {shape=(6, 8), index=(1:-1,)}; getitem %0 {index=(:3,)}",
                "getitem %v {index=(:2,)}; scatter %0 {shape=(3, 8), index=(1:,)}",
            ),
            (
                "scatter %w {shape=(6, 8), index=(2:, :-1)}; getitem %0 {index=(1:-1, 1:)}",
                "getitem %w {index=(:-1, 1:)}; scatter %0 {shape=(4, 7), index=(1:, :-1)}",
            ),
            ("scatter %v {shape=(6, 8), index=(2:,)}; getitem %0 {index=(3:, 1:)}", "getitem %v {index=(1:, 1:)}"),
        ],
        [
            "scatter %v {shape=(6, 8), index=(2:,)}; getitem %0 {index=(:2,)}",  # nothing of it
            "scatter %v {shape=(6, 8), index=(1:-1,)}; getitem %0 {index=(:3,)}; return %0, %1",
            "scatter %v {shape=(8, 8), index=(::2,)}; getitem %0 {index=(:3,)}",
            "scatter %v {shape=(6, 8), index=(1:-1,)}; getitem %0 {index=(::2,)}",
            "scatter %r, %i {shape=(6, 8), index=($0,)}; getitem %0 {index=(:3,)}",
        ],
    ),
    "whole-before-parts": Case(
        X,
        [
            (PUT + "subtract %0, %1 !ct; add %2, %x !ct", PUT + "add %x, %0 !ct; subtract %2, %1 !ct"),
            (PUT + "subtract %0, %1 !ct; add %x, %2 !ct", PUT + "add %x, %0 !ct; subtract %2, %1 !ct"),
            (PUT + "add %0, %1 !ct; subtract %x, %2 !ct", PUT + "subtract %x, %0 !ct; subtract %2, %1 !ct"),
            (
                PUT + "add %0, %1 !ct; subtract %2, %x !ct",
                PUT + "negative %x !ct; add %2, %0 !ct; add %3, %1 !ct",
            ),
            (PUT + "add 0.5, %0 !ct; subtract %2, %x !ct", PUT + "negative %x !ct; add %2, 0.5 !ct; add %3, %0 !ct"),
        ],
        [
            PUT + "subtract %0, %1; add %2, %x",
            PUT + "subtract %0, %x !ct; multiply %2, %1 !ct",
            PUT + "add %x, %0 !ct; subtract %2, %1 !ct",
            PUT + "add 0.5, %x !ct; subtract %2, %y !ct",
            PUT + "add %0, %1; add %2, %x !ct",  # what the user added up
            "subtract %x, %y !ct; full {shape=(6, 8), value=0.5, dtype=f64}; add %0, %1 !ct",
            PUT + "add %0, %x !ct",  # which is added in place anyway
            PUT + "subtract %0, %1 !ct; add %2, %x !ct; return %2, %3",
            PUT + "subtract %0, %1 !ct; add %2, %s !ct",
            PUT + "multiply %1, %y !ct; add %0, %2 !ct; add %3, %x !ct",
        ],
    ),
    "slice-of-slice": Case(
        X,
        [
            ("getitem %x {index=(1:,)}; getitem %0 {index=(:, :-1)}", "getitem %x {index=(1:, :-1)}"),
            ("getitem %x {index=(1:5,)}; getitem %0 {index=(:2, 3:)}", "getitem %x {index=(1:3, 3:)}"),
            ("getitem %x {index=(..., 1:)}; getitem %0 {index=(:, :-1)}", "getitem %x {index=(:, 1:-1)}"),
            ("getitem %x {index=(2:,)}; getitem %0 {index=(1,)}", "getitem %x {index=(3,)}"),
            ("getitem %x {index=(1:-1,)}; getitem %0 {index=(-1, 2:)}", "getitem %x {index=(-2, 2:)}"),
            ("getitem %x {index=(:, 3)}; getitem %0 {index=(1:,)}", "getitem %x {index=(1:, 3)}"),
        ],
        [
            "getitem %x {index=(::2,)}; getitem %0 {index=(1:,)}",
            "getitem %x {index=(1:, None)}; getitem %0 {index=(1:,)}",
            "getitem %x, %i {index=($0,)}; getitem %0 {index=(1:,)}",
        ],
    ),
    "slice-of-elementwise": Case(
        X,
        [
            (
                "subtract %x, %y; getitem %0 {index=(:, :-1)}",
                "getitem %x {index=(:, :-1)}; getitem %y {index=(:, :-1)}; subtract %0, %1",
            ),
            (  # each operand is cut along the axes that it has
                "multiply %x, %r; getitem %0 {index=(1:, 2:)}",
                "getitem %x {index=(1:, 2:)}; getitem %r {index=(2:,)}; multiply %0, %1",
            ),
            (
                "add %x, %c; getitem %0 {index=(1:, 2:)}",
                "getitem %x {index=(1:, 2:)}; getitem %c {index=(1:,)}; add %0, %1",
            ),
            ("multiply %x, %s; getitem %0 {index=(1:,)}", "getitem %x {index=(1:,)}; multiply %0, %s"),
            ("add %c, %r; getitem %0 {index=(:, 2:)}", "getitem %r {index=(2:,)}; add %c, %0"),
            ("exp %x; getitem %0 {index=(1:,)}", "getitem %x {index=(1:,)}; exp %0"),
            (  # one place: of what is spread out there, the only one
                "multiply %x, %r; add %0, %c; getitem %1 {index=(..., -1)}",
                "getitem %x {index=(:, -1)}; getitem %r {index=(-1,)}; multiply %0, %1; "
                "getitem %c {index=(:, 0)}; add %2, %3",
            ),
            ("multiply %x, %r; getitem %0 {index=(1,)}", "getitem %x {index=(1,)}; multiply %0, %r"),
            (  # all at once
                "exp %x; multiply %0, %y; subtract %1, %0; sin %2; getitem %3 {index=(1:,)}",
                "exp %x; getitem %y {index=(1:,)}; getitem %0 {index=(1:,)}; multiply %2, %1; subtract %3, %2; sin %4",
            ),
            (  # many, for half of the elements
                chain(SLICED_MAX_OPS + 1) + f"getitem %{SLICED_MAX_OPS} {{index=(3:,)}}",
                "getitem %x {index=(3:,)}; " + chain(SLICED_MAX_OPS + 1, 0).removesuffix("; "),
            ),
        ],
        [
            chain(SLICED_MAX_OPS + 1) + f"getitem %{SLICED_MAX_OPS} {{index=(1:,)}}",
            "subtract %x, %y; getitem %0 {index=(:, :-1)}; return %0, %1",
            "subtract %x, %y; getitem %0 {index=(:, 1:)}; getitem %0 {index=(1:,)}; return %1, %2",
            "subtract %x, %y; getitem %0 {index=(::-1,)}",
            "subtract %x, %y; getitem %0, %i {index=($0,)}",
            "power %x, %s; getitem %0 {index=(1:,)}",
        ],
    ),
    "part-of-part": Case(
        X,
        [
            (
                "scatter %w {shape=(4, 8), index=(:, 1:)}; scatter %0 {shape=(6, 8), index=(1:-1,)}",
                "scatter %w {shape=(6, 8), index=(1:-1, 1:)}",
            ),
            (
                "scatter %v {shape=(1, 4, 8), index=(0,)}; scatter %0 {shape=(2, 4, 8), index=(1:,)}",
                "scatter %v {shape=(2, 4, 8), index=(1,)}",
            ),
        ],
        [
            "scatter %w {shape=(4, 8), index=(:, 1:)}; scatter %0 {shape=(8, 8), index=(::2,)}",
            "scatter %v {shape=(1, 4, 8), index=(None,)}; scatter %0 {shape=(2, 4, 8), index=(1:,)}",
        ],
    ),
    "product-taken-away": Case(
        "%x: f64[6,8], %v: f64[6], %k: f64[], %w: f64[6]",
        [
            (
                "multiply %k, %v !ct; scatter %0 {shape=(6, 8), index=(:, 2)} !ct; subtract %x, %1 !ct",
                "negative %k !ct; multiply %0, %v !ct; scatter %1 {shape=(6, 8), index=(:, 2)} !ct; add %x, %2 !ct",
            ),
            (
                "multiply %v, 3.0 !ct; multiply %0, %w !ct; scatter %1 {shape=(6, 8), index=(:, 2)} !ct; "
                "subtract %x, %2 !ct",
                "negative 3.0 !ct; multiply %v, %0 !ct; multiply %1, %w !ct; "
                "scatter %2 {shape=(6, 8), index=(:, 2)} !ct; add %x, %3 !ct",
            ),
        ],
        [
            "multiply %k, %v; scatter %0 {shape=(6, 8), index=(:, 2)}; subtract %x, %1",
            "multiply %w, %v !ct; scatter %0 {shape=(6, 8), index=(:, 2)} !ct; subtract %x, %1 !ct",
            "multiply %k, %v !ct; scatter %0 {shape=(6, 8), index=(:, 2)} !ct; subtract %x, %1 !ct; return %0, %2",
            "multiply %k, %v !ct; scatter %0 {shape=(6, 8), index=(:, 2)} !ct; subtract %x, %1 !ct; return %1, %2",
        ],
    ),
    "part-taken-away": Case(
        X,
        [
            (
                "negative %v !ct; scatter %0 {shape=(6, 8), index=(2:,)} !ct; add %x, %1 !ct",
                "scatter %v {shape=(6, 8), index=(2:,)} !ct; subtract %x, %0 !ct",
            ),
            (
                "negative %v !ct; scatter %0 {shape=(6, 8), index=(2:,)} !ct; add %1, %x !ct",
                "scatter %v {shape=(6, 8), index=(2:,)} !ct; subtract %x, %0 !ct",
            ),
        ],
        [
            "negative %v; scatter %0 {shape=(6, 8), index=(2:,)}; add %x, %1",
            "scatter %v {shape=(6, 8), index=(2:,)} !ct; add %x, %0 !ct",
            "negative %v !ct; scatter %0 {shape=(6, 8), index=(2:,)} !ct; add %x, %1 !ct; return %1, %2",
            "negative %v !ct; scatter %0 {shape=(6, 8), index=(2:,)} !ct; scatter %0 {shape=(6, 8), index=(1:5,)} !ct; "
            "add %1, %2 !ct",
        ],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, (*SLICES, *SUMS_OF_PARTS))


def test_composed_slices_take_the_same():
    rng = np.random.default_rng(0)
    for _ in range(500):
        n = int(rng.integers(0, 9))
        bounds = [None if rng.random() < 0.3 else int(b) for b in rng.integers(-10, 11, 4)]
        outer, inner = Slice(*bounds[:2], None), Slice(*bounds[2:], None)
        x = np.arange(n)
        (both,) = composed((outer,), (inner,), (n,))
        np.testing.assert_array_equal(x[slice(*outer)][slice(*inner)], x[slice(*both)])


def test_long_sums_are_looked_at_once(monkeypatch):
    """Whether whole arrays or parts are added up: each sum asks of few before it how often they are used."""
    asked, of = [], Uses.of
    monkeypatch.setattr(Uses, "of", lambda self, node: asked.append(node) or of(self, node))
    n = 300
    for summand in ("%x", "%0"):
        sums = [f"add %{k - 1}, {summand if k % 2 else '%y'} !ct" for k in range(2, n)]
        body = f"scatter %v {{shape=(6, 8), index=(2:,)}} !ct; add %0, {summand} !ct; " + "; ".join(sums)
        RuleSet("", SUMS_OF_PARTS)(parse(text(X, body)))
    assert len(asked) < 8 * n


def test_a_slice_after_each_operation(monkeypatch):
    """Operations of which all but one element is read are computed again for a bounded number of slices."""
    made, emit = [], Rewriter.emit
    monkeypatch.setattr(Rewriter, "emit", lambda self, op, *more: made.append(op) or emit(self, op, *more))
    n = 200
    steps = [f"sin %{2 * k - 1 if k else 'x'}; getitem %{2 * k} {{index=(1:,)}}" for k in range(n)]
    RuleSet("", SLICES)(parse(text("%x: f64[300]", "; ".join(steps))))
    assert len(made) < SLICED_MAX_OPS * n


def test_a_stencil_of_padded_values():
    """What flows back from slices of a padded array is added to what is there, without the margin."""

    def residual(u, f):
        p = np.pad(u, 1)
        return np.sum((p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u - f) ** 2)

    u, f = np.random.default_rng(0).normal(size=(2, 20, 30))
    gradient = tapec.grad(residual)
    tapec.check_grads(residual, (u[:5, :6], f[:5, :6]))
    p = np.pad(u, 1)
    r = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u - f
    q = np.pad(r, 1)
    wanted = 2 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] - 4 * r)
    np.testing.assert_allclose(gradient(u, f), wanted, atol=1e-12)
    assert not allocates(gradient.source(u, f), "zeros")


def test_total_variation():
    """Differences along both axes, each read but for one line: four places, and nothing of the image's size beside."""

    def variation(u):
        dx, dy = u[1:] - u[:-1], u[:, 1:] - u[:, :-1]
        return np.sum(np.sqrt(dx[:, :-1] ** 2 + dy[:-1] ** 2 + 1e-3))

    u = np.random.default_rng(0).normal(size=(40, 50))
    gradient = tapec.grad(variation)
    tapec.check_grads(variation, (u[:5, :6],))
    dx, dy = (u[1:] - u[:-1])[:, :-1], (u[:, 1:] - u[:, :-1])[:-1]
    s = np.sqrt(dx**2 + dy**2 + 1e-3)
    wanted = np.zeros_like(u)
    wanted[1:, :-1] += dx / s
    wanted[:-1, :-1] -= dx / s + dy / s
    wanted[:-1, 1:] += dy / s
    np.testing.assert_allclose(gradient(u), wanted, atol=1e-12)
    assert allocates(gradient.source(u), "zeros") == 1


def test_joined_arrays_have_the_cotangents_that_are_needed():
    """Half of the columns of a product belong to an input that has no gradient."""
    rng = np.random.default_rng(0)
    w, h, x = rng.normal(size=(50, 20)), rng.normal(size=(30, 20)), rng.normal(size=(30, 30))

    def loss(h, w, x):
        return np.sum(np.tanh(np.concatenate([h, x], axis=1) @ w))

    gradient = tapec.grad(loss)
    slope = 1.0 - np.tanh(np.concatenate([h, x], axis=1) @ w) ** 2
    np.testing.assert_allclose(gradient(h, w, x), slope @ w[:20].T, rtol=1e-12)
    assert has(gradient.source(h, w, x), "d_h = _.dot(w.T[:, :20])")
