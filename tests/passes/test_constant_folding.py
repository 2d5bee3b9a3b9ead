"""Constants: each rule where it fires and where it must not."""

import numpy as np

from tapec.ir import parse
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.rules import CONSTANT_FOLDING
from tests.passes.support import Case, table_tests

X = "%x: f64[3], %h: f32[3], %n: i64[3]"
FULL = "full {{shape=({}), value={}, dtype={}}}".format
TWO = FULL("3,", 2.0, "f64")

CASES = {
    "fold-constants": Case(
        X,
        [
            ("constant {value=[1.0, 2.0, 3.0]}; add %0, 1.0", "constant {value=[2.0, 3.0, 4.0]}"),
            ("constant {value=[[1, 2], [3, 4]]}; sum %0 {axis=(0,), keepdims=False}", "constant {value=[4, 6]}"),
            ("constant {value=[1.0, 2.0]}; reshape %0 {shape=(2, 1)}", "constant {value=[[1.0], [2.0]]}"),
            ("multiply 2.0, 3.0; multiply %x, %0", "multiply %x, 6.0"),
            ("multiply 3, 4; multiply %0, 0.25; multiply %x, %1", "multiply %x, 3.0"),
            ("subtract 2, 5; multiply %x, %0", "multiply %x, -3"),
            ("sin 0.0", "constant {value=0.0}"),
            ("constant {value=[1.0, 2.0]}; getitem %0 {index=(-1,)}", "constant {value=2.0}"),
            ("constant {value=[1.0, 2.0]}; where True, %0, 0.0", "constant {value=[1.0, 2.0]}"),
        ],
        [
            "constant {value=[0.0, 1.0]}; divide 1.0, %0",  # the warning comes when it runs
            "constant {value=[0.0, inf]}; subtract %0, %0",
            "constant {value=1.0}; broadcast_to %0 {shape=(1025,)}",
            "broadcast_to 1.0 {shape=(3,)}",  # no array of one number
            "constant {value=1.0}; multiply %0, %x",
            "multiply 2, 67108865; multiply %x, %0",  # Python's integers know no overflow
            "power 2, 3; multiply %x, %0",
            "full {shape=(), value=1.0, dtype=f64}",
        ],
    ),
    "fold-uniform": Case(
        X,
        [
            (f"{TWO}; multiply %0, 3.0", FULL("3,", 6.0, "f64")),
            (f"{FULL('3,', 0.1, 'f32')}; add %0, %0", FULL("3,", float(np.float32(0.2)), "f32")),
            (f"{TWO}; constant {{value=3.0}}; add %0, %1", FULL("3,", 5.0, "f64")),
            (f"{TWO}; multiply %0, 0.0", FULL("3,", 0.0, "f64")),
            (f"{TWO}; greater %0, 0", FULL("3,", True, "bool")),
            (f"{FULL('3, 1', 2, 'i64')}; {FULL('4,', 5, 'i64')}; multiply %0, %1", FULL("3, 4", 10, "i64")),
            (f"{FULL('', 1.0, 'f64')}; divide %0, 8", FULL("", 0.125, "f64")),
        ],
        [
            f"{TWO}; multiply %0, %x",
            f"{TWO}; divide %0, 0.0",
            f"{TWO}; multiply %0, -0.0",  # a parameter cannot tell -0.0 from 0.0
            f"{FULL('0,', 2.0, 'f64')}; multiply %0, 3.0",
            "subtract 2, 1; multiply %h, %0",  # an int in its place would still be weak, an array would not
        ],
    ),
    "literal-operand": Case(
        X,
        [
            (f"{TWO}; multiply %0, %x", "multiply 2.0, %x"),
            ("constant {value=0.5}; subtract %x, %0", "subtract %x, 0.5"),
            (f"{FULL('3,', 0.1, 'f32')}; add %0, %h", "add 0.1, %h"),
            (f"{FULL('3,', 0.5, 'f32')}; add %0, %x", "add 0.5, %x"),
            (f"{FULL('3,', 0.1, 'f32')}; add %0, %x", "add 0.10000000149011612, %x"),  # 0.1 in single precision
            (f"{FULL('3,', 2, 'i64')}; greater %x, %0", "greater %x, 2"),
            (f"{FULL('2, 3', 2.0, 'f64')}; add %x, %0", "add %x, 2.0; broadcast_to %0 {shape=(2, 3)}"),
            (f"{TWO}; multiply %0, %n", "multiply 2.0, %n"),
            (f"{TWO}; greater %x, 0.0; where %1, %x, %0", "greater %x, 0.0; where %0, %x, 2.0"),
        ],
        [
            "multiply %x, 2.0",
            f"{TWO}; multiply %0, %h",  # the result is f64
            f"{TWO}; power %0, %n",
            f"{FULL('3,', 0.5, 'f32')}; multiply %0, %n",  # the result is f64
            "constant {value=0.1}; greater %h, %0",  # f32 is compared in f64
            "constant {value=[0.1]}; multiply %0, %x",
            f"{TWO}; multiply %0, %0",
        ],
        [("%s: float", "constant {value=0.5}; multiply %s, %0")],
    ),
    "layout-of-uniform": Case(
        X,
        [
            (f"{TWO}; reshape %0 {{shape=(3, 1)}}", FULL("3, 1", 2.0, "f64")),
            (f"{TWO}; broadcast_to %0 {{shape=(4, 3)}}", FULL("4, 3", 2.0, "f64")),
            (f"{FULL('2, 3', 0.5, 'f64')}; transpose %0 {{axes=(1, 0)}}", FULL("3, 2", 0.5, "f64")),
            (f"{FULL('2, 3', 0.5, 'f64')}; getitem %0 {{index=(0, :2)}}", FULL("2,", 0.5, "f64")),
            (f"{FULL('3,', 0.1, 'f64')}; cast %0 {{dtype=f32}}", FULL("3,", float(np.float32(0.1)), "f32")),
            (f"{FULL('3,', 2.5, 'f64')}; cast %0 {{dtype=i64}}", FULL("3,", 2, "i64")),
            ("broadcast_to 2.0 {shape=(3,)}", TWO),
        ],
        [
            "reshape %x {shape=(3, 1)}",
            f"{TWO}; reshape %x {{shape=(3, 1)}}; add %0, %1",
            f"{TWO}; getitem %0, %n {{index=($0,)}}",  # the indices are checked when it runs
        ],
    ),
    "sum-of-uniform": Case(
        X,
        [
            (f"{FULL('2, 3', 0.5, 'f64')}; sum %0 {{axis=(0, 1), keepdims=False}}", FULL("", 3.0, "f64")),
            (f"{FULL('2, 3', 0.5, 'f64')}; sum %0 {{axis=(1,), keepdims=True}}", FULL("2, 1", 1.5, "f64")),
        ],
        [
            "sum %x {axis=(0,), keepdims=False}",
            f"{FULL('3,', True, 'bool')}; sum %0 {{axis=(0,), keepdims=False}}",
            f"{FULL('0,', 1.0, 'f64')}; sum %0 {{axis=(0,), keepdims=False}}",
        ],
    ),
    "mean-of-uniform": Case(
        X,
        [
            (f"{FULL('2, 3', 0.1, 'f64')}; mean %0 {{axis=(0, 1), keepdims=False}}", FULL("", 0.1, "f64")),
            (f"{FULL('2, 3', 0.1, 'f64')}; max %0 {{axis=(0,), keepdims=False}}", FULL("3,", 0.1, "f64")),
        ],
        ["mean %x {axis=(0,), keepdims=False}", f"{FULL('0, 3', 1.0, 'f64')}; mean %0 {{axis=(0,), keepdims=False}}"],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, CONSTANT_FOLDING)


def test_all_together_fold_a_seed_to_a_number():
    """The cotangent of a mean: 1 / n, spread out."""
    graph = parse(
        """graph(%x: f64[10,3]) {
          %0 = full {shape=(), value=1.0, dtype=f64}
          %1 = divide %0, 30 !ct
          %2 = reshape %1 {shape=(1, 1)} !ct
          %3 = broadcast_to %2 {shape=(10, 3)} !ct
          %4 = multiply %3, %x !ct
          return %4
        }"""
    )
    after = RuleSet("", CONSTANT_FOLDING)(graph)
    assert str(after) == (
        "graph(%x: f64[10,3]) {\n  %0: f64[10,3] = multiply 0.03333333333333333, %x !ct\n  return %0\n}"
    )
