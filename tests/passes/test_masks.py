"""Selection among cotangents: each rule where it fires and where it must not, and what it is for."""

import numpy as np
import pytest

import tapec
from tapec.ir import interpret, parse, verify
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.rules import MASKS
from tests.passes.support import Case, check_case, table_tests, text

X = "%c: bool[3], %x: f64[3], %y: f64[3], %m: f64[2,3], %r: bool[2,1], %q: bool[2,3], %d: bool[3], "
X += "%s: f64[3,3], %h: f64[2], %p: bool[], %o: bool[1]"
COMPLEX = "%c: bool[3], %z: c128[3], %w: c128[3]"
THEN, ELSE = "where %c, {}, 0 !ct", "where %c, 0, {} !ct"
FULL_ZERO = "full {shape=(3,), value=0.0, dtype=f64}; where %c, %x, %0 !ct; "

ELEMENTWISE = {
    "multiply": ["multiply {}, %y !ct", "multiply %y, {} !ct"],
    "divide": ["divide {}, %y !ct"],
    "negate": ["negative {} !ct"],
}
COMPLEX_ONES = {"conjugate": "conjugate {} !ct", "real": "real {} !ct", "imag": "imag {} !ct"}
LAYOUTS = {
    "reshape": ("reshape {} {{shape=(3, 1)}} !ct", "reshape %c {{shape=(3, 1)}} !ct"),
    "transpose": ("transpose {} {{axes=(0,)}} !ct", "transpose %c {{axes=(0,)}} !ct"),
    "index": ("getitem {} {{index=(::-1,)}} !ct", "getitem %c {{index=(::-1,)}} !ct"),
}


def cases():
    for side, select in (("then", THEN), ("else", ELSE)):
        masked = select.format("%x")
        for what, forms in ELEMENTWISE.items():
            fires = [(f"{masked}; {f.format('%0')}", f"{forms[0].format('%x')}; {select.format('%0')}") for f in forms]
            stays = [
                f"{masked.replace('0 !ct', '1 !ct').replace(', 0,', ', 1,')}; {forms[0].format('%0')}",
                f"{masked.removesuffix(' !ct')}; {forms[0].format('%0')}",
                f"{masked}; {forms[0].format('%0').removesuffix(' !ct')}",
            ]
            yield f"select-{side}-{what}", Case(X, fires, stays)
        for what, f in COMPLEX_ONES.items():
            before = f"{select.format('%z')}; {f.format('%0')}"
            after = f"{f.format('%z')}; {select.format('%0')}"
            yield f"select-{side}-{what}", Case(COMPLEX, [(before, after)], [before.replace(" !ct", "")])
        for what, (f, g) in LAYOUTS.items():
            before = f"{masked}; {f.format('%0')}"
            after = f"{g.format()}; {f.format('%x')}; {select.replace('%c', '%0').format('%1')}"
            fires, stays = [(before, after)], [before.replace(" !ct", "")]
            if what != "reshape":
                whole = f"{f.format('%x')}; {select.replace('%c', '%p').format('%0')}"
                fires.append((before.replace("%c", "%p"), whole))
                smaller = f.format("%0").replace("(0,)", "(1, 0)").replace("::-1", ":, 0")
                stays.append(f"{select.format('%m')}; {smaller}")  # the condition is smaller than the selection
                if what == "transpose":  # it would have to be selected twice
                    stays.append(f"{before}; return %0, %1")
            else:  # unless only axes of length one come and go
                rows = select.format("%m").replace("%c", "%r")
                stays.append(f"{rows}; reshape %0 {{shape=(6,)}} !ct")
                inside = "reshape %m {shape=(1, 2, 1, 3)} !ct"
                moved = f"reshape %r {{shape=(2, 1, 1)}} !ct; {inside}; {select.replace('%c', '%0').format('%1')}"
                fires.append((f"{rows}; reshape %0 {{shape=(1, 2, 1, 3)}} !ct", moved))
            yield f"select-{side}-{what}", Case(X, fires, stays)
        masked_rows = f"{select.format('%m').replace('%c', '%r')}"
        total = "sum {} {{axis=(1,), keepdims=False}} !ct"
        after = f"reshape %r {{shape=(2,)}} !ct; {total.format('%m')}; {select.replace('%c', '%0').format('%1')}"
        yield (
            f"select-{side}-sum",
            Case(
                X,
                [(f"{masked_rows}; {total.format('%0')}", after)],
                [
                    f"{select.format('%m')}; {total.format('%0')}",  # the condition differs along the row
                    f"{masked_rows}; {total.format('%0')}".replace(" !ct", ""),
                ],
            ),
        )
        yield from sums(side, select)
        before, inside = f"{masked}; broadcast_to %0 {{shape=(2, 3)}} !ct", "broadcast_to %x {shape=(2, 3)} !ct"
        yield (
            f"select-{side}-broadcast",
            Case(X, [(before, f"{inside}; {select.format('%0')}")], [before.replace(" !ct", "")]),
        )
        before, inside = f"{masked}; cast %0 {{dtype=f32}} !ct", "cast %x {dtype=f32} !ct"
        yield (
            f"select-{side}-cast",
            Case(X, [(before, f"{inside}; {select.format('%0')}")], [before.replace(" !ct", "")]),
        )


