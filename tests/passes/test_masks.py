"""Selection among cotangents: each rule where it fires and where it must not, and what it is for."""

import numpy as np
import pytest

from tapec.ir import interpret, parse
from tapec.passes.rewrite import RuleSet
from tapec.passes.rules import MASKS
from tests.passes.support import Case, check_case, check_table, text

X = "%c: bool[3], %x: f64[3], %y: f64[3], %m: f64[2,3], %r: bool[2,1]"
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
            stays = [before.replace("%c", "True")]  # the condition is smaller than the selection
            yield f"select-{side}-{what}", Case(X, [(before, after)], [*stays, before.replace(" !ct", "")])
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


CASES = dict(cases())


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    check_case(name, CASES[name], MASKS)


def test_each_rule_has_a_case():
    check_table(CASES, MASKS)


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
    ]
    assert np.array_equal(interpret(RuleSet("", MASKS)(graph), *values)[0], [0.0, 0.0, 0.0])
