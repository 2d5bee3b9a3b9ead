"""The structural key of a recording: equal for the same program on the same types, and for no other."""

import random

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tapec.trace.function.function_trace import Trace


@pytest.fixture(autouse=True)
def empty_cache():
    tapec.cache_clear()
    yield
    tapec.cache_clear()


def exact(value):
    return type(value), value.shape, value.dtype, value.tobytes()


def record(f, *xs, persistent=False):
    """A tape, and what a program gave."""
    with GradientTape(persistent) as tape:
        tape.watch([x for x in xs if isinstance(x, tapec.Tensor)])
        y = f(*xs)
    return tape, y


def ask(f, *xs):
    """The gradients of a program, as exactly as they can be compared."""
    tape, y = record(f, *xs)
    found = tape.gradient(y, [x for x in xs if isinstance(x, (tapec.Tensor, Variable))])
    return [None if g is None else exact(np.asarray(g)) for g in found]


def afresh(f, *xs):
    tapec.cache_clear()
    found = ask(f, *xs)
    tapec.cache_clear()
    return found


def compilations():
    return tapec.cache_info().compilations


# -- the same program ------------------------------------------------------------------------------------------------
A = np.arange(6.0).reshape(2, 3)
LARGE = np.ones(1 << 14)
PROGRAMS = {
    "numbers": lambda x: x * 2 + 3.5 - True,
    "complex": lambda x: np.sum(np.real(x * (1 + 2j))),
    "the same number twice": lambda x: (x * 7) + 7,
    "arrays": lambda x: np.sum(np.tanh(x @ A.T) * A.sum()),
    "an array twice": lambda x: np.sum(x * A + A),
    "a large array": lambda x: np.sum(x[0, 0] * LARGE),
    "scalars": lambda x: np.sum(x * np.float64(2.0) + np.float32(1.0)),
    "several results": lambda x: sum(np.split(x, 3, axis=1))[0, 0],
    "lengths that depend on values": lambda x: np.sum(x[x > 2.0] ** 2),
    "places": lambda x: np.sum(x[np.nonzero(x)]),
    "a tensor nobody watches": lambda x: np.sum(x * B),
    "one number": lambda x: x[0, 1] * x[0, 1],
}
B = constant(A + 1.0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_program_is_compiled_once(name):
    f = PROGRAMS[name]
    fresh = afresh(f, constant(A))
    for _ in range(4):
        assert ask(f, constant(A)) == fresh
    assert compilations() == 1
    other = afresh(f, constant(A[::-1] * 1.5))
    ask(f, constant(A))
    assert ask(f, constant(A[::-1] * 1.5)) == other


def test_variables():
    w, b = Variable(np.ones((3, 2))), Variable(np.zeros(2))

    def f(w, b):
        return np.mean((np.tanh(A @ w + b) - 1.0) ** 2)

    want = []
    for k in range(4):
        w.assign(np.full((3, 2), 0.1 * k))
        want.append(afresh(f, w, b))
    for k in range(4):
        w.assign(np.full((3, 2), 0.1 * k))
        assert ask(f, w, b) == want[k]
    assert compilations() == 1


# -- near misses -----------------------------------------------------------------------------------------------------
X, Y = constant(A + 1.0), constant(A + 2.0)
Z = 0.0
MISSES = {
    "another shape": (lambda x, y: x * y, (X, Y), (X[:1], Y[:1])),
    "one shape broadcast": (lambda x, y: x * y, (X, Y), (X, Y[:1])),
    "another dtype": (lambda x, y: x * y, (X, Y), (X, constant(A.astype(np.float32)))),
    "a number for an array": (lambda x, y: x * y, (X, Y), (X, constant(2.0))),
    "another number's kind": (lambda x, y: x * y, (X, 2), (X, 2.0)),
    "a truth for a number": (lambda x, y: x * y, (X, 2), (X, True)),
    "a scalar for a number": (lambda x, y: x * y, (X, 2.0), (X, np.float32(2.0))),
    "a negative zero": (lambda x, y: np.sum(1.0 / (x * y)), (X, 0.0), (X, -0.0)),
    "a negative zero first": (lambda x, y: np.sum(1.0 / (x * y)), (X, -0.0), (X, 0.0)),
    "a complex negative zero": (lambda x, y: np.sum(np.real(x * y)), (X, 2 + 1j), (X, complex(2, -0.0))),
    "two leaves that are one": (lambda x, y: x * y, (X, Y), (X, X)),
    "one leaf that is two": (lambda x, y: x * y, (X, X), (X, Y)),
    "two arrays that are one": (lambda x, a, b: x * a + b, (X, A, A + 0), (X, A, A)),
    "one array that is two": (lambda x, a, b: x * a + b, (X, A, A), (X, A, A + 1)),
    "an array for a tensor": (lambda x, y: x * y, (X, Y), (X, A)),
    "a tensor for an array": (lambda x, y: x * y, (X, A), (X, Y)),
    "leaves the other way": (lambda x, y, k: x - y if k else y - x, (X, Y, 1), (X, Y, 0)),
    "operands the other way": (lambda x, y, k: (z := x * y, z - x if k else x - z)[1], (X, Y, 1), (X, Y, 0)),
    "what was a leaf is a result": (lambda x, y, k: (z := x * y) * (y if k else z), (X, Y, 1), (X, Y, 0)),
    "what was a result is a leaf": (lambda x, y, k: (z := x * y) * (y if k else z), (X, Y, 0), (X, Y, 1)),
    "another result": (lambda x, y, k: (np.sin(x), np.sin(y))[k] * y, (X, Y, 0), (X, Y, 1)),
    "another parameter": (lambda x, k: np.sum(np.sum(x, axis=k)), (X, 0), (X, 1)),
    "another index": (lambda x, k: x[k] * 2.0, (X, 0), (X, 1)),
    "another op between": (lambda x, k: np.exp((np.sin if k else np.cos)(np.exp(x))), (X, 0), (X, 1)),
    "another length": (lambda x, k: np.sum(x[x > k]), (X, 2.0), (X, 4.0)),
    "other parts": (lambda x, k: np.split(x, k, axis=1)[0] * 1.0, (X, 3), (X, 1)),
    "an operand more": (lambda x, k: np.sum(np.stack([x] * k) * 2.0), (X, 2), (X, 3)),
    "a change in place": (lambda x, k: changed(x * 2.0, k), (X, 0), (X, 1)),
}


def changed(x, k):
    y = np.exp(x)
    if k:
        y += 1.0
    else:
        y = y + 1.0
    return np.sum(y * y)


@pytest.mark.parametrize("name", MISSES)
def test_near_misses(name):
    f, one, other = MISSES[name]
    want = [afresh(f, *given) for given in (one, other)]
    for _ in range(3):
        assert ask(f, *one) == want[0]
        assert ask(f, *other) == want[1]
    assert tapec.cache_info().size == 2


# -- the parts of a key ----------------------------------------------------------------------------------------------
PARTS = ("operations", "dtypes", "shapes", "params", "guards")
DIFFER = {
    "another shape": {"shapes"},
    "one shape broadcast": {"shapes"},
    "another dtype": {"dtypes"},
    "another number's kind": {"dtypes"},
    "a negative zero": {"dtypes"},
    "a scalar for a number": {"dtypes", "shapes"},
    "two leaves that are one": {"operations", "dtypes", "shapes"},
    "operands the other way": {"operations"},
    "another op between": {"operations"},
    "another parameter": {"params"},
    "another index": {"params"},
    "another length": {"shapes"},
}


@pytest.mark.parametrize("name", DIFFER)
def test_what_differs_is_in_its_part_of_the_key(name):
    f, one, other = MISSES[name]
    keys = [record(f, *given)[0].log.key for given in (one, other)]
    assert {part for part, a, b in zip(PARTS, *keys, strict=True) if a != b} == DIFFER[name]


def test_guards_are_in_their_part_of_the_key():
    keys = []
    for value in (1.0, -1.0):
        trace = Trace()
        with trace.recording():
            x = trace.input(value)
            trace.log.give([x])
            bool(x * 2.0 > 0.0)
        trace.log.scan()
        keys.append(trace.log.key)
    assert {part for part, a, b in zip(PARTS, *keys, strict=True) if a != b} == {"guards"}


def test_arguments_of_a_function_are_told_from_what_it_reads():
    keys = []
    for count in (1, 2):
        trace = Trace()
        with trace.recording():
            x, y = trace.input(1.0), trace.input(2.0)
            trace.log.give([x, y][:count])
            x * y
        trace.log.scan()
        keys.append(trace.log.key)
    assert keys[0] != keys[1]


def test_a_variable_that_is_assigned_between():
    v = Variable(2.0)

    def f(again):
        y = v * v
        if again:
            v.assign(3.0)
        return y * v

    for again in (False, True, False, True, True):
        v.assign(2.0)
        with GradientTape() as tape:
            y = f(again)
        slope = 12.0 if not again else 2 * 2.0 * 3.0 + 4.0
        assert tape.gradient(y, v).numpy() == slope


def test_an_array_that_changes_while_it_is_recorded():
    buffer = np.ones(3)

    def f(x, change):
        y = x * buffer
        if change:
            buffer[:] = 5.0
        return np.sum(y * buffer)

    for change in (False, True, False, True):
        buffer[:] = 1.0
        tape, y = record(lambda x: f(x, change), constant(np.ones(3)))  # noqa: B023
        assert tape.gradient(y, tape_source(tape)).tolist() == [5.0 if change else 1.0] * 3


def tape_source(tape):
    return tape.log.records[0][1][0]


def test_an_array_that_changes_after_it_was_recorded():
    array = np.full(3, 2.0)
    for _ in range(4):
        array[:] = 2.0
        x = constant(np.ones(3))
        tape, y = record(lambda x: np.sum(x * array), x)
        array[:] = 9.0
        assert tape.gradient(y, x).tolist() == [2.0] * 3


def test_a_large_array_that_changes():
    array = np.ones(1 << 14)
    for change in (False, False, True, False):
        x = constant(np.ones(1 << 14))
        tape, y = record(lambda x: np.sum(x * array), x)
        if change:
            array[:] = 2.0
        assert tape.gradient(y, x).tolist() == [1.0] * array.size
        array[:] = 1.0


def test_a_tensor_that_changes_after_it_was_recorded():
    for _ in range(4):
        x, c = constant(np.ones(3)), constant(np.full(3, 2.0))
        tape, y = record(lambda x: np.sum(x * c), x)  # noqa: B023
        c[:] = 9.0
        assert tape.gradient(y, x).tolist() == [2.0] * 3


# -- recordings that go on -------------------------------------------------------------------------------------------
def test_a_recording_that_goes_on_after_it_was_asked():
    for _ in range(3):
        ask(lambda x: x * x, constant(3.0))
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            assert tape.gradient(y, x).numpy() == 6.0
        z = y * x * 2
        with tape.stop_recording():
            assert tape.gradient(z, x).numpy() == 54.0
    assert tape.gradient(y, x).numpy() == 6.0


def test_a_change_in_place_after_it_was_asked():
    x = constant(A)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(tapec.InPlaceError):
            x[0] = 1.0  # asks what was made here
        y[0] = 0.0
        z = np.sum(y)
    assert tape.gradient(z, x).tolist() == [[0.0] * 3, [6.0, 8.0, 10.0]]


# -- programs as they come -------------------------------------------------------------------------------------------
def drawn(rng):
    """A random program of a few operations on two matrices."""
    steps = [(rng.randrange(14), rng.random(), rng.random()) for _ in range(rng.randrange(1, 9))]

    def f(x, y):
        pool = [x, y, A]
        for kind, i, j in steps:
            a, b = pool[int(i * len(pool))], pool[int(j * len(pool))]
            if not isinstance(a, tapec.Tensor):
                a = x
            pool.append(STEPS[kind](a, b))
        return sum([np.sum(p) for p in pool[3:]])

    return f


def written(a):
    a = a + 0.0
    a[0, 1] = 2.0
    return a


STEPS = [
    lambda a, b: a + b,
    lambda a, b: b - a,
    lambda a, b: a * b,
    lambda a, b: np.tanh(a),
    lambda a, b: a * 2,
    lambda a, b: 1.5 - a,
    lambda a, b: a * np.float64(0.5),
    lambda a, b: np.split(a, 3, axis=1)[1] + b,
    lambda a, b: np.maximum(a, b),
    lambda a, b: a @ np.ones((3, 3)),
    lambda a, b: np.where(a > 0.0, a, b),
    lambda a, b: np.sum(a[a > 0.5]) + b,
    lambda a, b: np.sum(a, axis=0) * b,
    lambda a, b: written(a),
]


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("seed", range(60))
def test_drawn_programs(seed):
    rng = random.Random(seed)
    programs = [drawn(rng) for _ in range(3)]
    given = [(constant(A * 0.3), constant(A[::-1] * 0.2)), (constant(A * 0.1), constant(A * 0.4))]
    want = {(n, k): afresh(f, *xs) for n, f in enumerate(programs) for k, xs in enumerate(given)}
    for _ in range(3):
        for n, f in enumerate(programs):
            for k, xs in enumerate(given):
                assert ask(f, *xs) == want[n, k]