def sums(side, select):
    """Sums in which some are selected, and sums of two selections."""
    both = select.format("%m").replace("%c", "%q")
    there = "%q" if side == "then" else "%0"
    summed = "sum %k {axis=(1,), keepdims=True} !ct"
    head = "" if side == "then" else "invert %q !ct; "
    n = 0 if side == "then" else 1
    after = f"{head}any {there} {{axis=(1,), keepdims=True}} !ct; {both}; {summed.replace('%k', f'%{n + 1}')}; "
    after += f"where %{n}, %{n + 2}, 0 !ct"
    total = "sum %0 {axis=(1,), keepdims=False} !ct"
    kept = f"{both}; {total}; reshape %1 {{shape=(2, 1)}} !ct"
    stays = [
        f"{both}; {total}; reshape %1 {{shape=(1, 2)}} !ct",
        f"{both.replace('%q', '%r')}; {total}; reshape %1 {{shape=(2, 1)}} !ct",  # the same along the row
        f"greater %m, 0 !ct; {both.replace('%q', '%0')}; sum %1 {{axis=(1,), keepdims=False}} !ct; "
        "reshape %2 {shape=(2, 1)} !ct",  # a condition of a derivative rule's own
    ]
    yield f"some-{side}-sum", Case(X, [(kept, after)], stays)
    for what, form in (("times", "multiply %1, %2"), ("over", "divide %1, %2")):
        start = f"{both}; {total}; divide 1.0, %h !ct"
        n = 3 if side == "then" else 4
        there = "" if side == "then" else "invert %q !ct; "
        there += f"any {'%q' if side == 'then' else '%3'} {{axis=(1,), keepdims=False}} !ct"
        after = f"{start}; {there}; where %{n}, %2, 1 !ct; {form.replace('%2', f'%{n + 1}')} !ct"
        stays = [
            f"{start.replace('%q', '%r')}; {form} !ct",
            f"{both}; {total}; {'multiply %1, %h' if what == 'times' else 'divide %1, 2.0'} !ct",
            f"{start}; {form}",
        ]
        yield f"some-{side}-{what}", Case(X, [(f"{start}; {form} !ct", after)], stays)
    masked = select.format("%x")
    zero, one = ("%s", "0") if side == "then" else ("0", "%s")
    rows = f"reshape %c {{shape=(3, 1)}} !ct; {masked}; where %0, {zero}, {one} !ct; matmul %1, %2 !ct"
    stays = [f"{masked}; matmul %0, %y !ct", f"greater %x, 0 !ct; {masked.replace('%c', '%0')}; matmul %1, %s !ct"]
    yield f"select-{side}-vector-matrix", Case(X, [(f"{masked}; matmul %0, %s !ct", rows)], stays)
    columns = f"where %c, {zero}, {one} !ct; {masked}; matmul %0, %1 !ct"
    stays = [s.replace("matmul %0, %y", "matmul %y, %0").replace("matmul %1, %s", "matmul %s, %1") for s in stays]
    yield f"select-{side}-matrix-vector", Case(X, [(f"{masked}; matmul %s, %0 !ct", columns)], stays)
    other = select.format("%y")
    for what in ("add", "subtract"):
        before = f"{masked}; {other}; {what} %0, %1 !ct"
        after = f"{what} %x, %y !ct; {select.format('%0')}"
        stays = [
            f"{masked}; {other.replace('%c', '%d')}; {what} %0, %1 !ct",
            before.replace(" !ct", ""),
            f"{masked}; {other.replace(', 0', ', 1').replace('0,', '1,')}; {what} %0, %1 !ct",
        ]
        yield f"select-{side}-{what}", Case(X, [(before, after)], stays)


CASES = dict(cases())
EITHER = "where %c, %x, 0 !ct; where %c, 0, %y !ct; add %0, %1 !ct"
CASES["select-either-add"] = Case(
    X, [(EITHER, "where %c, %x, %y !ct")], [EITHER.replace(" !ct", ""), EITHER.replace("%c, 0, %y", "%d, 0, %y")]
)


