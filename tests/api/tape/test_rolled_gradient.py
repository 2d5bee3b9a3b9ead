"""Where a recording has equal rounds, the gradient's code is a loop; its results are those of rounds written out."""

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tapec.log_gradients import gradient_program
from tapec.passes import tuning
from tests.properties import loop_count, statements

RNG = np.random.default_rng(3)
ROUNDS = 30
XS, IDS = RNG.standard_normal((ROUNDS, 3)), RNG.integers(0, 7, (ROUNDS, 4))
WEIGHTS = [0.05 * k + 0.1 for k in range(ROUNDS)]


@pytest.fixture(autouse=True)
def empty_cache():
    tapec.cache_clear()
    yield
    tapec.cache_clear()


def recurrent(n, w, u, b):
    h = np.zeros_like(b)
    for k in range(n):
        h = np.tanh(w @ h + u @ XS[k].astype(b.dtype) + b)
    return np.sum(h * h)


def gated(n, w, u, b):
    h, c, seen = b * 0.0, b * 0.1, []
    for k in range(n):
        gate = 1.0 / (1.0 + np.exp(-(w @ h + b)))
        c = gate * c + (1.0 - gate) * np.tanh(u @ XS[k].astype(b.dtype))
        h = np.tanh(c) * gate
        seen.append(h)
    return sum([np.sum(h * h) for h in seen])


def descent(n, a, w, rate):
    for _ in range(n):
        w = w - rate * (a.T @ (a @ w - 1.0))
    return np.sum(w * w)


def predators(n, p, u):
    def slope(u):
        return np.stack([p[0] * u[0] - p[1] * u[0] * u[1], p[3] * u[0] * u[1] - p[2] * u[1]])

    for _ in range(n):
        k1 = slope(u)
        k2 = slope(u + 0.005 * k1)
        u = u + 0.01 * slope(u + 0.005 * k2)
    return np.sum(u * u)


def logistic(n, r, x):
    for _ in range(n):
        x = r * x * (1.0 - x)
    return x


def each_with_its_data(n, w, c):
    total = 0.0
    for x, y in zip(list(XS[:n].astype(w.dtype)), WEIGHTS):
        total = total + (np.tanh(x @ w) + c - y) ** 2
    return total / n


def rectified(n, w, b):
    x = b
    for _ in range(n):
        x = np.maximum(w @ x + b, 0.0)
    return np.sum(x)


def rows_watched(n, x, xs):
    for k in range(n):
        x = np.sin(x * xs[k]) + 0.5 * x
    return np.sum(x)


def columns_watched(n, x, xs):
    for k in range(n):
        x = np.sin(x * xs[:, n - 1 - k]) + 0.5 * x
    return np.sum(x)


def logarithms(n, x, xs):
    """Of some that are zero, which are selected out."""
    total = np.sum(x) * 0.0
    for k in range(n):
        v = np.maximum(x * xs[k], 0.0)
        total = total + np.sum(np.where(v > 0.0, v * np.log(v), x))
    return total


def gathered(n, table, w):
    total = w * 0.0
    for k in range(n):
        total = total + np.tanh(np.sum(table[IDS[k]] * w, axis=0))
    return np.sum(total)


def in_place(n, x, w):
    h = x * 1.0
    for _ in range(n):
        h *= w
        h[0] = h[1] * w[2]
        h = np.tanh(h)
    return np.sum(h)


