"""Loops over blocks: what goes into them, what they look like, and that threads change last digits of sums at most."""

import threading

import numpy as np
import pytest

import tapec
from tapec.codegen import compile_graph, tuning
from tapec.codegen.numpy.blocks.block_loops import _block
from tapec.codegen.numpy.blocks.row_regions import find_regions
from tapec.codegen.runtime_helpers import in_threads
from tests.codegen.kit import check, counted, gradient_of, graph_of, graphs_as_differentiated
from tests.properties import (
    after_branch,
    allocates,
    assigned,
    before_branch,
    before_loop,
    block_loops,
    call_count,
    calls,
    count_of,
    deleted,
    has,
    has_loop,
    operations,
    reads,
    statements,
    updates,
)

rng = np.random.default_rng(1)
LARGE = rng.normal(size=200_000)
ROWS = rng.normal(size=(2048, 128))


def wave(x, y):
    return np.sum(np.tanh(x * y) * np.exp(-x * x) + np.log1p(y * y))


def normalised(x, gain):
    centred = x - np.mean(x, axis=1, keepdims=True)
    scale = np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5)
    return np.sum(np.tanh(centred / scale * gain))


CASES = {"wave": (wave, (LARGE, LARGE[::-1].copy())), "normalised": (normalised, (ROWS, ROWS[0]))}


@pytest.mark.parametrize("name", CASES)
def test_forward_and_backward_in_one_loop(name):
    f, values = CASES[name]
    assert len(block_loops(check(gradient_of(f, *values), *values))) == 1


def block_of(f, *values):
    return block_loops(check(gradient_of(f, *values), *values))[0].block


def multiplies(loop):
    """Tell whether a loop over blocks has a product of matrices in it."""
    return operations(loop, "@") + call_count(loop, "np.matmul", "np.dot") > 0


def test_size_of_blocks():
    """Few arrays take half of what may be in use; of many, each has enough elements that calls count for little."""
    x = rng.normal(size=1_000_000)
    assert block_of(lambda x: np.sum(np.exp(np.sin(x))), x) * 8 * 3 <= 1 << 20

    def many(x):
        waves = [np.exp(-k * x * x) for k in range(1, 4)]
        product = waves[0]
        for wave in waves[1:]:
            product = product * wave
        return np.sum(product + np.sin(waves[0] + waves[1]) + np.sin(waves[1] + waves[2]))

    assert 1 << 17 < block_of(many, x) * 8 <= 1 << 18


def test_smaller_arrays_in_blocks_where_much_is_computed(monkeypatch):
    x, y = rng.normal(size=(2, 80_000))
    compiled = check(gradient_of(wave, x, y), x, y)
    assert block_loops(compiled) and compiled.cost.peak < 4.5 * x.nbytes
    assert not block_loops(check(gradient_of(lambda x: np.sum(np.exp(np.sin(x))), x), x))
    monkeypatch.setattr(tuning, "BLOCK_LOOP_MIN_BYTES", 1 << 30)
    assert not block_loops(check(gradient_of(wave, x, y), x, y))


def three_at_once(x):
    return np.sum(np.sin(x) * np.cos(x) * np.tanh(x) * np.exp(x))


def test_one_name_for_all():
    """Values in a lent array have the array's name, and are dead when the next value takes the name."""

    def f(x, y):
        z = x * y
        z = np.exp(z)
        z = np.maximum(z, 0.0)
        return np.sum(z)

    value, (dx, dy) = tapec.value_and_grad(f, argnums=(0, 1))(LARGE, LARGE[::-1])
    z = np.exp(LARGE * LARGE[::-1])
    np.testing.assert_allclose(value, z.sum())
    np.testing.assert_allclose(dx, z * LARGE[::-1])
    np.testing.assert_allclose(dy, z * LARGE)


