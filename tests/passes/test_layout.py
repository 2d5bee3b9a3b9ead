"""Layout, indexing and reductions: each rule where it fires and where it must not."""

from tapec.passes.rules import LAYOUT_CHANGES, READ_AFTER_WRITE, SUMS_OF_SUMS, SUMS_WITH_OTHER_KEEPDIMS
from tests.passes.support import Case, check_case, table_tests

X = "%x: f64[3,4], %y: f64[3,4], %v: f64[4], %s: f64[], %p: f64[2,3]"
SUM = "sum {} {{axis=({}), keepdims={}}}".format
MEAN = "mean {} {{axis=({}), keepdims={}}}".format
TOTAL = "sum {} {{axis=(0, 1), keepdims=False}}".format
FACTOR = "%x: f64[5,20], %y: f64[5,20], %s: f64[], %c: f64[5,1], %r: f64[20]"
PICKED = "constant {value=[0, 1, 2]}; constant {value=[3, 3, 0]}; scatter %r, %0, %1 {shape=(3, 4), index=($0, $1)}"
PICKED_DEEP = (
    "constant {value=[[0], [1]]}; constant {value=[0, 1, 2]}; constant {value=[[3, 3, 0], [1, 0, 2]]}; "
    "scatter %q, %0, %1, %2 {shape=(2, 3, 4), index=($0, $1, $2)}"
)
ONES = "full {shape=(3, 4), value=-1.0, dtype=f64}"
ROWS = "constant {value=[0, 1, 2]}; constant {value=[3, 3, 0]}"
PICK = "getitem %2, %0, %1 {index=($0, $1)} !ct"
PICKED_CT = f"{PICKED} !ct"
I3 = "constant {value=[0, 1, 2]}"
RULES = (*LAYOUT_CHANGES, *READ_AFTER_WRITE, *SUMS_OF_SUMS, *SUMS_WITH_OTHER_KEEPDIMS)
WEAK = "%t: float, %h: f32[3]"

