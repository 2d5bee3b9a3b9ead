"""Zeros among cotangents: each rule where it fires and where it must not."""

import numpy as np

from tapec.ir import interpret, parse
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.rules import ZEROS
from tests.passes.support import Case, table_tests, text

X = "%x: f64[3], %m: f64[3,3]"
NOTHING = "full {shape=(3,), value=0.0, dtype=f64} !ct"
WRITTEN = "full {shape=(3,), value=0.0, dtype=f64}"

CASES = {
    "plus-zero": Case(
        X, [("add %x, 0.0 !ct", "%x"), (f"{WRITTEN}; add %0, %x !ct", "%x")], ["add %x, 0.0", "add %x, 1.0 !ct"]
    ),
    "minus-any-zero": Case(X, [("subtract %x, -0.0 !ct", "%x")], ["subtract %x, -0.0", "subtract 0.0, %x !ct"]),
    "zero-minus": Case(X, [("subtract 0, %x !ct", "negative %x !ct")], ["subtract 0, %x", "subtract %x, 1 !ct"]),
    "either-zero": Case(
        X,
        [("greater %x, 0.0; where %0, 0.0, 0 !ct", NOTHING)],
        ["greater %x, 0.0; where %0, 0.0, 0", "greater %x, 0.0; where %0, %x, 0.0 !ct"],
    ),
    "times-one-complex": Case(
        "%z: c128[3]", [("multiply %z, 1.0 !ct", "%z")], ["multiply %z, 1.0", "multiply %z, 2.0 !ct"]
    ),
    "of-nothing": Case(
        X,
        [(f"{NOTHING}; multiply %0, %x !ct", NOTHING), (f"{NOTHING}; matmul %m, %0 !ct", NOTHING)],
        [
            f"{WRITTEN}; multiply %0, %x !ct",  # a zero that the user wrote
            f"{NOTHING}; multiply %0, %x",
            "multiply %x, 0.0 !ct",
            "full {shape=(3,), value=2.0, dtype=f64} !ct; multiply %0, %x !ct",
        ],
    ),
    "of-nothing-alone": Case(
        X,
        [
            (f"{NOTHING}; divide %0, %x !ct", NOTHING),
            (f"{NOTHING}; negative %0 !ct", NOTHING),
            (f"{NOTHING}; scatter %0 {{shape=(5,), index=(1:4,)}} !ct", "full {shape=(5,), value=0.0, dtype=f64} !ct"),
        ],
        [f"{NOTHING}; divide %x, %0 !ct", f"{WRITTEN}; divide %0, %x !ct", f"{NOTHING}; divide %0, %x"],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, ZEROS)


def test_nothing_stays_nothing_beside_infinities():
    graph = parse(text(X, f"{NOTHING}; multiply %0, %x !ct; divide %1, %x !ct"))
    x = np.array([np.inf, np.nan, 0.0])
    assert np.isnan(interpret(graph, x, np.ones((3, 3)))[0]).all()
    assert not interpret(RuleSet("", ZEROS)(graph), x, np.ones((3, 3)))[0].any()
