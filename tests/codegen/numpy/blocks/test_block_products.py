"""Products of matrices in loops over blocks: which go into them, and that nothing large is whole there."""

import tracemalloc

import numpy as np
import pytest

import tapec
from tapec.codegen import compile_graph, tuning
from tapec.codegen.numpy.blocks.block_products import is_product, rows_at_once
from tests.codegen.kit import check, drawn, gradient_of, graph_of
from tests.properties import block_loops, call_count, count_of, has, operations, reads


def products_in(code):
    """Return how many products of matrices loops over blocks make."""
    loops = block_loops(code)
    return sum(operations(loop, "@") + call_count(loop, "np.matmul", "np.dot") for loop in loops)


def softmax(s):
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def peak(compiled, values):
    compiled.function(*values)
    tracemalloc.start()
    compiled.function(*values)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def factorised(u, v, data, mask):
    return np.sum(mask * (u @ v.T - data) ** 2)


def attended(q, k, v):
    return np.sum((softmax(q @ k.T / 3.0) @ v) ** 2)


def kernel(x, c, w):
    d = np.sum(x * x, 1)[:, None] + np.sum(c * c, 1) - 2 * x @ c.T
    return np.mean((np.exp(-0.5 * d) @ w) ** 2)


def network(x, w, v):
    return np.mean(np.tanh(np.tanh(x @ w) @ v) ** 2)


def heads(q, k, v):
    return np.sum((softmax(q @ np.swapaxes(k, 1, 2)) @ v) ** 2)


