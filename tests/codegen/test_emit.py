"""Generated code against the interpreter: values, types, buffers, aliasing."""

import ast

import numpy as np
import pytest

import tapec
from tapec.codegen import compile_graph
from tapec.ir import Type, interpret, parse
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import (
    allocates,
    call_count,
    calls,
    copies,
    entry,
    has,
    in_place,
    parameters,
    updates,
    uses_out,
)

rng = np.random.default_rng(3)
SMALL = rng.normal(size=6)
LARGE = rng.normal(size=5000)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def network(x, w, y):
    h = np.tanh(x @ w)
    r = h - y
    return np.mean(r * r)


def chain(x, y):
    return np.sum(np.tanh(x * y) * np.exp(-x * x) + np.log1p(y * y))


@pytest.mark.parametrize("size", [1, 2, 10, 5000])
def test_rosenbrock(size):
    check(gradient_of(rosenbrock, rng.normal(size=size)), rng.normal(size=size))


@pytest.mark.parametrize("shape", [(6, 3, 2), (64, 300, 200)])
def test_network(shape):
    a, b, c = shape
    values = rng.normal(size=(a, b)), rng.normal(size=(b, c)), rng.normal(size=(a, c))
    check(gradient_of(network, *values), *values)


@pytest.mark.parametrize("x", [SMALL, LARGE, SMALL.astype("f4"), LARGE.astype("f4"), LARGE + 0j, np.float64(0.3)])
def test_chain(x):
    check(gradient_of(chain, x, x, wrt=(0, 1)) if x.dtype.kind == "f" else graph_of(chain, x, x), x, x)


@pytest.mark.usefixtures("middle_sized_is_large")
def test_big_arrays_are_computed_in_place():
    assert in_place(compile_graph(gradient_of(chain, LARGE, LARGE))) > 10


def test_inputs_and_constants_as_outputs_are_copied():
    check(graph_of(lambda x: (x, x, x[1:], x.reshape(2, 3), x.T), SMALL), SMALL)
    c = np.arange(6.0)
    check(graph_of(lambda x: (x + 1, c, c), SMALL), SMALL)


def test_views_of_one_result_are_parted():
    def f(x):
        y = np.exp(x)
        return y[:3], y[3:], y, y.reshape(2, 3), np.broadcast_to(y, (2, 6))

    check(graph_of(f, SMALL), SMALL)


@pytest.mark.parametrize("value", [2.0, 3, True, 1j, float("inf"), float("nan"), -0.0, -2.5])
def test_numbers_as_outputs(value):
    got = compile_graph(graph_of(lambda x: (value,), SMALL)).function(SMALL)[0]
    assert type(got) is type(np.asarray(value)[()])
    np.testing.assert_array_equal(got, value)
    assert str(got) == str(np.asarray(value)[()])


def test_python_numbers_compute_as_python_does():
    """Two weak operands give a number of Python's, and raise its errors."""
    x = np.ones(3, "f4")
    check(graph_of(lambda x, s: x * (s * 2.0), x, 3.0), x, 3.0)
    check(graph_of(lambda x, s: (s / 0.7, s, -s), x, 3.0), x, 3.0)
    with pytest.raises(ZeroDivisionError):
        compile_graph(graph_of(lambda x, s: x * (s / 0.0), x, 3.0), "function").function(x, 3.0)


@pytest.mark.parametrize("number", [25.55, 37, 1.26 + 2.54j, float("nan"), float("-inf")])
def test_decimals_and_replacements_of_python_numbers(number):
    """Decimals and replacements are more than a ufunc takes."""

    def f(x):
        return np.round(x, 1), np.round(x, -1), np.nan_to_num(x, nan=3.0, neginf=-2.0)

    found = tapec.compile(f)(number)
    for y, wanted in zip(found, f(number), strict=True):
        assert (y, y.dtype) == (wanted, np.asarray(wanted).dtype) or np.isnan(wanted)


