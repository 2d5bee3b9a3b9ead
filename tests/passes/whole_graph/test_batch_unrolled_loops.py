"""Products of an unrolled loop that are done at once: where, where not, and that values stay."""

import numpy as np
import pytest

import tapec
from tapec.ir import interpret, parse, verify
from tapec.passes.pipeline import run_passes
from tapec.passes.whole_graph.conditions import has_steps
from tests.passes.support import text
from tests.properties import has

INPUTS = "%x: f64[6,3], %w: f64[7,3], %u: f64[6,7], %s: f64[9,4,3], %v: f64[3,7], %m: f64[7,3], %q: f64[2], %i: i64[2]"
RNG = np.random.default_rng(0)


def run(body, inputs=INPUTS):
    """The graph before and after, and that both compute the same."""
    graph = verify(parse(text(inputs, body)))
    made = verify(run_passes(graph, ["batched"]))
    values = [
        (RNG.standard_normal(i.type.shape) if i.type.dtype.kind == "f" else np.zeros(i.type.shape, int))
        for i in graph.inputs
    ]
    for got, wanted in zip(interpret(made, *values), interpret(graph, *values), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)
    return graph, made


def names(graph):
    return [n.op.name for n in graph.nodes]


def outers(count, role=" !ct", start=0):
    """A sum of outer products of rows of u and x; the last line is it."""
    lines, last = [], None
    for k in range(start, start + count):
        at = len(lines)
        lines += [f"getitem %u {{index=({k},)}}{role}", f"reshape %{at} {{shape=(7, 1)}}{role}"]
        lines += [f"getitem %x {{index=({k},)}}{role}", f"multiply %{at + 1}, %{at + 2}{role}"]
        if last is not None:
            lines.append(f"add %{last}, %{at + 3}{role}")
        last = len(lines) - 1
    return lines


def test_outer_products_are_added_up_by_one_product():
    _, made = run("; ".join(outers(6)))
    assert names(made) == ["transpose", "matmul"]  # of the arrays whose rows they are
    _, made = run("; ".join(outers(5, start=1)))
    assert names(made) == ["getitem", "transpose", "getitem", "matmul"]


def total(pairs, lines=()):
    """A sum of outer products of these vectors; the last line is it."""
    lines = list(lines)
    sums = []
    for u, v in pairs:
        column = f"%{len(lines)}"
        lines += [f"reshape {u} {{shape=(7, 1)}} !ct", f"multiply {column}, {v} !ct"]
        sums = [*sums, f"%{len(lines) - 1}"]
        if len(sums) > 1:
            lines.append(f"add {', '.join(sums)} !ct")
            sums = [f"%{len(lines) - 1}"]
    return lines


LONG, SHORT = (", ".join([f"%{name}{k}: f64[{n}]" for k in range(6)]) for name, n in (("a", 7), ("b", 3)))
ROWS_OF_U, ROWS_OF_X = ([f"getitem {x} {{index=({k},)}} !ct" for k in range(6)] for x in ("%u", "%x"))


@pytest.mark.parametrize(
    ("rows", "pair", "names_of_others"),
    [(ROWS_OF_U, "%{0} %b{0}", "b"), (ROWS_OF_X, "%a{0} %{0}", "a")],
)
def test_rows_of_either_factor_are_put_in_order(rows, pair, names_of_others):
    pairs = [pair.format(k).split() for k in reversed(range(6))]
    _, made = run("; ".join(total(pairs, rows)), ", ".join([INPUTS, LONG, SHORT]))
    [stack] = [n for n in made.nodes if n.op.name == "stack"]
    assert [i.name for i in stack.inputs] == [f"{names_of_others}{k}" for k in range(6)]
    assert "getitem" not in names(made)


def test_sums_over_the_same_steps_share_their_rows():
    """One goes through them backward, as gradients do."""
    steps = [f"sin %a{k} !ct" for k in range(6)] + [f"cos %b{k} !ct" for k in range(6)]
    lines = total([(f"%{k}", f"%b{k}") for k in range(6)], steps)
    first = len(lines) - 1
    lines = total([(f"%{k}", f"%{6 + k}") for k in reversed(range(6))], lines)
    _, made = run("; ".join([*lines, f"return %{first}, %{len(lines) - 1}"]), f"{LONG}, {SHORT}")
    stacks = [[i.op.name for i in n.inputs] for n in made.nodes if n.op.name == "stack"]
    assert sorted(map(set, stacks), key=str) == [{"cos"}, {"input"}, {"sin"}]


