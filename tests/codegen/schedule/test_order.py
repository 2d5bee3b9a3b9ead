"""The order of lines, and what else keeps few big arrays at one time."""

import tracemalloc

import numpy as np
import pytest

import tapec
from tapec.codegen import tuning
from tapec.codegen.schedule.order import late_starts
from tapec.ir import Node, get_op, input_node, type_of
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import (
    allocates,
    block_loops,
    call_count,
    calls,
    copies,
    count_of,
    deleted,
    has,
    updates,
    uses_out,
    where,
)

pytestmark = pytest.mark.usefixtures("middle_sized_is_large")

rng = np.random.default_rng(4)
X, W, V = rng.normal(size=(64, 30)), rng.normal(size=(30, 40)), rng.normal(size=(40, 3))


def peak(compiled, values):
    """Bytes that a call has in use at most."""
    compiled.function(*values)
    tracemalloc.start()
    try:
        compiled.function(*values)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# -- order -------------------------------------------------------------------------------------------------------------
def net(w, v, x):
    return np.sum(np.tanh(np.maximum(x @ w, 0.0) @ v))


def test_the_last_read_of_an_array_comes_before_the_next_gradient():
    """It is read through a view, which moves up with its reader."""
    compiled = check(gradient_of(net, W, V, X), W, V, X)
    assert where(compiled, "d_y = _.T @ _") < where(compiled, "_ @ y.T")


def test_nothing_moves_when_nothing_takes_the_memory():
    def f(x):
        z = x @ x.T
        e = np.exp(x)
        return np.sum(z), e

    values = rng.normal(size=(64, 30))
    compiled = check(graph_of(f, values), values)
    assert where(compiled, "x @ x.T") < where(compiled, "np.exp(x)") < where(compiled, "_.sum()")


def ridge(w, x):
    return np.sum((x @ w) ** 2) + 0.1 * np.sum(w * w)


def test_gradients_of_inputs_alone_are_added_when_needed():
    w = rng.normal(size=(30, 60))
    compiled = check(gradient_of(ridge, w, X), w, X)
    ((made,), (added,)) = where(compiled, "d_x = _"), where(compiled, "d_x += _ * x")
    assert added == made + 1


def lattice(u):
    return np.sum(0.5 * (np.roll(u, 1, 0) - u) ** 2 + 0.5 * (np.roll(u, 1, 1) - u) ** 2 + 0.25 * (u * u - 1.0) ** 2)


def test_rolled_inputs_wait_for_memory_that_is_free():
    u, v = rng.normal(size=(128, 128)), rng.normal(size=(128, 128))
    product = tapec.hvp(lattice)
    np.testing.assert_allclose(product(u, v), (3.0 * u * u + 3.0) * v - neighbours(v), atol=1e-12)
    source = product.source(u, v)
    assert call_count(source, "np.concatenate") == 3
    assert min(where(source, "np.concatenate(...)")) > max(where(source, "_ *= 2.0"))  # when the rest is over
    tracemalloc.start()
    product(u, v)
    assert tracemalloc.get_traced_memory()[1] < 3.5 * u.nbytes
    tracemalloc.stop()


def test_outer_products_are_made_when_they_are_read(monkeypatch):
    """Factors are small; arrays that were read until then have memory for the product."""
    monkeypatch.setattr(tuning, "BROADCAST_PRODUCT_MIN_BYTES", 1 << 20)

    def f(w, v, x, y):
        return np.mean((np.tanh(x @ w) @ v - y) ** 2)

    x, y, v, w = rng.normal(size=(2000, 40)), rng.normal(size=2000), rng.normal(size=32), rng.normal(size=(40, 32))
    product = tapec.hvp(lambda w: f(w, v, x, y))
    assert count_of(product.source(w, w), "_[:, None] * _") == 2
    step = 1e-6 * w
    near = tapec.grad(f)(w + step, v, x, y) - tapec.grad(f)(w - step, v, x, y)
    np.testing.assert_allclose(product(w, w), near / 2e-6, rtol=1e-6, atol=1e-8)
    tracemalloc.start()
    product(w, w)
    assert tracemalloc.get_traced_memory()[1] < 3.5 * 2000 * 32 * 8
    tracemalloc.stop()


