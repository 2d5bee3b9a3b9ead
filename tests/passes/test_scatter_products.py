"""Products of what was placed among zeros: each rule where it fires and where it must not, and what it is for."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import SCATTER_PRODUCTS
from tests.passes.support import Case, table_tests

X = "%x: f64[3], %y: f64[5], %m: f64[3,3], %n: f64[3,3], %s: f64[2,3], %w: f64[7], %j: i64[7]"
SCATTER = "scatter %x {shape=(5,), index=(1:4,)} !ct"
TRIL, DIAG = "tril %m {k=0} !ct", "diag %x {k=0} !ct"

CASES = {
    "part-times-number": Case(
        f"{X}, %k: f64[], %t: float, %u: f64[20]",
        [
            (f"{SCATTER}; multiply %0, 3.0 !ct", f"multiply %x, 3.0 !ct; {SCATTER[:8]}%0{SCATTER[10:]}"),
            (f"{SCATTER}; multiply %k, %0 !ct", f"multiply %x, %k !ct; {SCATTER[:8]}%0{SCATTER[10:]}"),
            (f"{SCATTER}; divide %0, %t !ct", f"divide %x, %t !ct; {SCATTER[:8]}%0{SCATTER[10:]}"),
        ],
        [
            f"{SCATTER}; multiply %0, 3.0",  # the user's own
            f"{SCATTER}; divide 3.0, %0 !ct",
            f"{SCATTER}; multiply %0, inf !ct",
            f"{SCATTER}; multiply %0, %y !ct",
            f"{SCATTER}; full {{shape=(2, 5), value=3.0, dtype=f64}}; multiply %0, %1 !ct",
            f"{SCATTER[:-4]}; multiply %0, %k !ct",
            "constant {value=[0, 2, 2, 1, 1, 1, 3, 3, 3, 3, 0, 2, 2, 1, 1, 1, 3, 3, 3, 3]}; "
            "scatter %u, %0 {shape=(5,), index=($0,)} !ct; multiply %1, 3.0 !ct",  # more than they come to
        ],
    ),
    "part-times": Case(
        X,
        [
            (
                f"{SCATTER}; multiply %0, %y !ct",
                f"getitem %y {{index=(1:4,)}} !ct; multiply %x, %0 !ct; {SCATTER[:8]}%1{SCATTER[10:]}",
            ),
            (
                f"{SCATTER}; multiply %y, %0 !ct",
                f"getitem %y {{index=(1:4,)}} !ct; multiply %0, %x !ct; {SCATTER[:8]}%1{SCATTER[10:]}",
            ),
            (
                f"{SCATTER}; divide %0, %y !ct",
                f"getitem %y {{index=(1:4,)}} !ct; divide %x, %0 !ct; {SCATTER[:8]}%1{SCATTER[10:]}",
            ),
            (
                "constant {value=[0, 2, 2]}; scatter %x, %0 {shape=(5,), index=($0,)} !ct; multiply %1, %y !ct",
                "constant {value=[0, 2, 2]}; getitem %y, %0 {index=($0,)} !ct; multiply %x, %1 !ct; "
                "scatter %2, %0 {shape=(5,), index=($0,)} !ct",
            ),
        ],
        [
            f"{SCATTER}; multiply %0, %y",
            f"{SCATTER.removesuffix(' !ct')}; multiply %0, %y !ct",
            f"{SCATTER}; multiply %0, 2.0 !ct",
            f"{SCATTER}; divide %y, %0 !ct",
            "scatter %w, %j {shape=(5,), index=($0,)} !ct; multiply %0, %y !ct",  # there are more to multiply
        ],
    ),
    "part-negative": Case(
        X,
        [
            (f"{SCATTER}; negative %0 !ct", f"negative %x !ct; {SCATTER[:8]}%0{SCATTER[10:]}"),
            (f"{TRIL}; negative %0 !ct", "negative %m !ct; tril %0 {k=0} !ct"),
            (f"{DIAG}; negative %0 !ct", "negative %x !ct; diag %0 {k=0} !ct"),
        ],
        [f"{SCATTER}; negative %0", f"{SCATTER.removesuffix(' !ct')}; negative %0 !ct"],
    ),
    "plus-negative-part": Case(
        f"{X}, %t: float",
        [
            (
                f"negative %x !ct; {SCATTER[:8]}%0{SCATTER[10:]}; add %y, %1 !ct",
                f"{SCATTER}; subtract %y, %0 !ct",
            ),
            (
                f"negative %x !ct; {SCATTER[:8]}%0{SCATTER[10:]}; add %1, %y !ct",
                f"{SCATTER}; subtract %y, %0 !ct",
            ),
            (
                f"negative %x !ct; {SCATTER[:8]}%0{SCATTER[10:]}; subtract %y, %1 !ct",
                f"{SCATTER}; add %y, %0 !ct",
            ),
        ],
        [
            f"negative %x !ct; {SCATTER[:8]}%0{SCATTER[10:]}; add %y, %1",  # the user's own
            f"negative %x !ct; {SCATTER[:8]}%0{SCATTER[10:]}; subtract %1, %y !ct",
            f"negative %x !ct; {SCATTER[:8]}%0{SCATTER[10:]}; add %t, %1 !ct",  # is spread out
        ],
    ),
    "part-reshaped-times": Case(
        X,
        [
            (
                "scatter %x {shape=(6,), index=(:3,)} !ct; reshape %0 {shape=(2, 3)} !ct; multiply %1, %s !ct",
                "scatter %x {shape=(6,), index=(:3,)} !ct; reshape %s {shape=(6,)} !ct; multiply %0, %1 !ct; "
                "reshape %2 {shape=(2, 3)} !ct",
            ),
        ],
        [
            "scatter %x {shape=(6,), index=(:3,)} !ct; reshape %0 {shape=(2, 3)} !ct; multiply %1, %x !ct",
            "scatter %x {shape=(6,), index=(:3,)} !ct; reshape %0 {shape=(2, 3)} !ct; multiply %1, %s",
            "sin %x !ct; reshape %0 {shape=(1, 3)} !ct; multiply %1, %m !ct",
        ],
    ),
}
for side in ("lower", "upper"):
    op = {"lower": "tril", "upper": "triu"}[side]
    factor = "divide 1.0, %n !ct"
    CASES[f"{side}-triangle-times"] = Case(
        X,
        [
            (
                f"{op} %m {{k=1}} !ct; {factor}; multiply %0, %1 !ct",
                f"{factor}; multiply %m, %0 !ct; {op} %1 {{k=1}} !ct",
            )
        ],
        [
            f"{op} %m {{k=1}} !ct; multiply %0, %n !ct",  # nothing infinite to be expected
            f"{op} %m {{k=1}} !ct; {factor}; multiply %0, %1",
            f"{op} %m {{k=1}} !ct; divide 1.0, %x !ct; reshape %1 {{shape=(3, 1, 1)}} !ct; multiply %0, %2 !ct",
        ],
    )
    CASES[f"{side}-triangle-over"] = Case(
        X,
        [(f"{op} %m {{k=1}} !ct; divide %0, %n !ct", f"divide %m, %n !ct; {op} %0 {{k=1}} !ct")],
        [f"{op} %m {{k=1}} !ct; divide %n, %0 !ct", f"{op} %m {{k=1}} !ct; divide %0, %n"],
    )
ON = "diagonal {} {{offset=0, axis1=0, axis2=1}} !ct"
CASES["diagonal-times"] = Case(
    X,
    [
        (
            f"{DIAG}; divide 1.0, %n !ct; multiply %0, %1 !ct",
            f"divide 1.0, %n !ct; {ON.format('%0')}; multiply %x, %1 !ct; diag %2 {{k=0}} !ct",
        )
    ],
    [f"{DIAG}; multiply %0, 2.0 !ct", f"{DIAG}; divide 1.0, %n !ct; multiply %0, %1"],
)
CASES["diagonal-over"] = Case(
    X,
    [(f"{DIAG}; divide %0, %n !ct", f"{ON.format('%n')}; divide %x, %0 !ct; diag %1 {{k=0}} !ct")],
    [f"{DIAG}; divide %n, %0 !ct", f"{DIAG}; divide %0, %n"],
)
CASES["sum-of-diagonal"] = Case(
    X,
    [
        (f"{DIAG}; sum %0 {{axis=(0,), keepdims=False}} !ct", "%x"),
        (f"{DIAG}; sum %0 {{axis=(1,), keepdims=True}} !ct", "reshape %x {shape=(3, 1)} !ct"),
    ],
    [
        f"{DIAG}; sum %0 {{axis=(1,), keepdims=True}}",
        f"{DIAG}; sum %0 {{axis=(0, 1), keepdims=False}} !ct",
        "diag %x {k=1} !ct; sum %0 {axis=(0,), keepdims=False} !ct",
    ],
)


test_rule, test_each_rule_has_a_case = table_tests(CASES, SCATTER_PRODUCTS)


# -- what they are for ------------------------------------------------------------------------------------------------
AT = np.array([0.0, 4.0, 1.0, 0.0])
UNREAD = {
    "mask": lambda x: np.log(x)[x > 0],
    "positions": lambda x: np.log(x)[[1, 2]],
    "slice": lambda x: np.log(x)[1:3],
    "take": lambda x: np.take(np.reshape(np.sqrt(x), (2, 2)), [1, 2]),
    "diagonal": lambda x: np.diag(1 / np.reshape(x[1:-1], (2, 1)) + np.log(np.eye(2))),
    "extract": lambda x: np.extract(x > 0, np.log(x)),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_not_read_is_silent(name):
    f = UNREAD[name]
    with np.errstate(all="ignore"):
        first = tapec.grad(lambda x: np.sum(f(x)))
        gradient, second = first(AT), tapec.hessian(lambda x: np.sum(f(x)))(AT)
        forward = [tapec.jvp(lambda x: np.sum(f(x)), (AT,), (e,))[1] for e in np.eye(4)]
    assert np.isfinite(gradient).all() and np.isfinite(second).all()
    np.testing.assert_allclose(gradient, forward)
