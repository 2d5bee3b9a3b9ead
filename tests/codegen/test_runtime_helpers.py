"""Helpers that generated code calls besides NumPy are right, and their source needs nothing else."""

import inspect
import math
import tracemalloc

import numpy as np
import pytest

import tapec
from tapec.codegen import compile_graph
from tapec.codegen.common.expressions import parse_template
from tapec.codegen.runtime_helpers import (
    HELPERS,
    add_at,
    by_columns,
    chosen,
    helper_text,
    masked,
    rows_at,
    segment_sums,
    stable_order,
)
from tapec.ir import OPS
from tests.codegen.kit import check, graph_of
from tests.properties import call_count, calls, functions, has, uses_out


@pytest.mark.parametrize("shape", [(5, 3), (5, 2, 3), (5,)])
def test_rows_that_come_twice(shape):
    rng = np.random.default_rng(0)
    index = np.array([0, 4, -1, 2, 0, 0])
    values = rng.normal(size=(6, *shape[1:]))
    for target in (np.zeros(shape), np.zeros(shape, order="F"), np.zeros((10, *shape[1:]))[::2]):
        wanted = target.copy()
        np.add.at(wanted, index, values)
        add_at(target, index, values)
        np.testing.assert_allclose(target, wanted)


@pytest.mark.parametrize(("shape", "axes"), [((5,), 1), ((5, 3), 1), ((5, 3), 2), ((5, 4, 3), 1), ((5, 4, 3), 2)])
def test_positions_in_arrays_of_any_shape(shape, axes):
    rng = np.random.default_rng(1)
    index = tuple([rng.integers(-n, n, (6, 2)) for n in shape[:axes]])
    values = rng.normal(size=(6, 2, *shape[axes:]))
    for target in (np.zeros(shape), np.zeros(shape, order="F")):
        wanted = target.copy()
        np.add.at(wanted, index, values)
        add_at(target, *index, values)
        np.testing.assert_allclose(target, wanted)
    with pytest.raises(IndexError, match="out of bounds"):
        add_at(np.zeros(shape), *index[:-1], index[-1] + 5, values)