def neighbours(v):
    return np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1)


def test_user_lines_keep_their_order():
    def f(x, y):
        a = np.exp(x)
        b = np.tanh(y @ y.T)
        return np.sum(b), a

    x, y = rng.normal(size=(50, 50)), rng.normal(size=(60, 20))
    compiled = check(graph_of(f, x, y), x, y)
    assert where(compiled, "np.exp(x)") < where(compiled, "np.tanh(_, out=_)")


def springs(x, i, j, length):
    d = x[i] - x[j]
    r = np.sqrt(np.sum(d * d, axis=1))
    return np.sum((r - length) ** 2)


def test_squares_of_short_rows_are_added_up_without_the_squares():
    x, length = rng.normal(size=(500, 3)), rng.uniform(size=4000)
    i, j = rng.integers(0, 250, 4000), rng.integers(250, 500, 4000)
    compiled = check(gradient_of(springs, x, i, j, length, wrt=(0,)), x, i, j, length)
    assert has(compiled, "np.vecdot(_, _)")
    assert peak(compiled, (x, i, j, length)) < 3.3 * 3 * length.nbytes


def lennard_jones(x, i, j):
    d = x[i] - x[j]
    r = np.sum(d * d, axis=1)
    s = 1.0 / (r * r * r)
    return np.sum(s * s - s)


def test_dead_arrays_of_short_rows_are_deleted():
    x = rng.normal(size=(500, 3))
    i, j = rng.integers(0, 250, 12000), rng.integers(250, 500, 12000)
    compiled = check(gradient_of(lennard_jones, x, i, j, wrt=(0,)), x, i, j)
    most = peak(compiled, (x, i, j))
    assert 0.97 * most < compiled.cost.peak < 1.02 * most and most < 8.5 * i.nbytes
    assert len(deleted(compiled)) > 2


def contrasts(x):
    s = x @ x.T
    return np.sum(np.log(np.sum(np.exp(s), axis=1)) - np.diag(s))


def test_diagonals_are_subtracted_in_place():
    x = rng.normal(size=(50, 4)) / 4
    compiled = check(gradient_of(contrasts, x), x)
    assert updates(compiled, "-", "_.flat[::51]") and not calls(compiled, "np.full")


# -- products with what is spread out ----------------------------------------------------------------------------------
def lookup(table, w, rows):
    return np.sum((np.tanh(table[rows]) @ w) ** 2)


@pytest.mark.parametrize("large", [False, True])
def test_factors_are_multiplied_into_the_array_that_dies(large, monkeypatch):
    values = rng.normal(size=(50, 64)), rng.normal(size=64), rng.integers(0, 50, 100)
    monkeypatch.setattr(tuning, "BROADCAST_PRODUCT_MIN_BYTES", 100 * 64 * 8 + (not large))
    compiled = check(gradient_of(lookup, *values, wrt=(0, 1)), *values)
    assert has(compiled, "_ *= y") is has(compiled, "_ *= _[:, None]") is large


def test_factors_are_kept_together_for_an_input():
    """Nothing can be computed in its place."""

    def f(w, x, v):
        return np.sum(np.tanh((v * x) @ w))

    values = rng.normal(size=64), rng.normal(size=(50, 64)), rng.normal(size=(50, 64))
    compiled = check(gradient_of(f, *values, wrt=(1,)), *values)
    assert has(compiled, "_[:, None] * x") or has(compiled, "np.multiply(_[:, None], x, out=_)")


def test_the_users_products_stay_as_they_are():
    def f(x, a, b):
        return (a[:, None] * b) * np.tanh(x)

    values = rng.normal(size=(60, 50)), rng.normal(size=60), rng.normal(size=50)
    compiled = check(graph_of(f, *values), *values)
    np.testing.assert_array_equal(compiled.function(*values)[0], f(*values))


