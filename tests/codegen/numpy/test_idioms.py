"""Some operations have a better form than NumPy's own: a column times a row, columns as rows, one of two numbers."""

import numpy as np
import pytest

from tapec.codegen import compile_graph, tuning
from tapec.codegen.numpy import idioms
from tapec.ir import parse
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import calls, has, operations, transposes

rng = np.random.default_rng(5)


def outer(n, m, dtype="f64", role=" !ct", factors="%u, %t"):
    """The graph of a column times a row, which is a column of a matrix, turned."""
    return parse(f"""graph(%u: {dtype}[{n},1], %v: {dtype}[{m},1]) {{
      %t: {dtype}[1,{m}] = transpose %v {{axes=(1, 0)}}
      %0: {dtype}[{n},{m}] = multiply {factors}{role}
      return %0
    }}""")


def is_product(*args, **options):
    """Tell whether a column times a row is compiled to a product of matrices, and not to a multiplication."""
    compiled = compile_graph(outer(*args, **options), "function")
    assert calls(compiled, "dot") != (operations(compiled, "*") == 1)
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
    assert is_product(32, 8, dtype) and is_product(32, 8, dtype, factors="%t, %u")


def test_other_products_stay_multiplications():
    assert not is_product(32, 8, role="")  # the user's own
    assert not is_product(32, 8, "f16")
    assert not is_product(32, 1) and not is_product(1, 8)
    matrix = parse("graph(%u: f64[32,1], %v: f64[32,8]) {\n  %0: f64[32,8] = multiply %u, %v !ct\n  return %0\n}")
    assert has(compile_graph(matrix, "function"), "u * v")


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
                got, wanted = compile_graph(graph, "function").function(column, row.T)[0], column * row
            np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
            np.testing.assert_array_equal(got[~np.isnan(wanted)], wanted[~np.isnan(wanted)])


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
    """There are as many as ops with parameters of their own."""

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
    assert len(idioms._TEXTS) <= 8 and len(set(sources)) == 1