def test_places_in_a_vector_are_used_as_they_are():
    index, values, target = np.tile(np.arange(-500, 500), (20, 1)), np.ones((20, 1000)), np.zeros(1000)
    add_at(target, index, values)
    np.testing.assert_array_equal(target, 20)
    tracemalloc.start()
    add_at(target, index, values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < index.nbytes / 2


@pytest.mark.parametrize("name", sorted(HELPERS))
def test_variables_called_like_helpers(name):
    f = tapec.grad(eval(f"lambda {name}, i: np.sum({name}[i] ** 2)"))
    table, i = np.arange(8000.0).reshape(2000, 4), np.arange(0, 900, 3)
    np.testing.assert_array_equal(f(table, i)[i], 2 * table[i])
    assert has(f.source(), f"_({name}_, i)") and calls(f.source(), "rows_at") and calls(f.source(), "add_at")


def test_helpers_are_found_when_many_other_texts_were_seen():
    """A process that has compiled long programs has seen many."""
    x, column = np.ones((5000, 3)), np.arange(5000.0)[:, None]
    before = check(graph_of(lambda x, y: np.sin(x * y), x, column), x, column).source
    for k in range(2 * parse_template.cache_info().maxsize):
        parse_template(f"_0[{k}]", 1)
    again = check(graph_of(lambda x, y: np.sin(x * y), x, column), x, column).source
    assert calls(before, "by_columns") and again == before


@pytest.mark.parametrize("within", [True, False])
def test_many_places_in_matrices(within):
    """Places are picked anew only where some count from the end; one array is made for all of them."""
    rng = np.random.default_rng(4)
    i, j = (rng.integers(0 if within else -200, 200, 50_000) for _ in range(2))
    values, target, wanted = rng.normal(size=50_000), *np.zeros((2, 200, 200))
    np.add.at(wanted, (i, j), values)
    tracemalloc.start()
    add_at(target, i, j, values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(target, wanted)
    assert peak < (1.1 if within else 3.1) * i.nbytes
    rows, columns = i[:300, None], j[None, :200]
    values = rng.normal(size=(300, 200))
    np.add.at(wanted, (rows, columns), values)
    add_at(target, rows, columns, values)
    np.testing.assert_allclose(target, wanted)
    for index in ((i + 200, j), (i, j - 401)):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 200"):
            add_at(target, *index, 1.0)


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("shape", [(3,), (32,), (4, 8)])
def test_short_rows_take_the_memory_of_their_places(shape, spread):
    """Neither that of the values, where these are spread out, nor that of the places twice."""
    rng = np.random.default_rng(5)
    index, size = rng.integers(-800, 800, (800, 40)), 1 if spread else 40
    values = np.broadcast_to(rng.normal(size=(800, size, *shape)), (800, 40, *shape))
    target, wanted = np.zeros((2, 800, *shape))
    add_at(target, index, values)
    np.add.at(wanted, index, values)
    np.testing.assert_array_equal(target, wanted)
    tracemalloc.start()
    add_at(target, index, values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (1.1 + 2.0 * spread) * index.nbytes


@pytest.mark.parametrize("count", [60, 5000])
@pytest.mark.parametrize("shape", [(4,), (20,), (2, 6)])
def test_values_that_do_not_lie_side_by_side(shape, count):
    rng = np.random.default_rng(6)
    index, values = rng.integers(-50, 50, count), rng.normal(size=(count, *shape))
    narrow = np.broadcast_to(values[..., :1], values.shape)
    for given in (np.asfortranarray(values), np.repeat(values, 2, axis=-1)[..., ::2], narrow):
        target, wanted = np.zeros((2, 50, *shape))
        np.add.at(wanted, index, given)
        add_at(target, index, given)
        np.testing.assert_allclose(target, wanted, rtol=1e-12)


def test_weights_of_rows_in_any_memory_order():
    rng = np.random.default_rng(7)
    table, index, weights = rng.normal(size=(50, 20)), rng.integers(0, 50, 40), rng.normal(size=(40, 20))
    f = tapec.grad(lambda table, index, weights: np.sum(table[index] * weights))
    wanted = np.zeros_like(table)
    np.add.at(wanted, index, weights)
    for given in (weights, np.asfortranarray(weights), np.repeat(weights, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(f(table, index, given), wanted, rtol=1e-12)


def test_places_that_come_twice_in_generated_code():
    rng = np.random.default_rng(2)
    table, vector = rng.normal(size=(20, 30)), rng.normal(size=50)
    i, j = rng.integers(0, 20, (40, 10)), rng.integers(0, 30, (40, 10))

    @tapec.grad(argnums=(0, 1))
    def f(table, vector, i, j):
        return np.sum(np.sin(table[i, j]) * vector[i])

    g, h = f(table, vector, i, j)
    assert call_count(f.source(), "add_at") == 2
    wanted, other = np.zeros_like(table), np.zeros_like(vector)
    np.add.at(wanted, (i, j), np.cos(table[i, j]) * vector[i])
    np.add.at(other, i, np.sin(table[i, j]))
    np.testing.assert_allclose(g, wanted)
    np.testing.assert_allclose(h, other)


@pytest.mark.usefixtures("middle_sized_is_large")
def test_negated_rows_are_negated_in_place():
    rng = np.random.default_rng(4)
    x, i, j = rng.normal(size=(50, 3)), rng.integers(0, 50, 400), rng.integers(0, 50, 400)

    def f(x, i, j):
        d = x[i] - x[j]
        return np.sum(d**4)

    def g(x, i, j):
        d = np.sin(x[i] * 2.0)
        return np.sum(x[i] * d - d * x[j] * 3.0), d

    for h, aux in ((f, False), (g, True)):
        grad = tapec.grad(h, has_aux=aux)
        found = grad(x, i, j)[0] if aux else grad(x, i, j)
        with tapec.settings(optimize=False):
            wanted = tapec.grad(h, has_aux=aux)(x, i, j)
        np.testing.assert_allclose(found, wanted[0] if aux else wanted, rtol=1e-12, atol=1e-12)
    source = tapec.grad(f).source(x, i, j)
    assert uses_out(source, "np.negative") and not has(source, "add_at(_, _, -_)")


def test_places_of_a_mask_are_distinct_together_alone():
    mask = np.array([[True, True, False], [False, True, True], [True, False, True]])
    x, weights = np.arange(1.0, 10.0).reshape(3, 3), np.arange(1.0, 7.0)

    def f(x, which):
        places = np.nonzero(mask)
        return np.sum(x[places[which[0]], places[which[1]]] ** 2 * weights)

    for which in ((0, 0), (1, 1), (0, 1), (1, 0)):
        places = tuple([np.nonzero(mask)[k] for k in which])
        wanted = np.zeros((3, 3))
        np.add.at(wanted, places, 2 * x[places] * weights)
        gradient = tapec.grad(lambda x, which=which: f(x, which))
        np.testing.assert_allclose(gradient(x), wanted)
        assert bool(call_count(gradient.source(x), "add_at", "np.add.at")) == (which[0] == which[1])


def test_a_wrong_index_is_an_error():
    with pytest.raises(IndexError, match="out of bounds"):
        add_at(np.zeros((5, 3)), np.array([5]), np.ones((1, 3)))


def embedding(table, index, y):
    from tapec.ir.static_index import Slot
    from tapec.ops.core.stand_in import apply
    from tapec.ops.indexing.getitem_and_scatter import SCATTER

    return apply(SCATTER, (y, index), (("shape", table.shape), ("index", (Slot(0),)))) + table


def test_many_rows():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 8)), rng.integers(0, 50, 64), rng.normal(size=(64, 8))
    compiled = check(graph_of(embedding, *values), *values)
    assert calls(compiled, "add_at")
    space = {"np": np}
    exec(helper_text(compiled.helpers) + "\n" + compiled.source, space)
    np.testing.assert_allclose(space["function"](*values)[0], compiled.function(*values)[0])


def test_ops_without_source_are_called():
    x = np.array([2.0, 0.0, 4.0])
    compiled = check(graph_of(lambda a, b: _recurrence(a, b), x, x), x, x)
    assert calls(compiled, "_recurrence") and "_recurrence" in functions(helper_text(compiled.helpers))


def _recurrence(a, b):
    from tapec.ops.core.stand_in import apply
    from tapec.ops.reductions.cumulative import RECURRENCE

    return apply(RECURRENCE, (a, b), (("axis", 0), ("reverse", False)))


EVERY = HELPERS | {op.facts["helper"].__name__: op.facts["helper"] for op in OPS.values() if "helper" in op.facts}


@pytest.mark.parametrize("name", sorted(EVERY))
def test_the_text_of_every_helper_is_python_with_its_defaults(name):
    space = {"np": np}
    exec(compile(helper_text({name: EVERY[name]}), name, "exec"), space)
    wanted, found = inspect.signature(EVERY[name]).parameters.values(), inspect.signature(space[name]).parameters
    assert [(p.name, p.kind, p.default) for p in wanted] == [(p.name, p.kind, p.default) for p in found.values()]


def test_the_text_of_a_default_is_the_one_that_was_written():
    text = helper_text({"g": with_defaults})
    assert text.splitlines()[0] == "def g(x, *rest, kind=float, order='C', eps=1e-09):"


def with_defaults(x: float, *rest: "int", kind: type = float, order: str = "C", eps=1e-9) -> float:
    return x


def test_a_closure_cannot_stand_alone():
    k = 2.0
    with pytest.raises(ValueError, match="cannot stand alone"):
        helper_text({"f": lambda x: x * k})


def determinant(a):
    return np.sum(np.sin(np.linalg.det(a)) * a[0])


# they ask NumPy for what tapec has a function of the same name for, and have types
NAMED = {
    "cofactors": (tapec.grad(determinant), [[1.0, 2.0], [2.0, 4.0]]),
    "second_cofactors": (tapec.hessian(determinant), [[1.0, 2.0], [2.0, 4.0]]),
    "_checked": (tapec.vmap(lambda x: np.average(x, weights=x * x)), [[1.0, 2.0], [2.0, 4.0]]),
    "changed_at": (tapec.compile(lambda x: np.maximum.at(y := x * 2.0, [0, 0], x[1]) or y), [1.0, 2.0]),
}


@pytest.mark.parametrize("name", NAMED)
def test_helpers_stand_alone(name):
    f, x = NAMED[name][0], np.array(NAMED[name][1])
    compiled = compile_graph(f.ir(x))
    text = helper_text(compiled.helpers)
    space = {"np": np, "math": math, **compiled.constants}
    exec(text + "\n" + compiled.source, space)
    assert name in functions(text)
    np.testing.assert_array_equal(space[compiled.name](x)[0], compiled.function(x)[0])


__all__ = ["compile_graph"]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_masked_selects_bit_by_bit(dtype):
    values = np.array([1.0, -0.0, np.nan, np.inf, -np.inf, 5.0], dtype)
    mask = np.array([True, True, True, True, False, False])
    assert masked(values, mask).tobytes() == np.where(mask, values, values.dtype.type(0)).tobytes()
    assert masked(values, ~mask).tobytes() == np.where(mask, values.dtype.type(0), values).tobytes()
    assert masked(values[::-2], mask[1::2]).tobytes() == np.where(mask[1::2], values[::-2], 0).astype(dtype).tobytes()
    assert masked(values[:2], mask[:, None]).shape == (6, 2)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_chosen_selects_bit_by_bit(dtype):
    x = np.array([1.0, -0.0, np.nan, np.inf, -np.inf, 5.0], dtype)
    y = np.array([-1.0, 0.0, 7.0, -np.inf, np.nan, -0.0], dtype)
    for mask in (x > 0, x == x, np.ones(6, bool), np.arange(6) % 2 == 0):
        for one, other in ((x, y), (x, -0.0), (2.5, y), (x[::-1], y), (x, 1)):
            wanted = np.where(mask, one, other)
            assert chosen(mask, one, other).dtype == dtype
            assert chosen(mask, one, other).tobytes() == wanted.tobytes()
            out = np.empty(6, dtype)
            assert chosen(mask, one, other, out=out).tobytes() == out.tobytes() == wanted.tobytes()
        for own in (0, 1):  # in place of an operand
            both = [x.copy(), y.copy()]
            chosen(mask, *both, out=both[own])
            assert both[own].tobytes() == np.where(mask, x, y).tobytes()
        for way in (1, -1):  # in the memory of an operand
            own = y.copy()
            assert chosen(mask, x, own[::way], out=own).tobytes() == np.where(mask, x, y[::way]).tobytes()
    numbers, out = np.where(x > 0, 2.0, -0.0), np.empty(6)
    assert chosen(x > 0, 2.0, -0.0).tobytes() == chosen(x > 0, 2.0, -0.0, out=out).tobytes() == numbers.tobytes()
    assert out.tobytes() == numbers.tobytes()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_mask_may_be_a_view_of_any_bytes(dtype):
    mask = np.array([0, 1, 2, 127, 128, 255], np.uint8).view(bool)
    x, y = np.arange(1.0, 7.0).astype(dtype), -np.ones(6, dtype)
    np.testing.assert_array_equal(chosen(mask, x, y), np.where(mask, x, y))
    np.testing.assert_array_equal(chosen(mask, x, y, out=y.copy()), np.where(mask, x, y))
    np.testing.assert_array_equal(masked(x, mask), np.where(mask, x, 0))
    np.testing.assert_array_equal(masked(x, ~mask), np.where(mask, 0, x))


@pytest.mark.parametrize(
    "f",
    [
        lambda m, x, y: np.where(m, np.tanh(x) * y, x * x + np.exp(-y * y)),
        lambda m, x, y: np.where(m, np.tanh(x) * y, 0.0),
        lambda m, x, y: np.where(m, 2.5, 0.0) * np.tanh(x) * y,
        lambda m, x, y: np.where(m, 0.0, 2.5) * np.tanh(x) * y,
        lambda m, x, y: np.where(m[::-1] & m, 1.5, -2.5) * np.tanh(x) * y,
        lambda m, x, y: np.sum(np.where(m, x, y) * np.tanh(x)) / np.sum(m),
    ],
)
def test_large_masks_may_be_views_of_any_bytes(f):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 100_003))
    bits = rng.integers(0, 2, x.size).astype(np.uint8)
    c, slope = tapec.compile(f), tapec.grad(lambda x, y, m: np.sum(f(m, x, y) * y))
    for mask in (bits, bits * 255, bits * 2):
        m = mask.view(bool)
        np.testing.assert_allclose(c(m, x, y), f(m, x, y), rtol=1e-12)
        np.testing.assert_array_equal(slope(x, y, m), slope(x, y, bits.astype(bool)))


def test_a_choice_in_place_where_operands_share_memory():
    """A choice is made in two steps, so memory that is written must not be read any more."""

    def f(x, c):
        y = x * 2.0
        return np.where(c, y, y[::-1])

    def g(x, c):
        y = x * 2.0
        return np.where(c, y, y + 1.0)

    x = np.random.default_rng(0).standard_normal((100, 100))
    for function in (f, g):
        assert tapec.compile(function)(x, x > 0).tobytes() == function(x, x > 0).tobytes()
    assert not uses_out(tapec.compile(f).source(x, x > 0))


def test_large_selections_are_masked():
    def f(x, c):
        return np.where(c, x, 0.0), np.where(c, 0, x), np.where(c, x, -0.0), np.where(c, x, 1)

    x = np.random.default_rng(0).standard_normal((100, 100))
    x[0, :3] = np.nan, np.inf, -np.inf
    compiled = tapec.compile(f)
    for c in (x > 0, x[:1] > 0):
        for found, expected in zip(compiled(x, c), f(x, c), strict=True):
            assert found.tobytes() == expected.tobytes()
    source = compiled.source(x, x > 0)
    assert call_count(source, "masked") == 2 and call_count(source, "chosen") == 2
    assert not calls(compiled.source(x[:5], x[:5] > 0), "masked")  # little is selected faster in one call


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("k", [0.3, -0.0, np.inf, np.nan])
def test_large_selections_of_numbers_that_are_computed(k, dtype):
    def f(x, c, k, n):
        return np.where(c, k, 0), np.where(c, 0, k), np.where(c, k, x), np.where(c, x, k), np.where(c, k, n)

    x = np.random.default_rng(0).standard_normal((100, 100)).astype(dtype)
    for make in (x.dtype.type, lambda k: np.array(k, dtype)):
        numbers = make(k), make(1.5)
        compiled = check(graph_of(f, x, x > 0, *numbers), x, x > 0, *numbers)
        for found, expected in zip(compiled.function(x, x > 0, *numbers), f(x, x > 0, *numbers), strict=True):
            assert found.tobytes() == expected.tobytes()
        assert call_count(compiled, "masked") == 2 and call_count(compiled, "chosen") == 3
    several = np.where(x[0] > 0, x[0, 0], x[0, 1])  # which is not as large
    assert tapec.compile(lambda c, k, n: np.where(c, k, n))(x[0] > 0, x[0, 0], x[0, 1]).tobytes() == several.tobytes()


@pytest.mark.usefixtures("middle_sized_is_large")
def test_masks_are_applied_to_dying_arrays_in_place():
    def f(x, c):
        y = x * 2.0
        return np.where(c, y, 0.0)

    x = np.random.default_rng(0).standard_normal((100, 100))
    compiled = tapec.compile(f)
    assert compiled(x, x > 0).tobytes() == f(x, x > 0).tobytes()
    assert uses_out(compiled.source(x, x > 0), "masked", into="y")
    assert compiled(x, x[:1] > 0).tobytes() == f(x, x[:1] > 0).tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "i8"])