def nested(n, x, w):
    for _ in range(max(1, n // 5)):
        for _ in range(5):
            x = np.sin(x * w) + 0.5 * x
        w = 0.3 * w * x + w
    return np.sum(x * w)


def older_values(n, x, w):
    before = older = x
    for _ in range(n):
        x, before, older = np.sin(w * before) + 0.3 * older * x, x, before
    return np.sum(x + before * older)


def batched(n, w, v, x):
    for _ in range(n):
        x = np.tanh(x @ w) @ v + 0.1 * x
    return np.mean(x * x)


def numbers(*shape):
    return RNG.standard_normal(shape)


PROGRAMS = {
    recurrent: (0.4 * numbers(4, 4), numbers(4, 3), numbers(4)),
    gated: (0.4 * numbers(4, 4), numbers(4, 3), numbers(4)),
    descent: (0.1 * numbers(6, 5), numbers(5), np.float64(0.05)),
    predators: (np.array([1.1, 0.4, 0.4, 0.1]), np.array([10.0, 5.0])),
    logistic: (np.float64(3.2), np.float64(0.3)),
    each_with_its_data: (numbers(3), np.float64(0.1)),
    rectified: (0.5 * numbers(4, 4), numbers(4)),
    rows_watched: (numbers(3), numbers(ROUNDS, 3)),
    columns_watched: (numbers(3), numbers(3, ROUNDS)),
    logarithms: (np.abs(numbers(3)), np.round(numbers(ROUNDS, 3))),
    gathered: (numbers(7, 3), numbers(3)),
    in_place: (numbers(5), numbers(5)),
    nested: (numbers(3), numbers(3)),
    older_values: (0.5 * numbers(3), numbers(3)),
    batched: (numbers(4, 6), 0.3 * numbers(6, 4), numbers(8, 4)),
}


def recorded(program, n, values, persistent=False):
    xs = [constant(x) for x in values]
    with GradientTape(persistent=persistent) as tape:
        tape.watch(xs)
        y = program(n, *xs)
    return tape, y, xs


def dense(found):
    return [None if g is None else np.asarray(tapec.convert_to_tensor(g)) for g in found]


def gradients(program, n, values):
    tape, y, xs = recorded(program, n, values)
    return dense(tape.gradient(y, xs)), tape.source(y, xs), tape.ir(y, xs, stage="optimized")


def written_out(monkeypatch):
    monkeypatch.setattr(tuning, "ROLLED_MIN_OPS_SPARED", 1 << 30)
    tapec.cache_clear()


def assert_same(found, wanted, rtol):
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        scale = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_loop_gives_what_the_rounds_give(program, dtype, monkeypatch):
    values = [np.asarray(x, dtype)[()] for x in PROGRAMS[program]]
    found, source, graph = gradients(program, ROUNDS, values)
    assert len(graph.nodes) < 4 * ROUNDS and len(statements(source)) < 4 * ROUNDS
    written_out(monkeypatch)
    wanted, source, graph = gradients(program, ROUNDS, values)
    assert len(graph.nodes) > 4 * ROUNDS
    assert_same(found, wanted, 1e-10 if dtype == "float64" else 1e-3)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p is not gathered])  # which gives the rows of each gather
def test_more_rounds_are_no_more_code(program):
    short, long = [gradients(program, n, PROGRAMS[program])[1] for n in (ROUNDS - 9, ROUNDS - 1)]
    assert len(statements(short)) == len(statements(long))


