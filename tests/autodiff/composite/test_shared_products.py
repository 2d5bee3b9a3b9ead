"""Products that share two factors are differentiated as multiples of one product."""

from collections import Counter

import numpy as np
import pytest

import tapec
from tapec.autodiff.composite.shared_products import shared_pairs
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.autodiff.rule_application import dependents
from tapec.ir import Graph, Node, interpret, prune, verify
from tapec.ops import Symbol
from tests.autodiff.programs import graph_of
from tests.properties import loops, operations, updates


def pairs_of(graph: Graph, sources: tuple[Node, ...] | None = None):
    sources = graph.inputs if sources is None else sources
    return shared_pairs(graph.nodes, dependents(graph.nodes, sources), sources, lambda node: False)


def how_many(f, *types, wrt=None) -> int:
    """Of the multiplications in the gradient of the sum of what a function gives."""
    graph = graph_of(lambda *xs: np.sum(f(*xs)), *types)
    wrt = range(len(types)) if wrt is None else wrt
    gradient = verify(prune(value_and_grad_graph(graph, wrt)))
    return Counter([n.op.name for n in gradient.nodes if n.role is not None])["multiply"]


def by_complex_steps(f, xs):
    """The gradient of a real function that is analytic, exact but for rounding."""
    found = []
    for k, x in enumerate(xs):
        grad = np.zeros(np.shape(x))
        for i in np.ndindex(np.shape(x)):
            moved = [np.array(z, complex) for z in xs]
            moved[k][i] += 1e-30j
            grad[i] = np.sum(f(*[m[()] for m in moved])).imag / 1e-30
        found.append(grad)
    return found


def flows(g, h):
    """What comes back to products from functions that are not linear."""
    return np.sin(g) * h + np.cos(h)


