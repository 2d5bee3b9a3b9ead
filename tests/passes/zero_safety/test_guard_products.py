"""Guards: where a factor that may be infinite is kept to where something flows, and where it is left alone."""

import numpy as np
import pytest

from tapec.ir import Graph, interpret, parse, prune, verify
from tapec.passes.engine.may_be_nonfinite import may_be_nonfinite
from tapec.passes.pipeline import GUARDS as guards
from tapec.passes.zero_safety.guard_products import GuardingWalk
from tapec.passes.zero_safety.structural_zeros import structural_zeros
from tapec.passes.zero_safety.zero_places import StructuralZeros
from tapec.testing.rewrites import ordered
from tests.passes.support import text

X = "%c: bool[3], %x: f64[3], %y: f64[3], %m: f64[2,3], %s: f64[3,3], %d: bool[3], %i: i64[2], %rate: float"
MASKED = "where %c, %x, 0 !ct; sum %0 {axis=(0,), keepdims=True} !ct; cumsum %0 {axis=0} !ct"  # %2 begins with zeros
SLOPE = "sqrt %y; divide 0.5, %0 !ct"  # may be infinite

# what may be empty, with `%e` for the number of its line, and what then comes
FIRES = {
    "a running sum": ("where %c, %x, 0 !ct; cumsum %2 {axis=0} !ct", 3),
    "a sum of two selections": ("where %c, %x, 0 !ct; where %d, %x, 0 !ct; add %2, %3 !ct", 4),
    "a part among zeros": ("getitem %x {index=(:2,)} !ct; scatter %2 {shape=(3,), index=(:2,)} !ct", 3),
    "two parts with a gap": (
        "getitem %x {index=(:1,)} !ct; scatter %2 {shape=(3,), index=(:1,)} !ct; "
        "scatter %2 {shape=(3,), index=(2:,)} !ct; add %3, %4 !ct",
        5,
    ),
    "what was overwritten": ("multiply %x, 2.0 !ct; setitem %2, 0.0 {index=(0,)} !ct", 3),
    "what zeros were written over": (
        "multiply %x, 2.0 !ct; broadcast_to 0.0 {shape=(1,)} !ct; setitem %2, %3 {index=(:1,)} !ct",
        4,
    ),
    "a selection turned round": (
        "where %c, %x, 0 !ct; where %d, %x, 0 !ct; add %2, %3 !ct; getitem %4 {index=(::-1,)} !ct",
        5,
    ),
    "the rows of a product": (
        "reshape %c {shape=(3, 1)}; where %2, %s, 0 !ct; cumsum %3 {axis=0} !ct; matmul %4, %s !ct; "
        "getitem %5 {index=(:, 0)} !ct",
        6,
    ),
    "the line that was overwritten": (
        "multiply %s, 2.0 !ct; setitem %2, 0.0 {index=(0,)} !ct; getitem %3 {index=(-3,)} !ct",
        4,
    ),
    "a unit vector": ("eye {n=3, m=3, k=0, dtype=f64} !ct; getitem %2 {index=(0,)} !ct", 3),
}
STAYS = {
    "nothing is empty": "multiply %x, 2.0 !ct; multiply %2, %1 !ct",
    "the sum of a full and an empty one": "where %c, %x, 0 !ct; add %2, %x !ct; multiply %3, %1 !ct",
    "parts that cover the whole": (
        "getitem %x {index=(:2,)} !ct; scatter %2 {shape=(3,), index=(:2,)} !ct; "
        "scatter %2 {shape=(3,), index=(1:,)} !ct; add %3, %4 !ct; multiply %5, %1 !ct"
    ),
    "elements that cover the whole": (
        "getitem %x {index=(0,)} !ct; scatter %2 {shape=(3,), index=(0,)} !ct; scatter %2 {shape=(3,), index=(1,)} !ct;"
        " scatter %2 {shape=(3,), index=(-1,)} !ct; add %3, %4 !ct; add %6, %5 !ct; multiply %7, %1 !ct"
    ),
    "the only place along an axis": (
        "multiply %x, 2.0 !ct; scatter %2 {shape=(3, 1), index=(..., 0)} !ct; cumsum %3 {axis=0} !ct; "
        "reshape %4 {shape=(3,)} !ct; multiply %5, %1 !ct"
    ),
    "the other is a number": "where %c, %x, 0 !ct; cumsum %2 {axis=0} !ct; multiply %3, 2.0 !ct",
    "the other is a number that may change": "where %c, %x, 0 !ct; cumsum %2 {axis=0} !ct; multiply %3, %rate !ct",
    "the other is bounded": (
        "where %c, %x, 0 !ct; greater %x, %y !ct; cast %3 {dtype=f64} !ct; cumsum %2 {axis=0} !ct; multiply %5, %4 !ct"
    ),
    "the user wrote it": "where %c, %x, 0; cumsum %2 {axis=0}; multiply %3, %1",
    "divided by what is positive": (
        "greater %x, %y !ct; where %2, %x, 0 !ct; cumsum %3 {axis=0} !ct; square %y; add %5, 1.0; divide %4, %6 !ct"
    ),
    "what is left of what was overwritten": (
        "multiply %x, 2.0 !ct; setitem %2, 0.0 {index=(0,)} !ct; getitem %3 {index=(1:,)} !ct; "
        "getitem %1 {index=(1:,)}; multiply %4, %5 !ct"
    ),
    "a line of what was overwritten": (
        "multiply %s, 2.0 !ct; setitem %2, 0.0 {index=(0,)} !ct; getitem %3 {index=(-1,)} !ct; multiply %4, %1 !ct"
    ),
    "a rectifier before a matrix": (
        "greater %s, 0 !ct; where %2, %s, 0 !ct; matmul %3, %s !ct; getitem %4 {index=(:, 0)} !ct; multiply %5, %1 !ct"
    ),
}