def test_other_dtypes():
    x = rng.normal(size=(4096, 128)).astype("f4")
    compiled = check(gradient_of(normalised, x, x[0]), x, x[0])
    assert has(compiled, "np.float32") and block_loops(compiled)
    check(graph_of(lambda x: (np.exp(1j * x) * x, np.sum(np.abs(np.exp(x + 1j)))), LARGE), LARGE)


def test_long_doubles():
    def f(x):
        y = np.where(x > 0.0, x, 2.0)
        return np.sum(np.abs(y)[::2] * y[::2]) + np.sum(np.sin(x))

    x = LARGE.astype(np.longdouble)
    slope, want = tapec.grad(f)(x), tapec.grad(f)(LARGE)
    assert slope.dtype == x.dtype and block_loops(tapec.grad(f).source(x))
    np.testing.assert_allclose(slope.astype(float), want, rtol=1e-12)


def test_numbers_selected_in_single_precision():
    """np.where of two Python numbers is of double precision."""
    x = rng.normal(size=400_000).astype("f4")

    def f(x, s):
        z = np.sin(np.exp(x) * x)
        return np.sum(np.where(z > 0.3, s, np.float32(0.0))) + np.sum(z * z)

    for wrt in ((0, 1), (1,)):
        check(gradient_of(f, x, np.float32(2.0), wrt=wrt), x, np.float32(2.0))


def test_small_arrays_are_left_alone():
    x = rng.normal(size=5000)
    assert not has_loop(check(gradient_of(wave, x, x), x, x))


def test_odd_lengths():
    x = rng.normal(size=200_003)
    (loop,) = block_loops(check(gradient_of(wave, x, x), x, x))
    assert loop.length % loop.block and has(
        loop, f"block = slice(i, i + {loop.block})"
    )  # slices end where their arrays do


def test_a_sum_parts_two_loops():
    """Values that need the whole sum come in a second loop."""

    def f(x):
        e = np.exp(np.tanh(x) * 0.5)
        return np.log(np.sum(e)) + np.sum(np.sin(x) * e) / np.sum(e)

    assert len(block_loops(check(gradient_of(f, LARGE), LARGE))) == 2