# -- loops -----------------------------------------------------------------------------------------------------------
def cross_entropy(w, x, labels):
    z = x @ w
    z = z - np.max(z, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(len(labels)), labels])


def test_a_scattered_value_lives_in_the_array_that_dies():
    w, x = rng.normal(size=(120, 1000)) * 0.1, rng.normal(size=(512, 120))
    values = w, x, rng.integers(0, 1000, 512)
    compiled = check(gradient_of(lambda w, x: cross_entropy(w, x, values[2]), w, x, wrt=(0,)), w, x)
    assert not allocates(compiled, shape=(512, 1000))
    block = 64 * 1000 * 8
    assert peak(compiled, (w, x)) < 1.02 * (512 * 1000 * 8 + w.nbytes) + 2 * block


def test_small_arrays_are_not_written_again(monkeypatch):
    def compiled():
        return check(gradient_of(lambda x, y: np.sum(np.tanh(x * y) * np.exp(-x)), x, x, wrt=(0, 1)), x, x)

    x = rng.normal(size=tuning.BUFFER_MIN_BYTES // 8)
    again = compiled()
    assert uses_out(again) and peak(again, (x, x)) < 4.2 * x.nbytes  # four arrays
    monkeypatch.setattr(tuning, "BUFFER_MIN_BYTES", x.nbytes + 1)
    assert not uses_out(compiled())


def test_small_products_are_written_plainly():
    def f(w, v, x):
        return np.sum(np.tanh(np.tanh(x @ w) @ v))

    values = rng.normal(size=(16, 16)), rng.normal(size=(16, 16)), rng.normal(size=(16, 16))
    compiled = check(gradient_of(f, *values, wrt=(0, 1)), *values)
    assert not uses_out(compiled) and not updates(compiled)


def factorised(u, v, data, mask):
    return np.sum(mask * (u @ v - data) ** 2) + np.sum(u * u)


def test_blocks_are_small_and_gone_after_the_loop():
    u, v, data = rng.normal(size=(1000, 120)), rng.normal(size=(120, 800)), rng.normal(size=(1000, 800))
    values = u, v, data, (data > 0) * 1.0
    compiled = check(gradient_of(factorised, *values, wrt=(0, 1)), *values)
    assert peak(compiled, values) < 1.08 * (data.nbytes + u.nbytes + v.nbytes)


def test_a_renamed_slice_is_kept_in_its_array():
    """`e = np.multiply(z_, mask_, out=z_)` is a slice of the array that dies, under a name of its own."""

    def weighted(u, v, data, mask):
        e = (u @ v - data) * mask
        return np.sum(e**2)

    u, v, data = rng.normal(size=(1000, 120)), rng.normal(size=(120, 800)), rng.normal(size=(1000, 800))
    values = u, v, data, (data > 0) * 1.0
    compiled = check(gradient_of(weighted, *values, wrt=(0, 1)), *values)
    assert not allocates(compiled, shape=data.shape)
    assert peak(compiled, values) < 1.08 * (data.nbytes + u.nbytes + v.nbytes)


def test_all_names_of_a_slice_are_deleted():
    """Each of them would keep the whole array."""

    def attended(q, k, v):
        s = q @ k.T * 0.5
        e = np.exp(s - np.max(s, axis=1, keepdims=True))
        a = e / np.sum(e, axis=1, keepdims=True)
        return np.sum((a @ v) ** 2)

    values = [rng.normal(size=(500, 120)) for _ in range(3)]
    compiled = check(gradient_of(attended, *values), *values)
    assert block_loops(compiled)
    gradients = sum(value.nbytes for value in values)
    assert peak(compiled, values) < 2.2 * 500 * 500 * 8 + gradients  # the weights and their gradient
    assert peak(compiled, values) < 1.05 * compiled.cost.peak


def layers(w, v, u, x):
    return np.sum(np.tanh(np.tanh(np.tanh(x @ w) @ v) @ u) ** 2)


def test_slopes_are_computed_in_the_backward_loop():
    """`1 - h * h` of all layers would be kept beside `h`, which is there anyway."""
    values = *[rng.normal(size=(128, 128)) * 0.1 for _ in range(3)], rng.normal(size=(4096, 128))
    compiled = check(gradient_of(layers, *values, wrt=(0, 1, 2)), *values)
    assert len(block_loops(compiled)) >= 2
    assert min(where(compiled, "_ *= 1 - _ * _")) > max(where(compiled, "np.tanh(...)"))
    assert peak(compiled, values) < 4.6 * values[-1].nbytes  # three layers, a gradient and blocks


def test_slopes_with_two_readers():
    def f(w, x):
        h = np.tanh(x @ w)
        slope = 1.0 - h * h
        return np.sum(slope, axis=1), np.sum((h @ w) * slope)

    w, x = rng.normal(size=(64, 64)) * 0.1, rng.normal(size=(2048, 64))
    check(graph_of(f, w, x), w, x)
    check(gradient_of(lambda w, x: f(w, x)[1], w, x), w, x)


def test_numbers_are_written_after_the_last_read():
    """The user's array is copied once, and an array made here never."""

    def f(x):
        y = np.zeros_like(x)
        for k in range(5):
            y[k] = np.sin(x[k])
        return np.sum(y * x)

    def slope(x):
        first = np.arange(len(x))[:, None] < 5
        return np.where(first, np.sin(x) + x * np.cos(x), 0.0)

    x = rng.normal(size=(300, 40))
    for copied, g, wanted in ((1, f, slope(x)), (0, lambda x: f(x + 1.0), slope(x + 1.0))):
        grad = tapec.grad(g)
        np.testing.assert_allclose(grad(x), wanted, rtol=1e-12)
        assert copies(grad.source()) == copied


# -- what is dead ------------------------------------------------------------------------------------------------------
N = 100_000
M = rng.normal(size=(300, 300))


def test_a_dead_array_that_no_later_value_takes_is_deleted():
    x, w = rng.normal(size=N), rng.normal(size=N)
    compiled = check(gradient_of(lambda x, w: np.sum(np.sort(x) * w), x, w, wrt=(0,)), x, w)
    assert deleted(compiled)
    assert compiled.cost.peak == 2 * x.nbytes  # the order and the result; sorted values are gone


def test_dead_arrays_are_deleted_under_all_names():
    def f(x, k):
        y = np.exp(np.sin(x * k))  # one array, which takes several names
        z = np.tanh(y)
        s = np.sum(z)
        return s, np.fft.rfft(np.reshape(x, (-1, 10)), axis=1)

    x, k = rng.normal(size=N), rng.normal(size=N)
    compiled = check(graph_of(f, x, k), x, k)
    assert peak(compiled, (x, k)) < 1.05 * compiled.cost.peak

    def g(x):
        rows = np.reshape(np.sin(x), (100, -1))
        return np.sum(rows[:, 1:] @ rows[:, :-1].T), np.sort(x)  # views of what is dead

    compiled = check(graph_of(g, x), x)
    assert peak(compiled, (x,)) < 1.05 * compiled.cost.peak


def test_arrays_are_deleted_with_their_views():
    def attention(x):
        h = np.cumsum(x, axis=1)
        q, k, v = h[:, :100], h[:, 100:200], h[:, 200:]
        inner = np.sort(q @ k.T + q @ k.T + k @ q.T) @ v + q + k
        return np.sum(np.sort(inner @ inner.T))  # which takes no memory of what is looked into

    compiled = check(graph_of(attention, M), M)
    assert "cumsum_x" in deleted(compiled) and len(deleted(compiled)) > 2
    assert peak(compiled, (M,)) < 1.05 * compiled.cost.peak

    def at_once(x):
        y = np.cumsum(x, axis=1)
        return np.sum(y[:100] @ y[100:200].T), np.sort(np.sort(x, axis=0))

    compiled = check(graph_of(at_once, M), M)
    assert peak(compiled, (M,)) < 1.05 * compiled.cost.peak <= 1.1 * 2 * M.nbytes

    def parts(x):
        y = np.sort(x)
        part = y[2:4].T  # two views on one line
        return np.sum(np.fft.rfft(part)), np.sort(y @ x), part @ np.ones(2)

    compiled = check(graph_of(parts, M), M)
    assert peak(compiled, (M,)) < 1.05 * compiled.cost.peak


def test_names_that_a_loop_has_taken_are_deleted_once():
    """`e` is a name of the first array, and then of what the loop works on."""

    def f(x, w, v):
        z = x @ w
        e = np.exp(z)
        h = np.sqrt(e)
        s = np.sum(h @ w)
        e = v * 2.0
        e = np.tanh(e) * v
        e = e * np.exp(e)
        return s, np.sum(e), np.sort(np.reshape(h[:, :1] * v[:200], -1)), np.fft.rfft(v[0])

    x, w, v = rng.normal(size=(200, 200)), rng.normal(size=(200, 200)), rng.normal(size=(2000, 200))
    compiled = check(graph_of(f, x, w, v), x, w, v)
    assert block_loops(compiled)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: (np.sum(np.sort(x)), np.sum(w)),  # nothing large is made later
        lambda x, w: np.sum(np.sort(x[:100])) * np.fft.rfft(w),  # it is small
    ],
)
def test_arrays_that_are_not_deleted(f):
    x, w = rng.normal(size=N), rng.normal(size=N)
    assert not deleted(check(graph_of(f, x, w), x, w))