def graph_of(body):
    return verify(parse(text(X, f"{SLOPE}; {body}")))


@pytest.mark.parametrize("name", FIRES)
def test_where_it_fires(name):
    body, k = FIRES[name]
    before = graph_of(f"{body}; multiply %{k}, %1 !ct")
    after = verify(guards(before))
    n = k + 1
    safe = f"not_equal %{k}, 0 !ct; where %{n}, %1, 0 !ct; multiply %{k}, %{n + 1} !ct"
    assert ordered(after) == ordered(graph_of(f"{body}; {safe}"))
    values = values_for(name)
    assert np.isnan(interpret(before, *values)[0]).any()
    assert np.isfinite(interpret(after, *values)[0]).all()


def values_for(name=None):
    """What is not selected is where the slope is infinite."""
    c, y = np.array([False, True, True]), np.array(INFINITE_AT.get(name, [0.0, 1.0, 4.0]))
    return [c, np.ones(3), y, np.ones((2, 3)), np.ones((3, 3)), c, np.array([0, 1]), 2.0]


# where the slope is infinite for slices: %y is zero where the part is empty, in the middle or at the end
INFINITE_AT = {"a part among zeros": [1.0, 1.0, 0.0], "two parts with a gap": [1.0, 0.0, 1.0]}
INFINITE_AT |= {"a selection turned round": [1.0, 1.0, 0.0], "a unit vector": [1.0, 0.0, 1.0]}


@pytest.mark.parametrize("name", STAYS)
def test_where_it_must_not_fire(name):
    graph = graph_of(STAYS[name])
    assert guards(graph) is graph


@pytest.mark.parametrize("number", ["float", "complex"])
def test_an_infinite_number_takes_the_dtype_of_what_flows(number):
    body = "divide 1.0, %n !ct; where %c, %x, 0 !ct; cumsum %1 {axis=0} !ct; multiply %2, %0 !ct"
    after = verify(guards(verify(parse(text(f"%c: bool[3], %x: f32[3], %n: {number}", body)))))
    found = interpret(after, np.array([False, True, True]), np.ones(3, np.float32), np.array([0.5])[0].astype(number))
    assert found[0].dtype == (np.float32 if number == "float" else np.complex64)
    assert found[0].tolist() == [0.0, 2.0, 4.0]


PASTS = {  # what computed the mask and the factor of `sum(where(mask, s, 0)) * factor`
    "nothing is known": None,
    "numbers": ("multiply %s, %s; greater %0, 1.0; tanh %y; negative %2", False),
    "what may be infinite": ("multiply %s, %s; greater %0, 1.0; sqrt %y; divide 0.5, %2", True),
    "a mask of rows and columns": ("reshape %c {shape=(3, 1)}; bitwise_and %0, %c; tanh %y; negative %2", True),
}