PROGRAMS = {
    "as Lotka and Volterra wrote": lambda a, b, u, v: flows(a * u - b * u * v, b * b * u * v - a * v),
    "factors in any order": lambda a, b, u, v: flows(a * u * v, u * (v * b)) + v * a * b * u,
    "with numbers": lambda a, b, u, v: flows(2.0 * u * v, 3 * u * v) + flows(a * u * v, -b * u * v),
    "with negatives": lambda a, b, u, v: flows(-a * u * v, b * -u * v) + flows(-(a * u) * v, u * v * b),
    "beside the product itself": lambda a, b, u, v: flows(a * u * v, u * v) + b * np.sin(u * v),
    "before the product itself": lambda a, b, u, v: flows(np.sin(a * u * v), b) + v * u * a,
    "four factors": lambda a, b, u, v: flows(a * u * v * np.sin(u), b * u * v * np.sin(u)),
    "squares and cubes": lambda a, b, u, v: flows(a * u * u * u + b * u * u, b * v * v * u + a * v * v),
    "products of products": lambda a, b, u, v: flows((a * u) * (b * v), (a * b) * (u * v)) + a * b * v,
    "gains and losses": lambda a, b, u, v: flows(-a * u, a * u) + flows(-b * u * v - a * u, b * u * v + -a * -v),
    "of one pair alone": lambda a, b, u, v: flows(a * u * v, b) + np.sin(a * v * u),
    "of three of them": lambda a, b, u, v: flows(a * u * v, b * u * v) + a * b * u * v,
}
SHAPES = {
    "numbers": [(), (), (), ()],
    "arrays": [(3,), (3,), (3,), (3,)],
    "numbers times arrays": [(), (), (2, 3), (2, 3)],
    "rows and columns times arrays": [(3,), (2, 1), (2, 3), (2, 3)],
    "arrays times numbers": [(3,), (3,), (), ()],
}


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name, shapes):
    f = PROGRAMS[name]
    rng = np.random.default_rng(5)
    xs = [rng.uniform(0.4, 1.3, shape)[()] for shape in SHAPES[shapes]]
    wanted = by_complex_steps(f, xs)
    for argnums in ((0, 1, 2, 3), (2, 3), (0, 2), (1,)):
        found = tapec.grad(lambda *given: np.sum(f(*given)), argnums=argnums)(*xs)
        for k, grad in zip(argnums, found, strict=True):
            np.testing.assert_allclose(grad, wanted[k], rtol=1e-12, atol=1e-13)
    with tapec.GradientTape() as tape:
        given = [tapec.constant(x) for x in xs]
        for x in given:
            tape.watch(x)
        y = np.sum(f(*given))
    for grad, want in zip(tape.gradient(y, given), wanted, strict=True):
        np.testing.assert_allclose(np.asarray(grad), want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives(name):
    f = PROGRAMS[name]
    rng = np.random.default_rng(6)
    xs = [rng.uniform(0.4, 1.3, 2) for _ in range(4)]

    def slope(*given):
        return tapec.grad(lambda *xs: np.sum(f(*xs)), argnums=(0, 1, 2, 3))(*given)

    direction = rng.normal(size=(4, 2))
    step = 1e-5
    ends = [slope(*[x + sign * step * d for x, d in zip(xs, direction, strict=True)]) for sign in (1, -1)]
    wanted = [(a - b) / (2 * step) for a, b in zip(*ends, strict=True)]
    over = tapec.grad(
        lambda *xs: sum([np.sum(g * d) for g, d in zip(slope(*xs), direction, strict=True)]), (0, 1, 2, 3)
    )
    for found, want in zip(over(*xs), wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-8)
    pushed = tapec.jvp(slope, tuple(xs), tuple(direction))[1]
    for found, want in zip(pushed, wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-8)


def test_hessian_of_a_polynomial():
    def f(x):
        return 2.0 * x[0] * x[1] * x[2] + 5.0 * x[0] * x[1] * x[3] + x[0] * x[1] * x[1]

    a, b, c, d = x = np.array([0.5, -1.5, 2.0, 3.0])
    s = 2 * c + 5 * d + 2 * b
    wanted = [[0, s, 2 * b, 5 * b], [s, 2 * a, 2 * a, 5 * a], [2 * b, 2 * a, 0, 0], [5 * b, 5 * a, 0, 0]]
    np.testing.assert_allclose(tapec.hessian(f)(x), wanted, rtol=1e-15)


# -- what it saves ----------------------------------------------------------------------------------------------------
FOUR = [(), (), (), ()]


def test_two_products_pass_their_cotangents_on_once():
    def f(a, b, u, v):
        return np.sin(a * u * v) * np.cos(b * u * v)

    between = 2  # sin' and cos' times the other factor
    assert how_many(f, *FOUR) == between + 7  # g * a, h * b; times u, v; u * v, times g, h
    assert how_many(f, *FOUR, wrt=(2, 3)) == between + 4
    assert how_many(f, *FOUR, wrt=(0, 1)) == between + 3
    assert how_many(f, *FOUR, wrt=(2,)) == between + 3


def test_the_value_of_a_product_that_is_there_is_used():
    def f(a, b, u, v):
        return np.sin(a * u * v) * np.cos(u * v)

    assert how_many(f, *FOUR, wrt=(0, 2, 3)) == 2 + 4  # g * a, g * (u * v); times u, v
    graph = graph_of(f, *FOUR)
    found = pairs_of(graph)
    (pair,) = found.made
    product = found.made[pair]
    assert product in graph.nodes  # it comes after a * u * v
    assert found.nodes.index(pair) < min([found.nodes.index(y) for y in found.multiples])


def test_pairs_of_pairs():
    def f(a, b, u, v):
        w = np.sin(u)
        return np.exp(a * u * v * w) * np.cos(b * u * v * w)

    assert len(pairs_of(graph_of(f, *FOUR)).made) == 2


def test_values_recorded_twice_are_a_pair():
    def f(p, y):
        y0, y1 = y[0], y[1]
        twins = [Symbol(p.builder.append(x.node.with_inputs(x.node.inputs)), p.builder) for x in (y0, y1)]
        return np.sin(p[0] * y0 * y1) * np.cos(p[1] * twins[1] * twins[0])

    graph = graph_of(f, (2,), (2,))
    (pair,) = pairs_of(graph).made
    assert pair.inputs == graph.nodes[:2]
    assert pairs_of(graph, (graph.inputs[0], *graph.nodes[2:4])) is None  # one of each is a source
    found = interpret(value_and_grad_graph(graph, (0, 1)), *[x := np.array([0.3, 0.4]), y := np.array([0.5, 0.6])])

    def g(p, y):
        return np.sin(p[0] * y[0] * y[1]) * np.cos(p[1] * y[1] * y[0])

    for grad, want in zip(found[1:], by_complex_steps(g, (x, y)), strict=True):
        np.testing.assert_allclose(grad, want, rtol=1e-14)


def test_negatives_pass_their_cotangents_on_once():
    def two(a, b, u, v):
        return np.sin(-a * u) * np.cos(u * a)

    def three(a, b, u, v):
        return np.sin(-a * u * v) * np.cos(a * u * v)

    def flipped(a, b, u, v):
        return np.sin(-(a * u) * v) * np.cos(-v * a * -u)

    between = 2
    assert how_many(two, *FOUR, wrt=(0, 2)) == between + 2
    assert how_many(two, *FOUR, wrt=(0,)) == between + 1
    for f in (three, flipped):
        assert how_many(f, *FOUR, wrt=(0, 2, 3)) == between + 4


def test_values_recorded_twice_have_one_cotangent():
    def f(u, v):
        product = u * v
        twin = Symbol(u.builder.append(product.node.with_inputs(product.node.inputs)), u.builder)
        return np.sin(u * -1.5 * v) * np.cos(product) * np.exp(twin)

    graph = graph_of(f, (), ())
    found = pairs_of(graph)
    (known,) = found.made.values()
    assert known in graph.nodes
    assert len(found.multiples) == 3


def test_a_loop_backward_has_few_products():
    def steps(p, y):
        for _ in range(20):
            u, v = y[0], y[1]
            y = y + 0.01 * np.stack([p[0] * u - p[1] * u * v, p[2] * u * v - p[3] * v])
        return np.sum(y * y)

    p, y = np.array([1.5, 1.0, 0.7, 3.0]), np.array([1.0, 0.8])
    f = tapec.grad(steps, argnums=(0, 1))
    found = f(p, y)
    for grad, want in zip(found, by_complex_steps(steps, (p, y)), strict=True):
        np.testing.assert_allclose(grad, want, rtol=1e-12)
    back = loops(f.source(p, y))[-1]
    assert operations(back, "*") + updates(back, "*") <= 13  # 11, and two times 0.01


# -- what it leaves alone ---------------------------------------------------------------------------------------------
def counted(v):
    return (v > 0.5).astype(np.uint8)


OTHERS = {
    "one product": lambda a, b, u, v: a * u * v + b * u + np.sin(b) * v,
    "the inner product is used elsewhere": lambda a, b, u, v: np.sin(a * u) * (a * u * v) + np.sin(b * u) * (b * u * v),
    "no two factors in common": lambda a, b, u, v: a * b * u + np.sin(u * v * v),
    "shapes of a table": lambda a, b, u, v: a * u[:, None] * v + b * u[:, None] * v,
    "digits of two kinds": lambda a, b, u, v: a * u.astype(np.float32) * v + b * u.astype(np.float32) * v,
    "negatives of whole numbers": lambda a, b, u, v: np.sin(counted(v) * u) * np.sin(-counted(v) * u),
    "whole numbers": lambda a, b, u, v: np.arange(3) * u * a + np.arange(3) * u * b,
    "complex numbers": lambda a, b, u, v: (1j * a * u * v + 2j * b * u * v).real,
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay_as_they_are(name):
    graph = graph_of(lambda *xs: np.sum(OTHERS[name](*xs)), (3,), (3,), (3,), (3,))
    assert pairs_of(graph) is None


def test_what_only_the_last_factor_depends_on_saves_nothing():
    graph = graph_of(lambda a, b, u, v: np.sin(a * u * v) * np.cos(b * u * v), *FOUR)
    assert pairs_of(graph, (graph.inputs[3],)) is None
    assert pairs_of(graph, (graph.inputs[2],)) is not None


def test_one_factor_of_a_pair_saves_nothing():
    graph = graph_of(lambda a, b, u, v: np.sin(a * u * v) * np.cos(b * u * v), *FOUR)
    assert pairs_of(graph, (graph.inputs[0], graph.inputs[1], graph.inputs[3])) is None


def test_products_with_a_derivative_of_their_own_keep_it():
    def f(a, b, x):
        return np.sum(a * x * np.sqrt(x) + b * x * np.sqrt(x))

    def g(a, b, x):
        return np.sum(np.sqrt(x) * x * a + b * x * a)

    a, b, x = np.array([2.0, 3.0]), np.array([5.0, 7.0]), np.array([0.0, 4.0])
    for h, wanted in ((f, ([0, 8], [0, 8], [0, 30])), (g, ([0, 36], [0, 12], [10, 30]))):
        for grad, want in zip(tapec.grad(h, argnums=(0, 1, 2))(a, b, x), wanted, strict=True):
            np.testing.assert_allclose(grad, want, rtol=1e-15)


def test_inner_products_may_be_sources():
    with tapec.GradientTape(persistent=True) as tape:
        a, b, u, v = given = [tapec.constant(x) for x in (2.0, 3.0, 5.0, 7.0)]
        for x in given:
            tape.watch(x)
        inner, uv = a * u, u * v
        y = inner * v + 10.0 * (b * u * v) + 100.0 * uv
    d_inner, d_uv, d_u, d_a = tape.gradient(y, [inner, uv, u, a])
    assert [float(x) for x in (d_inner, d_uv, d_u, d_a)] == [7.0, 100.0, 7.0 * (2 + 30 + 100), 35.0]


def test_negatives_may_be_sources():
    with tapec.GradientTape() as tape:
        k, u = tapec.constant(2.0), tapec.constant(3.0)
        tape.watch(k)
        tape.watch(u)
        less = -k
        y = 10.0 * (less * u) + np.square(k * u)
    d_less, d_k, d_u = tape.gradient(y, [less, k, u])
    assert (float(d_less), float(d_k), float(d_u)) == (30.0, -30.0 + 36.0, -20.0 + 24.0)


def test_of_two_equal_values_one_may_be_a_source():
    with tapec.GradientTape() as tape:
        p, y = tapec.constant(np.array([2.0, 3.0])), tapec.constant(np.array([5.0, 7.0]))
        tape.watch(p)
        tape.watch(y)
        u, twin = y[0], y[0]
        z = p[0] * u * y[1] + p[1] * twin * y[1]
    d_u, d_twin, d_y = tape.gradient(z, [u, twin, y])
    assert (float(d_u), float(d_twin)) == (14.0, 21.0)
    np.testing.assert_array_equal(np.asarray(d_y), [35.0, 25.0])


def test_several_targets_with_cotangents_of_their_own():
    with tapec.GradientTape() as tape:
        a, b, u, v = given = [tapec.constant(x) for x in (2.0, 3.0, 5.0, 7.0)]
        for x in given:
            tape.watch(x)
        first = a * u
        y, z = first * v, b * u * v
    out = [tapec.constant(x) for x in (1.0, 10.0, 100.0)]
    d_a, d_b, d_u, d_v = tape.gradient([y, z, first], given, output_gradients=out)
    assert (float(d_a), float(d_b)) == (35.0 + 500.0, 350.0)
    assert (float(d_u), float(d_v)) == (14.0 + 210.0 + 200.0, 10.0 + 150.0)


def test_checkpoints():
    def part(a, b, u, v):
        return flows(a * u * v, b * u * v)

    xs = (0.5, 0.6, 0.7, 0.8)
    found = tapec.grad(lambda *xs: np.sin(tapec.checkpoint(part)(*xs)), argnums=(0, 1, 2, 3))(*xs)
    np.testing.assert_allclose(found, by_complex_steps(lambda *xs: np.sin(part(*xs)), xs), rtol=1e-13)


# -- zeros and infinities ---------------------------------------------------------------------------------------------
def test_zeros():
    def f(a, b, u, v):
        return np.sum(a * u * v + 2.0 * (b * u * v))

    a, b = np.array([3.0, 3.0, 0.0]), np.array([5.0, 5.0, 0.0])
    u, v = np.array([0.0, 7.0, 7.0]), np.array([2.0, 0.0, 2.0])
    d_a, d_b, d_u, d_v = tapec.grad(f, argnums=(0, 1, 2, 3))(a, b, u, v)
    np.testing.assert_array_equal(d_a, [0, 0, 14])
    np.testing.assert_array_equal(d_b, [0, 0, 28])
    np.testing.assert_array_equal(d_u, [26, 0, 0])
    np.testing.assert_array_equal(d_v, [0, 91, 0])


def test_an_infinite_factor():
    def f(a, b, u, v):
        return np.sum(a * u * v + 2.0 * (b * u * v))

    one = np.ones(1)
    d_a, d_b, d_u, d_v = tapec.grad(f, argnums=(0, 1, 2, 3))(one, one, np.array([np.inf]), -one)
    assert [x.item() for x in (d_a, d_b, d_u, d_v)] == [-np.inf, -np.inf, -3.0, np.inf]


def test_infinities_that_were_not_chosen_stay_out():
    def f(a, b, x, v):
        u = np.log(x)
        return np.sum(np.where(x > 0, a * u * v, 0.0)) + np.sum(np.where(x > 0, np.sin(b * u * v), 0.0))

    x = np.array([0.0, 2.0])
    a, b, v = np.array([0.3, 0.4]), np.array([0.5, 0.6]), np.array([0.7, 0.8])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = tapec.grad(f, argnums=(0, 1, 2, 3))(a, b, x, v)
    s, t = np.log(2.0), np.cos(0.6 * np.log(2.0) * 0.8)
    wanted = [s * 0.8, t * s * 0.8, (0.4 + t * 0.6) * 0.8 / 2, (0.4 + t * 0.6) * s]
    for grad, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(grad, [0, want], rtol=1e-14)