CASES["one-condition"] = Case(
    X,
    [("where %o, %x, %y !ct", "reshape %o {shape=()} !ct; where %0, %x, %y !ct")],
    ["where %o, %x, %y", "where %p, %x, %y !ct", "where %c, %x, %y !ct"],
)
CASES["select-whole"] = Case(
    X,
    [
        ("where %p, %x, 0 !ct; matmul %s, %0 !ct", "matmul %s, %x !ct; where %p, %0, 0 !ct"),
        ("where %p, 0, %x !ct; matmul %0, %s !ct", "matmul %x, %s !ct; where %p, 0, %0 !ct"),
        ("where %p, %x, 0 !ct; cumsum %0 {axis=0} !ct", "cumsum %x {axis=0} !ct; where %p, %0, 0 !ct"),
    ],
    [
        "where %p, %x, 0; matmul %s, %0 !ct",
        "where %p, %x, 1 !ct; matmul %s, %0 !ct",
        "where %c, %x, 0 !ct; cumsum %0 {axis=0} !ct",
    ],
    [
        (
            "%p: bool[], %v: f64[], %i: i64[]",
            "where %p, %i, 0 !ct; scatter %v, %0 {shape=(5,), index=($0,)} !ct",  # a place, which is 0 or another
        )
    ],
)


test_rule, test_each_rule_has_a_case = table_tests(CASES, MASKS)


def test_a_zero_may_be_an_array():
    case = Case(X, [(FULL_ZERO + "multiply %1, %y !ct", "multiply %x, %y !ct; where %c, %0, 0 !ct")])
    check_case("select-then-multiply", case, MASKS)


def test_a_selection_moves_through_a_whole_product():
    graph = parse(
        text(X, "where %c, %x, 0 !ct; multiply %y, %0 !ct; divide %1, %x !ct; negative %2 !ct; multiply %3, %m !ct")
    )
    after = RuleSet("", MASKS)(graph)
    assert [n.op.name for n in after.nodes if n.inputs] == ["multiply", "divide", "negative", "multiply", "where"]
    values = [
        np.array([True, False, True]),
        np.array([1.0, 0.0, 2.0]),
        np.array([3.0, np.inf, 1.0]),
        np.ones((2, 3)),
        np.ones((2, 1), bool),
        np.ones((2, 3), bool),
        np.ones(3, bool),
        np.ones((3, 3)),
        np.ones(2),
        True,
        np.ones(1, bool),
    ]
    assert np.isnan(interpret(graph, *values)[0]).any()
    assert np.array_equal(interpret(after, *values)[0], [[-3.0, 0.0, -1.0]] * 2)


def test_both_operands_may_be_selections():
    graph = parse(text(X, "where %c, %x, 0 !ct; where %c, 0, %y !ct; multiply %0, %1 !ct"))
    values = [
        np.array([True, False, True]),
        np.array([np.inf] * 3),
        np.array([np.inf] * 3),
        np.ones((2, 3)),
        np.ones((2, 1), bool),
        np.ones((2, 3), bool),
        np.ones(3, bool),
        np.ones((3, 3)),
        np.ones(2),
        True,
        np.ones(1, bool),
    ]
    assert np.array_equal(interpret(RuleSet("", MASKS)(graph), *values)[0], [0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "end", ["divide %1, %1 !ct", "reciprocal %1 !ct; multiply %1, %2 !ct", "divide 1.0, %h !ct; multiply %2, %1 !ct"]
)
@pytest.mark.parametrize("zeros", ["where %q, %m, 0", "where %q, 0, %m"])
def test_a_factor_of_a_sum_is_kept_once(end, zeros):
    """By all rules together, and where sum and divisor are one."""
    graph = parse(text(X, f"{zeros} !ct; sum %0 {{axis=(1,), keepdims=False}} !ct; {end}"))
    made = verify(RuleSet("", MASKS)(graph))
    assert [n.op.name for n in made.nodes].count("where") == 2


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("dtype", [bool, int, float])
@pytest.mark.parametrize("chosen, empty", [(True, 2), (False, 1)])
def test_a_condition_of_any_dtype(chosen, empty, dtype):
    """What is not zero is true, as NumPy has it."""
    condition = np.array([[0, 2, 0], [1, 2, 3], [0, 0, 0]]).astype(dtype)

    def loss(x):
        y = np.sin(x * np.sqrt(x[:, :1]))
        return np.sum(np.where(condition, y, 0) if chosen else np.where(condition, 0, y))

    x = np.array([[4.0, 2.0, 3.0], [1.0, 2.0, 0.5], [9.0, 1.0, 2.0]])
    steps = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
    differences = np.reshape([loss(x + d) - loss(x - d) for d in steps], x.shape) / 2e-6
    x[empty, 0] = 0  # the slope of the root is infinite in the row of which nothing is taken
    np.testing.assert_allclose(tapec.grad(loss)(x), differences, atol=1e-8)