def test_one_block_is_no_loop():
    w, x = rng.normal(size=(32, 256)), rng.normal(size=(512, 32))
    compiled = check(gradient_of(lambda w, x: np.sum(np.tanh(x @ w) * np.tanh(x @ w + 1.0)), w, x), w, x)
    assert all(loop.block < loop.length for loop in block_loops(compiled))


# -- what is stated ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "values"),
    [
        (lambda x, y: np.sum((x * 2.0 + 1.0) @ np.cos(y)), (M, M)),
        (lambda x, y: np.exp(x) * y * np.cos(x), (M, M)),
        (lambda x, y: np.where(x > 0.0, np.sin(y), 0.0), (M, M)),
        (lambda x, y: np.where(x > y, x, y), (M, M)),
        (lambda x: np.fft.fft2(np.exp(x)), (M,)),
        (lambda x: np.fft.irfft2(np.fft.rfft2(x)), (M,)),
        (lambda x: np.fft.fft(x), (M,)),
        (lambda x: np.std(np.sin(x), axis=0), (M,)),
        (lambda x: np.median(np.sin(x), axis=0), (M,)),
        (lambda x: (lambda y: y + y.T)(np.cumsum(x, axis=0)), (M,)),
        (lambda x: np.reshape(np.broadcast_to(np.exp(x)[:, None], (300, 4, 300)), (1200, 300)) * 2.0, (M,)),
        (lambda x: np.sin(np.reshape(np.exp(x).T, -1)), (M,)),  # in another order, and so copied
        (lambda x: np.reshape(np.swapaxes(np.reshape(x, (6, 50, 300)), 0, 1) @ x, (50, -1)), (M,)),
        (lambda x: np.sin(np.reshape(x[:, :200], -1)), (M,)),  # likewise
        (lambda x: np.sin(np.reshape(np.exp(x)[::-1], -1)), (M,)),
        (lambda x: np.sin(np.reshape(x[10:290], -1)), (M,)),
        (lambda x: np.sin(np.reshape(np.real(np.exp(1j * x)), -1)), (M,)),
        (lambda x: np.sin(np.broadcast_to(x, (4, 300, 300)).reshape(-1)), (M,)),
        (lambda x: np.sin(np.swapaxes(np.reshape(x, (6, 50, 300)), 0, 1).reshape(50, -1)), (M,)),
        (lambda x: np.sort(x, axis=0) * x, (M,)),  # whose gradient is `d_x[order, c] += g`
    ],
)
def test_the_memory_stated_is_what_is_in_use(f, values):
    for graph in [graph_of(f, *values)] + [gradient_of(lambda *xs: np.sum(np.abs(f(*xs)) ** 2), *values)]:
        compiled = check(graph, *values)
        assert 0.9 * compiled.cost.peak < peak(compiled, values) < 1.1 * compiled.cost.peak, compiled.source