def test_dimensionless_results_are_scalars():
    def f(x, s):
        return np.where(s > 0, s, 2.0), x.reshape(1)[0], s.reshape(()), x[0], np.broadcast_to(s, ()), x.reshape(())

    check(graph_of(f, np.ones(1), np.float64(2.0)), np.ones(1), np.float64(2.0))


def test_a_living_view_keeps_its_array():
    def f(x):
        y = x * 2.0
        v = y[::-1]
        z = y + 1.0  # y dies, but its view does not
        return z * v, v.sum()

    for x in (SMALL, LARGE):
        check(graph_of(f, x), x)


def test_overlapping_operands():
    def f(x):
        y = x * 2.0
        z = y.reshape(50, 100)
        return z.T.reshape(5000) * y, y + y[::-1]

    check(graph_of(f, LARGE), LARGE)


def test_long_programs_are_no_trouble():
    def f(x):
        y = x
        for _ in range(3000):
            y = np.sin(y) * 1.5
        return y

    check(graph_of(f, SMALL), SMALL)


def test_source_is_the_program():
    """The text parses to the syntax tree that was compiled, line by line."""
    compiled = compile_graph(gradient_of(network, *(np.ones((9, 9)) * 1.0,) * 3), "network_grad")
    tree = ast.parse(compiled.source)
    assert entry(tree).name == "network_grad" and parameters(tree) == ["x", "y", "z"]
    lines = {n.lineno for n in ast.walk(tree) if isinstance(n, ast.stmt)}
    assert lines >= {line for *_, line in compiled.function.__code__.co_lines() if line}


def test_several_results_have_the_users_names():
    def f(a):
        w, v = np.linalg.eigh(a @ a.T)
        q, r = np.linalg.qr(a)
        return np.sum(v * w) + np.sum(q @ r)

    source = str(tapec.compile(f).source(rng.normal(size=(20, 20))))
    assert has(source, "w, v = np.linalg.eigh(_)") and has(source, "q, r = np.linalg.qr(_)")


def test_imaginary_numbers_are_written_as_in_python():
    """Python's form is used where it is the same number: `-1j` has a real part of -0.0."""
    numbers = [1j, -2.5j, complex(0.0, -1.0), complex(-0.0, 1.0), complex(0.0, np.inf), complex(3.0, 1.0), 0j]
    x = SMALL + 0j
    compiled = check(graph_of(lambda x: tuple([x * k for k in numbers]), x), x)
    for got, k in zip(compiled.function(x), numbers, strict=True):
        assert got.tobytes() == (x * k).tobytes()
    for text in ("1.0j", "-2.5j", "complex(0.0, -1.0)", "complex(-0.0, 1.0)", "complex(3.0, 1.0)", "0.0j"):
        assert has(compiled, f"x * {text}"), compiled.source


WITHOUT_A_LITERAL = {
    "full_like": lambda x: np.full_like(x, -np.inf),
    "full_like of nan": lambda x: np.full_like(x, np.nan, dtype=np.float32),
    "full_like of complex": lambda x: np.full_like(x, complex(-0.0, np.inf), dtype=complex),
    "maximum.at": lambda x: filled(np.full_like(x, -np.inf, shape=3), x),
    "pad": lambda x: np.pad(x, 1, constant_values=-np.inf),
    "interp": lambda x: np.interp(x, np.arange(3.0), np.arange(3.0) ** 2, left=np.nan, right=np.inf),
    "nan_to_num": lambda x: np.nan_to_num(x, nan=np.inf, posinf=np.nan),
    "unwrap": lambda x: np.unwrap(x, discont=np.inf),
    "max": lambda x: np.max(x, initial=-np.inf),
    "pinv": lambda x: np.linalg.pinv(x[:6].reshape(2, 3), rcond=np.inf),
    "matrix_rank": lambda x: np.linalg.matrix_rank(x[:6].reshape(2, 3), tol=np.inf) * x,
}


def filled(y, x):
    np.maximum.at(y, [0, 2, 0], x[:3])
    return y