@pytest.mark.parametrize("name", PASTS)
def test_inputs_are_known_by_what_computed_them(name):
    body = "where %k, %s, 0 !ct; sum %0 {axis=(1,), keepdims=False} !ct; multiply %1, %r !ct"
    graph = parse(text("%k: bool[3,3], %s: f64[3,3], %r: f64[3]", body))
    if PASTS[name] is None:
        assert guards(graph) is graph
        return
    code, fires = PASTS[name]
    known = parse(text(X, code))
    mask = next(n for n in known.nodes if n.type.dtype == bool and n.type.shape == (3, 3))
    graph.past = Graph(known.inputs, known.nodes, [mask, known.inputs[4], known.outputs[0]])
    assert (guards(graph) is not graph) == fires


def test_a_quotient_divides_by_one_where_nothing_flows():
    body = "where %c, %x, 0 !ct; cumsum %2 {axis=0} !ct; "
    after = guards(graph_of(body + "divide %3, %y !ct"))
    safe = "not_equal %3, 0 !ct; where %4, %y, 1 !ct; divide %3, %5 !ct"
    assert ordered(after) == ordered(graph_of(body + safe))


def test_a_divisor_of_data_may_be_nan_though_it_is_positive():
    """What the user left out, as rows of a softmax in which all is masked by -inf."""
    body = "where %c, %x, 0 !ct; cumsum %2 {axis=0} !ct; square %y; add %4, 1.0; "
    after = guards(graph_of(body + "divide %3, %5 !ct"))
    safe = "not_equal %3, 0 !ct; where %6, %5, 1 !ct; divide %3, %7 !ct"
    assert ordered(after) == ordered(graph_of(body + safe))


SHIFTED = "max %x {axis=(0,), keepdims=True}; broadcast_to %0 {shape=(3,)}; subtract %x, %1"
FINITE = [
    "multiply %x, %y",
    "tanh %x",
    "divide %x, 2.0",
    "exp %y; divide %x, %0",
    "exp %y; reciprocal %0",
    "absolute %x; sqrt %0",
    "exp %x; log %0",
    f"{SHIFTED}; exp %2",
    "clip %x, -inf, 0.0; exp %0",
    "power %x, 2.0",
    "power %x, 0",
    "absolute %x; power %0, 0.5",
    "exp %x; power %0, -0.5",
    "exp %x; power %0, %y",
    "constant {value=[1.0, 2.0]}",
]
NONFINITE = [
    "divide %x, %y",
    "divide %x, 0.0",
    "exp %y; divide %0, %x",
    "absolute %y; reciprocal %0",
    "sqrt %x",
    "absolute %x; log %0",
    "exp %x",
    "clip %x, 0.0, %y; exp %0",
    f"{SHIFTED}; subtract %2, %y; exp %3",
    "max %y {axis=(0,), keepdims=True}; subtract %x, %0; exp %1",
    *[f"power %x, {n}" for n in ("inf", "nan", "-1.0", "0.5")],
    "absolute %x; power %0, -0.5",
    "power %x, %y",
    "constant {value=[1.0, inf]}",
]


@pytest.mark.parametrize(("body", "nonfinite"), [*[(b, False) for b in FINITE], *[(b, True) for b in NONFINITE]])
def test_what_may_be_infinite_of_numbers(body, nonfinite):
    assert may_be_nonfinite(parse(text("%x: f64[3], %y: f64[3]", body)).nodes[-1], ()) is nonfinite


def test_the_logistic_function_is_never_infinite():
    """Where the exponential is, it is zero."""
    inputs = "%x: f64[3], %y: f64[3]"
    body = "exp %x; add 1.0, %0; divide 1.0, %1"
    for nonfinite, changed in [
        (False, body),
        (False, body.replace("1.0, %0", "%0, 2.0").replace("divide 1.0,", "reciprocal")),
        (True, body.replace("divide 1.0", "divide %0")),  # infinity over infinity
        (True, body.replace("divide 1.0", "divide inf")),
        (True, body.replace("add 1.0", "subtract 1.0")),
        (True, body.replace("add 1.0", "add -1.0")),
        (True, body.replace("add 1.0", "add %y")),
        (True, body.replace("exp %x", "log %x; exp %0").replace("%1", "%2").replace("1.0, %0", "1.0, %1")),  # of nan
    ]:
        graph = parse(text(inputs, changed))
        made: set = set()
        for node in graph.nodes:
            if may_be_nonfinite(node, made):
                made.add(node)
        assert (graph.nodes[-1] in made) is nonfinite, changed


def test_one_element_of_an_axis_too_long_to_tell_its_places():
    node = parse(text("%x: f64[]", f"scatter %x {{shape=({1 << 40},), index=(-1,)}}")).nodes[-1]
    assert structural_zeros(node, [None]) == StructuralZeros(axes=1, chosen=1, axis=-1, lines=1)


