"""Laws, on drawn graphs: passes keep types always, and values to the last bit as far as no rule says otherwise.

Cotangents are drawn too: some nodes bear their role.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tapec
from tapec.ir import CT, Builder, get_op, input_node, interpret, parse, verify
from tapec.ir.static_index import Slice
from tapec.ir.text.printer import constant_table
from tapec.ir.types import Type
from tapec.passes import rules
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.pipeline import PIPELINE, optimize
from tapec.testing.rewrites import SPECIAL, assert_same, sample_inputs

SHAPES = [(), (3,), (1,), (2, 3), (2, 1)]
UNARY = ["negative", "absolute", "square", "exp", "sqrt", "positive", "conjugate", "sin"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "power"]
REDUCTIONS = ["sum", "mean", "max", "min", "std", "var"]
PARTS = [(Ellipsis, None), (None,), (0,), (Slice(0, 1, None),), (Slice(None, None, -1),)]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 4, 1, 0, -1, 3.0, 0.1]
GROUPS = [getattr(rules, name) for name in rules.__all__]
EXACT = [rule for group in GROUPS for rule in group if rule.changes == ""]


@st.composite
def graphs(draw, dtypes=("f8", "f8", "f4"), roles=(None,), size=12):
    """An elementwise graph with changes of shape in between; nodes like to use what was made last."""
    builder = Builder()
    inputs = [
        input_node(f"x{k}", Type(shape, dtype))
        for k, (shape, dtype) in enumerate(
            draw(st.lists(st.tuples(st.sampled_from(SHAPES), st.sampled_from(dtypes)), min_size=2, max_size=4))
        )
    ]
    inputs.append(input_node("c", Type((3,), "?")))
    values = list(inputs[:-1])
    for _ in range(draw(st.integers(1, size))):
        builder.role = draw(st.sampled_from(roles))
        made = draw(nodes(builder, values, inputs[-1], dtypes))
        if made is not None:
            values.append(made)
    outputs = values[-draw(st.integers(1, 3)) :]
    return builder.graph(inputs, outputs)


@st.composite
def nodes(draw, builder, values, condition, dtypes):
    """One more node, or None where the shapes do not fit."""

    def operand():
        return draw(st.sampled_from(values) | st.sampled_from(values[-2:]))

    kind = draw(st.sampled_from(["unary", "binary", "number", "full", "where", "layout", "index", "reduction"]))
    x = operand()
    binary = BINARY if x.dtype.kind == "f" else BINARY[:-1]  # integers refuse negative powers
    if kind == "unary":
        return builder.emit(get_op(draw(st.sampled_from(UNARY))), (x,))
    if kind == "number":
        numbers = NUMBERS if x.dtype.kind != "u" else [0, 1, 4]
        pair = [x, builder.constant(draw(st.sampled_from(numbers)))]
        return builder.emit(get_op(draw(st.sampled_from(binary))), tuple(draw(st.permutations(pair))))
    if kind == "full" and x.dtype.kind != "u":
        dtype = draw(st.sampled_from([x.dtype, np.dtype(draw(st.sampled_from(dtypes)))]))
        value = draw(st.sampled_from(NUMBERS if dtype.kind != "u" else [0, 1, 4]))
        params = (("shape", x.shape), ("value", value), ("dtype", dtype))
        uniform = builder.emit(get_op("full"), (), params)
        if value == 0.5:  # by the strides of both, NumPy takes a root of -0.0 or not
            binary = BINARY[:-1]
        return builder.emit(get_op(draw(st.sampled_from(binary))), (x, uniform))
    if kind == "layout":
        return draw(layouts(builder, x, dtypes))
    if kind == "reduction" and x.dtype.kind in "fc":
        name = draw(st.sampled_from(REDUCTIONS if x.dtype.kind == "f" else REDUCTIONS[:2]))
        axes = tuple(range(x.type.ndim))
        # sums over several axes add up in the order of memory, and a change of layout may have spread that out or not
        axis = draw(st.sampled_from([axes, axes[-1:]])) if name in ("max", "min") else axes[-1:]
        params = [("axis", axis), ("keepdims", draw(st.booleans()))]
        return builder.emit(get_op(name), (x,), tuple([*params, *[("ddof", 0)] * (name in ("std", "var"))]))
    if kind == "index" and x.shape:  # `x ** s[None]` is a root where s is 0.5, as NumPy sees it, and a reshape is not
        return builder.emit(get_op("getitem"), (x,), (("index", draw(st.sampled_from(PARTS))),))
    y = operand()
    try:
        np.broadcast_shapes(x.shape, y.shape, (3,))
    except ValueError:
        return None
    if kind != "where":
        return builder.emit(get_op(draw(st.sampled_from(binary))), (x, y))
    zero = builder.constant(0)
    return builder.emit(get_op("where"), (condition, x, draw(st.sampled_from([y, zero]))))


@st.composite
def layouts(draw, builder, x, dtypes):
    what = draw(st.sampled_from(["reshape", "transpose", "broadcast_to", "cast"]))
    if what == "reshape":
        new = draw(st.sampled_from([(1, *x.shape), (*x.shape, 1), (x.type.size,)]))
        return builder.emit(get_op(what), (x,), (("shape", new),))
    if what == "transpose":
        return builder.emit(get_op(what), (x,), (("axes", tuple(range(x.type.ndim))[::-1]),))
    if what == "broadcast_to" or x.dtype.kind == "c":
        return builder.emit(get_op("broadcast_to"), (x,), (("shape", (2, *x.shape)),))
    dtype = draw(st.sampled_from([d for d in dtypes if d[0] == "f"]))
    return builder.emit(get_op(what), (x,), (("dtype", np.dtype(dtype)),))


def compare(before, after, seed, pool, check):
    rng = np.random.default_rng(seed)
    values = sample_inputs(before, rng, pool)
    for x, y in zip(interpret(before, *values), interpret(after, *values), strict=True):
        try:
            check(x, y)
        except AssertionError as e:
            raise AssertionError(f"{before}\nbecame\n{after}\nfor {values}") from e


@given(graphs(), st.integers(0, 2**32))
def test_exact_rules_keep_every_bit(graph, seed):
    verify(graph)
    with tapec.settings(verify=True):
        after = verify(RuleSet("", EXACT)(graph))
    assert [o.type for o in after.outputs] == [o.type for o in graph.outputs]
    compare(graph, after, seed, SPECIAL[""], lambda x, y: assert_same(x, y, ""))


@given(graphs(dtypes=("f8", "c16", "i8", "u1")), st.integers(0, 2**32))
def test_exact_rules_on_other_dtypes(graph, seed):
    with tapec.settings(verify=True):
        after = verify(RuleSet("", EXACT)(graph))
    compare(graph, after, seed, SPECIAL[""], lambda x, y: assert_same(x, y, ""))


def same_exceptions(x, y):
    """Where rounding may differ: nan, infinities and signs stay what they are."""
    x, y = np.asarray(x), np.asarray(y)
    assert x.dtype == y.dtype and x.shape == y.shape
    assert np.array_equal(np.isnan(x), np.isnan(y))
    big = np.isinf(x) | np.isinf(y)
    assert np.array_equal(x[big], y[big])


@given(graphs(dtypes=("f8",)), st.integers(0, 2**32))
def test_the_pipeline_changes_what_the_user_wrote_by_rounding_only(graph, seed):
    with tapec.settings(verify=True):
        after = optimize(graph)
    compare(graph, after, seed, SPECIAL["rounding"], same_exceptions)
    eps = 1e-9  # drawn programs cancel, and divide by what is left
    compare(graph, after, seed, SPECIAL["zeros"], lambda x, y: np.testing.assert_allclose(x, y, rtol=eps, atol=eps))


@given(graphs(dtypes=("f8",), roles=(None, CT, CT)), st.integers(0, 2**32))
def test_the_pipeline_keeps_ordinary_values_of_cotangents(graph, seed):
    with tapec.settings(verify=True):
        after = optimize(graph)
    finite = {}

    def check(x, y):
        if np.all(np.isfinite(x)):
            finite[0] = True
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)

    compare(graph, after, seed, SPECIAL["fast-math"], check)


@given(graphs(dtypes=("f8", "f4"), roles=(None, CT)))
def test_the_text_of_what_comes_out_comes_back(graph):
    with tapec.settings(verify=True):
        after = optimize(graph)
    assert parse(str(after), constant_table(after)) == after


@given(graphs(roles=(None, CT)))
def test_each_pass_by_itself_gives_a_good_graph(graph):
    for run in [p.run for p in PIPELINE]:
        after = verify(run(graph))
        assert [o.type for o in after.outputs] == [o.type for o in graph.outputs]