def test_the_memory_stated_of_a_cholesky_decomposition():
    a = M @ M.T + 300.0 * np.eye(300)
    compiled = check(gradient_of(lambda a: np.sum(np.log(np.diag(np.linalg.cholesky(a)))), a), a)
    assert 0.9 * compiled.cost.peak < peak(compiled, (a,)) < 1.1 * compiled.cost.peak, compiled.source


def test_the_memory_stated_of_an_inner_copy():
    """Before NumPy 2.5, of which inverses take more."""
    assert check(graph_of(lambda x: np.linalg.qr(x)[0], M), M).cost.peak == 3 * M.nbytes
    assert check(gradient_of(lambda x: np.linalg.det(x / 30.0), M), M).cost.peak == 3 * M.nbytes


def test_nothing_is_deleted_before_the_end():
    x = rng.normal(size=200_000)
    compiled = check(gradient_of(lambda x: np.sum(np.tanh(x) * np.exp(-x * x)), x), x)
    assert block_loops(compiled) and not deleted(compiled)


def test_late_nodes_come_after_their_operands():
    x = input_node("x", type_of(X))
    first = Node(get_op("sin"), (x,), (), x.type, role="cotangent")
    second = Node(get_op("cos"), (first,), (), x.type, role="cotangent")
    last = Node(get_op("add"), (second, first), (), x.type)
    top = Node(get_op("sum"), (last,), (("axis", (0, 1)), ("keepdims", False)), type_of(1.0))
    assert late_starts([first, second, last, top]) == [first, second, last, top]