@pytest.mark.parametrize("width", [1, 2, 6, 7, 64, 100, 130])
def test_rows_of_all_widths_and_dtypes(width, dtype):
    rng = np.random.default_rng(3)
    index = rng.integers(-2000, 2000, 300).astype("i4")
    values = (10.0 * rng.normal(size=(300, width))).astype(dtype)
    wanted = (10.0 * rng.normal(size=(2000, width))).astype(dtype)
    target = wanted.copy()
    np.add.at(wanted, index, values)
    add_at(target, index, values)
    np.testing.assert_array_equal(target, wanted)
    for value in (1, 2.0 if dtype != "i8" else 2):
        np.add.at(wanted, index, value)
        add_at(target, index, value)
        np.testing.assert_array_equal(target, wanted)


@pytest.mark.parametrize("layout", [lambda x: x.T.copy().T, lambda x: np.broadcast_to(x[:, :1], x.shape), np.asarray])
def test_rows_that_do_not_lie_in_one_piece(layout):
    index, values = np.arange(60) % 7, layout(np.random.default_rng(0).standard_normal((60, 4)))
    target, wanted = np.zeros((7, 4)), np.zeros((7, 4))
    add_at(target, index, values)
    np.add.at(wanted, index, values)
    assert np.allclose(target, wanted, rtol=1e-14)