def test_what_any_of_millions_of_copies_has_is_told_at_once():
    n = 1 << 23
    body = f"scatter %x {{shape=({n},), index=(1:,)}} !ct; reshape %0 {{shape=({n // 2}, 2)}} !ct"
    scatter, reshape = parse(text(f"%x: f64[{n - 1}]", body)).nodes
    part = structural_zeros(scatter, [None])
    assert part is not None and part.filled.bit_count() == n - 1
    assert structural_zeros(reshape, [part]) == StructuralZeros(axes=3, chosen=3)


def test_a_chain_of_products_has_one_mask():
    body = "where %c, %x, 0 !ct; cumsum %2 {axis=0} !ct; multiply %3, %1 !ct; negative %4 !ct; divide %5, %0 !ct"
    after = guards(graph_of(body))
    assert [n.op.name for n in after.nodes].count("not_equal") == 1


def test_a_long_chain_of_products_is_walked_once(monkeypatch):
    asked, before = [], GuardingWalk.before
    monkeypatch.setattr(GuardingWalk, "before", lambda self, part: asked.append(part) or before(self, part))
    n = 100
    products = "; ".join([f"multiply %{k}, %1 !ct" for k in range(3, 3 + n)])
    guards(graph_of(f"where %c, %x, 0 !ct; cumsum %2 {{axis=0}} !ct; {products}"))
    assert len(asked) < 3 * n


def test_both_factors_may_be_zero_and_infinite():
    body = "where %c, %x, 0 !ct; cumsum %2 {axis=0} !ct; where %d, %1, 0 !ct; cumsum %4 {axis=0} !ct; "
    after = guards(graph_of(body + "multiply %3, %5 !ct"))
    assert [n.op.name for n in after.nodes].count("not_equal") == 2


def test_rows_that_a_contraction_does_not_need():
    """X.T @ where(c[:, None], ...) of data with a nan in a row that was left out."""
    body = "reshape %c {shape=(3, 1)}; where %2, %s, 0 !ct; transpose %s {axes=(1, 0)} !ct; matmul %4, %3 !ct"
    before = graph_of(body)
    after = verify(guards(before))
    values = values_for()
    values[4] = np.array([[np.nan] * 3, [1.0] * 3, [2.0] * 3])
    assert np.isnan(interpret(before, *values)[0]).any()
    assert np.isfinite(interpret(after, *values)[0]).all()
    elementwise = graph_of("greater %s, 0; where %2, %s, 0 !ct; transpose %s {axes=(1, 0)} !ct; matmul %4, %3 !ct")
    assert guards(elementwise) is elementwise  # to look at every element would cost what the product costs


LINES = "scatter %v, %p {shape=(3,), index=($0,)} !ct; "
ROWS = "scatter %w, %p {shape=(3, 2), index=($0,), unique=True} !ct; "


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LINES + "matmul %0, %s !ct", "getitem %s, %p {index=($0,)} !ct; matmul %v, %0 !ct"),
        (
            LINES + "transpose %s {axes=(1, 0)}; matmul %1, %0 !ct",
            "getitem %s, %p {index=($0,)} !ct; transpose %0 {axes=(1, 0)} !ct; matmul %1, %v !ct",
        ),
        (
            ROWS + "transpose %s {axes=(1, 0)}; matmul %1, %0 !ct",
            "getitem %s, %p {index=($0,)} !ct; transpose %0 {axes=(1, 0)} !ct; matmul %1, %w !ct",
        ),
        (
            ROWS + "einsum %s, %0 {subscripts='ki,il->lk'} !ct",
            "getitem %s, %p {index=(:, $0)} !ct; einsum %0, %w {subscripts='ki,il->lk'} !ct",
        ),
        (
            "scatter %w, %p {shape=(2, 3), index=(:, $0)} !ct; matmul %0, %s !ct",
            "getitem %s, %p {index=($0,)} !ct; matmul %w, %0 !ct",
        ),
        (
            "less %p, 1; where %0, %v, 0 !ct; scatter %1, %p {shape=(3,), index=($0,)} !ct; matmul %2, %s !ct",
            "less %p, 1; where %0, %v, 0 !ct; reshape %0 {shape=(2, 1)} !ct; getitem %s, %p {index=($0,)} !ct; "
            "where %2, %3, 0 !ct; matmul %1, %4 !ct",
        ),
    ],
)
def test_lines_are_multiplied_with_the_lines_that_they_meet(before, after):
    """(X @ w)[c] of data with a nan in a row that nobody reads: neither rows nor a mask are made."""
    inputs = "%p: i64[2], %s: f64[3,3], %v: f64[2], %w: f64[2,2]"
    start, end = parse(text(inputs, before)), parse(text(inputs, after))
    found = verify(prune(guards(start)))
    assert ordered(found) == ordered(end)
    values = [np.array([2, 0]), np.arange(9.0).reshape(3, 3), np.array([2.0, -1.0]), np.eye(2) + 1]
    np.testing.assert_allclose(interpret(found, *values)[0], interpret(start, *values)[0])
    values[1][1] = values[1][:, 1] = np.nan
    assert np.isfinite(interpret(found, *values)[0]).any()