@pytest.mark.parametrize("f", WITHOUT_A_LITERAL.values(), ids=WITHOUT_A_LITERAL)
@pytest.mark.parametrize("x", [SMALL, LARGE], ids=["small", "large"])
def test_parameters_without_a_literal_are_spelled(tmp_path, f, x):
    """`inf` and `nan` are no names in the code."""
    compiled = tapec.compile(f)
    assert compiled(x).tobytes() == f(x).tobytes()
    assert tapec.vmap(f)(x[None])[0].tobytes() == f(x).tobytes()
    compiled.export(tmp_path / "spelled.py", x)
    space = {}
    exec((tmp_path / "spelled.py").read_text(), space)
    assert space["function"](x).tobytes() == f(x).tobytes()


def test_a_python_number_becomes_an_array_scalar():
    for dtype in (np.float64, np.float32):
        gradient = tapec.grad(lambda x, k: k * np.sum(x))
        source = str(gradient.source(np.ones(300, dtype), 0.3))
        assert has(source, f"np.{dtype.__name__}(k)"), source
        assert gradient(np.ones(300, dtype), 0.3).tobytes() == np.full(300, 0.3, dtype).tobytes()


def test_conditions_on_python_numbers_use_pythons_operators():
    """A comparison by NumPy takes fifty times as long, and only its truth is asked for."""

    def f(x, n, e):
        x = x * 2 if n == 3 else x
        x = np.sin(x) if e > 0.5 else x
        return np.sum(x * (n > 2))

    compiled = tapec.compile(f)
    assert [compiled(LARGE, n, e) for n, e in ((3, 0.7), (3, np.nan), (2, np.inf))] == [
        f(LARGE, n, e) for n, e in ((3, 0.7), (3, np.nan), (2, np.inf))
    ]
    source = str(tapec.compile(f).source(LARGE, 3, 0.7))
    assert has(source, "not n == 3") and has(source, "not e > 0.5") and has(source, "np.greater(n, 2)"), source


def test_a_masked_slope_is_called_after_what_it_is_by():

    def f(x, w):
        return np.sum(np.tanh(np.where(x > 0, x @ w, -1.0)))

    source = str(tapec.grad(f, argnums=(0, 1)).source(rng.normal(size=(20, 20)), rng.normal(size=(20, 20))))
    assert has(source, "d_xw = np.where(_, _, _)"), source


def test_scatters_are_added_in_place():
    compiled = compile_graph(gradient_of(rosenbrock, rng.normal(size=12)))
    assert updates(compiled, "+", "_[1:]") + updates(compiled, "+", "_[:-1]") > 0
    assert allocates(compiled, "zeros") == allocates(compiled) == 1


WIDE = rng.normal(size=(4, 12))


@pytest.mark.parametrize(
    ("parts", "made", "added"),
    [
        ([np.s_[:, 6:12], np.s_[:, :3], np.s_[:, 3:6]], "empty", 0),  # all of it
        ([np.s_[:, ::2], np.s_[:, 1::2]], "empty", 0),
        ([np.s_[:, 9:], np.s_[:, -12:6]], "zeros", 0),  # with a gap
        ([np.s_[:, :7], np.s_[:, 6:]], "zeros", 1),  # one column twice
        ([np.s_[:, :6], np.s_[:2, 6:]], "zeros", 1),  # not whole lines
        ([np.s_[3], np.s_[1], np.s_[2], np.s_[0]], "empty", 0),
        ([np.s_[3], np.s_[1], np.s_[-1]], "zeros", 1),
        ([np.s_[:, :6], np.s_[1]], "zeros", 1),  # across
    ],
)
def test_untouched_places_are_stored_to(parts, made, added):
    graph = gradient_of(lambda x: sum([np.sum(np.sin(x[part] * k)) for k, part in enumerate(parts, 2)]), WIDE)
    compiled = check(graph, WIDE).on_arrays
    assert allocates(compiled, made, (4, 12)) == 1
    assert updates(compiled, "+") == added