@pytest.mark.parametrize("first", [0, 3])
def test_an_argument_among_the_rows_of_another(first):
    """As the state that a recurrent net begins with, which has no inputs."""
    vectors = [f"%{k}" for k in range(6)]
    vectors[first] = "%b0"
    _, made = run(
        "; ".join(total([(f"%a{k}", v) for k, v in enumerate(vectors)], ROWS_OF_X)), f"{INPUTS}, {LONG}, {SHORT}"
    )
    assert names(made).count("stack") == 2
    w, b, x = RNG.standard_normal((5, 5)), RNG.standard_normal(5), RNG.standard_normal((5, 5))

    def loss(w, b, x):
        h = 0.0
        for v in (b, *x):
            h = h + np.sum(np.tanh(w @ v + h))
        return h

    with tapec.settings(optimize=False):
        wanted = tapec.grad(loss)(w, b, x)
    np.testing.assert_allclose(tapec.grad(loss)(w, b, x), wanted, rtol=1e-10)


def test_other_vectors_are_stacked_and_other_summands_added():
    lines = outers(5)
    lines[0] = "getitem %u {index=(5,)} !ct"
    _, made = run("; ".join([*lines, f"add %{len(lines) - 1}, %m !ct"]))
    assert names(made) == ["getitem"] * 5 + ["stack", "transpose", "getitem", "matmul", "add"]


@pytest.mark.parametrize(
    "body",
    [
        "; ".join(outers(4)),
        "; ".join(outers(6, role="")),  # the user's own
        "; ".join(outers(6)) + "; return %28, %3, %7, %12",  # some are needed alone
    ],
)
def test_few_and_the_users_own_sums_stay(body):
    graph, made = run(body)
    assert made is graph


def test_small_ones_stay_for_floats():
    body = "; ".join(outers(6)).replace("(7, 1)", "(2, 1)")
    graph, made = run(body, INPUTS.replace("%u: f64[6,7]", "%u: f64[6,2]"))
    assert made is graph


def products(count, source="%x", left=True, step=1):
    lines = []
    for k in range(count):
        lines.append(f"getitem {source} {{index=({step * k},)}}")
        lines.append(f"matmul %w, %{2 * k}" if left else f"matmul %{2 * k}, %v")
    return "; ".join([*lines, "return " + ", ".join([f"%{2 * k + 1}" for k in range(count)])])


def test_products_with_rows_are_one():
    _, made = run(products(6))
    assert names(made) == ["transpose", "matmul", *["getitem"] * 6]
    _, made = run(products(5, left=False))
    assert names(made) == ["getitem", "matmul", *["getitem"] * 5]


def test_rows_that_are_matrices_where_all_are_kept():
    body = products(6, "%s", left=False)
    _, made = run(body.replace("; return", "; negative %q !ct; return"))
    assert names(made).count("matmul") == 1


@pytest.mark.parametrize("body", [products(4), products(3, step=2), products(6, "%s", left=False)])
def test_where_rows_are_few_or_not_neighbours(body):
    graph, made = run(body)
    assert made is graph


def test_a_small_recurrent_net():
    def loss(w, u, xs):
        h = np.zeros(5)
        for t in range(8):
            h = np.tanh(w @ xs[t] + u @ h)
        return np.sum(h**2)

    args = 0.3 * RNG.standard_normal((5, 4)), 0.3 * RNG.standard_normal((5, 5)), RNG.standard_normal((8, 4))
    gradient = tapec.grad(loss, argnums=(0, 1, 2))
    along = [RNG.standard_normal(a.shape) for a in args]
    ends = [loss(*[a + h * d for a, d in zip(args, along, strict=True)]) for h in (1e-5, -1e-5)]
    slope = sum([np.vdot(g, d) for g, d in zip(gradient(*args), along, strict=True)])
    assert abs(slope - (ends[0] - ends[1]) / 2e-5) < 1e-6 * abs(slope)
    assert not has(gradient.source(*args), "_[:, None] * _")


@pytest.mark.parametrize(
    "body, has",
    [
        ("reshape %x {shape=(1, 18)} !ct; reshape %q {shape=(2, 1)} !ct; multiply %1, %0 !ct", True),
        ("reshape %x {shape=(1, 18)}; reshape %q {shape=(2, 1)}; multiply %1, %0", False),  # the user's own
        ("multiply %w, %m !ct", False),
        ("sum %w {axis=(1,), keepdims=True} !ct; multiply %w, %0 !ct", False),  # rows with weights
        ("getitem %x {index=(1,)}; matmul %w, %0", True),
        ("matmul %w, %v", False),
    ],
)
def test_which_programs_may_have_steps(body, has):
    """The pass is imported for these alone."""
    assert has_steps(parse(text(INPUTS, body))) is has