def test_lines_that_stay_or_more_than_there_are_keep_their_mask():
    stay = "scatter %w, %p {shape=(3, 2), index=($0,)} !ct; einsum %0, %b {subscripts='nk,nkd->nd'} !ct"
    more = "constant {value=[0, 1, 1, 0]}; scatter %v, %0 {shape=(3,), index=($0,)} !ct; matmul %1, %s !ct"
    for body in (stay, more):
        after = verify(guards(parse(text("%s: f64[3,3], %v: f64[4], %w: f64[2,2], %p: i64[2], %b: f64[3,2,4]", body))))
        assert {"where", "scatter"} <= {n.op.name for n in after.nodes}


STEP = "greater_equal %t, 0 !ct; "
GRID = "scatter %w {shape=(3, 3), index=(:2, 1:)} !ct; "
AMONG_ELEMENTS = {  # chosen lines of a cotangent that is empty in elements of its own, too: by rectifiers, unit vectors
    "a condition": (
        "reshape %c {shape=(3, 1)}; where %0, %t, 0 !ct; " + STEP + "where %2, %1, 0 !ct; matmul %s, %3 !ct",
        "reshape %c {shape=(3, 1)}; where %0, %t, 0 !ct; " + STEP + "where %2, %1, 0 !ct; "
        "reshape %0 {shape=(3,)} !ct; where %4, %s, 0 !ct; matmul %5, %3 !ct",
    ),
    "another layer": (
        "reshape %c {shape=(3, 1)}; where %0, %t, 0 !ct; matmul %1, %t !ct; " + STEP + "where %3, %2, 0 !ct; "
        "transpose %4 {axes=(1, 0)} !ct; matmul %5, %s !ct",
        None,
    ),
    "lines that a list names": (
        "scatter %v, %p {shape=(3, 3), index=($0,)} !ct; matmul %0, %t !ct; " + STEP + "where %2, %1, 0 !ct; "
        "matmul %s, %3 !ct",
        None,
    ),
    "a slice": (
        "scatter %v {shape=(3, 3), index=(:2,)} !ct; " + STEP + "where %1, %0, 0 !ct; matmul %s, %2 !ct",
        "scatter %v {shape=(3, 3), index=(:2,)} !ct; " + STEP + "where %1, %0, 0 !ct; "
        "getitem %2 {index=(:2,)} !ct; getitem %s {index=(:, :2)} !ct; matmul %4, %3 !ct",
    ),
    "a slice of rows and columns": (
        GRID + "matmul %s, %0 !ct",
        GRID + "getitem %0 {index=(:2,)} !ct; getitem %s {index=(:, :2)} !ct; matmul %2, %1 !ct",
    ),
    "lines that an array names once": (
        "scatter %v, %p {shape=(3, 3), index=($0,), unique=True} !ct; " + STEP + "where %1, %0, 0 !ct; "
        "matmul %s, %2 !ct",
        "scatter %v, %p {shape=(3, 3), index=($0,), unique=True} !ct; " + STEP + "where %1, %0, 0 !ct; "
        "getitem %2, %p {index=($0,)} !ct; getitem %s, %p {index=(:, $0)} !ct; matmul %4, %3 !ct",
    ),
    "lines of lines": (
        "scatter %w, %p {shape=(3, 2), index=($0,)} !ct; scatter %0, %p {shape=(3, 3), index=(:, $0)} !ct; "
        "matmul %s, %1 !ct",
        None,
    ),
    "rows by columns": (
        "reshape %p {shape=(2, 1)}; scatter %w, %0, %p {shape=(3, 3), index=($0, $1)} !ct; matmul %s, %1 !ct",
        None,
    ),
    "unit vectors": (
        "eye {n=3, m=3, k=0, dtype=f64} !ct; where %c, %0, 0 !ct; matmul %1, %s !ct",
        "eye {n=3, m=3, k=0, dtype=f64} !ct; where %c, %0, 0 !ct; reshape %c {shape=(3, 1)} !ct; "
        "where %2, %s, 0 !ct; matmul %1, %3 !ct",
    ),
    "axes that become one, and several again": (
        "reshape %c {shape=(3, 1)}; reshape %t {shape=(1, 3, 3)}; where %0, %1, 0 !ct; reshape %2 {shape=(3, 3)} !ct; "
        "matmul %3, %t !ct; reshape %4 {shape=(1, 3, 3)} !ct; greater_equal %t, 0 !ct; where %6, %5, 0 !ct; "
        "reshape %7 {shape=(3, 3)} !ct; matmul %s, %8 !ct",
        None,
    ),
    "axes that become one twice": (
        "reshape %c {shape=(3, 1)}; broadcast_to %t {shape=(2, 2, 3, 3)}; where %0, %1, 0 !ct; "
        "reshape %2 {shape=(2, 6, 3)} !ct; reshape %3 {shape=(12, 3)} !ct; matmul %4, %t !ct; "
        "reshape %5 {shape=(2, 6, 3)} !ct; reshape %6 {shape=(2, 2, 3, 3)} !ct; "
        "greater_equal %t, 0 !ct; where %8, %7, 0 !ct; transpose %9 {axes=(2, 0, 1, 3)} !ct; "
        "reshape %10 {shape=(3, 12)} !ct; matmul %s, %11 !ct",
        None,
    ),
}