def test_sums_of_products_make_no_product():
    sums = [
        lambda x, y: np.sum(-100.0 * (x * x) - y * y),
        lambda x, y: np.mean(-2.0 * (x * y)),
        lambda x, y: np.mean(np.square(x), axis=-1),
        lambda x, y: np.sum(np.negative(x) * y),
    ]
    wide = rng.normal(size=(3, 40))
    for f in sums:
        for x, y in [(LARGE, LARGE[::-1].copy()), (wide, wide * 2), (LARGE, LARGE)]:
            assert not call_count(check(graph_of(f, x, y), x, y), "sum", "mean")
    x = rng.normal(size=(70, 80))
    assert calls(check(graph_of(lambda x: np.sum(x * x, axis=0), x), x), "np.einsum")
    assert calls(check(graph_of(lambda x: np.sum(x * x, axis=1, keepdims=True), x), x), "np.vecdot")


def test_sums_that_are_no_products_stay():
    def f(x, y):
        p = x * y
        return np.sum(p), np.max(p), np.sum(x * 2.0), np.sum(x * x + np.tanh(y)), np.sum(x * y[0])

    assert calls(check(graph_of(f, LARGE, LARGE), LARGE, LARGE), ".sum")


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_diagonals_are_added_in_place(k):
    a, v = rng.normal(size=(5, 5)), rng.normal(size=5 - abs(k))
    graph = graph_of(lambda a, v: (np.tanh(a) + np.diag(v, k), np.exp(a) - np.diag(2.0 * v, k)), a, v)
    compiled = check(graph, a, v)
    assert updates(compiled, target="_.flat[_]") == 2 and not allocates(compiled, shape=(5, 5))


def test_uniform_values_are_stored_as_numbers():
    x = rng.normal(size=12)
    graph = gradient_of(lambda x: np.sum(x[1:]) * 3.0 + np.sum(x * x), x)
    assert not calls(check(graph, x), "full")
    rows = np.arange(4)
    compiled = check(gradient_of(lambda x: np.sum(x[rows, [2, 0, 2, 5]]), WIDE), WIDE)
    assert not calls(compiled, "ones") and has(compiled, "_[_] = 1.0")


def test_negatives_are_stored_where_there_are_zeros():
    graph = gradient_of(lambda x: np.sum(np.cos(x[:, :5])) - np.sum(np.exp(x[:, 5:])), WIDE)
    compiled = check(graph, WIDE)
    assert allocates(compiled, "empty", (4, 12)) and not updates(compiled, "-")


def test_type_of_graph_inputs():
    g = graph_of(lambda x: x, SMALL)
    assert g.inputs[0].type == Type((6,), float)


def test_large_signs_are_not_computed_in_place():
    """NumPy's loop for them is slow there."""
    large, small = np.linspace(-1.0, 1.0, 5000), np.linspace(-1.0, 1.0, 5)
    for x in (large, small):
        compiled = check(graph_of(lambda x: np.sign(x - 0.5) * 2.0, x), x)
        assert not uses_out(compiled)


def test_turned_operands_are_not_computed_in_place():
    """NumPy would copy it first."""
    for x in (rng.normal(size=(400, 400)), rng.normal(size=(4, 4))):
        for turn in (np.transpose, np.flip):
            assert not in_place(check(graph_of(lambda x, turn=turn: (lambda e: e + turn(e))(np.exp(x)), x), x))
    large = rng.normal(size=(600, 600))
    assert in_place(check(graph_of(lambda x: (lambda e: e - e[0])(np.exp(x)), large), large))  # one row


def test_arrays_made_in_a_return_count_for_the_peak():
    x = rng.normal(size=(40, 50))
    for f in (lambda x: x.T, lambda x: x @ x.T, lambda x: np.exp(x)):
        compiled = check(graph_of(f, x), x)
        assert compiled.cost.peak == compiled.function(x)[0].nbytes


def test_bytes_moved_in_a_return_are_counted():
    x = rng.normal(size=(40, 50))
    for f in (lambda x: x.T, lambda x: np.exp(x)):  # results are arrays of their own
        assert check(graph_of(f, x), x).cost.moved == 2 * x.nbytes