def test_an_array_that_dies_is_computed_in():
    def f(u, v, w):
        e = u @ v.T
        e = e - w
        return np.sum(np.tanh(e) * w)

    values = rng.normal(size=(400, 5)), rng.normal(size=(500, 5)), rng.normal(size=(400, 500))
    assert not allocates(check(gradient_of(f, *values, wrt=(0, 1)), *values), shape=(400, 500))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_last_digits_of_sums_at_most(name, threads):
    """Threads have larger blocks, so sums go in another order: the same at each call."""
    f, values = CASES[name]
    graph = gradient_of(f, *values)
    alone = compile_graph(graph).function(*values)
    with tapec.settings(threads=threads):
        compiled = check(graph, *values)
    assert [loop.threads for loop in block_loops(compiled)] == [threads]
    first = compiled.function(*values)
    for a, b in zip(alone, first, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    for _ in range(3):
        for a, b in zip(first, compiled.function(*values), strict=True):
            np.testing.assert_array_equal(a, b)


def test_large_sums_of_products_use_no_threads_of_blas():
    """Each of our threads would wait for those of BLAS."""

    def f(x, y):
        t = np.tanh(x * y)
        return np.sum(t * y) + np.sum(np.exp(-x * x)) + np.sum(x[0] * y[0])

    x, y = rng.normal(size=(2, 512, 512))
    graph = gradient_of(f, x, y)
    with tapec.settings(threads=2):
        compiled = check(graph, x, y)
    assert not calls(compiled, "np.vdot") and has(compiled, "np.einsum('ij,ij->', _, _)")
    assert calls(compiled, ".dot")  # short ones have none
    assert calls(check(graph, x, y), "np.vdot")


@pytest.mark.parametrize(
    "rows, most, multiplied, block",
    [
        (4096, 57, False, 64),  # few rows more make all of one size
        (4096, 56, False, 32),  # these would be more than an eighth
        (300, 54, False, 50),  # few blocks are no larger than asked for: 60 would be
        (4096, 60, True, 60),  # nor are products
    ],
)
def test_blocks_of_one_size_may_be_a_little_larger(rows, most, multiplied, block):
    assert _block(rows, most, multiplied) == block


def test_blocks_of_threads_are_larger():
    """Between two operations threads wait for each other; but there are at least two blocks for each."""
    graph = gradient_of(wave, np.ones(1_000_000), np.ones(1_000_000))
    alone = block_loops(compile_graph(graph))[0].block
    for threads, most in ((2, 250_000), (8, 62_500)):
        with tapec.settings(threads=threads):
            block = block_loops(compile_graph(graph))[0].block
        assert alone < block <= most


def test_threads_are_left_and_errors_come_through():
    before = threading.active_count()

    def blocks(first, last):
        if first:
            raise ZeroDivisionError("in a thread")
        return [(first, last)]

    with pytest.raises(ZeroDivisionError, match="in a thread"):
        in_threads(blocks, 100, 10, 3)
    assert in_threads(lambda first, last: [(first, last)], 95, 10, 3) == [(0, 40), (40, 80), (80, 95)]
    assert threading.active_count() == before


def test_errstate_reaches_the_threads():
    with tapec.settings(threads=2):
        compiled = compile_graph(graph_of(lambda x: np.exp(np.log(x) * 2.0) + np.tanh(x), LARGE))
    x = np.abs(LARGE) + 1.0
    x[-1] = -1.0
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        compiled.function(x)


def test_kept_values_in_dying_arrays_stay_there():
    """The slice of a kept value is free for no other value of the loop, though its operand there is dead."""

    def f(x, y):
        h = np.tanh(x @ y)
        a = np.exp(h) * 2.0
        b = np.sin(h) * a
        c = np.cos(h) - b
        return h, np.sum(np.log(a) * c), np.sum(b * c)

    x, y = rng.normal(size=(3000, 100)), rng.normal(size=(100, 100))
    assert has(check(graph_of(f, x, y), x, y), "_[block] = np.tanh(_[block])")


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.sum(np.hypot(v := np.cumsum(x, axis=0)[::-1], v) * np.cumsum(x, axis=0)),
        lambda x, y: np.sum((h := np.where(x > 0, y[::-1], y)) * x) + np.sum(h),
    ],
    ids=["forward", "backward"],
)
def test_arrays_read_in_later_turns_are_not_overwritten(f):
    """A loop goes along an array, and along the same array from its other end."""
    values = rng.normal(size=(2, 3000, 60))
    assert block_loops(check(gradient_of(f, *values), *values))


def test_selections_of_selections():
    """Both selections are made of values that die there."""

    def f(x, y):
        h = np.cumsum(y, axis=0) * 0.1
        x = np.copysign(x, x)
        columns = np.sum(np.where(x > y, x.T, h), axis=0)
        bent = np.where(h > 0.0, h, 0.3 * h)
        t = np.maximum(x, x).T
        grown = np.sqrt(1.0 + t * t)
        return np.sum(grown * grown) + np.sum(bent * bent) + np.sum(columns * columns)

    values = rng.normal(size=(2, 420, 420))
    check(gradient_of(f, *values), *values)


def test_a_slice_of_a_dying_array():
    """A kept value lives in a dying array; then its slice is deleted."""

    def f(x, y):
        h = np.cumsum(y, axis=0) * 0.1
        bent = np.where(h > 0.0, h, 0.3 * h)
        return np.sum(bent**2) + np.sum(np.where(x > y, x.T, h))

    values = rng.normal(size=(2, 420, 420))
    compiled = check(gradient_of(f, *values), *values)
    assert any(name.endswith("_block") for name in deleted(compiled)) and not has(
        compiled, "np.empty((420, 420))"
    )  # but for the mask