@pytest.mark.parametrize("name", AMONG_ELEMENTS)
def test_chosen_lines_are_kept_apart_whatever_else_is_zero(name):
    """Rows of data that nobody reads have a nan, which must not meet the zeros of a rectifier either."""
    inputs = "%c: bool[3], %p: i64[2], %s: f64[3,3], %t: f64[3,3], %v: f64[2,3], %w: f64[2,2]"
    before, expected = AMONG_ELEMENTS[name]
    start = parse(text(inputs, before))
    found = verify(prune(guards(start)))
    if expected is not None:
        assert ordered(found) == ordered(parse(text(inputs, expected)))
    assert len([n for n in found.nodes if n.op.name == "any"]) == name.startswith("axes that become one")
    data = np.arange(9.0).reshape(3, 3)
    v = np.array([[2.0, -1.0, 3.0], [1.0, 4.0, 0.5]])
    values = [np.array([True, True, False]), np.array([1, 0]), data, data - 4, v, np.eye(2) + 1]
    np.testing.assert_allclose(interpret(found, *values)[0], interpret(start, *values)[0])
    values[2] = np.where([[False, False, True]], np.nan, data)
    if name in ("another layer", "unit vectors"):
        values[2] = values[2].T
    assert np.isnan(interpret(start, *values)[0]).any()
    assert np.isfinite(interpret(found, *values)[0]).all()


@pytest.mark.parametrize(
    "body",
    [
        "eye {n=3, m=3, k=0, dtype=f64} !ct; " + STEP + "where %1, %0, 0 !ct; matmul %2, %s !ct",  # not the user's
        STEP + "where %0, %t, 0 !ct; matmul %s, %1 !ct",
        "greater %t, 0; where %0, %t, 0 !ct; matmul %s, %1 !ct",  # elements, not lines
        "reshape %c {shape=(1, 3)}; where %0, %t, 0 !ct; " + STEP + "where %2, %1, 0 !ct; matmul %s, %3 !ct",  # stays
    ],
)
def test_where_no_lines_were_chosen_nothing_is_kept_apart(body):
    graph = parse(text("%c: bool[3], %s: f64[3,3], %t: f64[3,3]", body))
    assert guards(graph) is graph


def test_what_is_multiplied_with_itself_is_kept_on_one_side():
    graph = graph_of("scatter %x {shape=(3, 3), index=(:, 1)} !ct; matmul %2, %2 !ct")
    after = verify(guards(graph))
    assert after is not graph
    values = values_for()
    np.testing.assert_array_equal(interpret(graph, *values)[0], interpret(after, *values)[0])