def test_late_operands_are_looked_through_once():
    """An operation is looked through once, however many of its operands start late."""
    seen = []

    class Operands(tuple):
        def __iter__(self):
            return (seen.append(i) or i for i in super().__iter__())

    x = input_node("x", type_of(X))
    late = [Node(get_op("sin"), (x,), (), x.type, role="cotangent") for _ in range(50)]
    top = Node(get_op("stack"), Operands(late), (("axis", 0),), type_of(np.zeros((50, *X.shape))))
    assert late_starts([*late, top]) == [*late, top]
    assert len(seen) <= 2 * len(late)


def entropy(w, v, x):
    y = np.maximum(x @ w, 0.0) @ v
    return np.mean(np.logaddexp(0.0, y)) - np.mean(x * y)


@pytest.mark.parametrize("worth", [True, False])
def test_arrays_of_middle_size_are_deleted(worth, monkeypatch):
    """`y` is over before the gradients are made."""
    w, v, x = rng.normal(size=(32, 16)), rng.normal(size=(16, 32)), rng.normal(size=(64, 32))
    monkeypatch.setattr(tuning, "DELETED_MIN_BYTES", x.nbytes + (not worth))
    compiled = check(gradient_of(entropy, w, v, x, wrt=(0, 1)), w, v, x)
    assert bool(deleted(compiled)) == worth
    assert (peak(compiled, (w, v, x)) < 3.3 * x.nbytes) == worth  # and 4.1 where it stays


def test_the_value_is_computed_before_its_derivatives():
    """As in the user's program, unless it is so short that it stands in the return."""
    w, x, y = rng.normal(size=8), rng.normal(size=(40, 8)), rng.normal(size=40)
    fit = tapec.value_and_grad(lambda w: np.mean((x @ w - y) ** 2) + 0.5 * np.sum(w * w))
    source = fit.source(w)
    assert where(source, "value = _")[0] < where(source, "d_w = _")[0]
    power = tapec.value_and_grad(lambda w: np.sum(w * w))
    assert not has(power.source(y), "value = _")
