"""Arguments that are lists of numbers: loops over them are loops of the code, and the list is one parameter."""

import importlib.util
import pickle

import numpy as np
import pytest

import tapec
from tests.properties import parameters, statements

RNG = np.random.default_rng(3)
DATA = [float(x) for x in RNG.uniform(0.2, 1.4, 24)]
A = 0.7


def forwards(data, a):
    t = a
    for y in data:
        t = t * 0.9 + np.sin(y * t)
    return t


def backwards(data, a):
    t = a
    for y in reversed(data):
        t = t * 0.8 + y * np.exp(-t * t)
    return t


def turned(data, a):
    t = a
    for y in data[::-1]:
        t = t * 0.8 + y * np.exp(-t * t)
    return t


def every_second(data, a):
    t = a
    for y in data[1::2]:
        t = t * 0.9 + np.sin(y * t) + np.cos(y) * a
    return t


def neighbours(data, a):
    total = 0.0
    for k in range(1, len(data)):
        total = total + (data[k] - a * data[k - 1]) ** 2
    return total


def differences(data, a):
    total, before = 0.0, data[0]
    for y in data[1:]:
        total = total + (y - a * before) ** 2
        before = y
    return total


def read_elsewhere(data, a):
    t = data[-1] * a
    for y in data:
        t = t * 0.5 + y * np.exp(-t * t)
    return t + data[3] * data[2]


def of_the_mean(data, a):
    mean = sum(data) / len(data)
    t = a
    for y in data:
        t = t + (y - mean) ** 2 * a
    return t


def into_arrays(data, a):
    v = np.array([a, 2.0 * a, a * a])
    for y in data:
        v = v * 0.9 + np.tanh(v * y)
    return np.sum(v)


def into_a_large_array(data, a):
    v = np.linspace(0.1, 1.0, 500) * a
    for y in data:
        v = v * 0.9 + np.tanh(v * y)
    return np.sum(v)


def larger(data, a):
    t = a
    for y in data:
        t = np.maximum(t * 0.9, y * a) + 0.1
    return t


PROGRAMS = (
    forwards,
    backwards,
    turned,
    every_second,
    neighbours,
    differences,
    read_elsewhere,
    of_the_mean,
    into_arrays,
    into_a_large_array,
    larger,
)
KINDS = {
    "list": list,
    "tuple": tuple,
    "NumPy's numbers": lambda data: [np.float64(x) for x in data],
    "arrays without axes": lambda data: [np.array(x) for x in data],
}


def difference(f, data, a, k=None, step=1e-6):
    """Return the derivative by an element of the list, or by the number."""
    found = []
    for h in (step, -step):
        moved = list(data)
        if k is not None:
            moved[k] = moved[k] + h
        found.append(float(f(type(data)(moved), a if k is not None else a + h)))
    return (found[0] - found[1]) / (2 * step)