def test_values_that_are_kept_are_computed_beside_blocks_alone():

    def f(x):
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    compiled = check(graph_of(f, ROWS), ROWS)
    assert allocates(compiled, "empty", ROWS.shape) == allocates(compiled, "empty") == 1
    assert compiled.cost.peak < 1.4 * ROWS.nbytes  # blocks come on top

    def g(x):
        t = np.tanh(x)
        y = np.exp(t) * 2.0
        return y, np.sum(np.sin(y) * t)  # t is needed when y is there

    compiled = check(graph_of(g, LARGE), LARGE)
    assert allocates(compiled, "empty") == 1


def test_stated_peak_is_measured_peak():
    import tracemalloc

    for f, values in CASES.values():
        compiled = compile_graph(gradient_of(f, *values), "function")
        compiled.function(*values)
        tracemalloc.start()
        try:
            result = compiled.function(*values)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert result is not None
        assert 0.95 * compiled.cost.peak <= peak <= 1.05 * compiled.cost.peak


def of_nearest(c, x):
    return np.sum(np.min(np.sum((x[:, None] - c) ** 2, axis=2), axis=1))


def of_mixture(c, x):
    s = x @ c.T
    m = np.max(s, axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(s - m), axis=1)) + m[:, 0])


def of_circle(c, x):
    """The workspace is there when the squares of the first rows are made, and what the turn before has left, too."""
    e = np.sqrt(np.sum((x - c[0]) ** 2, axis=1)) - 1.0
    return np.sum(np.log1p(e * e))


@pytest.mark.parametrize("f", [of_nearest, of_mixture, of_circle])
def test_stated_peak_counts_copies_of_short_rows(f):
    """The peak has the products of short rows, before they are added up, and the copy whose columns are compared."""
    import tracemalloc

    values = rng.normal(size=(16, 8)), rng.normal(size=(20000, 8))
    compiled = compile_graph(gradient_of(f, *values, wrt=(0,)), "function")
    with np.errstate():
        np.setbufsize(1024)  # what NumPy broadcasts by takes memory, too, more of it in older ones
        compiled.function(*values)
        tracemalloc.start()
        try:
            compiled.function(*values)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert compiled.cost.peak <= peak <= 1.15 * compiled.cost.peak  # without these it is up to 1.9 times as much


def test_scatters_are_added_when_the_loop_is_done():
    """In it, each would be an array of its own, zeros and all; a loop over their own rows adds them."""

    def f(u):
        d = u[1:-1, 2:] + u[1:-1, :-2] - u[2:, 1:-1]
        return np.sum(d * d) + np.sum(np.tanh(u) ** 2)

    x = rng.normal(size=(600, 500))
    compiled = check(gradient_of(f, x), x)
    assert len(block_loops(compiled)) == 2 and not allocates(compiled, "zeros")
    assert updates(compiled, "+ -") >= 3


def test_values_of_one_loop_are_computed_in_it():
    """An earlier loop would have to keep the value."""

    def f(x, w):
        e = np.exp(x - x[:, :1])
        total = np.sum(e * np.sin(e))
        return np.sum(np.tanh(np.exp(w * 0.5) * total + e)), np.sum(np.cos(e))

    values = rng.normal(size=(2048, 100)), rng.normal(size=(2048, 100))
    compiled = check(graph_of(f, *values), *values)
    assert len(block_loops(compiled)) == 2 and allocates(compiled, "empty", (2048, 100)) == 1  # e alone


