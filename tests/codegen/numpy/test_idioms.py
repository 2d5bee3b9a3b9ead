"""Some operations have a better form than NumPy's own: a column times a row, columns as rows, one of two numbers."""

import tracemalloc

import numpy as np
import pytest

from tapec.codegen import compile_graph, tuning
from tapec.codegen.numpy import idioms
from tapec.ir import parse
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import block_loops, calls, has, has_loop, transposes, uses_out

rng = np.random.default_rng(5)


def outer(n, m, dtype="f64", role=" !ct", row="1,{m}", factors="%u, %v"):
    """The graph of a column times a row."""
    shape = row.format(m=m)
    return parse(f"""graph(%u: {dtype}[{n},1], %v: {dtype}[{shape}]) {{
      %0: {dtype}[{n},{m}] = multiply {factors}{role}
      return %0
    }}""")


def is_product(*args, **options):
    """Tell whether a column times a row is compiled to a product of matrices, and not to a multiplication."""
    compiled = compile_graph(outer(*args, **options), "function")
    assert calls(compiled, "dot") != has(compiled, "u * v")
    return calls(compiled, "dot")


# -- a column times a row ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_gradient_through_one_output(dtype):
    def net(w, v, x, y):
        return np.sum((np.tanh(x @ w) @ v - y) ** 2)

    values = [rng.normal(size=s).astype(dtype) for s in ((3, 8), (8, 1), (32, 3), (32, 1))]
    compiled = check(gradient_of(net, *values, wrt=(0, 1)), *values)
    assert has(compiled, "_.dot(_.T)") and not calls(compiled, "reshape")


@pytest.mark.parametrize("dtype", ["f32", "f64", "c64", "c128"])
def test_outer_products_are_matrix_products_in_blas_dtypes(dtype):
    assert is_product(32, 8, dtype) and is_product(32, 8, dtype, factors="%v, %u")
    assert is_product(32, 8, dtype, row="{m}") and is_product(32, 8, dtype, factors="%v, %u", row="{m}")


def test_other_products_stay_multiplications():
    assert not is_product(32, 8, role="")  # the user's own
    assert not is_product(32, 8, "f16")
    assert not is_product(32, 1) and not is_product(1, 8)
    matrix = parse("graph(%u: f64[32,1], %v: f64[32,8]) {\n  %0: f64[32,8] = multiply %u, %v !ct\n  return %0\n}")
    assert has(compile_graph(matrix, "function"), "u * v")


def test_many_long_rows_are_multiplied(monkeypatch):
    """The length of a long row is another number for few elements in all than for many."""
    monkeypatch.setattr(tuning, "UNBUFFERED_MIN_ELEMENTS", 100)
    monkeypatch.setattr(tuning, "UNBUFFERED_MIN_ROW_BYTES", 8 * 12)
    monkeypatch.setattr(tuning, "OUTER_PRODUCT_MAX_ROW_ELEMENTS", 20)
    assert is_product(9, 12) and not is_product(9, 13)
    assert is_product(4, 20) and not is_product(4, 21)


def test_zeros_keep_their_signs_where_the_user_multiplies():
    u, v = np.array([[-0.0], [1.0], [-2.0]]), np.array([[0.0, -0.0, 3.0, 1.0]])
    compiled = check(graph_of(lambda u, v: u * v, u, v), u, v)
    np.testing.assert_array_equal(np.signbit(compiled.function(u, v)[0]), np.signbit(u * v))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_outer_products_of_nonfinite_and_strided_factors(dtype):
    u = np.array([[0.0, 1.0], [np.inf, 1.0], [np.nan, 1.0], [-3.0, 1.0]], dtype)
    v = np.array([[2.0, np.inf, -1.0, 0.0, np.nan]] * 2, dtype)
    graph = outer(4, 5, {"f4": "f32", "f8": "f64", "c8": "c64", "c16": "c128"}[dtype])
    for column in (u[:, :1], u[::-1, :1], np.asfortranarray(u)[:, :1]):
        for row in (v[:1], v[:1, ::-1], np.asfortranarray(v)[1:]):
            with np.errstate(all="ignore"):
                got, wanted = compile_graph(graph, "function").function(column, row)[0], column * row
            np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
            np.testing.assert_array_equal(got[~np.isnan(wanted)], wanted[~np.isnan(wanted)])


def test_outer_products_need_no_other_memory():
    """NumPy's loop over short rows copies its factors, to run over several at once."""
    u, v = rng.normal(size=(64, 1)), rng.normal(size=(1, 32))
    function = compile_graph(outer(64, 32), "function").function
    function(u, v)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        function(u, v)
        most = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert most < 1.1 * 64 * 32 * 8