@pytest.mark.parametrize("program", PROGRAMS)
def test_first_differences(program):
    values = PROGRAMS[program]
    found, _, _ = gradients(program, ROUNDS, values)
    for k, (x, g) in enumerate(zip(values, found, strict=True)):
        way = RNG.standard_normal(np.shape(x)) * (np.asarray(x) != 0.0)  # selections change at zero
        ends = [program(ROUNDS, *values[:k], x + s * 1e-6 * way, *values[k + 1 :]) for s in (1, -1)]
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(np.sum(g * way), slope, rtol=1e-4, atol=1e-5 * np.max(np.abs(g)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize("program", [recurrent, rectified, logarithms, older_values, batched, gathered, logistic])
def test_values_that_are_no_numbers(program, value, monkeypatch):
    values = [np.array(x) for x in PROGRAMS[program]]
    values[-1].flat[0] = value
    values = [x[()] for x in values]
    with np.errstate(all="ignore"):
        found, source, _ = gradients(program, ROUNDS, values)
        assert len(statements(source)) < 4 * ROUNDS
        written_out(monkeypatch)
        wanted, _, _ = gradients(program, ROUNDS, values)
    for a, b in zip(found, wanted, strict=True):
        assert np.array_equal(np.isnan(a), np.isnan(b))
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("program", [recurrent, gated, predators, older_values, nested])
def test_second_order(program, monkeypatch):
    def second():
        xs = [constant(x) for x in PROGRAMS[program]]
        with GradientTape() as outer:
            outer.watch(xs)
            with GradientTape() as inner:
                inner.watch(xs)
                y = program(ROUNDS, *xs)
            total = sum([np.sum(g * g) for g in inner.gradient(y, xs)])
        rolled.append(loop_count(inner.source(y, xs)) > 0)
        return dense(outer.gradient(total, xs))

    rolled: list[bool] = []
    found = second()
    written_out(monkeypatch)
    assert_same(found, second(), 1e-8)
    assert rolled == [True, False]


def test_several_targets_seeds_and_a_tape_that_goes_on(monkeypatch):
    def ask():
        tape, y, xs = recorded(recurrent, ROUNDS, PROGRAMS[recurrent], persistent=True)
        with tape:
            z = np.exp(-y)
        seeds = [constant(0.3), constant(-1.2)]
        found = [*tape.gradient([y, z], xs, output_gradients=seeds), *tape.gradient(z, xs), *tape.gradient(y, xs[0:1])]
        return dense([*found, *tape.gradient([y, z], xs, output_gradients=seeds)])

    found = ask()
    written_out(monkeypatch)
    assert_same(found, ask(), 1e-10)


def test_a_structure_that_comes_again_runs_the_same_code():
    _, source, _ = gradients(recurrent, ROUNDS, PROGRAMS[recurrent])
    before = tapec.cache_info()
    values = [0.5 * x for x in PROGRAMS[recurrent]]
    found, again, _ = gradients(recurrent, ROUNDS, values)
    assert again == source and tapec.cache_info().compilations == before.compilations
    tapec.cache_clear()
    assert_same(found, gradients(recurrent, ROUNDS, values)[0], 0.0)


def test_numbers_that_change_from_recording_to_recording():
    def program(rates, x):
        for rate in rates:
            x = x - rate * np.sin(x) * x
        return np.sum(x)

    for scale in (1.0, 0.5, 0.25):
        rates = [scale * (k + 1) / ROUNDS for k in range(ROUNDS)]
        [found], source, _ = gradients(program, rates, [XS[0]])
        ends = [(program(rates, XS[0] + d) - program(rates, XS[0] - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(found, ends, rtol=1e-5, atol=1e-7)
        assert loop_count(source)


def test_whole_numbers_that_no_array_holds_stay_what_they_are():
    def program(counts, x):
        for count in counts:
            x = x * (count / (count + 1)) + np.sin(x)
        return np.sum(x)

    for shift in (0, 2**70, 1):
        counts = [shift + k + 1 for k in range(ROUNDS)]
        [found], _, _ = gradients(program, counts, [XS[0]])
        ends = [(program(counts, XS[0] + d) - program(counts, XS[0] - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(found, ends, rtol=1e-5, atol=1e-7)


def test_variables_of_each_layer_have_gradients_of_their_own(monkeypatch):
    layers = [Variable(0.6 * numbers(4, 4)) for _ in range(ROUNDS)]

    def ask():
        with GradientTape() as tape:
            x = constant(np.ones(4))
            for w in layers:
                x = np.tanh(w @ x)
            y = np.sum(x)
        found = dense(tape.gradient(y, layers))
        return found, len(tape.ir(y, layers, stage="optimized").nodes)

    found, rolled = ask()
    written_out(monkeypatch)
    wanted, written = ask()
    assert rolled < written / 3
    assert_same(found, wanted, 1e-10)


def test_large_values_are_not_copied():
    """Their rounds are written out: the code may then write over them."""
    x = np.ones(tuning.ROLLED_MAX_ELEMENTS_RECORDED + 1)
    _, source, _ = gradients(older_values, ROUNDS, [x, 0.3 * x])
    assert not loop_count(source)


def test_few_rounds_are_written_out():
    _, source, _ = gradients(recurrent, 3, PROGRAMS[recurrent])
    assert not loop_count(source)


def test_an_operation_by_itself_takes_each_value_as_an_argument(monkeypatch):
    """Code for single operations is put together: nothing in it may be read as an array of values."""
    monkeypatch.setattr(gradient_program, "rolled_gradient", None)
    monkeypatch.setattr("tapec.log_gradients.tuning.NEW_IN_A_ROW", 0)
    xs = [constant(x) for x in PROGRAMS[logistic]]
    with GradientTape() as tape:
        tape.watch(xs)
        y = logistic(5, *xs)
    assert all([np.isfinite(g) for g in tape.gradient(y, xs)])


@pytest.mark.parametrize("program", [recurrent, logarithms, in_place, rows_watched])
def test_each_pass_keeps_the_values(program):
    with tapec.settings(verify="values"):
        gradients(program, ROUNDS, PROGRAMS[program])


def test_code_from_the_cache_on_disk_is_given_the_same_values(tmp_path):
    with tapec.settings(cache_dir=str(tmp_path)):
        found, source, _ = gradients(recurrent, ROUNDS, PROGRAMS[recurrent])
        tapec.cache_clear()
        again, from_disk, _ = gradients(recurrent, ROUNDS, PROGRAMS[recurrent])
        assert tapec.cache_info().loaded and from_disk == source
    assert_same(again, found, 0.0)