CASES = {  # the wide value, in elements, and the arguments
    "factorised": (factorised, 1000 * 300, [(1000, 20), (300, 20), (1000, 300), (1000, 300)]),
    "attended": (attended, 600 * 400, [(600, 16), (400, 16), (400, 24)]),
    "kernel": (kernel, 1000 * 300, [(1000, 5), (300, 5), (300,)]),
    "network": (network, 5000 * 80, [(5000, 40), (40, 80), (80, 30)]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_wide_operands_of_products_are_never_whole(name, kind):
    f, wide, shapes = CASES[name]
    values = [drawn(*shape).astype(kind) for shape in shapes]
    if kind == "f4":
        values = [np.concatenate([value] * 2) if value.shape[0] == shapes[0][0] else value for value in values]
        wide *= 2
    compiled = check(gradient_of(f, *values), *values)
    assert len(block_loops(compiled)) == 1
    gradients = sum(value.nbytes for value in values)
    assert peak(compiled, values) < gradients + wide * values[0].itemsize * 0.9


def test_complex_products():
    values = drawn(700, 12) + 1j * drawn(700, 12), drawn(300, 12) - 1j * drawn(300, 12)
    graph = gradient_of(lambda u, v: np.sum(np.abs(np.exp(u @ v.T)) ** 2), *values)
    (loop,) = block_loops(check(graph, *values))
    assert operations(loop.body, "@")


def test_batches_of_products():
    values = [drawn(12, 130, 10) for _ in range(3)]
    compiled = check(gradient_of(heads, *values), *values)
    assert len(block_loops(compiled)) == 1
    assert peak(compiled, values) < 12 * 130 * 130 * 8


@pytest.mark.parametrize("rows", [991, 1009, 1013])
def test_numbers_of_rows_that_have_no_divisors(rows):
    values = drawn(rows, 20), drawn(300, 20), drawn(rows, 300), drawn(rows, 300)
    (loop,) = block_loops(check(gradient_of(factorised, *values), *values))
    assert rows % loop.block > loop.block * 3 // 4  # the last is about as large as the others


def test_a_matrix_that_no_cache_holds_is_read_once():
    def regression(x, w, y):
        return np.mean((np.tanh(x @ w) - y) ** 2)

    def rebuilt(x, w):
        return np.sum((x @ w @ w.T - x) ** 2)

    x, w = drawn(12_000, 60), drawn(60, 4)
    for f, values in ((regression, (x, w, drawn(12_000, 4))), (rebuilt, (x, w))):
        compiled = check(gradient_of(f, *values, wrt=(1,)), *values)
        (loop,) = block_loops(compiled)
        assert reads(compiled, "x") - count_of(compiled, "len(x)") == count_of(loop.body, "x[block]") > 1


def test_long_products_are_computed_at_once():
    x, w, v = drawn(3000, 200), drawn(200, 150), drawn(150, 200)
    compiled = check(gradient_of(lambda w, v: network(x, w, v), w, v), w, v)
    assert block_loops(compiled) and not products_in(compiled)


def test_a_huge_matrix_with_long_products_is_read_twice():
    """Blocks of so few rows that BLAS needs no copies would not be worth a call."""
    x, w = drawn(2000, 600), drawn(600, 70)
    assert has(check(gradient_of(lambda x, w: np.sum(np.tanh(x @ w)), x, w, wrt=(1,)), x, w), "x.T @ _")


@pytest.mark.parametrize("f", [factorised, attended])
def test_of_wide_rows_blocks_would_be_short(f):
    """Each block would cost as much as the sum of all of them is large."""
    values = (
        drawn(40, 8),
        drawn(6000, 8),
        *((drawn(40, 6000), drawn(40, 6000)) if f is factorised else (drawn(6000, 8),)),
    )
    assert not products_in(check(gradient_of(f, *values), *values))


def test_results_are_kept_whole():
    """The product that makes a result is not in the loop, and the one that reads it is."""

    def f(x, w, v):
        h = np.tanh(x @ w)
        return h, np.sum((h @ v) ** 2, axis=1)

    values = drawn(5000, 40), drawn(40, 80), drawn(80, 30)
    check(graph_of(f, *values), *values)
    check(gradient_of(lambda *a: f(*a)[1].sum(), *values), *values)


def test_sums_that_every_row_needs_part_the_loops():
    def f(x, w, v):
        h = np.exp(x @ w)
        return np.sum((h / np.sum(h) @ v) ** 2)

    values = drawn(5000, 40), drawn(40, 80), drawn(80, 30)
    assert len(block_loops(check(gradient_of(f, *values), *values))) > 1


def test_products_of_the_same_rows_in_several_loops():
    def f(x, y, w):
        return np.sum(np.tanh(x @ w) ** 3) * np.sum(np.exp(y @ w))

    values = drawn(5000, 40), drawn(3000, 40), drawn(40, 80)
    check(gradient_of(f, *values), *values)


def test_threads_leave_products_to_blas():
    f, _, shapes = CASES["factorised"]
    values = [drawn(*shape) for shape in shapes]
    with tapec.settings(threads=2):
        compiled = check(gradient_of(f, *values), *values)
    assert block_loops(compiled)[0].threads == 2 and not products_in(compiled)


def test_square_matrices():
    """With as many rows as columns, the place of an operand tells whether it is read by rows."""

    def f(a, b, c):
        return np.sum(np.tanh(a @ b) * c + np.exp(c.T @ a) + c.T)

    values = drawn(380, 380), drawn(380, 380), drawn(380, 380)
    check(gradient_of(f, *values), *values)


def test_a_transpose_that_others_read_too():
    def f(u, v):
        z = np.exp(u @ v)
        return np.sum(np.tanh(z)), np.sum(z.T @ u), np.sum(np.cumsum(z.T, axis=0))

    values = drawn(1000, 20), drawn(20, 300)
    check(gradient_of(lambda u, v: sum(f(u, v)), *values), *values)


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_a_huge_matrix_times_few_columns_or_none(columns):
    def f(x, w):
        return np.sum(np.tanh(x @ w)) + np.sum(np.tanh(x) * x)

    check(gradient_of(f, drawn(140000, 4), drawn(4, columns)), drawn(140000, 4), drawn(4, columns))


def test_memory_of_an_attention_grows_with_its_length():
    most = []
    for length in (1000, 2000, 4000):
        values = drawn(length, 32), drawn(length, 32), drawn(length, 32)
        most.append(peak(compile_graph(gradient_of(attended, *values), "function"), values))
    assert most[2] - most[1] < 2.5 * (most[1] - most[0])  # its square would have grown four times as much
    assert most[2] < 0.1 * 8 * 4000**2


@pytest.mark.parametrize("features, is_quick", [(10, True), (20, True), (90, False)])
def test_blocks_of_products(features, is_quick):
    """BLAS multiplies blocks without copies where that leaves enough rows; others are as long as pays."""
    values = drawn(features, 1500).T.copy(), drawn(1500, features)
    graph = gradient_of(lambda u, v: np.sum(np.tanh(u @ v.T)), *values)
    assert all([(rows_at_once(n) is not None) == is_quick for n in graph.nodes if is_product(n)])
    (rows,) = {loop.block for loop in block_loops(check(graph, *values))}
    assert (rows * 1500 * features <= tuning.UNCOPIED_PRODUCT_MAX_MULTIPLICATIONS) == is_quick


def test_products_that_read_a_large_array_count_as_operations_on_it(monkeypatch):
    """A factorisation has four operations on the large matrix, and for each gradient a product of what they compute."""
    monkeypatch.setattr(tuning, "BLOCK_LOOP_MIN_OPS", 6)
    values = drawn(1000, 20), drawn(400, 20), drawn(1000, 400), drawn(1000, 400)
    assert products_in(check(gradient_of(factorised, *values, wrt=(0, 1)), *values)) == 3
    assert not products_in(check(gradient_of(factorised, *values, wrt=(0,)), *values))