CASES = {
    "reshape-to-itself": Case(
        X,
        [("reshape %x {shape=(3, 4)}", "%x")],
        ["reshape %x {shape=(4, 3)}"],
        [("%t: float", "reshape %t {shape=()}")],
    ),
    "reshape-of-reshape": Case(
        X,
        [("reshape %x {shape=(12,)}; reshape %0 {shape=(4, 3)}", "reshape %x {shape=(4, 3)}")],
        ["transpose %x {axes=(1, 0)}; reshape %0 {shape=(12,)}"],
    ),
    "reshape-of-multiple": Case(
        "%x: f64[3,4], %s: f64[], %r: f64[12]",
        [
            ("reshape %x {shape=(12,)}; multiply %0, %s; reshape %1 {shape=(3, 4)}", "multiply %x, %s"),
            ("reshape %x {shape=(2, 6)}; multiply %0, 2.0; reshape %1 {shape=(3, 4)}", "multiply %x, 2.0"),
            (
                "reshape %x {shape=(12,)}; multiply %0, %s; reshape %1 {shape=(4, 3)}",
                "multiply %x, %s; reshape %0 {shape=(4, 3)}",
            ),
        ],
        [
            "reshape %x {shape=(12,)}; multiply %0, %r; reshape %1 {shape=(3, 4)}",
            "reshape %x {shape=(3, 1, 4)}; multiply %0, %s; reshape %1 {shape=(1, 3, 1, 4)}",
            "reshape %x {shape=(12,)}; multiply %0, %s; reshape %1 {shape=(3, 4)}; return %1, %2",
        ],
    ),
    "transpose-to-itself": Case(X, [("transpose %v {axes=(0,)}", "%v")], ["transpose %x {axes=(1, 0)}"]),
    "transpose-of-transpose": Case(
        "%x: f64[2,3,4]",
        [
            ("transpose %x {axes=(1, 2, 0)}; transpose %0 {axes=(2, 0, 1)}", "%x"),
            ("transpose %x {axes=(1, 2, 0)}; transpose %0 {axes=(1, 0, 2)}", "transpose %x {axes=(2, 1, 0)}"),
        ],
        ["reshape %x {shape=(6, 4)}; transpose %0 {axes=(1, 0)}"],
    ),
    "slices-between-transposes": Case(
        "%x: f64[2,3,4]",
        [
            (
                "transpose %x {axes=(1, 2, 0)}; getitem %0 {index=(:, ::-1)}; transpose %1 {axes=(2, 0, 1)}",
                "getitem %x {index=(:, :, ::-1)}",
            ),
            (
                "transpose %x {axes=(1, 0, 2)}; getitem %0 {index=(:, 1:)}; transpose %1 {axes=(1, 0, 2)}",
                "getitem %x {index=(1:,)}",
            ),
        ],
        [
            "transpose %x {axes=(1, 2, 0)}; getitem %0 {index=(::-1,)}; transpose %1 {axes=(1, 0, 2)}",
            "transpose %x {axes=(1, 2, 0)}; getitem %0 {index=(0, :)}; transpose %1 {axes=(1, 0)}",
        ],
    ),
    "transpose-of-ones": Case(
        "%x: f64[1,3,4], %a: f64[3,1], %b: f64[3,4]",
        [
            ("transpose %x {axes=(1, 0, 2)}", "reshape %x {shape=(3, 1, 4)}"),
            ("transpose %a {axes=(1, 0)}", "reshape %a {shape=(1, 3)}"),
        ],
        ["transpose %x {axes=(2, 0, 1)}", "transpose %b {axes=(1, 0)}"],
    ),
    "index-of-everything": Case(
        "%x: f64[3,1,4]",
        [
            ("getitem %x {index=(:, 0)}", "reshape %x {shape=(3, 4)}"),
            ("getitem %x {index=(..., 0, 0:4)}", "reshape %x {shape=(3, 4)}"),
        ],
        [
            "getitem %x {index=(0,)}",
            "getitem %x {index=(::-1,)}",
            "getitem %x {index=(:, 0, 1:)}",
            "constant {value=[2, 0, 1]}; getitem %x, %0 {index=($0, 0)}",
        ],
    ),
    "broadcast-of-same-size": Case(
        X,
        [("broadcast_to %v {shape=(1, 4)}", "reshape %v {shape=(1, 4)}")],
        ["broadcast_to %v {shape=(3, 4)}"],
        [("%t: float", "broadcast_to %t {shape=(1,)}")],
    ),
    "reshape-of-full": Case(
        X,
        [
            (
                "full {shape=(3, 4), value=2.5, dtype=f64}; reshape %0 {shape=(12,)}; multiply %1, %1",
                "full {shape=(12,), value=2.5, dtype=f64}; multiply %0, %0",
            )
        ],
        ["reshape %x {shape=(12,)}", "reshape 2.5 {shape=(1,)}"],
    ),
    "reshape-of-spread-number": Case(
        X,
        [
            (
                "broadcast_to %s {shape=(1, 4)}; reshape %0 {shape=(4,)}",
                "broadcast_to %s {shape=(4,)}",
            )
        ],
        ["broadcast_to %v {shape=(3, 4)}; reshape %0 {shape=(12,)}"],
        [("%t: float", "broadcast_to %t {shape=(1, 4)}; reshape %0 {shape=(4,)}")],
    ),
    "transpose-of-broadcast": Case(
        "%c: f64[5,1,3], %m: f64[5,3], %t: float",
        [
            (
                "broadcast_to %c {shape=(5, 4, 3)}; transpose %0 {axes=(2, 1, 0)}",
                "transpose %c {axes=(2, 1, 0)}; broadcast_to %0 {shape=(3, 4, 5)}",
            ),
            (
                "broadcast_to %m {shape=(4, 5, 3)}; transpose %0 {axes=(0, 2, 1)}",
                "reshape %m {shape=(1, 5, 3)}; transpose %0 {axes=(0, 2, 1)}; broadcast_to %1 {shape=(4, 3, 5)}",
            ),
        ],
        [
            "broadcast_to %t {shape=(4, 5)}; transpose %0 {axes=(1, 0)}; return %1, %0",
            "transpose %c {axes=(2, 1, 0)}; broadcast_to %0 {shape=(3, 4, 5)}",
        ],
    ),
    "reshape-of-broadcast": Case(
        "%c: f64[5,1], %r: f64[4], %t: float",
        [
            (
                "broadcast_to %c {shape=(5, 4)}; reshape %0 {shape=(5, 1, 4)}",
                "reshape %c {shape=(5, 1, 1)}; broadcast_to %0 {shape=(5, 1, 4)}",
            ),
            (
                "broadcast_to %r {shape=(5, 1, 4)}; reshape %0 {shape=(5, 4)}",
                "reshape %r {shape=(1, 4)}; broadcast_to %0 {shape=(5, 4)}",
            ),
        ],
        [
            "broadcast_to %c {shape=(5, 4)}; reshape %0 {shape=(20,)}",
            "broadcast_to %r {shape=(4, 4)}; reshape %0 {shape=(2, 2, 4)}",
            "broadcast_to %t {shape=(5, 4)}; reshape %0 {shape=(5, 1, 4)}",  # which would be a number again
        ],
    ),
    "ones-dropped-before-transpose": Case(
        "%x: f64[1,5,4], %y: f64[3,5,4], %p: f64[5,4]",
        [
            (
                "transpose %x {axes=(2, 1, 0)}; reshape %0 {shape=(4, 5)}",
                "reshape %x {shape=(5, 4)}; transpose %0 {axes=(1, 0)}",
            ),
            (
                "reshape %p {shape=(1, 1, 5, 4)}; transpose %0 {axes=(0, 3, 2, 1)}; reshape %1 {shape=(4, 5, 1)}",
                "reshape %p {shape=(1, 1, 5, 4)}; reshape %0 {shape=(5, 4)}; transpose %1 {axes=(1, 0)}; "
                "reshape %2 {shape=(4, 5, 1)}",
            ),
        ],
        [
            "transpose %x {axes=(2, 1, 0)}; reshape %0 {shape=(5, 4)}",
            "transpose %x {axes=(2, 1, 0)}; reshape %0 {shape=(1, 4, 5)}",
            "transpose %y {axes=(2, 1, 0)}; reshape %0 {shape=(4, 15)}",
        ],
    ),
    "ones-dropped-before": Case(
        "%x: f64[1,4], %v: f64[4], %s: f64[], %m: f64[3,4]",
        [
            (
                "multiply %x, %v; reshape %0 {shape=(4,)}",
                "reshape %x {shape=(4,)}; multiply %0, %v",
            ),
            (
                "multiply %x, %s !ct; reshape %0 {shape=(4,)} !ct; return %0, %1",
                "multiply %x, %s !ct; reshape %x {shape=(4,)} !ct; multiply %1, %s !ct; return %0, %2",
            ),
        ],
        [
            "multiply %x, %v; reshape %0 {shape=(4,)}; return %0, %1",
            "multiply %x, %v; reshape %0 {shape=(2, 2)}",
            "multiply %m, %v; reshape %0 {shape=(12,)}",
            "sum %x {axis=(1,), keepdims=True}; reshape %0 {shape=(1,)}",
            "power %x, 0.5; reshape %0 {shape=(4,)}",
        ],
    ),
    "broadcast-to-itself": Case(
        X,
        [("broadcast_to %x {shape=(3, 4)}", "%x")],
        ["broadcast_to %v {shape=(3, 4)}"],
        [("%t: float", "broadcast_to %t {shape=()}")],
    ),
    "broadcast-of-broadcast": Case(
        X,
        [("broadcast_to %v {shape=(1, 4)}; broadcast_to %0 {shape=(3, 4)}", "broadcast_to %v {shape=(3, 4)}")],
        ["broadcast_to %v {shape=(3, 4)}; reshape %0 {shape=(12,)}"],
    ),
    "broadcast-of-leading-ones": Case(
        X,
        [("reshape %v {shape=(1, 4)}; broadcast_to %0 {shape=(3, 4)}", "broadcast_to %v {shape=(3, 4)}")],
        ["reshape %v {shape=(4, 1)}; broadcast_to %0 {shape=(4, 3)}"],
    ),
    "diagonal-of-ones": Case(
        X,
        [
            ("full {value=1.0, shape=(3,), dtype=f64}; diag %0 {k=0}", "eye {n=3, m=3, k=0, dtype=f64}"),
            ("full {value=1.0, shape=(2,), dtype=f32}; diag %0 {k=-1}", "eye {n=3, m=3, k=-1, dtype=f32}"),
        ],
        ["full {value=2.0, shape=(3,), dtype=f64}; diag %0 {k=0}", "diag %v {k=0}"],
    ),
    "identity-chosen": Case(
        "%c: bool[3,3], %x: f64[3,3]",
        [
            (
                "eye {n=3, m=3, k=0, dtype=bool}; full {value=1.0, shape=(3, 3), dtype=f64}; where %0, %1, 0.0",
                "eye {n=3, m=3, k=0, dtype=f64}",
            ),
            (
                "eye {n=3, m=2, k=1, dtype=bool}; reshape %0 {shape=(3, 1, 2)};"
                "full {value=1.0, shape=(3, 1, 2), dtype=f32}; where %1, %2, 0.0",
                "eye {n=3, m=2, k=1, dtype=f32}; reshape %0 {shape=(3, 1, 2)}",
            ),
        ],
        [
            "full {value=1.0, shape=(3, 3), dtype=f64}; where %c, %0, 0.0",
            "eye {n=3, m=3, k=0, dtype=bool}; where %0, %x, 0.0",
            "eye {n=3, m=3, k=0, dtype=bool}; full {value=2.0, shape=(3, 3), dtype=f64}; where %0, %1, 0.0",
            "eye {n=3, m=3, k=0, dtype=bool}; full {value=1.0, shape=(2, 3, 3), dtype=f64}; where %0, %1, 0.0",
        ],
    ),
    "cast-to-itself": Case(
        X, [("cast %x {dtype=f64}", "%x")], ["cast %x {dtype=f32}"], [(WEAK, "cast %t {dtype=f64}")]
    ),
    "cast-of-cast": Case(
        "%h: f32[3], %x: f64[3], %n: i32[3]",
        [
            ("cast %h {dtype=f64}; cast %0 {dtype=f32}", "%h"),
            ("cast %n {dtype=i64}; cast %0 {dtype=f32}", "cast %n {dtype=f32}"),
        ],
        [
            "cast %x {dtype=f32}; cast %0 {dtype=f64}",
            "cast %n {dtype=f32}; cast %0 {dtype=i32}",
            "cast %n {dtype=f64}; cast %0 {dtype=f32}",  # rounds once where this rounded twice
        ],
    ),
    "copy": Case(X, [("copy %x", "%x")], ["negative %x"], [(WEAK, "copy %t")]),
    "operand-of-broadcast": Case(
        X,
        [
            ("broadcast_to %v {shape=(3, 4)}; multiply %0, %x", "multiply %v, %x"),
            ("broadcast_to %v {shape=(3, 4)}; multiply %0, 2.0", "multiply %v, 2.0; broadcast_to %0 {shape=(3, 4)}"),
            (
                "broadcast_to %s {shape=(4,)}; broadcast_to %s {shape=(3, 4)}; add %0, %1",
                "add %s, %s; broadcast_to %0 {shape=(3, 4)}",
            ),
            ("broadcast_to %s {shape=(3, 4)}; greater %x, 0.0; where %1, %0, %x", "greater %x, 0.0; where %0, %s, %x"),
        ],
        ["multiply %v, %x", "broadcast_to %v {shape=(3, 4)}; matmul %p, %0"],
        [(WEAK, "broadcast_to %t {shape=(3,)}; multiply %0, %h")],
    ),
    "operand-of-one-number": Case(
        X,
        [
            (f"{ONES}; multiply %0, %s", "multiply -1.0, %s; broadcast_to %0 {shape=(3, 4)}"),
            (f"{ONES}; divide %0, %v", "divide -1.0, %v; broadcast_to %0 {shape=(3, 4)}"),
        ],
        [
            f"{ONES}; multiply %0, %x",  # nothing gets smaller
            f"{ONES}; power %0, %s",
            f"{ONES}; greater %0, %s",
        ],
        [("%h: f32[4]", f"{ONES}; multiply %0, %h"), (WEAK, f"{ONES.replace('f64', 'f32')}; multiply %0, %t")],
    ),
    "operand-with-leading-ones": Case(
        X,
        [
            ("reshape %v {shape=(1, 4)}; multiply %0, %x", "multiply %v, %x"),
            ("reshape %s {shape=(1, 1)}; multiply %x, %0", "multiply %x, %s"),
        ],
        [
            "reshape %v {shape=(1, 4)}; multiply %0, %v",
            "reshape %v {shape=(4, 1)}; multiply %0, %v",
            "reshape %v {shape=(1, 4)}; negative %0",
        ],
    ),
    "turned-twice": Case(
        "%x: f64[4,3]",
        [
            ("getitem %x {index=(::-1,)}; getitem %0 {index=(::-1,)}", "%x"),
            ("getitem %x {index=(:, ::-1)}; getitem %0 {index=(:, ::-1)}", "%x"),
            ("getitem %x {index=(..., ::-1)}; getitem %0 {index=(..., ::-1)}", "%x"),
        ],
        [
            "getitem %x {index=(::-1,)}; getitem %0 {index=(:, ::-1)}",
            "getitem %x {index=(::-2,)}; getitem %0 {index=(::-2,)}",
            "getitem %x {index=(::-1, 0)}; getitem %0 {index=(::-1,)}",
            "getitem %x {index=(::-1, None)}; getitem %0 {index=(::-1, None)}",
        ],
    ),
    "index-of-index": Case(
        "%x: f64[3,4,5], %i: i64[2]",
        [
            ("getitem %x {index=(1,)}; getitem %0 {index=(2,)}", "getitem %x {index=(1, 2)}"),
            ("getitem %x {index=(-1,)}; getitem %0 {index=(1:3, None)}", "getitem %x {index=(-1, 1:3, None)}"),
        ],
        ["getitem %x {index=(:2,)}; getitem %0 {index=(1,)}"],
        [("%x: f64[3,4,5]", "constant {value=[0, 1]}; getitem %x {index=(1,)}; getitem %1, %0 {index=($0,)}")],
    ),
    "index-of-stack": Case(
        X,
        [
            ("stack %x, %y {axis=0}; getitem %0 {index=(1,)}", "%y"),
            ("stack %x, %y {axis=0}; getitem %0 {index=(-2, 0)}", "getitem %x {index=(0,)}"),
        ],
        ["stack %x, %y {axis=1}; getitem %0 {index=(1,)}", "stack %x, %y {axis=0}; getitem %0 {index=(:,)}"],
        [
            ("%x: f64[], %h: f32[]", "stack %x, %h {axis=0}; getitem %0 {index=(1,)}"),
            ("%x: f64[3,4], %n: i64[]", "stack %n, %n {axis=0}; getitem %x, %0 {index=(1, $0)}"),  # the index is one
        ],
    ),
    "index-of-scatter": Case(
        X,
        [(f"scatter %v {{shape=(3, 4), index=(1,)}}; getitem %0 {{index=({k},)}}", "%v") for k in (1, -2)],
        ["scatter %v {shape=(3, 4), index=(1,)}; getitem %0 {index=(0,)}"],
        [
            (
                "%v: f64[2]",
                "constant {value=[0, 0]}; scatter %v, %0 {shape=(3,), index=($0,)}; getitem %1, %0 {index=($0,)}",
            )
        ],
    ),
    "index-beside-scatter": Case(
        X,
        [
            (
                "scatter %v {shape=(3, 4), index=(1,)}; getitem %0 {index=(-1,)}",
                "full {shape=(4,), value=0.0, dtype=f64}",
            )
        ],
        [
            "scatter %v {shape=(3, 4), index=(1,)}; getitem %0 {index=(-2,)}",
            "scatter %v {shape=(3, 4), index=(1,)}; getitem %0 {index=(:, 2)}",
        ],
        [("%x: f64[3,4], %n: i64[]", "scatter %n {shape=(2,), index=(1,)}; getitem %x, %0 {index=(1, $0)}")],
    ),
    "index-of-write": Case(
        X,
        [
            *[(f"setitem %x, %v {{index=(1,)}}; getitem %0 {{index=({k},)}}", "%v") for k in (1, -2)],
            ("setitem %x, %p {index=(:2, 1:)}; getitem %0 {index=(:2, 1:)}", "%p"),
        ],
        [
            "setitem %x, %v {index=(1,)}; getitem %0 {index=(0,)}",
            "setitem %x, %v {index=(:2,)}; getitem %0 {index=(:2,)}",  # both lines are
            "setitem %x, %s {index=(1,)}; getitem %0 {index=(1,)}",
        ],
        [
            ("%x: f64[3,4], %h: f32[4]", "setitem %x, %h {index=(1,)}; getitem %0 {index=(1,)}"),
            (
                "%x: f64[3], %v: f64[2]",
                "constant {value=[0, 0]}; setitem %x, %v, %0 {index=($0,)}; getitem %1, %0 {index=($0,)}",
            ),
            ("%x: f64[3,4], %n: i64[2]", "setitem %n, 1 {index=(0,)}; getitem %x, %0 {index=(1, $0)}"),
        ],
    ),
    "scatter-of-everything": Case(
        X,
        [
            ("scatter %x {shape=(3, 1, 4), index=(:, 0, :)}", "reshape %x {shape=(3, 1, 4)}"),
            ("scatter %x {shape=(3, 1, 4), index=(..., 0, 0:4)}", "reshape %x {shape=(3, 1, 4)}"),
        ],
        [
            "scatter %x {shape=(3, 2, 4), index=(:, 0, :)}",
            "scatter %x {shape=(3, 4), index=(::-1,)}",  # in another order
            "constant {value=[2, 0, 1]}; scatter %x, %0 {shape=(3, 4), index=($0,)}",
        ],
    ),
    "one-of-each-line": Case(
        "%x: f64[2,3], %t: f64[2,2,2]",
        [
            (
                "constant {value=[[2], [0]]}; take_along_axis %x, %0 {axis=1}",
                "constant {value=[[2], [0]]}; constant {value=[0, 1]}; reshape %0 {shape=(2,)}; "
                "getitem %x, %1, %2 {index=($0, $1), unique=True}; reshape %3 {shape=(2, 1)}",
            ),
            (
                "constant {value=[[[1, 0]], [[1, 1]]]}; take_along_axis %t, %0 {axis=1}",
                "constant {value=[[[1, 0]], [[1, 1]]]}; constant {value=[[0], [1]]}; reshape %0 {shape=(2, 2)}; "
                "constant {value=[[0, 1]]}; getitem %t, %1, %2, %3 {index=($0, $1, $2), unique=True}; "
                "reshape %4 {shape=(2, 1, 2)}",
            ),
        ],
        [
            "constant {value=[[2, 2], [0, 1]]}; take_along_axis %x, %0 {axis=1}",
            "constant {value=[[1], [0]]}; take_along_axis %x, %0 {axis=0}",
            "constant {value=[[2]]}; take_along_axis %x, %0 {axis=1}",
        ],
        [("%x: f64[3]", "constant {value=[2]}; take_along_axis %x, %0 {axis=0}")],
    ),
    "index-of-diagonal": Case(
        "%a: f64[3,3], %x: f64[3,4]",
        [(f"{I3}; getitem %a, %0, %0 {{index=($0, $1)}}", "diagonal %a {offset=0, axis1=0, axis2=1}")],
        [
            f"{I3}; getitem %x, %0, %0 {{index=($0, $1)}}",
            "constant {value=[0, 2, 1]}; getitem %a, %0, %0 {index=($0, $1)}",
            "constant {value=[0, 1]}; getitem %a, %0, %0 {index=($0, $1)}",
            f"{I3}; getitem %a, %0 {{index=($0,)}}",
        ],
    ),
    "scatter-on-diagonal": Case(
        "%v: f64[3]",
        [(f"{I3}; scatter %v, %0, %0 {{shape=(3, 3), index=($0, $1)}}", "diag %v {k=0}")],
        [
            f"{I3}; scatter %v, %0, %0 {{shape=(3, 4), index=($0, $1)}}",
            f"{I3}; constant {{value=[0, 2, 1]}}; scatter %v, %0, %1 {{shape=(3, 3), index=($0, $1)}}",
        ],
    ),
    "picks-of-columns": Case(
        "%s: f64[3,1], %r: f64[1,4]",
        [(f"{ROWS}; broadcast_to %s {{shape=(3, 4)}} !ct; {PICK}", "reshape %s {shape=(3,)} !ct")],
        [
            f"{ROWS}; broadcast_to %s {{shape=(3, 4)}}; {PICK[:-4]}",
            f"{ROWS}; broadcast_to %r {{shape=(3, 4)}} !ct; {PICK}",
            f"{ROWS.replace('[0, 1, 2]', '[2, 1, 0]')}; broadcast_to %s {{shape=(3, 4)}} !ct; {PICK}",
        ],
        [
            (
                "%s: f64[3,1], %r: f64[1,4], %n: i64[]",
                f"{ROWS}; multiply %s, %r !ct; broadcast_to %n {{shape=(3,)}}; "
                "getitem %2, %0, %3 {index=($0, $1)} !ct",  # the index is one
            ),
            ("%x: f64[4], %n: i64[]", "broadcast_to %n {shape=(3,)}; getitem %x, %0 {index=($0,)} !ct"),
        ],
    ),
    "sum-of-scatter": Case(
        "%r: f64[3], %q: f64[2,3]",
        [
            (f"{PICKED}; {SUM('%2', '1,', False)} !ct", "return %r"),
            (f"{PICKED}; {SUM('%2', '1,', True)} !ct", "reshape %r {shape=(3, 1)} !ct"),
            (f"{PICKED_DEEP}; {SUM('%3', '2,', False)} !ct", "return %q"),
        ],
        [
            f"{PICKED}; {SUM('%2', '1,', False)}",  # the user's own: -0.0 and zeros are 0.0
            f"{PICKED}; {SUM('%2', '0,', False)} !ct",  # along the other axis
            f"{PICKED.replace('[0, 1, 2]', '[0, 1, 1]')}; {SUM('%2', '1,', False)} !ct",  # two in a row
            f"{PICKED_DEEP.replace('[0, 1, 2]', '[0, 1, 1]')}; {SUM('%3', '2,', False)} !ct",
            f"{PICKED_DEEP}; {SUM('%3', '1,', False)} !ct",
            f"{PICKED.replace('scatter %r', 'scatter 1.0')}; {SUM('%2', '1,', False)} !ct",
        ],
    ),
    "sum-of-all-scattered": Case(
        "%r: f64[3], %k: f64[], %j: i64[], %i: i64[3], %x: f64[2,3]",
        [
            (f"scatter %k, %j {{shape=(8,), index=($0,)}} !ct; {SUM('%0', '0,', False)} !ct", "return %k"),
            (
                f"scatter %r, %i {{shape=(8,), index=($0,)}} !ct; {SUM('%0', '0,', True)} !ct",
                f"{SUM('%r', '0,', False)} !ct; reshape %0 {{shape=(1,)}} !ct",
            ),
            (
                f"scatter %x, %i {{shape=(2, 8), index=(:, $0)}} !ct; {SUM('%0', '0, 1', False)} !ct",
                f"{SUM('%x', '0, 1', False)} !ct",
            ),
        ],
        [
            f"scatter %r, %i {{shape=(8,), index=($0,)}}; {SUM('%0', '0,', False)}",  # the user's own
            f"scatter %x, %i {{shape=(2, 8), index=(:, $0)}} !ct; {SUM('%0', '1,', False)} !ct",  # not everything
            f"scatter %k, %i {{shape=(8,), index=($0,)}} !ct; {SUM('%0', '0,', False)} !ct",  # three times the same
        ],
    ),
    "sum-of-scatter-beside-number": Case(
        "%r: f64[3], %x: f64[3,4]",
        [
            (f"{PICKED_CT}; add 0.5, %2 !ct; {SUM('%3', '1,', False)} !ct", "add %r, 2.0 !ct"),
            (
                f"{PICKED_CT}; add %2, 0.5 !ct; {SUM('%3', '1,', True)} !ct",
                "reshape %r {shape=(3, 1)} !ct; add %0, 2.0 !ct",
            ),
        ],
        [
            f"{PICKED}; add 0.5, %2; {SUM('%3', '1,', False)}",  # the user's own
            f"{PICKED_CT}; add %x, %2 !ct; {SUM('%3', '1,', False)} !ct",
            f"{PICKED_CT}; add 0.5, %2 !ct; {SUM('%3', '0,', False)} !ct",
            f"{PICKED_CT}; full {{shape=(2, 3, 4), value=0.5, dtype=f64}}; add %2, %3 !ct; "
            f"{SUM('%4', '2,', False)} !ct",
        ],
    ),
    "picks-of-computed": Case(
        "%z: f64[3,8], %s: f64[3,1], %t: f64[8], %k: f64[]",
        [
            (  # lines have one number each, columns are read where all the rest is
                f"{ROWS}; subtract %z, %s; multiply %2, %k; multiply %3, %t; getitem %4, %0, %1 {{index=($0, $1)}}",
                f"{ROWS}; getitem %z, %0, %1 {{index=($0, $1)}}; reshape %s {{shape=(3,)}}; subtract %2, %3; "
                "multiply %4, %k; broadcast_to %t {shape=(3, 8)}; getitem %6, %0, %1 {index=($0, $1)}; multiply %5, %7",
            ),
            (  # any places
                f"{ROWS.replace('[0, 1, 2]', '[0, 2, 2]')}; exp %z; getitem %2, %0, %1 {{index=($0, $1)}}",
                f"{ROWS.replace('[0, 1, 2]', '[0, 2, 2]')}; getitem %z, %0, %1 {{index=($0, $1)}}; exp %2",
            ),
            (
                f"{ROWS.replace('[0, 1, 2]', '[0, 2, 2]')}; subtract %z, %s; getitem %2, %0, %1 {{index=($0, $1)}}",
                f"{ROWS.replace('[0, 1, 2]', '[0, 2, 2]')}; getitem %z, %0, %1 {{index=($0, $1)}}; "
                "broadcast_to %s {shape=(3, 8)}; getitem %3, %0, %1 {index=($0, $1)}; subtract %2, %4",
            ),
        ],
        [
            f"{ROWS}; exp %z; getitem %2, %0, %1 {{index=($0, $1)}}; return %2, %3",  # it is needed as a whole, too
            f"{ROWS}; exp %z; getitem %2, %1 {{index=($0,)}}",  # no less is read
            "exp %z; getitem %0 {index=(0, :2)}",  # a slice
            f"{ROWS}; getitem %z, %0, %1 {{index=($0, $1)}}",
        ],
    ),
    "sum-of-broadcast": Case(
        X,
        [
            (f"broadcast_to %s {{shape=(3, 4)}}; {SUM('%0', '0, 1', False)}", "multiply %s, 12.0"),
            (f"broadcast_to %v {{shape=(3, 4)}}; {SUM('%0', '0,', False)}", "multiply %v, 3.0"),
            (
                f"broadcast_to %v {{shape=(3, 4)}}; {SUM('%0', '0, 1', True)}",
                f"reshape %v {{shape=(1, 4)}}; {SUM('%0', '1,', True)}; multiply %1, 3.0",
            ),
            (
                f"broadcast_to %v {{shape=(2, 3, 4)}}; {SUM('%0', '0,', False)}",
                "multiply %v, 2.0; reshape %0 {shape=(1, 4)}; broadcast_to %1 {shape=(3, 4)}",
            ),
        ],
        [
            f"broadcast_to %v {{shape=(3, 4)}}; {SUM('%0', '1,', False)}",
            f"broadcast_to %v {{shape=(0, 4)}}; {SUM('%0', '0,', False)}",
        ],
        [("%n: i32[]", f"broadcast_to %n {{shape=(3,)}}; {SUM('%0', '0,', False)}")],
    ),
    "sum-of-sum": Case(
        "%x: f64[2,3,4]",
        [
            (f"{SUM('%x', '1,', False)}; {SUM('%0', '1,', False)}", SUM("%x", "1, 2", False)),
            (f"{SUM('%x', '0,', True)}; {SUM('%0', '2,', True)}", SUM("%x", "0, 2", True)),
            (f"{SUM('%x', '0,', True)}; {SUM('%0', '0, 2', False)}", SUM("%x", "0, 2", False)),
        ],
        [
            f"{SUM('%x', '0,', True)}; {SUM('%0', '2,', False)}",
            f"{SUM('%x', '0,', False)}; {SUM('%0', '1,', True)}",
            f"{SUM('%x', '0,', False)}; {SUM('%0', '0,', False)}; return %0, %1",
        ],
    ),
    "mean-of-sum": Case(
        "%x: f64[2,3,4]",
        [
            (f"{SUM('%x', '1,', False)}; {MEAN('%0', '1,', False)}", f"{SUM('%x', '1, 2', False)}; divide %0, 4"),
            (f"{SUM('%x', '0,', True)}; {MEAN('%0', '2,', True)}", f"{SUM('%x', '0, 2', True)}; divide %0, 4"),
            (f"{SUM('%x', '2,', True)}; {MEAN('%0', '0, 2', False)}", f"{SUM('%x', '0, 2', False)}; divide %0, 2"),
        ],
        [
            f"{SUM('%x', '0,', True)}; {MEAN('%0', '2,', False)}",
            f"{SUM('%x', '0,', False)}; {MEAN('%0', '0,', False)}; return %0, %1",
            f"{MEAN('%x', '0,', False)}; {SUM('%0', '0,', False)}",  # all together may be too much where each is not
        ],
        [
            ("%x: f16[2,3]", f"{SUM('%x', '1,', False)}; {MEAN('%0', '0,', False)}"),  # added up as f32
            ("%x: f64[0,3]", f"{SUM('%x', '1,', False)}; {MEAN('%0', '0,', False)}"),
        ],
    ),
    "sum-of-reshape": Case(
        X,
        [
            (f"reshape %x {{shape=(12,)}}; {SUM('%0', '0,', False)}", SUM("%x", "0, 1", False)),
            (f"transpose %x {{axes=(1, 0)}}; {SUM('%0', '0, 1', False)}", SUM("%x", "0, 1", False)),
        ],
        [
            f"reshape %x {{shape=(6, 2)}}; {SUM('%0', '0,', False)}",
            f"reshape %x {{shape=(12,)}}; {SUM('%0', '0,', True)}",
        ],
    ),
    "sum-of-negative": Case(
        X,
        [(f"negative %x !ct; {SUM('%0', '0,', False)} !ct", f"{SUM('%x', '0,', False)} !ct; negative %0 !ct")],
        [f"negative %x; {SUM('%0', '0,', False)}", f"negative %x !ct; {SUM('%0', '0,', False)} !ct; return %0, %1"],
    ),
    "reshape-of-negative": Case(
        X,
        [("negative %v; reshape %0 {shape=(4, 1)}", "reshape %v {shape=(4, 1)}; negative %0")],
        ["negative %v; reshape %0 {shape=(4, 1)}; return %0, %1", "reshape %v {shape=(4, 1)}; negative %0"],
    ),
    "reshape-of-shared-negative": Case(
        X,
        [
            (
                "negative %v !ct; reshape %0 {shape=(4, 1)} !ct; return %0, %1",
                "negative %v !ct; reshape %v {shape=(4, 1)} !ct; negative %1 !ct; return %0, %2",
            )
        ],
        [
            "negative %v; reshape %0 {shape=(4, 1)}; return %0, %1",
            "sin %v !ct; negative %0 !ct; reshape %1 {shape=(4, 1)} !ct; return %1, %2",
        ],
    ),
    "sum-of-transpose": Case(
        "%x: f64[2,3,4]",
        [
            (f"transpose %x {{axes=(1, 0, 2)}}; {SUM('%0', '0,', False)}", SUM("%x", "1,", False)),
            (f"transpose %x {{axes=(2, 0, 1)}}; {SUM('%0', '0, 1', False)}", SUM("%x", "0, 2", False)),
            (
                f"transpose %x {{axes=(1, 0, 2)}}; {SUM('%0', '0,', True)}",
                f"{SUM('%x', '1,', False)}; reshape %0 {{shape=(1, 2, 4)}}",
            ),
        ],
        [
            f"transpose %x {{axes=(2, 1, 0)}}; {SUM('%0', '0,', False)}",
            f"transpose %x {{axes=(2, 1, 0)}}; {SUM('%0', '0,', True)}",
        ],
    ),
    "sum-with-ones-in-front": Case(
        "%x: f64[3,4]",
        [
            (
                f"reshape %x {{shape=(1, 3, 4)}}; {SUM('%0', '1,', False)}",
                f"{SUM('%x', '0,', False)}; reshape %0 {{shape=(1, 4)}}",
            ),
            (
                f"reshape %x {{shape=(1, 1, 3, 4)}}; {SUM('%0', '2, 3', True)}",
                f"{SUM('%x', '0, 1', True)}; reshape %0 {{shape=(1, 1, 1, 1)}}",
            ),
        ],
        [
            f"reshape %x {{shape=(1, 3, 4)}}; {SUM('%0', '0,', False)}",
            f"reshape %x {{shape=(1, 4, 3)}}; {SUM('%0', '1,', False)}",
            f"reshape %x {{shape=(3, 1, 4)}}; {SUM('%0', '2,', False)}",
        ],
    ),
    "keepdims": Case(
        X,
        [(f"{SUM('%x', '1,', False)}; reshape %0 {{shape=(3, 1)}}", SUM("%x", "1,", True))],
        [
            f"{SUM('%x', '1,', False)}; reshape %0 {{shape=(1, 3)}}",
            f"{SUM('%x', '1,', False)}; reshape %0 {{shape=(3, 1)}}; return %0, %1",
        ],
    ),
    "no-keepdims": Case(
        X,
        [(f"{SUM('%x', '1,', True)}; reshape %0 {{shape=(3,)}}", SUM("%x", "1,", False))],
        [
            f"{SUM('%x', '1,', True)}; reshape %0 {{shape=(1, 3)}}",
            f"{SUM('%x', '1,', True)}; reshape %0 {{shape=(3,)}}; return %0, %1",
        ],
    ),
    "sum-with-other-keepdims": Case(
        X,
        [
            (
                f"{SUM('%x', '1,', False)}; {SUM('%x', '1,', True)}; return %0, %1",
                f"{SUM('%x', '1,', False)}; reshape %0 {{shape=(3, 1)}}; return %0, %1",
            ),
            (
                "mean %x {axis=(0,), keepdims=True}; mean %x {axis=(0,), keepdims=False}; return %0, %1",
                "mean %x {axis=(0,), keepdims=True}; reshape %0 {shape=(4,)}; return %0, %1",
            ),
        ],
        [
            f"{SUM('%x', '1,', False)}; {SUM('%x', '0,', True)}; return %0, %1",
            f"{SUM('%x', '1,', False)}; {SUM('%y', '1,', True)}; return %0, %1",
            f"{SUM('%x', '1,', False)}; mean %x {{axis=(1,), keepdims=True}}; return %0, %1",
        ],
    ),
    "factor-out-of-sum": Case(
        FACTOR,
        [
            (f"multiply %x, %s !ct; {TOTAL('%0')} !ct", f"{TOTAL('%x')} !ct; multiply %0, %s !ct"),
            (
                f"multiply %x, %c !ct; {SUM('%0', '1,', False)} !ct",
                f"{SUM('%x', '1,', False)} !ct; reshape %c {{shape=(5,)}} !ct; multiply %0, %1 !ct",
            ),
            (  # x is there anyway
                f"multiply %x, %s !ct; {TOTAL('%0')} !ct; return %0, %1",
                f"multiply %x, %s !ct; {TOTAL('%x')} !ct; multiply %1, %s !ct; return %0, %2",
            ),
        ],
        [
            f"multiply %x, %s; {TOTAL('%0')}",  # the user's own
            f"multiply %x, %c !ct; {SUM('%0', '0,', False)} !ct",
            f"multiply %x, %x !ct; {TOTAL('%0')} !ct",
            f"multiply %x, 3.0 !ct; {TOTAL('%0')} !ct",
            f"sin %x !ct; multiply %0, %s !ct; {TOTAL('%1')} !ct; return %1, %2",  # it would have to be kept
        ],
    ),
    "divisor-out-of-sum": Case(
        FACTOR,
        [
            (f"divide %x, %s !ct; {TOTAL('%0')} !ct", f"{TOTAL('%x')} !ct; divide %0, %s !ct"),
            (
                f"divide %x, %r !ct; {SUM('%0', '0,', False)} !ct",
                f"{SUM('%x', '0,', False)} !ct; divide %0, %r !ct",
            ),
        ],
        [
            f"divide %x, %s; {TOTAL('%0')}",
            f"divide %s, %x !ct; {TOTAL('%0')} !ct",
            f"divide %x, %r !ct; {SUM('%0', '1,', False)} !ct",
        ],
    ),
    "factor-out-of-sum-of-outer": Case(
        "%x: f64[6,5], %u: f64[6,1], %v: f64[5], %w: f64[6,5]",
        [
            (
                "multiply %u, %v !ct; multiply %0, %x !ct; sum %1 {axis=(0,), keepdims=False} !ct",
                "multiply %x, %u !ct; sum %0 {axis=(0,), keepdims=False} !ct; multiply %1, %v !ct",
            ),
            (
                "multiply %u, %v !ct; multiply %0, %x !ct; sum %1 {axis=(1,), keepdims=True} !ct; return %0, %2",
                "multiply %u, %v !ct; multiply %x, %v !ct; sum %1 {axis=(1,), keepdims=True} !ct; "
                "multiply %2, %u !ct; return %0, %3",
            ),
        ],
        [
            "multiply %u, %v; multiply %0, %x; sum %1 {axis=(0,), keepdims=False}",
            "multiply %u, %v !ct; multiply %0, %x !ct; sum %1 {axis=(0, 1), keepdims=False} !ct",
            "multiply %w, %v !ct; multiply %0, %x !ct; sum %1 {axis=(1,), keepdims=False} !ct",
            "multiply %u, %v !ct; multiply %0, %x !ct; sum %1 {axis=(0,), keepdims=False} !ct; return %1, %2",
        ],
    ),
    "factor-out-of-sum-of-product": Case(
        FACTOR,
        [
            (
                f"multiply %x, %s !ct; multiply %0, %y !ct; {TOTAL('%1')} !ct",
                f"multiply %x, %y !ct; {TOTAL('%0')} !ct; multiply %1, %s !ct",
            )
        ],
        [
            f"multiply %x, %s !ct; multiply %0, %y; {TOTAL('%1')} !ct",
            f"multiply %x, %s !ct; multiply %0, %c !ct; {TOTAL('%1')} !ct",
            f"multiply %x, %s !ct; multiply %0, %y !ct; {TOTAL('%1')} !ct; return %1, %2",
        ],
    ),
    "divisor-out-of-sum-of-product": Case(
        FACTOR,
        [
            (
                f"divide %x, %s !ct; multiply %0, %y !ct; {TOTAL('%1')} !ct",
                f"multiply %x, %y !ct; {TOTAL('%0')} !ct; divide %1, %s !ct",
            )
        ],
        [
            f"divide %x, %y !ct; multiply %0, %y !ct; {TOTAL('%1')} !ct",
            f"divide %x, %s; multiply %0, %y; {TOTAL('%1')}",
        ],
    ),
    "sum-of-multiple": Case(
        X,
        [
            (
                f"multiply %x, 3.0 !ct; {SUM('%0', '0,', True)} !ct",
                f"{SUM('%x', '0,', True)} !ct; multiply %0, 3.0 !ct",
            )
        ],
        [
            f"multiply %x, 3.0; {SUM('%0', '0,', False)}",
            f"multiply %x, 3.0 !ct; {SUM('%0', '0,', False)} !ct; return %0, %1",
            f"multiply %x, 1e300 !ct; {SUM('%0', '0,', False)} !ct",
            f"multiply %x, %y !ct; {SUM('%0', '0,', False)} !ct",
        ],
    ),
    "sum-with-identity": Case(
        "%a: f64[3,3], %b: f64[3,3]",
        [
            (
                "eye {n=3, m=3, k=0, dtype=f64} !ct; multiply %a, %0 !ct; sum %1 {axis=(0, 1), keepdims=False} !ct",
                "trace %a {offset=0, axis1=0, axis2=1} !ct",
            )
        ],
        [
            "eye {n=3, m=3, k=1, dtype=f64} !ct; multiply %a, %0 !ct; sum %1 {axis=(0, 1), keepdims=False} !ct",
            "eye {n=3, m=3, k=0, dtype=f64}; multiply %a, %0; sum %1 {axis=(0, 1), keepdims=False}",
            "eye {n=3, m=3, k=0, dtype=f64} !ct; multiply %a, %0 !ct; sum %1 {axis=(0,), keepdims=False} !ct",
            "multiply %a, %b !ct; sum %0 {axis=(0, 1), keepdims=False} !ct",
        ],
    ),
    "index-of-broadcast": Case(
        "%v: f64[4], %c: f64[3,1], %t: float, %i: i64[2]",
        [
            (
                "broadcast_to %v {shape=(2, 3, 4)}; getitem %0 {index=(1,)}",
                "reshape %v {shape=(1, 4)}; broadcast_to %0 {shape=(3, 4)}",
            ),
            ("broadcast_to %v {shape=(2, 4)}; getitem %0 {index=(-1, ...)}", "%v"),
            ("broadcast_to %c {shape=(3, 4)}; getitem %0 {index=(:, 2)}", "reshape %c {shape=(3,)}"),
            ("broadcast_to %c {shape=(3, 4)}; getitem %0 {index=(:, ::-1)}", "broadcast_to %c {shape=(3, 4)}"),
            ("broadcast_to %c {shape=(3, 4)}; getitem %0 {index=(:, 1:)}", "broadcast_to %c {shape=(3, 3)}"),
        ],
        [
            "broadcast_to %v {shape=(2, 4)}; getitem %0 {index=(1, 2)}",
            "broadcast_to %c {shape=(3, 4)}; getitem %0 {index=(1,)}",
            "broadcast_to %v {shape=(2, 4)}; getitem %0, %i {index=($0,)}",
            "broadcast_to %c {shape=(3, 4)}; getitem %0 {index=(..., None)}",
            "broadcast_to %t {shape=(2, 4)}; getitem %0 {index=(1,)}",
        ],
    ),
    "sum-of-stack": Case(
        X + ", %h: f32[4]",
        [
            ("stack %x, %y, %x {axis=0}; sum %0 {axis=(0,), keepdims=False}", "add %x, %y; add %0, %x"),
            ("stack %x, %y {axis=1}; mean %0 {axis=(1,), keepdims=False}", "add %x, %y; divide %0, 2"),
            (
                "stack %x, %y {axis=1}; sum %0 {axis=(0, 1), keepdims=False}",
                f"{SUM('%x', '0,', False)}; {SUM('%y', '0,', False)}; add %0, %1",
            ),
        ],
        [
            "stack %x, %y {axis=0}; sum %0 {axis=(1,), keepdims=False}",
            "stack %x, %y {axis=0}; sum %0 {axis=(0,), keepdims=True}",
            f"stack {', '.join(['%v'] * 9)} {{axis=0}}; sum %0 {{axis=(0,), keepdims=False}}",  # many small ones
        ],
        [
            ("%x: f16[3]", "stack %x, %x {axis=0}; mean %0 {axis=(0,), keepdims=False}"),  # NumPy has them in float32
            ("%x: f64[0]", "stack %x, %x {axis=0}; mean %0 {axis=(0,), keepdims=False}"),
        ],
    ),
    "mask-out-of-sum": Case(
        "%b: bool[5,1], %d: bool[5,4], %x: f64[5,4], %r: f64[4], %c: f64[5,1]",
        [
            (
                f"where %b, %x, 0 !ct; {SUM('%0', '1,', False)} !ct",
                f"{SUM('%x', '1,', True)} !ct; where %b, %0, 0 !ct; reshape %1 {{shape=(5,)}} !ct",
            ),
            (
                f"where %b, %r, 0 !ct; {SUM('%0', '1,', True)} !ct",
                f"reshape %r {{shape=(1, 4)}} !ct; {SUM('%0', '1,', True)} !ct; where %b, %1, 0 !ct",
            ),
            (
                f"where %d, %c, 0 !ct; {SUM('%0', '1,', False)} !ct; where %b, %r, 0 !ct; {SUM('%2', '1,', True)} !ct; "
                "reshape %1 {shape=(5, 1)} !ct; add %3, %4 !ct",
                f"where %d, %c, 0 !ct; {SUM('%0', '1,', False)} !ct; reshape %r {{shape=(1, 4)}} !ct; "
                f"{SUM('%2', '1,', True)} !ct; where %b, %3, 0 !ct; reshape %1 {{shape=(5, 1)}} !ct; add %4, %5 !ct",
            ),
        ],
        [
            f"where %b, %x, 0; {SUM('%0', '1,', False)}",
            f"where %d, %x, 0 !ct; {SUM('%0', '1,', False)} !ct",
            f"where %b, %x, 0 !ct; {SUM('%0', '0,', False)} !ct",
            f"where %b, %x, 1.0 !ct; {SUM('%0', '1,', False)} !ct",
        ],
    ),
    "sum-of-single-elements": Case(
        "%x: f64[3,1,4]",
        [(SUM("%x", "1,", False) + " !ct", "reshape %x {shape=(3, 4)} !ct")],
        [SUM("%x", "1,", False), SUM("%x", "0, 1", False) + " !ct"],  # the sum of -0.0 is 0.0
    ),
    "truth-of-single-elements": Case(
        "%m: bool[3,1], %x: f64[3,1]",
        [
            ("any %m {axis=(1,), keepdims=False}", "reshape %m {shape=(3,)}"),
            ("all %m {axis=(1,), keepdims=True}", "return %m"),
        ],
        ["any %m {axis=(0,), keepdims=False}", "any %x {axis=(1,), keepdims=False}"],
    ),
    "product-with-uniform": Case(
        X,
        [
            (
                "full {shape=(3,5), value=2.0, dtype=f64} !ct; matmul %p, %0 !ct",
                "sum %p {axis=(1,), keepdims=True} !ct; multiply %0, 2.0 !ct; broadcast_to %1 {shape=(2, 5)} !ct",
            ),
            (
                "full {shape=(3,), value=2.0, dtype=f64} !ct; matmul %p, %0 !ct",
                "sum %p {axis=(1,), keepdims=True} !ct; multiply %0, 2.0 !ct; reshape %1 {shape=(2,)} !ct",
            ),
        ],
        [
            "full {shape=(3,5), value=2.0, dtype=f64}; matmul %p, %0",
            "full {shape=(3,5), value=inf, dtype=f64} !ct; matmul %p, %0 !ct",
            "matmul %p, %x !ct",
        ],
    ),
    "uniform-times-product": Case(
        X,
        [
            (
                "full {shape=(5,2), value=2.0, dtype=f64} !ct; matmul %0, %p !ct",
                "sum %p {axis=(0,), keepdims=True} !ct; multiply %0, 2.0 !ct; broadcast_to %1 {shape=(5, 3)} !ct",
            ),
            (
                "full {shape=(2,), value=2.0, dtype=f64} !ct; matmul %0, %p !ct",
                "sum %p {axis=(0,), keepdims=True} !ct; multiply %0, 2.0 !ct; reshape %1 {shape=(3,)} !ct",
            ),
        ],
        [
            "full {shape=(5,2), value=2.0, dtype=f64}; matmul %0, %p",
            "full {shape=(5,2), value=inf, dtype=f64} !ct; matmul %0, %p !ct",
            "matmul %p, %x !ct",
        ],
    ),
    "transpose-of-product": Case(
        X,
        [
            (
                "matmul %p, %x !ct; transpose %0 {axes=(1, 0)} !ct",
                "transpose %x {axes=(1, 0)} !ct; transpose %p {axes=(1, 0)} !ct; matmul %0, %1 !ct",
            )
        ],
        [
            "matmul %p, %x; transpose %0 {axes=(1, 0)}",
            "matmul %p, %x !ct; transpose %0 {axes=(1, 0)} !ct; return %0, %1",
        ],
        [
            ("%a: f64[5,2,3], %b: f64[5,3,4]", "matmul %a, %b !ct; transpose %0 {axes=(1, 0, 2)} !ct"),
            ("%a: f64[5,2,3], %b: f64[3,4]", "matmul %a, %b !ct; transpose %0 {axes=(0, 2, 1)} !ct"),
        ],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, RULES)


def test_stacks_of_products_are_transposed_one_by_one():
    before = "matmul %a, %b !ct; transpose %0 {axes=(0, 2, 1)} !ct"
    after = "transpose %b {axes=(0, 2, 1)} !ct; transpose %a {axes=(0, 2, 1)} !ct; matmul %0, %1 !ct"
    check_case("transpose-of-product", Case("%a: f64[5,2,3], %b: f64[5,3,4]", [(before, after)]), SUMS_OF_SUMS)