def test_results_that_are_read_again_are_counted():
    x = rng.normal(size=(40, 50))
    assert check(graph_of(lambda x: (np.sum(x), x), x), x).cost.moved == 3 * x.nbytes + 8
    assert check(graph_of(lambda x: (x, x), x), x).cost.moved == 4 * x.nbytes


def test_cost_counts_the_elements_that_are_read():
    """Header figures had been those of the whole array, for each of these."""
    x = rng.normal(size=10_000)

    def ends(x):
        total = 0.0
        for k in range(8):
            total = total + np.sin(x[k]) * x[-1 - k]
        return total

    cost = check(gradient_of(ends, x), x).cost
    assert x.nbytes < cost.moved < 1.1 * x.nbytes and cost.flops < 100
    rows = np.arange(5)
    cost = check(graph_of(lambda x: (x[rows], x.reshape(100, 100).T[:3]), x), x).cost
    assert 10 * 8 + 2 * 2400 <= cost.moved < 200 + 2 * 2400


def test_peak_counts_operands():
    """`x = x @ w` needs both, and what `_` stands for stays."""
    x, w = rng.normal(size=(40, 30)), rng.normal(size=(30, 30))
    compiled = check(graph_of(lambda x, w: np.sum(np.tanh(x @ w) @ w), x, w), x, w)
    assert compiled.cost.peak >= 2 * x.nbytes
    compiled = check(graph_of(lambda w: np.sum(np.linalg.eigh(w @ w.T)[0] ** 2), w), w)
    assert compiled.cost.peak >= 2 * w.nbytes


def test_a_copying_reshape_is_overwritten():
    """A reshape copies if its operand was computed here; steps of a given array may be 0, and then it is a view."""

    def largest(x):
        return np.sum(np.max(np.reshape(x, (60, 2, 80, 2)), axis=(1, 3)) ** 2)

    x = np.random.default_rng(0).normal(size=(120, 160))
    assert uses_out(check(gradient_of(largest, x), x), into="d_x")

    def given(x):
        return np.exp(np.reshape(np.broadcast_to(x[:, None], (60, 2, 80)), (120, 80)))

    for x in (np.ones((60, 80)), np.broadcast_to(1.0, (60, 80)), np.broadcast_to(np.ones(80), (60, 80))):
        check(graph_of(given, x), x)


def test_a_copying_reshape_is_not_copied_again():
    """The gradient of a mean over squares of four: each element four times, in rows and columns."""

    def pooled(x):
        return np.sum(np.mean(np.reshape(x, (3, 2, 4, 2)), axis=(1, 3)) ** 2)

    x = np.random.default_rng(0).normal(size=(6, 8))
    compiled = check(gradient_of(pooled, x), x)
    assert not copies(compiled)
    found = compiled.function(x)[-1]
    assert found.flags.writeable and not np.shares_memory(found, x)

    def spread(x):
        rows = np.broadcast_to(x[:, None], (3, 4))
        apart = np.reshape(rows, (3, 2, 2))  # still a view
        together = np.reshape(rows, (12,))
        return apart, together, together, np.reshape(np.broadcast_to(np.sin(x), (4, 3)), (2, 2, 3))

    x = np.arange(3.0)
    found = check(graph_of(spread, x), x).function(x)
    assert all(a.flags.writeable and not np.shares_memory(a, x) for a in found)
    assert not np.shares_memory(found[1], found[2])


@pytest.mark.parametrize("index, shape", [("(0:3, None)", "3, 1"), ("(None, 1:4)", "1, 3"), ("(..., 2:5)", "3")])
def test_scatters_at_new_axes(index, shape):
    graph = parse(
        f"""
        graph(%a: f64[{shape}]) {{
          %0: f64[5] = scatter %a {{shape=(5,), index={index}}}
          return %0
        }}
        """
    )
    check(graph, rng.normal(size=[int(n) for n in shape.split(",")]))