def into_a_free_array(n, lines):
    """The graph of a column times a row when there is an array that nobody needs any more, made by these lines."""
    return parse(f"""graph(%u: f64[{n},1], %v: f64[1,{n}], %x: f64[{n},{n}]) {{
      {lines.format(t=f"f64[{n},{n}]")}
      %1: f64[] = max %0 {{axis=(0, 1), keepdims=False}}
      %2: f64[{n},1] = multiply %u, %1 !ct
      %3: f64[{n},{n}] = multiply %2, %v !ct
      return %1, %3
    }}""")


BY_ELEMENTS = "%0: {t} = exp %x"
BY_ROWS = """%p: {t} = matmul %x, %x
      %0: {t} = add %p, %x"""


@pytest.mark.parametrize(
    ("n", "lines", "line"),
    [
        (16, BY_ROWS, "_.dot(v)"),
        (40, BY_ROWS, "np.dot(u * m, v, out=_)"),
        (40, BY_ELEMENTS, "np.multiply(u * m, v, out=_)"),
    ],
)
def test_outer_products_go_into_free_arrays(n, lines, line):
    """A large one does, by np.dot where rows surely follow one another there: what is computed of the user's arrays by
    elements may lie in columns, as they do."""
    graph = into_a_free_array(n, lines)
    u, v, x = rng.normal(size=(n, 1)), rng.normal(size=(1, n)), rng.normal(size=(n, n))
    for given in (x, np.asfortranarray(x)):
        assert has(check(graph, u, v, given), line)


@pytest.mark.parametrize("order", "CF")
def test_outer_products_go_into_workspace_of_block_loops(order):
    def f(x, w):
        return np.sum(np.tanh(x @ w)) + np.sum(np.exp(-x * x) * np.sin(x))

    x, w = rng.normal(size=(4999, 60)), rng.normal(size=60)
    compiled = check(gradient_of(f, x, w, wrt=(0,)), np.asarray(x, order=order), w)
    (loop,) = block_loops(compiled)
    assert uses_out(loop, "np.dot")


# -- columns as rows --------------------------------------------------------------------------------------------------
def test_a_column_as_a_row_is_its_transpose():
    values = np.arange(4.0)[:, None], np.arange(3.0)[None]
    compiled = check(graph_of(lambda x, y: (x.reshape(1, 4) + 1, y.reshape(3, 1) + 1), *values), *values)
    assert has(compiled, "x.T") and has(compiled, "y.T")
    compiled = check(graph_of(lambda x, y: (x.reshape(2, 2) + 1, y[0].reshape(3, 1) + 1), *values), *values)
    assert not transposes(compiled)


# -- one of two numbers -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("norm", [0.0, 2.0, np.nan])
def test_one_of_two_numbers_is_taken_by_python(dtype, norm):
    values = np.linspace(-1, 1, 300).astype(dtype), dtype(norm), dtype(3)

    def f(x, r, s):
        w = np.where(r == 0, 1.0, r)
        return x / w, np.where(r == 0, r, s), w

    compiled = check(graph_of(f, *values), *values)
    assert not calls(compiled, "np.where") and has(compiled, f"np.{np.dtype(dtype).name}(1.0) if _ else _")
    assert [np.asarray(v).dtype for v in compiled.function(*values)] == [dtype] * 3


def test_numbers_of_other_types_are_numpys_business():
    values = np.linspace(-1, 1, 300), np.float32(2.0), np.float64(3.0)
    assert calls(check(graph_of(lambda x, r, s: (x, np.where(r < 0, r, s)), *values), *values), "np.where")


def test_small_arrays_are_clipped_by_the_method():
    x = rng.normal(size=7)
    compiled = check(graph_of(lambda x: np.sum(np.clip(x * x, 0.5, 1.5)), x), x)
    assert calls(compiled, ".clip")
    low = rng.normal(size=(3, 1))  # a result of another shape than the array's is left to the function
    assert calls(check(graph_of(lambda x, low: np.clip(np.sin(x), low, 2.0), x, low), x, low), "np.clip")


# -- texts ------------------------------------------------------------------------------------------------------------
def test_templates_of_ops_are_not_kept_for_ever(monkeypatch):
    """Each loop that is found has ops of its own."""

    def orbit(p, k):
        x, v = p[0], p[1]
        for _ in range(60):
            x, v = x + 0.1 * v, v - k * np.sin(x)
        return x * x

    p = np.array([0.5, 0.2])
    sources = [check(gradient_of(lambda p: orbit(p, 0.1), p), p).source]
    monkeypatch.setattr(tuning, "TEMPLATES_MAX", 8)
    monkeypatch.setattr(idioms, "_TEXTS", {})
    sources += [check(gradient_of(lambda p: orbit(p, 0.1), p), p).source for _ in range(20)]
    assert len(idioms._TEXTS) <= 8 and len(set(sources)) == 1 and has_loop(sources[0])