def test_sums_of_loop_operands_are_in_the_loop():
    def f(x, y):
        return np.sum(np.exp(x * y) * np.sin(x)) - 0.5 * (np.sum(y) - np.sum(x**2))

    compiled = check(gradient_of(f, LARGE, LARGE[::-1].copy()), LARGE, LARGE[::-1].copy())
    assert count_of(compiled, "y[block].sum()") == count_of(compiled, "x[block].dot(x[block])") == 1
    assert not has(compiled, "y.sum()") and not has(compiled, "x.dot(x)")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.exp(x - np.mean(x)) * np.sin(x)),  # which needs it
        lambda x: np.sum(np.exp(x) * np.sin(x)) if np.sum(x) > -1e9 else 0.0 * np.sum(x),  # on which paths part
    ],
)
def test_sums_that_a_loop_needs_come_before_it(f):
    grad = tapec.value_and_grad(f)
    np.testing.assert_allclose(grad(LARGE)[0], f(LARGE))
    tapec.check_grads(f, (LARGE,), order=1)
    source = grad.source(LARGE)
    assert call_count(before_loop(source), "x.sum", "x.mean") and not has(block_loops(source)[0], "x_.sum()")


def test_views_for_later_are_taken_later():
    """In the loop they would be copied; but a few columns are less than the array that they are columns of."""

    def f(x):
        e = np.exp(x) * x + 1.0
        return np.concatenate([e[:, 1:], e[:, :-1]]), np.concatenate([np.sin(np.tanh(x) * 2.0)[:, :1]] * 2)

    (loop,) = block_loops(check(graph_of(f, ROWS), ROWS))
    assert not has(loop, "_[:, 1:]") and has(loop, "_[:, :1]")


@pytest.mark.usefixtures("middle_sized_is_large")
def test_sums_of_one_loop_are_arrays_of_their_own():
    """Sums had been taken for one array under two names, and deleted under names that were free already."""

    def f(w, x):
        a, b = np.sum(np.tanh(x * w), axis=0), np.sum(np.sin(x * w), axis=0)
        c = a * b + np.cos(a)
        d = np.concatenate([c, c * c, c - 1])
        return np.sum(np.sin(d) * np.cumsum(d))

    w, x = rng.normal(size=20_000), rng.normal(size=(40, 20_000))
    compiled = check(graph_of(f, w, x), w, x)
    sums = {name for s in statements(compiled) if has(s, "_ = np.zeros(_)") for name in assigned(s)}
    assert len(sums) == 2 and sums <= deleted(compiled)


def test_scatters_by_rows_are_added_to_an_array():
    """A number in its place, which is as good for all else, left zeros that had more rows than the last block."""
    x, labels = rng.normal(size=(140_003, 10)), rng.integers(0, 10, 140_003)
    with graphs_as_differentiated(), tapec.GradientTape() as tape:
        w = tapec.constant(x)
        tape.watch(w)
        y = w * 1.0
        picked = np.take_along_axis(y, labels[:, None], 1)[:, 0]
        d = tape.gradient([w + y, w * 2.0, picked], w)
    wanted = np.full(x.shape, 4.0)
    wanted[np.arange(len(x)), labels] += 1.0
    np.testing.assert_array_equal(d, wanted)


def test_each_path_has_its_own_loops():
    """Loops of all paths had run before the test that chooses one: columns of another count ended in an error."""

    def f(x, chosen):
        y = x[:, chosen]
        y = np.tanh(y) * y + 1.0
        return np.sum(np.exp(-y * y) * y)

    x = rng.normal(size=(3000, 300))
    grad = tapec.grad(f)
    for count in (150, 200, 100, 200):
        chosen = np.arange(300) < count
        y = np.tanh(x) * x + 1.0
        slope = np.exp(-y * y) * (1.0 - 2.0 * y * y) * (np.tanh(x) + x * (1.0 - np.tanh(x) ** 2))
        np.testing.assert_allclose(grad(x, chosen), np.where(chosen, slope, 0.0), atol=1e-12)


def test_paths_compute_only_their_own_values():
    def f(x, k):
        h = np.tanh(x) * x + 1.0
        h = np.sin(h) * h
        if k > 0:
            y = np.log(h * h + k) * h
            return np.sum(y * y)
        y = np.exp(h) * h
        return np.sum(y * y - h)

    grad = tapec.grad(f)
    with np.errstate(all="raise"):
        for k in (2.0, -2.0, 2.0, -2.0):
            grad(ROWS, k)
    source = grad.source(ROWS, 2.0)
    before, after = before_branch(source), after_branch(source)
    assert calls(before, "np.tanh") and block_loops(before)
    assert not call_count(before, "np.log", "np.exp") and len(block_loops(after)) == 2