UNITS = "eye {n=2, m=2, k=0, dtype=bool} !ct; getitem %m {index=(:, :2)}; where %2, %3, 0 !ct; "
IN_ROWS = "scatter %4 {shape=(2, 3), index=(:, :2)} !ct; "
DATA = {  # what is multiplied with the user's %y, and whether that is kept out of it
    "unit vectors": (UNITS + "sum %4 {axis=(1,), keepdims=True} !ct; multiply %5, %y !ct", False),
    "slices of their rows": (UNITS + IN_ROWS + "multiply %5, %y !ct", True),
    "sums of these rows": (UNITS + IN_ROWS + "sum %5 {axis=(0,), keepdims=False} !ct; multiply %6, %y !ct", True),
    "these rows turned": (
        UNITS + IN_ROWS + "transpose %5 {axes=(1, 0)} !ct; reshape %y {shape=(3, 1)}; multiply %6, %7 !ct",
        True,
    ),
    "rows with the rest of it": (
        UNITS + IN_ROWS + "reshape %m {shape=(6,)}; getitem %6 {index=(:2,)}; reshape %7 {shape=(2, 1)}; "
        "where %2, %8, 0 !ct; sum %9 {axis=(1,), keepdims=True} !ct; scatter %10 {shape=(2, 3), index=(:, 2:)} !ct; "
        "add %5, %11 !ct; multiply %12, %y !ct",
        False,
    ),
    "elements that were repeated": (
        "reshape %s {shape=(9,)}; getitem %2 {index=(3:,)}; scatter %3 {shape=(9,), index=(3:,)} !ct; "
        "reshape %4 {shape=(3, 3)} !ct; sum %5 {axis=(1,), keepdims=False} !ct; multiply %6, %y !ct",
        True,
    ),
    "some of each that was repeated": (
        "reshape %s {shape=(9,)}; getitem %2 {index=(1:,)}; scatter %3 {shape=(9,), index=(1:,)} !ct; "
        "reshape %4 {shape=(3, 3)} !ct; sum %5 {axis=(1,), keepdims=False} !ct; multiply %6, %y !ct",
        False,
    ),
    "one of several copies": (
        "getitem %y {index=(1:,)}; scatter %2 {shape=(9,), index=(4:6,)} !ct; "
        "reshape %3 {shape=(3, 3)} !ct; sum %4 {axis=(0,), keepdims=False} !ct; multiply %5, %y !ct",
        True,
    ),
    "what none of several copies has": (
        "constant {value=[1, 2, 4, -1]}; reshape %s {shape=(9,)}; "
        "getitem %3 {index=(:4,)}; scatter %4, %2 {shape=(6,), index=($0,)} !ct; "
        "reshape %5 {shape=(2, 3)} !ct; sum %6 {axis=(0,), keepdims=False} !ct; multiply %7, %y !ct",
        True,
    ),
    "what any of several copies has": (
        "constant {value=[0, 1, 5, 4]}; reshape %s {shape=(9,)}; "
        "getitem %3 {index=(:4,)}; scatter %4, %2 {shape=(6,), index=($0,)} !ct; "
        "reshape %5 {shape=(2, 3)} !ct; sum %6 {axis=(0,), keepdims=False} !ct; multiply %7, %y !ct",
        False,
    ),
    "what one or another of many copies has": (
        "constant {value=[0, 10, 14]}; scatter %y, %2 {shape=(15,), index=($0,)} !ct; "
        "reshape %3 {shape=(5, 3)} !ct; sum %4 {axis=(0,), keepdims=False} !ct; multiply %5, %y !ct",
        False,
    ),
    "the first of places that are not known": (
        "getitem %x {index=(:2,)}; scatter %2, %i {shape=(6,), index=($0,)} !ct; getitem %3 {index=(:1,)} !ct; "
        "multiply %4, %y !ct",
        True,
    ),
    "places that are all of them": (
        "constant {value=[2, 0, 1]}; scatter %y, %2 {shape=(3,), index=($0,)} !ct; multiply %3, %y !ct",
        False,
    ),
    "sums of slices along both axes": (
        "getitem %s {index=(1:, 1:)}; scatter %2 {shape=(3, 3), index=(1:, 1:)} !ct; "
        "sum %3 {axis=(1,), keepdims=False} !ct; multiply %4, %y !ct",
        True,
    ),
    "sums of what two lists name together": (
        "constant {value=[0, 1, 1]}; constant {value=[1, 2, 1]}; "
        "scatter %y, %2, %3 {shape=(3, 3), index=($0, $1)} !ct; "
        "sum %4 {axis=(1,), keepdims=False} !ct; multiply %5, %y !ct",
        False,
    ),
    "sums of some rows and columns": (
        "reshape %c {shape=(3, 1)}; bitwise_and %2, %d; where %3, %s, 0 !ct; "
        "sum %4 {axis=(1,), keepdims=False} !ct; multiply %5, %y !ct",
        True,
    ),
    "sums of some rows or columns": (
        "reshape %c {shape=(3, 1)}; bitwise_or %2, %d; where %3, %s, 0 !ct; "
        "sum %4 {axis=(1,), keepdims=False} !ct; multiply %5, %y !ct",
        False,
    ),
    "some rows with some columns": (
        "reshape %c {shape=(3, 1)}; where %2, %s, 0 !ct; where %d, %s, 0 !ct; add %3, %4 !ct; "
        "sum %5 {axis=(1,), keepdims=False} !ct; multiply %6, %y !ct",
        False,
    ),
    "diagonals": (
        UNITS + "constant {value=[0, 2]}; scatter %4, %5, %5 {shape=(2, 3, 3), index=(:, $0, $1)} !ct; "
        "multiply %6, %y !ct",
        True,
    ),
    "pairs": (
        UNITS + "constant {value=[0, 2]}; constant {value=[1, 2]}; "
        "scatter %4, %5, %6 {shape=(2, 3, 3), index=(:, $0, $1)} !ct; multiply %7, %y !ct",
        False,
    ),
    "slices of rows that have two axes": (
        "eye {n=4, m=2, k=0, dtype=f64} !ct; scatter %2 {shape=(4, 3), index=(:, :2)} !ct; "
        "reshape %3 {shape=(2, 2, 3)} !ct; sum %4 {axis=(0,), keepdims=False} !ct; multiply %5, %y !ct",
        True,
    ),
    "sums along what was sliced": (
        UNITS + IN_ROWS + "sum %5 {axis=(1,), keepdims=True} !ct; multiply %6, %y !ct",
        False,
    ),
}


