"""Exact algebra: each rule where it fires and where it must not."""

from tapec.passes.rules import ALGEBRA
from tapec.testing import check_rewrite, check_unchanged
from tests.passes.support import Case, table_tests, text

F = "%x: f64[3], %y: f64[3]"
INT = "%x: i64[3], %y: i64[3]"
COMPLEX = "%x: c128[3], %y: c128[3]"
LARGE_AND_SMALL = "%m: f64[2,3], %n: f64[2,3], %s: f64[3]"
NUMBER = "%x: f64[3], %k: float"
UNSIGNED = "%x: f64[3], %y: u8[3]"


def share(total, x, bound=1.7976931348623157e308):
    """The share of exp(x) as the derivative of logaddexp has it."""
    return f"{total}; clip %0, -{bound}, {bound} !ct; subtract {x}, %1 !ct; exp %2 !ct; minimum %3, 1.0 !ct"


ADDED_UP = "scatter %x, %i {shape=(50,), index=($0,)}"
CASES = {
    "times-one": Case(
        F,
        [
            ("multiply %x, 1.0", "%x"),
            ("multiply 1, %x", "%x"),
            ("full {shape=(3,), value=1.0, dtype=f64}; multiply %0, %x", "%x"),
            ("full {shape=(2,3), value=1.0, dtype=f64}; multiply %0, %x", "broadcast_to %x {shape=(2, 3)}"),
            ("constant {value=1.0}; multiply %0, %x", "%x"),
        ],
        ["multiply %x, 1.5", "multiply %x, %y", "multiply %x, True"],
        [
            ("%x: f32[3]", "constant {value=1.0}; multiply %x, %0"),  # the result is f64
            ("%x: float", "full {shape=(), value=1.0, dtype=f64}; multiply %x, %0"),  # the result is no Python number
            (COMPLEX, "multiply %x, 1.0"),  # inf * (1 + 0j) is nan
            ("%x: bool[3]", "multiply %x, 1"),
        ],
    ),
    **{
        f"{op}-{str(value).lower()}": Case(
            "%c: bool[3], %x: f64[3]",
            [
                (f"{op} %c, {value}", "%c"),
                (f"{op} {value}, %c", "%c"),
                (f"full {{shape=(2,3), value={value}, dtype=bool}}; {op} %c, %0", "broadcast_to %c {shape=(2, 3)}"),
            ],
            [f"{op} %c, {not value}", f"{op} %c, %c"],
            [("%i: i64[3]", f"{op} %i, {value}")],
        )
        for ops, value in ((("logical_and", "bitwise_and"), True), (("logical_or", "bitwise_or"), False))
        for op in ops
    },
    "over-one": Case(F, [("divide %x, 1.0", "%x")], ["divide 1.0, %x"], [(INT, "divide %x, 1")]),
    "python-number-times-one": Case(
        NUMBER,
        [
            ("full {shape=(), value=1.0, dtype=f64}; multiply %0, %k", "cast %k {dtype=f64}"),
            ("full {shape=(), value=1.0, dtype=f32}; multiply %k, %0", "cast %k {dtype=f32}"),
        ],
        ["multiply %x, 1.0", "full {shape=(), value=2.0, dtype=f64}; multiply %0, %k"],
    ),
    "times-python-number": Case(
        NUMBER,
        [("cast %k {dtype=f64}; multiply %x, %0", "multiply %x, %k")],
        [
            "cast %k {dtype=f64}; multiply %0, 2.0",  # the result is no Python number
            "cast %k {dtype=f32}; multiply %0, %x",  # fewer digits of k
            "cast %x {dtype=f32}; multiply %0, %k",
        ],
        [(NUMBER.replace("f64", "f32"), "cast %k {dtype=f64}; multiply %x, %0")],  # the result is f64
    ),
    "python-number-over": Case(
        NUMBER,
        [("cast %k {dtype=f64}; divide %0, %x", "divide %k, %x")],
        [
            "cast %k {dtype=f64}; divide %x, %0",
            "cast %k {dtype=f64}; divide %0, 3.0",
            "cast %k {dtype=f32}; divide %0, %x",
        ],
    ),
    "divisor-guarded-again": Case(
        "%x: f64[3], %a: f64[3], %b: f64[3]",
        [
            (
                "equal %a, 0 !ct; where %0, inf, %a !ct; divide %x, %a !ct; divide %2, %1 !ct",
                "divide %x, %a !ct; divide %0, %a !ct",
            )
        ],
        [
            "equal %a, 0 !ct; where %0, inf, %a !ct; divide %x, %b !ct; divide %2, %1 !ct",
            "equal %a, 0 !ct; where %0, 1.0, %a !ct; divide %x, %a !ct; divide %2, %1 !ct",
            "equal %a, 0; where %0, inf, %a; divide %x, %a; divide %2, %1",
        ],
    ),
    "negative-of-negative-times": Case(
        "%x: f64[3], %y: f64[3]",
        [
            ("negative %x; multiply %0, %y; negative %1", "multiply %x, %y"),
            ("negative %x; multiply %y, %0; negative %1", "multiply %x, %y"),
        ],
        ["negative %x; multiply %0, %y; negative %1; return %1, %2", "negative %x; add %0, %y; negative %1"],
    ),
    "negative-of-negative-over": Case(
        "%x: f64[3], %y: f64[3]",
        [("negative %x; divide %0, %y; negative %1", "divide %x, %y")],
        ["negative %x; divide %0, %y; negative %1; return %1, %2", "negative %x; divide %y, %0; negative %1"],
    ),
    "root-divided-by-twice": Case(
        "%x: f64[], %v: f64[], %w: f64[], %y: f64[3]",
        [("absolute %v; sqrt %0; divide %x, %1 !ct; divide %2, %1 !ct", "absolute %v; divide %x, %0 !ct")],
        [
            "absolute %v; sqrt %0; divide %x, %1; divide %2, %1 !ct",  # a value of the user's
            "absolute %v; sqrt %0; divide %x, %1 !ct; divide %2, %w !ct",
            "absolute %v; sqrt %0; divide %y, %1 !ct; divide %2, %1 !ct",  # arrays
        ],
    ),
    "root-in-product-divided-by-twice": Case(
        "%x: f64[], %v: f64[], %w: f64[], %y: f64[3]",
        [
            (
                "absolute %v; sqrt %0; divide 2.0, %1 !ct; multiply %x, %2 !ct; divide %3, %1 !ct",
                "absolute %v; divide 2.0, %0 !ct; multiply %x, %1 !ct",
            )
        ],
        ["absolute %v; sqrt %0; divide 2.0, %1 !ct; multiply %x, %2 !ct; divide %3, %w !ct"],
    ),
    "divisor-guarded-in-product": Case(
        "%x: f64[3], %a: f64[3], %b: f64[3]",
        [
            (
                "equal %a, 0 !ct; where %0, inf, %a !ct; divide 2.0, %a !ct; multiply %x, %2 !ct; divide %3, %1 !ct",
                "divide 2.0, %a !ct; multiply %x, %0 !ct; divide %1, %a !ct",
            )
        ],
        ["equal %b, 0 !ct; where %0, inf, %b !ct; divide 2.0, %a !ct; multiply %x, %2 !ct; divide %3, %1 !ct"],
    ),
    "minus-zero": Case(F, [("subtract %x, 0.0", "%x")], ["subtract %x, -0.0", "subtract 0.0, %x"]),
    "plus-negative-zero": Case(F, [("add %x, -0.0", "%x"), ("add -0.0, %x", "%x")], ["add %x, 0.0"]),
    "plus-integer-zero": Case(INT, [("add %x, 0", "%x")], ["add %x, 1"], [(F, "add %x, 0"), (INT, "add %x, 0.0")]),
    "plus-zero-added-up": Case(
        "%x: f64[3], %i: i64[3]",
        [(f"{ADDED_UP}; add 0.0, %0", ADDED_UP)],
        [
            f"{ADDED_UP}; add -0.0, %0",
            "scatter %x {shape=(5,), index=(1:4,)}; add %0, 0.0",  # where -0.0 may be
            "scatter %x, %i {shape=(50,), index=($0,), unique=True}; add %0, 0.0",
            "exp %x; add %0, 0.0",
        ],
    ),
    "positive": Case(F, [("positive %x", "%x")], ["negative %x"]),
    "times-minus-one": Case(
        F, [("multiply %x, -1.0", "negative %x")], ["multiply %x, 1.0"], [(COMPLEX, "multiply %x, -1")]
    ),
    "over-minus-one": Case(F, [("divide %x, -1", "negative %x")], ["divide -1, %x"]),
    "negative-of-negative": Case(
        F, [("negative %x; negative %0", "%x")], ["negative %x"], [(UNSIGNED, "negative %y; negative %0")]
    ),
    "plus-negative": Case(
        F,
        [("negative %y; add %x, %0", "subtract %x, %y"), ("negative %y; add %0, %x", "subtract %x, %y")],
        ["negative %y; subtract %x, %0"],
        [(UNSIGNED, "negative %y; add %x, %0")],  # -1 is 255 there
    ),
    "minus-negative": Case(
        F,
        [("negative %y; subtract %x, %0", "add %x, %y")],
        ["negative %x; subtract %0, %y"],
        [(UNSIGNED, "negative %y; subtract %x, %0")],
    ),
    "plus-negative-times": Case(
        LARGE_AND_SMALL,
        [
            ("negative %s; multiply %0, %m; add %n, %1", "multiply %s, %m; subtract %n, %0"),
            ("negative %s; multiply %m, %0; add %1, %n", "multiply %s, %m; subtract %n, %0"),
        ],
        ["negative %s; multiply %0, %m; add %n, %1; return %1, %2", "multiply %s, %m; add %n, %0"],
        [(COMPLEX, "negative %x; multiply %0, %y; add %x, %1")],
    ),
    "minus-negative-times": Case(
        LARGE_AND_SMALL,
        [("negative %s; multiply %0, %m; subtract %n, %1", "multiply %s, %m; add %n, %0")],
        [
            "negative %s; multiply %0, %m; subtract %1, %n",  # the other way round
            "negative %s; multiply %0, %m; subtract %n, %1; return %1, %2",
        ],
    ),
    "negatives-multiplied": Case(
        F,
        [("negative %x; negative %y; multiply %0, %1", "multiply %x, %y")],
        ["negative %x; multiply %0, %y"],
        [(COMPLEX, "negative %x; negative %y; multiply %0, %1")],
    ),
    "negatives-divided": Case(
        F, [("negative %x; negative %y; divide %0, %1", "divide %x, %y")], ["negative %x; divide %0, %y"]
    ),
    "negative-times-number": Case(
        F, [("negative %x; multiply %0, 3.0", "multiply %x, -3.0")], ["negative %x; multiply %0, %y"]
    ),
    "negative-over-number": Case(
        F, [("negative %x; divide %0, 3.0", "divide %x, -3.0")], ["negative %x; divide 3.0, %0"]
    ),
    "number-over-negative": Case(
        F, [("negative %x; divide 3.0, %0", "divide -3.0, %x")], ["negative %x; divide %0, 3.0"]
    ),
    "negative-of-product": Case(
        F,
        [("multiply %x, 3.0; negative %0", "multiply %x, -3.0")],
        ["multiply %x, %y; negative %0", "multiply %x, 3.0; negative %0; return %0, %1"],
    ),
    "negative-of-quotient": Case(
        F, [("divide %x, 3.0; negative %0", "divide %x, -3.0")], ["divide %x, 3.0; negative %0; return %0, %1"]
    ),
    "negative-of-reciprocal": Case(
        F, [("divide 3.0, %x; negative %0", "divide -3.0, %x")], ["divide 3.0, %x; negative %0; return %0, %1"]
    ),
    "roll-of-negative": Case(
        F,
        [
            (
                "negative %x !ct; roll %0 {shift=(1,), axis=(0,)} !ct",
                "roll %x {shift=(1,), axis=(0,)} !ct; negative %0 !ct",
            )
        ],
        [
            "negative %x; roll %0 {shift=(1,), axis=(0,)}",  # the user's own
            "negative %x !ct; roll %0 {shift=(1,), axis=(0,)} !ct; return %0, %1",
        ],
    ),
    "number-of-other-kind": Case(
        F,
        [
            ("divide 1, %x; divide 1.0, %x !ct; return %0, %1", "divide 1, %x; return %0, %0"),
            ("divide 2.0, %x; divide 2, %x !ct; return %0, %1", "divide 2.0, %x; return %0, %0"),
            ("divide 1, %x !ct; divide 1.0, %x !ct; return %0, %1", "divide 1, %x !ct; return %0, %0"),
        ],
        ["divide 1, %x; divide 1.0, %x; return %0, %1", "divide 1, %x; divide 1.5, %x !ct; return %0, %1"],
    ),
    "negative-times": Case(
        F,
        [
            ("negative %x; multiply %0, %y !ct", "multiply %x, %y !ct; negative %0 !ct"),
            ("negative %x; multiply %y, %0 !ct", "multiply %x, %y !ct; negative %0 !ct"),
        ],
        ["negative %x; multiply %0, %y !ct; return %0, %1", "negative %x; multiply %0, %y"],
        [
            (COMPLEX, "negative %x; multiply %0, %y !ct"),  # zeros may change their signs
            (LARGE_AND_SMALL, "negative %s; multiply %0, %m !ct"),
        ],
    ),
    "negative-over": Case(
        F, [("negative %x; divide %0, %y", "divide %x, %y; negative %0")], ["negative %x; divide %0, %y; return %0, %1"]
    ),
    "over-negative": Case(
        F, [("negative %x; divide %y, %0", "divide %y, %x; negative %0")], ["negative %x; divide %y, %0; return %0, %1"]
    ),
    "negative-of-reshaped-reciprocal": Case(
        F,
        [("divide 2.0, %x; reshape %0 {shape=(3, 1)}; negative %1", "divide -2.0, %x; reshape %0 {shape=(3, 1)}")],
        ["divide 2.0, %x; reshape %0 {shape=(3, 1)}; negative %1; return %1, %2"],
    ),
    "negative-of-reshaped-product": Case(
        F,
        [("multiply %x, 3.0; reshape %0 {shape=(3, 1)}; negative %1", "multiply %x, -3.0; reshape %0 {shape=(3, 1)}")],
        [
            "multiply %x, %y; reshape %0 {shape=(3, 1)}; negative %1",
            "multiply %x, 3.0; reshape %0 {shape=(3, 1)}; negative %1; return %0, %2",
        ],
    ),
    "negative-of-product-with-smaller": Case(
        LARGE_AND_SMALL,
        [
            ("multiply %s, %m; negative %0", "negative %s; multiply %0, %m"),
            ("divide %s, %m; negative %0", "negative %s; divide %0, %m"),
            ("divide %m, %s; negative %0", "negative %s; divide %m, %0"),
            ("multiply %s, %m; multiply %0, %n; negative %1", "negative %s; multiply %0, %m; multiply %1, %n"),
            ("divide %m, %s; divide %n, %0; negative %1", "negative %s; divide %m, %0; divide %n, %1"),
            (
                "multiply %m, %s; divide %0, %n; multiply %n, %1; negative %2",
                "negative %s; multiply %m, %0; divide %1, %n; multiply %n, %2",
            ),
        ],
        [
            "multiply %m, %n; negative %0",
            "divide %n, %m; negative %0",
            "multiply %s, %m; negative %0; return %0, %1",
            "divide %s, %m; negative %0; return %0, %1",
            "divide %m, %s; negative %0; return %0, %1",
            "multiply %m, %n; multiply %0, %n; negative %1",
            "add %s, %m; multiply %0, %n; negative %1",
            "multiply %s, %m; multiply %0, %n; negative %1; return %0, %2",
            "multiply %s, %m; multiply %0, %n; negative %1; return %1, %2",
        ],
        [
            ("%m: f64[3], %u: u8[]", "multiply %u, %m; negative %0"),  # whose negative is 255
            ("%m: f64[2,3], %u: u8[3]", "multiply %u, %m; multiply %0, %m; negative %1"),
            ("%m: f64[0,1], %n: f64[2]", "multiply %m, %n; negative %0"),  # the result is as small
            ("%m: f32[2,3], %s: f32[3], %n: f64[2,3]", "multiply %s, %m; multiply %0, %n; negative %1"),
        ],
    ),
    "negative-times-shared": Case(
        F,
        [
            (
                "negative %x; multiply %0, %y !ct; return %0, %1",
                "negative %x; multiply %x, %y !ct; negative %1 !ct; return %0, %2",
            )
        ],
        ["negative %x; multiply %0, %y; return %0, %1"],
        [(COMPLEX, "negative %x; multiply %0, %y !ct")],
    ),
    "negative-over-shared": Case(
        F,
        [
            (
                "negative %x; divide %0, %y !ct; return %0, %1",
                "negative %x; divide %x, %y !ct; negative %1 !ct; return %0, %2",
            )
        ],
        ["negative %x; divide %0, %y; return %0, %1", "negative %x; divide %y, %0 !ct"],
    ),
    "negative-minus": Case(
        F,
        [("negative %x !ct; subtract %0, %y !ct", "add %x, %y !ct; negative %0 !ct")],
        [
            "negative %x; subtract %0, %y",  # 0.0 and -0.0 make a difference
            "negative %x !ct; subtract %0, %y !ct; return %0, %1",
        ],
    ),
    "negative-of-difference": Case(
        F,
        [("subtract %x, %y !ct; negative %0 !ct", "subtract %y, %x !ct")],
        [
            "subtract %x, %y; negative %0",  # where x is y, -(x - y) is -0.0
            "subtract %x, %y !ct; negative %0",
            "subtract %x, %y !ct; negative %0 !ct; return %0, %1",
        ],
    ),
    "rests-multiplied": Case(
        F,
        [
            (
                "subtract 1, %x; subtract 1, %y !ct; multiply %0, %y !ct; multiply %x, %1 !ct; subtract %2, %3 !ct",
                "subtract %y, %x !ct",
            ),
        ],
        [
            "subtract 1, %x; subtract 1, %y; multiply %0, %y; multiply %x, %1; subtract %2, %3",  # the user's
            "subtract 2, %x !ct; subtract 1, %y !ct; multiply %0, %y !ct; multiply %x, %1 !ct; subtract %2, %3 !ct",
            "subtract 1, %x !ct; subtract 1, %y !ct; multiply %0, %x !ct; multiply %y, %1 !ct; subtract %2, %3 !ct",
        ],
        [
            # labels of few bits wrap around, and those of one row would be spread out
            (UNSIGNED, "subtract 1, %x; subtract 1, %y; multiply %0, %y; multiply %x, %1; subtract %2, %3 !ct"),
            (
                LARGE_AND_SMALL,
                "subtract 1, %m; subtract 1, %s; multiply %0, %s; multiply %m, %1; subtract %2, %3 !ct",
            ),
        ],
    ),
    "rests-multiplied-and-added": Case(
        F,
        [
            (
                "subtract 1, %x; subtract %y, 1 !ct; multiply %0, %y !ct; multiply %x, %1 !ct; add %2, %3 !ct",
                "subtract %y, %x !ct",
            ),
        ],
        [
            "subtract 1, %x; subtract %y, 1; multiply %0, %y; multiply %x, %1; add %2, %3",
            "subtract 1, %x !ct; subtract 1, %y !ct; multiply %0, %y !ct; multiply %x, %1 !ct; add %2, %3 !ct",
        ],
        [(UNSIGNED, "subtract 1, %x; subtract %y, 1; multiply %0, %y; multiply %x, %1; add %2, %3 !ct")],
    ),
    "absolute-of-nonnegative": Case(
        F,
        [
            ("exp %x; absolute %0", "exp %x"),
            ("multiply %x, %x; add %0, 1.0; sqrt %1; absolute %2", "multiply %x, %x; add %0, 1.0; sqrt %1"),
        ],
        ["absolute %x", "multiply %x, %y; absolute %0", "multiply %x, %x; sqrt %x; add %0, %1; absolute %2"],
    ),
    "absolute-of-negative": Case(F, [("negative %x; absolute %0", "absolute %x")], ["absolute %x; negative %0"]),
    "square": Case(F, [("square %x", "multiply %x, %x")], ["multiply %x, %x"], [(COMPLEX, "square %x")]),
    "absolute-squared": Case(
        F, [("absolute %x; multiply %0, %0", "multiply %x, %x")], ["absolute %x; multiply %0, %x"]
    ),
    "absolute-times-sign": Case(
        F,
        [
            ("absolute %x; sign %x; multiply %0, %1 !ct", "return %x"),
            ("absolute %x; sign %x; multiply %1, %0 !ct", "return %x"),
        ],
        [
            "absolute %x; sign %x; multiply %0, %1",  # the user's own gives 0.0 for -0.0
            "absolute %x; sign %y; multiply %0, %1 !ct",
        ],
    ),
    "twice": Case(
        F, [("add %x, %x", "multiply %x, 2.0")], ["add %x, %y"], [(COMPLEX, "add %x, %x"), (INT, "add %x, %x")]
    ),
    "twice-beside": Case(
        F,
        [
            ("add %y, %x !ct; add %0, %x !ct", "multiply %x, 2.0 !ct; add %y, %0 !ct"),
            ("add %x, %y !ct; add %x, %0 !ct", "multiply %x, 2.0 !ct; add %y, %0 !ct"),
        ],
        [
            "add %y, %x; add %0, %x",
            "add %y, %x !ct; subtract %0, %x !ct",
            "add %y, %x !ct; add %0, %x !ct; return %0, %1",
        ],
    ),
    "where-both-same": Case(
        "%c: bool[3], %x: f64[3], %y: f64[3]",
        [("where %c, %x, %x", "%x")],
        ["where %c, %x, %y"],
        [("%c: bool[3], %x: float", "where %c, %x, %x")],
    ),
    "where-again-then": Case(
        "%c: bool[3], %d: bool[3], %x: f64[3], %y: f64[3]",
        [
            ("where %c, %x, 0.0; where %c, %0, 0", "where %c, %x, 0.0"),
            ("where %c, %x, 2.5; where %c, %0, 2.5", "where %c, %x, 2.5"),
        ],
        [
            "where %c, %x, 0.0; where %c, %0, -0.0",
            "where %c, %x, 1.0; where %c, %0, 2.0",
            "where %d, %x, 0.0; where %c, %0, 0.0",
            "where %c, %x, %y; where %c, %0, %y",
        ],
    ),
    "where-again-else": Case(
        "%c: bool[3], %d: bool[3], %x: f64[3]",
        [("where %c, 0.0, %x; where %c, 0, %0", "where %c, 0.0, %x")],
        ["where %c, 0.0, %x; where %c, -0.0, %0", "where %d, 0.0, %x; where %c, 0.0, %0"],
    ),
    "where-same-condition-then": Case(
        "%c: bool[3], %d: bool[3], %x: f64[3], %y: f64[3]",
        [("where %c, %x, %y; where %c, %0, 1.0", "where %c, %x, 1.0")],
        ["where %d, %x, %y; where %c, %0, 1.0", "where %c, %x, %y; where %c, 1.0, %0"],
    ),
    "where-same-condition-else": Case(
        "%c: bool[3], %d: bool[3], %x: f64[3], %y: f64[3]",
        [("where %c, %x, %y; where %c, 1.0, %0", "where %c, 1.0, %y")],
        ["where %d, %x, %y; where %c, 1.0, %0", "where %c, %x, %y; where %c, %0, 1.0"],
    ),
    "where-not": Case(
        "%c: bool[3], %n: i64[3], %x: f64[3], %y: f64[3]",
        [("invert %c; where %0, %x, %y", "where %c, %y, %x")],
        ["invert %n; where %0, %x, %y", "where %c, %x, %y"],
    ),
    "negative-of-small-chosen": Case(
        "%c: bool[5,8], %r: f64[8], %s: f64[8], %x: f64[5,8]",
        [("where %c, %r, %s; negative %0", "negative %r; negative %s; where %c, %0, %1")],
        [
            "where %c, %r, %x; negative %0",
            "where %c, %r, %s; negative %0; return %0, %1",
        ],
    ),
    "number-chosen-then": Case(
        "%c: bool[5,8], %x: f64[5,8], %h: f32[5,8]",
        [("full {shape=(5, 8), value=2.0, dtype=f64}; where %c, %0, %x", "where %c, 2.0, %x")],
        [
            "full {shape=(5, 8), value=2.0, dtype=f32}; full {shape=(5, 8), value=1.0, dtype=f32}; where %c, %0, 0",
            "where %c, 2.0, %x",
            "where %c, %x, %x",
        ],
    ),
    "number-chosen-else": Case(
        "%c: bool[5,8], %x: f64[5,8]",
        [("full {shape=(5, 8), value=2.0, dtype=f64}; where %c, 0, %0", "where %c, 0, 2.0")],
        ["where %c, %x, 2.0", "full {shape=(5, 8), value=2.0, dtype=f32}; where %c, 0, %0"],
    ),
    "negative-of-numbers-chosen": Case(
        "%c: bool[3], %x: f64[3]",
        [
            ("where %c, 2.0, -3.0; negative %0", "where %c, -2.0, 3.0"),
            ("where %c, 2.0, 0.0; negative %0", "where %c, -2.0, -0.0"),
        ],
        ["where %c, 2.0, %x; negative %0"],
    ),
    "where-constant-condition": Case(
        F,
        [
            ("where True, %x, %y", "%x"),
            ("where 0.0, %x, %y", "%y"),
            ("full {shape=(3,), value=False, dtype=bool}; where %0, %x, %y", "%y"),
        ],
        ["where %x, %x, %y"],
        [("%c: bool[3], %x: f64[3]", "where %c, %x, 0.0"), ("%x: f32[3]", "constant {value=0.0}; where True, %x, %0")],
    ),
    "over-power-of-two": Case(
        F,
        [("divide %x, 4.0", "multiply %x, 0.25"), ("divide %x, -0.5", "multiply %x, -2.0")],
        ["divide %x, 3.0", "divide %x, 0.0", "divide %x, 5e-324", "divide %x, inf", "divide 4.0, %x"],
    ),
    "powers-of-two-gathered": Case(
        F,
        [
            ("multiply %x, 2.0; multiply %0, -4.0", "multiply %x, -8.0"),
            ("multiply 2.0, %x; multiply 4.0, %0", "multiply %x, 8.0"),
        ],
        ["multiply %x, 3.0; multiply %0, 2.0", "multiply %x, 0.5; multiply %0, 2.0"],  # 0.5 * TINY is 0.0
    ),
    "share-of-logaddexp": Case(
        F,
        [
            (
                share("logaddexp 0.0, %x", "%x"),
                "negative %x !ct; minimum %0, 709.0 !ct; exp %1 !ct; add 1.0, %2 !ct; divide 1.0, %3 !ct",
            ),
            (
                share("logaddexp %x, 1.5", "%x"),
                "subtract 1.5, %x !ct; minimum %0, 709.0 !ct; exp %1 !ct; add 1.0, %2 !ct; divide 1.0, %3 !ct",
            ),
        ],
        [
            share("logaddexp 0.0, %x", "%x").replace(" !ct", ""),
            share("logaddexp 0.0, %x", "%x") + "; return %0, %4",
            share("logaddexp 0.0, %y", "%x"),
            share("logaddexp -inf, %x", "%x"),
            share("logaddexp %y, %x", "%x"),
            share("logaddexp 0.0, %x", "%x", bound=700.0),
        ],
    ),
    "share-of-softplus": Case(
        F,
        [
            (
                share("logaddexp 0.0, %x", "%x") + "; return %0, %4",
                "logaddexp 0.0, %x; negative %0 !ct; expm1 %1 !ct; negative %2 !ct; return %0, %3",
            ),
        ],
        [
            share("logaddexp 0.0, %x", "%x").replace(" !ct", "") + "; return %0, %4",
            share("logaddexp 1.5, %x", "%x") + "; return %0, %4",
            share("logaddexp 0.0, %x", "%x", bound=700.0) + "; return %0, %4",
        ],
    ),
    "conjugate-of-conjugate": Case(COMPLEX, [("conjugate %x; conjugate %0", "%x")], ["conjugate %x"]),
    "conjugate-of-real": Case(F, [("conjugate %x", "%x")], [], [(COMPLEX, "conjugate %x")]),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, ALGEBRA)


def test_derivatives_by_a_number_keep_their_sign():
    """The next step of a loop begins with `dx_dk`. What has no name is read in its own step."""
    (rule,) = [r for r in ALGEBRA if r.name == "negative-minus"]

    body = f"graph({F}) {{\n  %0 = negative %x !ct\n  %dx_dk = subtract %0, %y !ct\n  return %dx_dk\n}}"
    check_unchanged(body, [rule])
    assert check_rewrite(body.replace("dx_dk", "1"), text(F, "add %x, %y !ct; negative %0 !ct"), [rule])