def test_lengths_are_asked_for_first():
    """The length comes first also where an earlier turn depends on a sum that a loop over blocks makes."""

    def f(x, chosen):
        h = np.tanh(x) * x + 1.0
        h = np.exp(-h * h) * h
        if np.sum(h) > 0.0:
            h = np.sin(h) * h
        z = np.reshape(x[:, chosen], -1)
        return np.sum(h) + np.sum(z * z)

    grad = tapec.grad(f)
    x = rng.normal(size=(2000, 200))
    without = grad(x, np.zeros(200, bool))
    for count in (50, 70, 50):
        chosen = np.arange(200) < count
        np.testing.assert_allclose(grad(x, chosen), without + np.where(chosen, 2.0 * x, 0.0))


def test_many_loops_are_found_in_linear_time():
    def calls(count):
        def f(x):
            total = 0.0
            for k in range(count):
                total = total + np.sum(np.sin(x + total) * np.cos(x * total) * (k + 1.0))
            return total

        found, made = counted(find_regions, gradient_of(f, np.linspace(-1.0, 1.0, 200_000)), None)
        assert len(found[1]) >= count
        return made

    assert calls(80) < 2.1 * calls(40)


# -- products with vectors --------------------------------------------------------------------------------------------
MATRIX = rng.normal(size=(90_000, 6))
SHORT = rng.normal(size=(40_000, 6))
WEIGHTS = np.linspace(-1.0, 1.0, 6)


def regression(w, x, y):
    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z) + 0.5 * np.sum(w * w)


def squares(w, x, y):
    r = x @ w - y
    return r @ r


@pytest.mark.parametrize("f", [regression, squares])
def test_a_huge_matrix_is_read_once(f):
    """Rows of the matrix are multiplied by a vector, and by what is made of these products, block by block."""
    values = WEIGHTS, MATRIX, MATRIX[:, 0] > 0.3
    source = tapec.value_and_grad(f).source(*values)
    (loop,) = block_loops(source)
    assert count_of(loop.body, "x[block]") == 2  # its rows
    assert reads(source, "x") == 2 + count_of(source, "len(x)")
    value, slope = tapec.value_and_grad(f)(*values)
    np.testing.assert_allclose(value, f(*values), rtol=1e-12)
    for k in range(6):
        step = 1e-6 * np.eye(6)[k]
        wanted = (f(WEIGHTS + step, *values[1:]) - f(WEIGHTS - step, *values[1:])) / 2e-6
        np.testing.assert_allclose(slope[k], wanted, rtol=1e-5, atol=1e-7)
    check(gradient_of(f, WEIGHTS, MATRIX, MATRIX[:, 0]), WEIGHTS, MATRIX, MATRIX[:, 0])


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (squares, SHORT),  # the cache may hold it until it is read again
        (lambda w, x, y: np.sum(np.tanh(x @ w)), SHORT),
    ],
)
def test_other_matrices_are_multiplied_as_a_whole(f, x):
    compiled = check(gradient_of(f, WEIGHTS, x, x[:, 0]), WEIGHTS, x, x[:, 0])
    assert not any(multiplies(loop) for loop in block_loops(compiled))


def test_a_vector_that_needs_all_products_comes_after_them():
    def f(w, x, y):
        z = x @ w
        e = np.exp(z - np.max(z))
        return np.sum(e / np.sum(e) * y)

    check(gradient_of(f, WEIGHTS, MATRIX, MATRIX[:, 0]), WEIGHTS, MATRIX, MATRIX[:, 0])
    check(graph_of(lambda w, x: (x @ w) @ x @ (x.T @ (x @ w)), WEIGHTS, MATRIX), WEIGHTS, MATRIX)
    check(graph_of(lambda w, x: x @ np.tanh(np.tanh(x @ w) @ x), WEIGHTS, MATRIX), WEIGHTS, MATRIX)