def test_the_slope_of_a_sum_of_rows_that_come_twice():
    index, x = np.arange(60) % 7, np.ones((7, 2))
    slope = tapec.grad(lambda x, s: np.sum(x[index]) * np.sin(s))(x, np.float64(2.0))
    assert np.allclose(slope, np.bincount(index)[:, None] * np.sin(2.0) * np.ones(2), rtol=1e-14)


def test_nan_and_inf_stay_in_their_places():
    """Numbers side by side are added as one complex number, which must not spread a nan."""
    values = np.array([[np.nan, 1.0, np.inf, -np.inf, -0.0, 2.0], [0.0, np.inf, -np.inf, 1e308, -0.0, np.nan]])
    target, wanted = np.zeros((2, 2, 6))
    target[0] = wanted[0] = -0.0
    with np.errstate(invalid="ignore", over="ignore"):
        for k in (values, values[::-1]):
            add_at(target, np.array([0, 0]), k)
            np.add.at(wanted, np.array([0, 0]), k)
    np.testing.assert_array_equal(target, wanted)
    np.testing.assert_array_equal(np.signbit(target[0, 4]), np.signbit(wanted[0, 4]))


@pytest.mark.parametrize("rows", [4_000, 12_000])
def test_rows_that_a_cache_holds_and_others(rows):
    rng = np.random.default_rng(5)
    index, values = rng.integers(0, 700, rows), rng.normal(size=(rows, 32))
    target, wanted = np.zeros((2, 700, 32))
    np.add.at(wanted, index, values)
    add_at(target, index, values)
    np.testing.assert_array_equal(target, wanted)