FILLED = """
graph(%a: f64[40], %b: f64[40], %c: f64[40]) {{
  %0: f64[3,40] = scatter %a {{shape=(3, 40), index=(0,)}}
  {between}
  %2: f64[3,40] = scatter %b {{shape=(3, 40), index=(2,)}}
  %3: f64[3,40] = add %0, %2
  %4: f64[3,40] = scatter %c {{shape=(3, 40), index=(1,)}}
  %5: f64[3,40] = subtract %3, %4
  return {results}
}}
"""


@pytest.mark.parametrize(
    "between, results, room",
    [
        ("", "%5", "empty"),
        ("%1: f64[3,40] = multiply %0, 3.0", "%1, %5", "zeros"),
        ("%1: f64[40] = getitem %0 {index=(1,)}", "%1, %5", "zeros"),
        ("%1: f64[] = sum %0 {axis=(0, 1), keepdims=False}", "%1, %5", "zeros"),
        ("", "%3, %5", "zeros"),
    ],
)
def test_zeros_read_before_all_writes_are_made(between, results, room):
    graph = parse(FILLED.format(between=between, results=results))
    values = rng.normal(size=(3, 40))
    compiled = compile_graph(graph, "f")
    assert allocates(compiled, room)
    for _ in range(3):
        junk = [np.full((3, 40), np.nan) for _ in range(30)]
        del junk  # what an empty array may find
        for found, expected in zip(compiled.function(*values), interpret(graph, *values), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_sorted_elements_are_written_once():
    x, y = np.random.default_rng(5).normal(size=(2, 40))
    weights = np.arange(1.0, 41.0)

    def sums(x, y, part):
        return np.sum(np.cumsum(x[np.argsort(-y)[::-1][part]]) * weights[part])

    for part, kind in ((slice(None), "empty"), (slice(3, 17), "zeros")):
        compiled = check(gradient_of(lambda x, y, part=part: sums(x, y, part), x, y), x, y)
        assert not calls(compiled, "np.add.at") and allocates(compiled, kind, (40,))


def test_a_python_number_is_made_a_scalar_of_numpy_once():
    slope = tapec.grad(lambda x, k: x * (7 // k))
    source = slope.source(2.0, 3)
    assert has(source, "np.float64(7 // k)") and not has(source, "_[()]")
    assert type(slope(2.0, 3)) is np.float64


@pytest.mark.parametrize("n", [2, 3, 17])
def test_a_product_is_added_to_a_diagonal_among_rows(n):
    def value(x):
        v2 = np.outer(x, x)
        v3 = np.outer(x, x)
        d = np.diag(v3)
        v3 += 1.0
        v3 = d * 2.0
        v10 = np.concatenate([v3[:2], x])
        return np.sum(np.sin(v2[1:]) * 0.5) + np.sum(np.sin(v3 / 1.5) * 0.7) + np.sum(np.sin(v10) * 0.8)

    x = np.linspace(0.1, 0.9, n)
    numeric = [(value(x + h) - value(x - h)) / 2e-6 for h in 1e-6 * np.eye(n)]
    np.testing.assert_allclose(tapec.grad(value)(x), numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [float, np.float32, int, complex])
@pytest.mark.parametrize("number", [-9, 2, True, 0, -9.0])
def test_a_uniform_array_that_is_filled_keeps_its_dtype(number, dtype):
    places, x = np.array([0, 1, 1]), np.array([0.5, 1.5, 2.5])

    def largest(x):
        m = np.full(3, number, dtype)
        np.maximum.at(m, places, x.astype(dtype))
        return m

    def placed(x):
        m = np.full((3, 2), number, dtype=dtype)
        m[places, 1] = x.astype(dtype)
        return m

    for f in (largest, placed):
        got = tapec.compile(f)(x)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, f(x))

    def loss(x):
        m = np.full(3, number, float)
        m[places] = x
        return np.sum(m * m)

    np.testing.assert_array_equal(tapec.grad(loss)(x), [1.0, 0.0, 5.0])