@pytest.mark.parametrize("threads", [1, 2])
def test_products_with_rows_in_threads(threads):
    with tapec.config.settings(threads=threads):
        found = tapec.value_and_grad(regression)(WEIGHTS, MATRIX, MATRIX[:, 0])
    for got, wanted in zip(found, tapec.value_and_grad(regression)(WEIGHTS, MATRIX, MATRIX[:, 0]), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


# -- several numbers of rows ------------------------------------------------------------------------------------------
def test_arrays_of_each_length_have_their_loops():
    def f(x, y):
        return wave(x, x[::-1]) + wave(y, y * 0.5)

    x, y = LARGE, rng.normal(size=150_000)
    assert [loop.length for loop in block_loops(check(gradient_of(f, x, y), x, y))] == [200_000, 150_000]


def test_the_largest_arrays_need_no_loop():
    def f(x, y):
        return np.sum(np.tanh(x)) + wave(y, y * 0.5)

    y = rng.normal(size=150_000)
    x = rng.normal(size=1_000_000)
    assert [loop.length for loop in block_loops(check(graph_of(f, x, y), x, y))] == [150_000]


def test_loops_of_several_lengths_read_each_other():
    """Means over one length go into the other, and slices of one are rows of the other."""

    def f(x, y):
        u = np.tanh(x) * np.exp(-x * x)
        v = np.sin(y) * np.cos(y) * np.mean(u)
        d = u[1:] - u[:-1]
        e = np.exp(-d * d) * d
        return np.sum(v * v * y) * np.sum(e * e) + np.mean(u * x) * np.mean(v)

    x, y = LARGE, rng.normal(size=150_000)
    assert {loop.length for loop in block_loops(check(gradient_of(f, x, y), x, y))} == {200_000, 150_000, 199_999}


def counts(x, k):
    a = np.tanh(x) * np.exp(-x * x) + np.sin(x)
    return np.sum(a), np.sum(a > 0), np.mean(a > 0), np.sum(k), np.mean(k), np.sum(a > 0) >> 3, np.dot(k, k)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("kind", ["i1", "i8", "u8", "?"])
def test_sums_of_integers_and_truths_are_those_of_numpy(kind, dtype):
    """They have NumPy's dtype, and wrap around without a warning as whole sums do."""
    x = np.tile(LARGE, 3).astype(dtype)
    k = rng.integers(0, 2**62, x.size).astype(kind)
    c = tapec.compile(counts)
    for want, got in zip(counts(x, k), c(x, k), strict=True):
        assert want.dtype == got.dtype and type(want) is type(got)
        np.testing.assert_allclose(got, want, rtol=0 if want.dtype.kind in "iub" else 100 * np.finfo(want.dtype).eps)
    assert dtype == np.float16 or block_loops(c.source(x, k))


def test_a_count_is_added_up_in_the_loop():
    def count(x):
        a = np.tanh(x) * np.exp(-x * x) + np.sin(x)
        return np.sum(a), np.sum(a > 0)

    code = check(graph_of(count, LARGE), LARGE)
    [loop] = block_loops(code)
    assert call_count(loop, "sum", "np.count_nonzero") == 2


def test_a_checksum_keeps_all_digits():
    def checked(x, codes):
        a = np.tanh(x) * codes * 1e-3
        b = a * np.exp(-x * x) + np.sin(x)
        return np.sum(b + a), np.sum(codes * codes) % 97

    c = tapec.compile(checked)
    for most in (100, 10**6):
        codes = rng.integers(0, most, LARGE.size)
        assert c(LARGE, codes)[1] == checked(LARGE, codes)[1]