# -- sums of segments -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "starts",
    [
        np.sort(np.random.default_rng(1).integers(0, 40_000, 3_000)),
        np.array([5, 5, 5, 30_000, 30_000, 39_999]),
        np.arange(0, 40_000, 7).astype("u2"),
        np.array([40, 20, 39_000, 0]),  # not in order
        np.array([0]),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_of_segments_bit_for_bit(starts, dtype):
    x = np.random.default_rng(2).normal(size=(40_000, 4, 5)).astype(dtype)
    compiled = check(graph_of(lambda x, starts: np.add.reduceat(x, starts), x, starts), x, starts)
    assert calls(compiled, "segment_sums")
    assert compiled.function(x, starts)[0].tobytes() == np.add.reduceat(x, starts).tobytes()
    assert segment_sums(x[::2], starts // 2).tobytes() == np.add.reduceat(x[::2], starts // 2).tobytes()
    for beyond in (40_000, -1):
        outside = np.append(starts[:2].astype(int), beyond) if beyond > 0 else np.array([beyond, 3])
        with pytest.raises(IndexError, match="out-of-bounds"):
            compiled.function(x, outside)


@pytest.mark.parametrize("shape, axis", [((400, 20), 0), ((400_000, 1), 0), ((400_000,), 0), ((20, 40_000), 1)])
def test_segments_of_few_short_or_other_rows(shape, axis):
    x, starts = np.random.default_rng(3).normal(size=shape), np.array([0, 5, 19])
    assert calls(check(graph_of(lambda x, s: np.add.reduceat(x, s, axis), x, starts), x, starts), "np.add.reduceat")


# -- sorting ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(3000,), (40, 50)])
def test_stable_order(dtype, shape):
    rng = np.random.default_rng(0)
    distinct = rng.permutation(np.prod(shape)).reshape(shape).astype(dtype)
    equal = rng.integers(0, 30, shape).astype(dtype)
    signs = np.where(rng.random(shape) < 0.5, -0.0, 0.0).astype(dtype)
    odd = distinct.copy()
    odd[..., ::7], odd[..., 1::7] = np.nan, np.inf
    for x in (distinct, equal, signs, odd):
        np.testing.assert_array_equal(stable_order(x), np.argsort(x, kind="stable"))


def test_large_arrays_are_sorted_fast():
    x = np.random.default_rng(0).normal(size=(60, 50))
    order = lambda x, axis=-1: np.argsort(x, axis, kind="stable")
    compiled = check(graph_of(lambda x: (order(x), order(x, axis=0), order(x[:5])), x), x)
    assert call_count(compiled, "stable_order") == 1 and call_count(compiled, "argsort") == 2
    gradient = tapec.grad(lambda x, w: np.sum(np.sort(x) * w))
    w = np.random.default_rng(1).normal(size=x.shape)
    assert calls(gradient.source(x, w), "stable_order")
    np.testing.assert_array_equal(np.take_along_axis(gradient(x, w), np.argsort(x), -1), w)


@pytest.mark.parametrize("k", [2.5, 1e-300, -2.5, np.inf, np.nan])
def test_a_number_or_zero(k):
    """A product with the mask, unless zeros would get a sign or become nan."""
    x = np.random.default_rng(0).normal(size=10_000)
    compiled = check(graph_of(lambda x: (np.where(x > 0, k, 0), np.where(x > 1, 0.0, k) + x), x), x)
    first, second = compiled.function(x)
    np.testing.assert_array_equal(first, np.where(x > 0, k, 0))
    np.testing.assert_array_equal(second, np.where(x > 1, 0.0, k) + x)
    assert not np.any(np.signbit(first[x <= 0]))
    assert calls(compiled, "np.multiply") == (0 < k < np.inf)


# -- rows of a few elements --------------------------------------------------------------------------------------------
OPERATIONS = [np.add, np.subtract, np.multiply, np.divide]


@pytest.mark.parametrize("function", OPERATIONS)
@pytest.mark.parametrize("shape", [(5000, 1), (1, 3), (3,)])
def test_short_rows_are_computed_by_columns_bit_for_bit(function, shape):
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(5000, 3)), rng.normal(size=shape)
    x[:3], y.flat[0] = [[0.0, -0.0, np.inf], [np.nan, 1.0, -np.inf], [0.0, 0.0, 1e308]], -0.0
    with np.errstate(all="ignore"):
        for a, b in ((x, y), (y, x), (np.asfortranarray(x), y)):
            wanted = function(a, b)
            for out in (None, np.empty((5000, 3)), np.empty((3, 5000)).T):
                np.testing.assert_array_equal(by_columns(function, a, b, out=out), wanted, strict=True)
                np.testing.assert_array_equal(np.signbit(by_columns(function, a, b, out=out)), np.signbit(wanted))
    compiled = check(graph_of(function, x, y), x, y)
    assert has(compiled, f"by_columns(np.{function.__name__}, x, y)")


@pytest.mark.usefixtures("middle_sized_is_large")
def test_gradients_of_distances_scale_rows_in_place():
    rng = np.random.default_rng(6)
    p, q = rng.normal(size=(5000, 3)), rng.normal(size=(5000, 3))
    gradient = tapec.grad(lambda p, q: np.sum(np.sqrt(np.sum((p - q) ** 2, axis=1))))
    np.testing.assert_allclose(gradient(p, q), (p - q) / np.linalg.norm(p - q, axis=1, keepdims=True), rtol=1e-14)
    assert has(gradient.source(p, q), "by_columns(np.multiply, _, _, out=_)")


def test_rows_over_their_own_column_are_not_by_columns():
    x = np.random.default_rng(7).normal(size=(5000, 3))

    def f(x):
        z = np.exp(x)
        return z / z[:, :1]

    assert not calls(check(graph_of(f, x), x), "by_columns")


@pytest.mark.parametrize("shape", [(5000, 1), (5000, 5), (500, 3), (100000, 3), (5000, 3, 2)])
def test_other_rows_are_left_to_numpy(shape):
    x = np.random.default_rng(8).normal(size=shape)
    assert not calls(check(graph_of(np.multiply, x, x[:, :1]), x, x[:, :1]), "by_columns")


# -- rows that an array picks ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("count", [3, 400])
def test_rows_are_taken_which_is_faster_than_an_index(kind, count):
    rng = np.random.default_rng(9)
    for shape in ((100, 3), (100, 2, 4)):
        x, index = rng.normal(size=shape), rng.integers(0, 100, (count, 2)).astype(kind)
        index[0, 0] = 99
        compiled = check(graph_of(lambda x, y: x[y], x, index), x, index)
        assert calls(compiled, "rows_at" if count == 3 else "x.take")
        for table in (x, np.asfortranarray(x), x[::-1], np.broadcast_to(x[0], shape)):
            np.testing.assert_array_equal(compiled.function(table, index)[0], table[index], strict=True)
            np.testing.assert_array_equal(rows_at(table, index), table[index], strict=True)


def test_places_from_the_end_and_places_that_are_none():
    x = np.arange(12.0).reshape(6, 2)
    for index in (np.array([-1, 0, -6]), np.array([-1] * 50)):
        compiled = check(graph_of(lambda x, y: x[y], x, index), x, index)
        with pytest.raises(IndexError, match="out of bounds"):
            compiled.function(x, index - 6)


def test_a_table_in_columns_is_not_copied_for_some_rows():
    x = np.ones((500, 1000)).T
    tracemalloc.start()
    rows_at(x, np.array([3, 5]))
    assert tracemalloc.get_traced_memory()[1] < x.nbytes / 10
    tracemalloc.stop()


def test_vectors_and_unsigned_places_are_indexed():
    index = np.array([3, 0, 1], np.uint64)
    for x, y in ((np.arange(5.0), index.astype(int)), (np.ones((5, 2)), index)):
        assert has(check(graph_of(lambda x, y: x[y], x, y), x, y), "x[y]")