@pytest.mark.parametrize("name", DATA)
def test_data_are_kept_out_where_the_user_chose(name):
    body, fires = DATA[name]
    graph = graph_of(body)
    assert (guards(graph) is not graph) is fires


def test_elements_of_all_rows_leave_no_row_zero():
    """Of `p[rows, labels]` the sum along each row is full: softmax with labels needs no guard."""
    rows = "constant {value=[0, 1]}; getitem %m {index=(0, :2)} !ct; "
    scattered = "scatter %3, %2, %i {shape=(2, 3), index=($0, $1)} !ct; sum %4 {axis=(1,), keepdims=True} !ct; "
    slope = "divide 1.0, %m; multiply %5, %6 !ct"
    graph = graph_of(rows + scattered + slope)
    assert guards(graph) is graph
    some = graph_of(rows.replace("[0, 1]", "[0, 0]") + scattered + slope)
    assert guards(some) is not some


def test_elements_of_all_tokens_leave_no_token_zero():
    """Likewise of `p[batch, places, labels]`, where batches and places are named in their order."""
    lines = "constant {value=[[0], [1]]}; constant {value=[0, 1]}; constant {value=[[2, 0], [1, 1]]}; "
    scattered = "scatter %v, %0, %1, %2 {shape=(2, 2, 3), index=($0, $1, $2)} !ct; "
    slope = "sum %3 {axis=(2,), keepdims=True} !ct; divide 1.0, %m; multiply %4, %5 !ct"
    inputs = "%v: f64[2,2], %m: f64[2,2,1]"
    graph = parse(text(inputs, lines + scattered + slope))
    assert guards(graph) is graph
    some = parse(text(inputs, lines.replace("[0, 1]", "[0, 0]") + scattered + slope))
    assert guards(some) is not some


def test_what_is_put_in_order_leaves_no_zeros():
    """All places are written to, each once; not so with a part of the order."""
    inputs = "%v: f64[3], %k: f64[5], %m: f64[5,2]"
    order = "argsort %k {axis=0}; getitem %0 {index=(::-1,)}; getitem %1 {index=(:3,)}; "
    scattered = "scatter %k, %1 {shape=(5,), index=($0,)} !ct; matmul %3, %m !ct"
    graph = parse(text(inputs, order + scattered))
    assert guards(graph) is graph
    some = parse(text(inputs, order + scattered.replace("%k, %1", "%v, %2")))
    assert guards(some) is not some


def test_infinities_that_flow_are_left_as_they_are():
    body = "where %c, %x, 0 !ct; cumsum %2 {axis=0} !ct; multiply %3, %1 !ct"
    values = values_for()
    values[2] = np.array([1.0, 0.0, 4.0])
    before, after = graph_of(body), guards(graph_of(body))
    np.testing.assert_array_equal(interpret(before, *values)[0], interpret(after, *values)[0])
    assert np.isinf(interpret(after, *values)[0]).any()