def assert_near(found, wanted, value=1.0):
    """Check derivatives against differences of values as large as this one."""
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8 * max(1.0, abs(value)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_loop_over_a_list_is_a_loop_over_one_parameter(f, kind):
    data = KINDS[kind](DATA)
    g = tapec.value_and_grad(f, argnums=1)
    for _ in range(3):  # recorded, and by the stub of the call
        value, slope = g(data, A)
        np.testing.assert_allclose(value, f(data, A), rtol=1e-13)
        assert_near(slope, difference(f, data, A))
    source = g.source(data, A)
    assert parameters(source) == ["data", "a"]
    assert len(statements(source)) < len(DATA)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_gradient_by_a_list_is_such_a_list(f, kind):
    data = KINDS[kind](DATA)
    g = tapec.grad(f)
    for _ in range(2):
        found = g(data, A)
        assert type(found) is type(data)
        wanted = [difference(f, data, A, k) for k in range(len(data))]
        assert_near(found, wanted, f(data, A))


@pytest.mark.parametrize("f", [forwards, neighbours, into_arrays, larger], ids=lambda f: f.__name__)
def test_whole_numbers_in_a_list_count_as_they_do_in_python(f):
    data = [1, 3, 2, 1, 4, 2, 2, 1, 3, 1]
    value, slope = tapec.value_and_grad(f, argnums=1)(data, 0.1)
    np.testing.assert_allclose(value, f(data, 0.1), rtol=1e-13)
    wanted = tapec.value_and_grad(f, argnums=1)(np.array(data, float), 0.1)[1]
    np.testing.assert_allclose(slope, wanted, rtol=1e-12)


def test_whole_numbers_that_no_array_holds_stay_what_they_are():
    def f(data, a):
        for y in data:
            a = a * 0.5 + y * 1e-20
        return a

    data = [2**70 + k for k in range(9)]
    g = tapec.value_and_grad(f, argnums=1)
    for _ in range(2):
        assert g(data, 0.3) == (f(data, 0.3), 0.5**9)


def test_whole_numbers_are_compared_as_such():
    def f(data, a):
        t = a
        for y in data:
            t = t * 0.5 + a * np.where(t < y, 1.0, 2.0) + (y % 3)
        return t

    data = [1, 3, 2, 1, 4, 2, 2, 1, 3, 2**53 + 1]
    value, _ = tapec.value_and_grad(f, argnums=1)(data, 0.1)
    np.testing.assert_allclose(value, f(data, 0.1), rtol=1e-13)


def test_a_list_of_both_kinds_of_numbers_stays_one_of_both():
    data = [1, 0.5, 2, 0.25, 3, 1.5, 1, 0.75]
    for f in (forwards, neighbours, into_arrays):
        value, slope = tapec.value_and_grad(f, argnums=1)(data, A)
        np.testing.assert_allclose(value, f(data, A), rtol=1e-13)
        assert_near(slope, difference(f, data, A))


def test_python_numbers_leave_the_precision_of_arrays_as_it_is():
    def f(data, x):
        for y in data:
            x = x * 0.9 + np.tanh(x * y)
        return x

    x = np.linspace(0.1, 1.0, 5, dtype=np.float32)
    g = tapec.vjp(f, DATA, x)
    assert g[0].dtype == np.float32
    np.testing.assert_allclose(g[0], f(DATA, x), rtol=1e-6)
    strong = [np.float64(y) for y in DATA]
    assert tapec.compile(f)(strong, x).dtype == f(strong, x).dtype == np.float64


def test_two_lists_side_by_side():
    def f(times, values, a):
        t = 0.0
        for when, what in zip(times, values, strict=True):
            t = t + (np.exp(-a * when) - what) ** 2
        return t

    times = [0.1 * k for k in range(24)]
    g = tapec.value_and_grad(f, argnums=(1, 2))
    value, (by_values, by_a) = g(times, DATA, A)
    np.testing.assert_allclose(value, f(times, DATA, A), rtol=1e-13)
    assert_near(by_a, difference(lambda d, a: f(times, d, a), DATA, A))
    wanted = [difference(lambda d, a: f(times, d, a), DATA, A, k) for k in range(24)]
    assert_near(by_values, wanted)
    assert parameters(g.source(times, DATA, A)) == ["times", "values", "a"]


def test_lists_in_a_dict():
    def f(study, a):
        t = a
        for y in study["first"]["y"]:
            t = t * 0.9 + np.sin(y * t)
        for w in study["second"]:
            t = t + w * w * a
        return t

    study = {"first": {"y": DATA}, "second": tuple(DATA[:9]), "label": "trial"}
    g = tapec.value_and_grad(f, argnums=1)
    for _ in range(2):
        value, slope = g(study, A)
        np.testing.assert_allclose(value, f(study, A), rtol=1e-13)
        assert_near(slope, difference(lambda _, a: f(study, a), DATA, A))
    assert len(parameters(g.source(study, A))) == 3


def test_a_list_of_pairs():
    def f(pairs, a):
        t = a
        for y, w in pairs:
            t = t * 0.9 + w * np.sin(y * t)
        return t

    pairs = [(y, 0.5 * y) for y in DATA]
    value, slope = tapec.value_and_grad(f, argnums=1)(pairs, A)
    np.testing.assert_allclose(value, f(pairs, A), rtol=1e-13)
    assert_near(slope, difference(f, pairs, A))


def test_small_arrays_in_a_list_are_taken_as_one():
    def f(rows, x):
        for row in rows:
            x = np.tanh(0.5 * x + row) * 0.9
        return np.sum(x)

    rows, x = [row.copy() for row in RNG.normal(size=(9, 3))], RNG.normal(size=3)
    g = tapec.value_and_grad(f, argnums=(0, 1))
    wanted, whole = tapec.value_and_grad(f, argnums=(0, 1))(np.array(rows), x)
    for _ in range(2):
        value, (by_rows, by_x) = g(rows, x)
        np.testing.assert_allclose(value, wanted, rtol=1e-13)
        np.testing.assert_allclose(by_rows, whole[0], rtol=1e-12)
        np.testing.assert_allclose(by_x, whole[1], rtol=1e-12)
    by_rows[0][0] = 9.0  # each gradient is an array of its own
    assert by_rows[1][0] != 9.0
    assert parameters(g.source(rows, x)) == ["rows", "x"]


def test_large_arrays_in_a_list_are_not_copied_together():
    def f(rows, x):
        for row in rows:
            x = np.tanh(0.5 * x + row) * 0.9
        return np.sum(x)

    rows = list(RNG.normal(size=(6, 200)))
    assert len(parameters(tapec.grad(f).source(rows, rows[0]))) == 7


def test_the_same_array_twice_in_a_list():
    def f(rows, x):
        for row in rows:
            x = np.tanh(0.5 * x + row) * 0.9
        return np.sum(x)

    row = RNG.normal(size=3)
    rows = [row, row, *RNG.normal(size=(5, 3))]
    np.testing.assert_allclose(tapec.compile(f)(rows, row), f(rows, row), rtol=1e-13)
    np.testing.assert_allclose(tapec.grad(f)(rows, row), tapec.grad(f)(np.array(rows), row), rtol=1e-12)


def test_lists_of_other_lengths_and_classes_are_compiled_anew():
    g = tapec.value_and_grad(forwards, argnums=1)
    for data in (DATA, DATA[:8], tuple(DATA), [1, *DATA[1:]], [np.float32(y) for y in DATA], DATA):
        np.testing.assert_allclose(g(data, A)[0], forwards(data, A), rtol=1e-6)
    assert g.cache_info().compilations == 5


def test_a_list_with_a_tensor_in_it_is_recorded_as_part_of_the_call_around_it():
    inner = tapec.compile(forwards)
    outer = tapec.grad(lambda a: inner([a * y for y in DATA], A))
    inner(DATA, A)
    wanted = difference(lambda _, a: forwards([a * y for y in DATA], A), DATA, 0.6)
    assert_near(outer(0.6), wanted)
    with tapec.GradientTape() as tape:
        a = tapec.Variable(0.6)
        value = inner([a * y for y in DATA], A)
    assert_near(tape.gradient(value, a), wanted)


def test_second_derivatives_by_a_list_and_forward_mode():
    def f(a):
        return forwards(DATA, a)

    by_a = tapec.grad(tapec.grad(forwards, argnums=1), argnums=1)(DATA, A)
    wanted = (tapec.grad(f)(A + 1e-6) - tapec.grad(f)(A - 1e-6)) / 2e-6
    assert_near(by_a, wanted)
    _, tangent = tapec.jvp(forwards, (DATA, A), ([1.0] * len(DATA), 0.5))
    moved = [forwards([y + h for y in DATA], A + 0.5 * h) for h in (1e-6, -1e-6)]
    assert_near(tangent, (moved[0] - moved[1]) / 2e-6)


def test_a_batch_of_calls_with_one_list_and_with_a_list_of_batches():
    many = RNG.uniform(0.2, 0.9, 5)
    wanted = [forwards(DATA, a) for a in many]
    np.testing.assert_allclose(tapec.vmap(forwards, in_axes=(None, 0))(DATA, many), wanted, rtol=1e-13)
    lists = [y * many for y in DATA]
    wanted = [forwards([y * m for y in DATA], A) for m in many]
    np.testing.assert_allclose(tapec.vmap(forwards, in_axes=(0, None))(lists, A), wanted, rtol=1e-13)
    mixed = [DATA[0], *lists[1:]]
    wanted = [forwards([DATA[0], *[y * m for y in DATA[1:]]], A) for m in many]
    axes = ([None, *[0] * 23], None)
    np.testing.assert_allclose(tapec.vmap(forwards, in_axes=axes)(mixed, A), wanted, rtol=1e-13)


def test_branches_on_elements_of_a_list():
    def f(data, a):
        t = a
        if data[0] > 0.5:
            t = t * 2.0
        for y in data:
            t = t * 0.9 + np.sin(y * t)
        return t if t > 0.0 else -t

    g = tapec.value_and_grad(f, argnums=1)
    low, high = [0.1, *DATA[1:]], [0.9, *DATA[1:]]
    for data in (low, high, low, high):
        value, slope = g(data, A)
        np.testing.assert_allclose(value, f(data, A), rtol=1e-13)
        assert_near(slope, difference(f, data, A))


def test_where_floats_raise_an_error_numpy_answers():
    def f(data, x):
        t = x[0]
        for y in data:
            t = np.exp(t * y) / (x[1] - t)
        return t

    g = tapec.value_and_grad(f, argnums=1)
    data = [900.0] * 8
    g(DATA[:8], np.array([0.1, 5.0]))
    with np.errstate(all="ignore"):
        value, _ = g(data, np.array([2.0, 5.0]))
        np.testing.assert_equal(value, f(data, np.array([2.0, 5.0])))


@pytest.mark.parametrize("f", [forwards, read_elsewhere, into_arrays], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_an_exported_function_takes_the_list(f, kind, tmp_path):
    data = KINDS[kind](DATA)
    g = tapec.value_and_grad(f, argnums=(0, 1))
    g.export(tmp_path / "exported.py", data, A)
    spec = importlib.util.spec_from_file_location("exported", tmp_path / "exported.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, module.__all__[0])
    value, (by_data, by_a) = function(data, A)
    wanted, slopes = g(data, A)
    np.testing.assert_allclose([value, *by_data, by_a], [wanted, *slopes[0], slopes[1]], rtol=1e-13)
    for wrong in (data[1:], [*data[1:], "x"], dict(enumerate(data)), [*data[1:], 1j]):
        with pytest.raises(module.Mismatch):
            function(wrong, A)


def test_pickles_the_cache_on_disk_and_checks_of_values(tmp_path):
    wanted = tapec.value_and_grad(read_elsewhere, argnums=1)(DATA, A)
    g = tapec.value_and_grad(read_elsewhere, argnums=1)
    g(DATA, A)
    assert pickle.loads(pickle.dumps(g))(DATA, A) == wanted
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    for options in ({"cache_dir": str(folder)}, {"cache_dir": str(folder)}, {"verify": "values"}, {"check": "every"}):
        with tapec.settings(**options):
            again = tapec.value_and_grad(read_elsewhere, argnums=1)
            for _ in range(2):
                assert again(DATA, A) == wanted
            code, values = again.generated(DATA, A)
            assert code.function(*values)[0] == wanted[0]
    assert parameters(again.source(DATA, A)) == ["data", "a"]


def test_other_settings():
    for options in ({"optimize": False}, {"check_nan": True}):
        with tapec.settings(**options):
            found = tapec.value_and_grad(forwards, argnums=1)(DATA, A)
            assert_near(found, (forwards(DATA, A), difference(forwards, DATA, A)))


def test_keywords_and_defaults():
    def f(a, *, data=tuple(DATA)):
        return forwards(data, a) + forwards(data[::-1], 0.5 * a)

    g = tapec.value_and_grad(f)
    for given in ({}, {}, {"data": DATA}, {"data": tuple(DATA)}):
        value, slope = g(A, **given)
        np.testing.assert_allclose(value, f(A), rtol=1e-13)
        assert_near(slope, difference(lambda _, a: f(a), DATA, A))


def test_arguments_of_one_class_are_no_list():
    def f(a, b, c, d, e, g, h, x):
        for y in (a, b, c, d, e, g, h):
            x = x * 0.9 + np.sin(y * x)
        return x

    gradient = tapec.value_and_grad(f, argnums=7)
    for _ in range(2):
        value, slope = gradient(*DATA[:7], A)
        np.testing.assert_allclose(value, f(*DATA[:7], A), rtol=1e-13)
        assert_near(slope, difference(lambda d, x: f(*d, x), DATA[:7], A))
    assert parameters(gradient.source(*DATA[:7], A)) == [*"abcdegh", "x"]


def test_complex_numbers_in_a_list():
    def f(data, a):
        t = a + 0.0j
        for y in data:
            t = t * 0.9 + y * t * 0.1
        return np.abs(t)

    data = [complex(x, 0.5 * x) for x in DATA]
    value, slope = tapec.value_and_grad(f, argnums=1)(data, A)
    np.testing.assert_allclose(value, f(data, A), rtol=1e-13)
    assert_near(slope, difference(f, data, A))
