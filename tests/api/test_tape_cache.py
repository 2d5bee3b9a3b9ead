"""The cache by structure: what compiles, what does not, and what is kept."""

import gc
import math
import tracemalloc
import weakref

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tests.api.test_threads import together
from tests.ops.derivatives import by_tape
from tests.properties import constants


@pytest.fixture(autouse=True)
def fresh():
    tapec.cache_clear()


def compilations():
    return tapec.cache_info().compilations


def test_the_second_step_compiles_nothing():
    w = Variable(np.ones((3, 2)))
    x, y = np.ones((4, 3)), np.zeros((4, 2))
    for _ in range(5):
        with GradientTape() as tape:
            loss = np.mean((np.tanh(x @ w) - y) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
    info = tapec.cache_info()
    assert (info.compilations, info.misses, info.hits, info.size) == (1, 1, 4, 1)


def test_other_values_are_no_other_structure():
    for value in (1.0, 2.0, np.inf, np.nan):
        by_tape(lambda x: x * x)(constant(value))
    assert compilations() == 1


@pytest.mark.parametrize(
    "xs",
    [
        (constant(1.0), constant([1.0])),
        (constant([1.0]), constant([1.0, 2.0])),
        (constant(1.0), constant(np.float32(1.0))),
    ],
)
def test_another_shape_or_dtype_is_another_structure(xs):
    for x in xs:
        by_tape(lambda x: x * x)(x)
    assert compilations() == 2


def test_what_makes_another_structure():
    x, y = constant(np.ones((2, 3))), constant(np.ones((2, 3)))
    programs = [
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: np.sum(x * y, axis=0),
        lambda x, y: np.sum(x * y, axis=1),
        lambda x, y: x * x,
    ]
    for f in programs:
        for source in (x, y, [x, y], [y, x]):
            with GradientTape() as tape:
                tape.watch([x, y])
                z = f(x, y)
            tape.gradient(z, source)
    assert tapec.cache_info().size == 20


def test_a_number_that_changes_each_step_becomes_an_input():
    x = constant(3.0)
    for k in range(10):
        found = by_tape(lambda x, k: x * x * (0.1 * k))(x, k)
        assert found.numpy() == pytest.approx(0.6 * k, rel=1e-15)
    assert compilations() == 2


def test_a_number_that_stays_is_a_literal():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sin(x) * 7.25
    assert 7.25 in constants(tape.source(y, x))


def test_one_number_changes_and_another_stays():
    x = constant(0.3)
    for k in range(5):
        rate = 1.0 + k
        with GradientTape() as tape:
            tape.watch(x)
            y = np.sin(x * 7.25) * rate
        assert tape.gradient(y, x).numpy() == pytest.approx(np.cos(0.3 * 7.25) * 7.25 * rate, rel=1e-14)
    assert 7.25 in constants(tape.source(y, x))
    assert compilations() == 2


def test_numbers_that_change_one_after_the_other():
    x = constant(0.5)
    values = [1.0, 1.0, 1.0]
    for k in range(12):
        values[k % 3] += 1.0
        a, b, c = values
        found = by_tape(lambda x, a, b, c: x * x * a + x * b + np.sin(x) * c)(x, *values)
        assert found.numpy() == pytest.approx(a + b + c * np.cos(0.5), rel=1e-15)
    assert compilations() <= 4


def test_integer_numbers_that_change():
    x = constant(2.0)
    for n in range(1, 8):
        found = by_tape(lambda x, n: x**n)(x, n)
        assert found.numpy() == pytest.approx(n * 2.0 ** (n - 1), rel=1e-14)
    assert compilations() == 2


def test_numbers_that_change_take_the_dtype_they_meet():
    x = constant(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    for rate in (2.0, 3.0, 4.0):
        with GradientTape() as tape:
            tape.watch(x)
            rows = x[np.array([0])] * rate
            y = rows[np.array([0])]
        found = tape.gradient(y, x)
        assert found.dtype == np.float32 and np.asarray(found).tolist() == [[rate, rate], [0.0, 0.0]]


def test_the_kind_of_a_number_belongs_to_the_structure():
    x = constant(np.float32(2.0))
    for number in (2, 2.0, np.float64(2.0), True, 2 + 0j):
        found = by_tape(lambda x, number: x * number)(x, number)
        assert found.dtype == np.float32
        assert found.numpy() == (1.0 if number is True else 2.0)


def test_nan_as_a_number():
    x = constant(2.0)
    for number in (1.0, math.nan, float("nan"), 2.0, math.inf, math.nan):
        found = by_tape(lambda x, number: x * x * number)(x, number).numpy()
        assert np.isnan(found) if np.isnan(number) else found == 4.0 * number
    assert compilations() == 2


def test_a_negative_zero_is_not_a_zero():
    x = constant(2.0)
    assert math.copysign(1.0, by_tape(lambda x: x * 0.0)(x).numpy()) == 1.0
    assert math.copysign(1.0, by_tape(lambda x: x * -0.0)(x).numpy()) == -1.0
    assert math.copysign(1.0, by_tape(lambda x: x * 0.0)(x).numpy()) == 1.0


def test_a_complex_negative_zero_is_not_a_zero():
    z = constant(2.0 + 1.0j)
    for zero in (complex(0.0, 3.0), complex(-0.0, 3.0), complex(0.0, 3.0)):
        assert by_tape(lambda z, a: z * a)(z, zero).numpy() == np.conj(zero)
    assert compilations() == 2


def test_the_cache_is_bounded():
    x = constant(np.ones(3))

    def chain(n):
        def f(x):
            for _ in range(n):
                x = x * x
            return x

        return f

    with tapec.settings(cache_size=4):
        for n in range(1, 12):
            by_tape(chain(n))(x)
            assert tapec.cache_info().size <= 4
        assert tapec.cache_info().maxsize == 4
        by_tape(chain(11))(x)
        before = compilations()
        by_tape(chain(11))(x)
        assert compilations() == before
        by_tape(chain(1))(x)
        assert compilations() == before + 1


def test_what_is_used_stays():
    x = constant(np.ones(3))
    with tapec.settings(cache_size=3):
        by_tape(np.sin)(x)
        for f in (np.cos, np.tan, np.exp, np.sqrt, np.square):
            by_tape(f)(x)
            before = compilations()
            by_tape(np.sin)(x)
            assert compilations() == before


def test_settings_are_part_of_the_structure():
    x = constant(np.ones(3))
    by_tape(np.sin)(x)
    with tapec.settings(fast_math=True):
        by_tape(np.sin)(x)
    assert compilations() == 2
    by_tape(np.sin)(x)
    assert compilations() == 2


def test_clearing():
    x = constant(3.0)
    by_tape(np.sin)(x)
    tapec.cache_clear()
    assert tapec.cache_info()[:4] == (0, 0, 0, 0)
    by_tape(np.sin)(x)
    assert compilations() == 1


def test_threads_compile_once():
    x = constant(np.ones(5))
    slope = np.exp(np.sin(1.0)) * (np.cos(1.0) + np.sin(1.0))

    def work(k):
        for _ in range(20):
            np.testing.assert_allclose(by_tape(lambda x: np.exp(np.sin(x) * x))(x).numpy(), slope, rtol=1e-14)

    together(work)
    assert compilations() == 1


def test_threads_with_structures_and_numbers_of_their_own():
    def work(k):
        x = constant(np.full(k + 1, 0.5))
        for n in range(30):
            found = by_tape(lambda x, a: np.sin(x) * a)(x, n + k).numpy()
            np.testing.assert_allclose(found, np.cos(0.5) * (n + k), rtol=1e-14)

    with tapec.settings(cache_size=3):
        together(work)


# -- memory ----------------------------------------------------------------------------------------------------------
def test_a_used_tape_holds_no_tensor():
    x = constant(np.ones(3))
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        alive = weakref.ref(y)
        z = y * y
    tape.gradient(z, x)
    del y, z
    assert alive() is None


def test_a_persistent_tape_holds_its_tensors():
    x = constant(np.ones(3))
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        alive = weakref.ref(y)
        z = y * y
    tape.gradient(z, x)
    del y
    assert alive() is not None
    del tape
    assert alive() is None


def test_a_tape_left_by_an_exception_is_freed():
    def failing():
        x = constant(np.ones(3))
        with GradientTape() as tape:
            tape.watch(x)
            failing.alive = weakref.ref(tape)
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    gc.collect()
    assert failing.alive() is None


def test_a_tensor_does_not_keep_its_tape():
    x = constant(np.ones(3))
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    alive = weakref.ref(tape)
    del tape
    assert alive() is None
    assert y.numpy().tolist() == [1.0, 1.0, 1.0]


def test_the_cache_holds_no_arrays():
    x = constant(np.ones(3))
    big = constant(np.ones(1000))
    alive = weakref.ref(big)
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x) * np.sum(big)
    tape.gradient(y, x)
    del big, tape, y
    assert alive() is None


def test_training_leaves_memory_flat():
    rng = np.random.default_rng(0)
    w, b = Variable(rng.standard_normal((5, 3))), Variable(np.zeros(3))
    x, y = rng.standard_normal((20, 5)), rng.standard_normal((20, 3))

    def steps(n):
        for k in range(n):
            with GradientTape(persistent=k % 10 == 0) as tape:
                loss = np.mean((np.tanh(x @ w + b) - y) ** 2) * (1.0 + k)
            dw, db = tape.gradient(loss, [w, b])
            w.assign_sub(0.01 / (1.0 + k) * dw)
            b.assign_sub(0.01 / (1.0 + k) * db)

    steps(50)
    tracemalloc.start()
    try:
        steps(500)  # allocators fill their pools
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        steps(1000)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 2_000  # two bytes a step


@pytest.mark.parametrize("persistent", [False, True])
def test_training_leaves_nothing_to_the_garbage_collector(persistent):
    w, x = Variable(np.ones((5, 3))), np.ones((20, 5))

    def step():
        with GradientTape(persistent) as tape:
            loss = np.mean(np.tanh(x @ w) ** 2)
        w.assign_sub(0.01 * tape.gradient(loss, w))

    step()
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            step()
        assert gc.collect() < 100
    finally:
        gc.enable()


def test_ever_new_structures_leave_memory_bounded():
    x = constant(0.5)

    def steps(start, n):
        for k in range(start, start + n):
            by_tape(lambda x, k: x * np.ones(k))(x, k)

    with tapec.settings(cache_size=5):
        steps(1, 40)
        gc.collect()
        tracemalloc.start()
        try:
            held = []
            for start, n in ((100, 40), (200, 60), (300, 60)):
                steps(start, n)
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        assert tapec.cache_info().size == 5
    growth = min(held[1] - held[0], held[2] - held[1])  # a table of Python's that doubles is no leak
    assert growth < 60_000  # a thousand bytes a structure, which was no longer kept
