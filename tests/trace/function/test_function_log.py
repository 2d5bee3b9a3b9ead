"""A traced function keeps types, not values: memory of first calls, and what stands for tensors that live no longer."""

import gc
import tracemalloc
from weakref import ref

import numpy as np
import pytest

import tapec
from tapec.log_gradients import tuning as gradients_tuning
from tapec.runtime import tuning as runtime_tuning

N = 1 << 18
X = np.linspace(0.1, 1.0, N)  # 2 MB
RNG = np.random.default_rng(0)
WEIGHTS = [(RNG.normal(size=(128, 128)) * 0.1, np.zeros(128)) for _ in range(4)]
ROWS, LABELS = RNG.normal(size=(2048, 128)), np.eye(128)[RNG.integers(0, 128, 2048)]
SMALL = np.linspace(0.0, 1.0, 500)  # of which a matrix of 2 MB is made


def slope_along(f, x, direction, step=1e-6):
    """The derivative along a direction, by central differences."""
    return (f(x + step * direction) - f(x - step * direction)) / (2.0 * step)


# -- memory -----------------------------------------------------------------------------------------------------------
def chain(x):
    for _ in range(10):
        x = np.sin(x) * 1.5
    return np.sum(x)


def network(weights, h, labels):
    for w, b in weights:
        h = np.tanh(h @ w + b)
    h = h - np.max(h, axis=1, keepdims=True)
    return -np.mean(np.sum(labels * (h - np.log(np.sum(np.exp(h), axis=1, keepdims=True))), axis=1))


def several(x):
    y, z = np.sin(x), np.cos(x)
    for _ in range(8):
        y, z = y * 1.01, z + y
    return {"y": y, "pair": (z, np.sum(z))}


def choices(x):
    y = x
    for _ in range(6):
        y = np.sqrt(y * y + 1.0) - np.roll(y, 1) * x
        if np.sum(y) > 0.0:
            y = np.where(y > 0.5, y, -y)
    return np.sum(y[y > 0.7] ** 2)


def changes(x):
    y = np.zeros_like(x)
    y[:] = x
    for _ in range(6):
        y += np.sin(x) * y
        y[::2] = 0.5 * y[1::2]
    return np.sum(y)


def matrices(x):
    m = x[:, None] * x
    for _ in range(8):
        m = np.tanh(m) + x
    return np.sum(m)


PROGRAMS = {
    "chain": (chain, (X,)),
    "network": (network, (WEIGHTS, ROWS, LABELS)),
    "several results": (several, (X,)),
    "choices": (choices, (X,)),
    "changes in place": (changes, (X,)),
    "matrices of a vector": (matrices, (SMALL,)),
}
NO_LOSS = tapec.value_and_grad, "several results"


def peak(f, *args):
    """The most bytes that a call takes, in multiples of the 2 MB of an array."""
    gc.collect()
    tracemalloc.start()
    try:
        f(*args)
        return tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.sampled(one_in=4, per="transform")  # five seconds each
@pytest.mark.parametrize(
    "transform, name",
    [(t, name) for t in (tapec.compile, tapec.value_and_grad) for name in PROGRAMS if (t, name) != NO_LOSS],
)
def test_a_first_call_takes_at_most_twice_the_memory_of_numpy_or_of_the_next_call(name, transform, monkeypatch):
    monkeypatch.setattr(runtime_tuning, "MEMORY_KEPT_MIN_BYTES", 1 << 40)  # a block that is never touched would count
    f, args = PROGRAMS[name]
    transform(f)(*args)  # imports what it needs
    compiled = transform(f)
    first, _, next_call, by_numpy = peak(compiled, *args), peak(compiled, *args), peak(compiled, *args), peak(f, *args)
    assert first <= 2.0 * max(next_call, by_numpy)


def test_what_the_run_holds_is_what_the_user_holds():
    in_use, held, keeping = [], [], []

    def f(x):
        y = x
        for _ in range(12):
            y = np.tanh(y) * x
            if keeping:
                held.append(y)
        in_use.append(tracemalloc.get_traced_memory()[0] / X.nbytes)
        return np.sum(y)

    for least, most in [(0, 3), (11, 15)]:
        compiled = tapec.compile(f)
        tracemalloc.start()
        try:
            compiled(X)
        finally:
            tracemalloc.stop()
        assert least < in_use[-1] < most
        keeping.append(True)
    np.testing.assert_array_equal(held[0], np.tanh(X) * X)


def test_a_tensor_lives_as_long_as_its_name():
    lives = []

    def f(x):
        y = np.sin(x)
        there = ref(y)
        y = y * 2.0
        lives.append(there() is not None)
        return np.sum(y)

    tapec.grad(f)(X[:3])
    with tapec.GradientTape() as tape:
        x = tapec.constant(X[:3])
        tape.watch(x)
        f(x)
    assert lives == [False, True]


V = np.linspace(0.0, 1.0, 200)


def with_tape(x):
    with tapec.GradientTape() as tape:
        tape.watch(x)
        m = x[:, None] * x
        y = np.sum(np.tanh(m) * m)
        del m
        y = y + np.sum(np.sin(x[:, None] + x) ** 2)
    return np.sum(tape.gradient(y, x) * x)


def with_tape_on_the_way(x):
    """It is entered when `m` is there."""
    m = np.tanh(x[:, None] * x)
    with tapec.GradientTape() as tape:
        tape.watch(m)
        y = np.sum(np.sin(m) ** 3)
        z = y + np.sum(np.cos(x[:, None] + x))
    return z + np.sum(tape.gradient(z, m) * x)


def with_changes(x):
    m = np.tanh(x[:, None] * x) * 2.0
    total = np.sum(np.exp(m))
    m[0] = x
    n = m * m
    m[1] = x * x
    return total + np.sum(n) + np.sum(m * n)


def with_views(x):
    m = np.sin(x[:, None] * x) + x
    row, turned = m[3], m.T
    del m
    total = np.sum(turned * np.cos(turned + x))
    return total + np.sum(row**2)


def with_weak_references(x):
    m = np.sin(x[:, None] * x) + x
    there = ref(m)
    total = np.sum(np.tanh(m) * 2.0)
    return total + np.sum(there() * x)


def with_questions(x):
    total = 0.0
    for k in range(4):
        m = np.tanh(x[:, None] * (x + k))
        if np.sum(m * m) > 1.0:
            total = total + np.sum(m * np.cos(m))
    return total


TO_DO = [with_tape, with_tape_on_the_way, with_changes, with_views, with_weak_references, with_questions]


@pytest.mark.parametrize("program", TO_DO)
def test_code_is_right_whatever_the_run_does_with_its_tensors(program):
    """The code that is compiled gives what the program gives on a tape of the caller's, and so does another call."""
    f = tapec.value_and_grad(program)
    with tapec.GradientTape() as tape:
        x = tapec.constant(V)
        tape.watch(x)
        value = program(x)
    gradient = tape.gradient(value, x)
    for _ in range(2):
        got = f(V)
        np.testing.assert_allclose(got[0], value.numpy(), rtol=1e-12)
        np.testing.assert_allclose(got[1], gradient.numpy(), rtol=1e-10, atol=1e-12)


def test_a_run_that_stands_for_no_other_goes_on():
    """What it relied on holds no longer when it has been compiled: no number is equal to a nan."""

    def f(x):
        y = np.linalg.inv(x)
        return np.sum(y) if np.sum(y) * np.nan > 0.0 else np.sum(y @ y)

    x = np.eye(40) + np.linspace(-0.01, 0.01, 40)
    for _ in range(2):
        assert tapec.value_and_grad(f)(x)[0] == f(x)


# -- identities -------------------------------------------------------------------------------------------------------
def test_tensors_that_come_where_others_were_are_others():
    """Python gives the same identity to one object after the other."""

    def f(x):
        total = x * 0.0
        for k in range(50):
            weight = tapec.constant(np.full(3, float(k)))
            total = total + np.sin(x * weight) * x
            del weight
            other = tapec.constant([1.0, float(k), 2.0])
            total = total - other * (x + other)
        return np.sum(total * total)

    x = np.array([0.3, 0.5, 0.7])
    value, gradient = tapec.value_and_grad(f)(x)
    assert value == pytest.approx(f(x).numpy(), rel=1e-13)
    direction = np.array([1.0, -0.5, 2.0])
    assert gradient @ direction == pytest.approx(slope_along(lambda v: f(v).numpy(), x, direction), rel=1e-6)


def test_results_that_nobody_gets_are_recorded_as_well():
    def f(x):
        total = np.sum(x)
        for _ in range(4):  # a call that comes again has a plan
            total = total + np.sum(np.frexp(x)[0] * x) + np.sum(np.linalg.qr(x, mode="r") ** 2)
        return total

    x = np.array([[1.9, 0.6], [0.3, 1.4]])
    compiled = tapec.value_and_grad(f)
    for _ in range(2):
        value, gradient = compiled(x)
        assert value == pytest.approx(f(x), rel=1e-13)
        for e in np.eye(4).reshape(4, 2, 2):
            assert np.sum(gradient * e) == pytest.approx(slope_along(f, x, e), rel=1e-6)


def test_a_constant_that_changes_was_another_before():
    def f(x):
        c = tapec.constant([1.0, 2.0, 3.0])
        before = np.sum(x * c)
        c[0] = 10.0
        c += x
        view = c[1:]
        view[0] = 7.0 * before
        return before + np.sum(c * c * x) + np.sum(view * x[1:])

    def plain(x):
        c = np.array([1.0, 2.0, 3.0])
        before = np.sum(x * c)
        c = np.array([10.0, 2.0, 3.0]) + x
        c[1] = 7.0 * before
        return before + np.sum(c * c * x) + np.sum(c[1:] * x[1:])

    x = np.array([0.3, 0.5, 0.7])
    compiled = tapec.value_and_grad(f)
    for _ in range(2):
        value, gradient = compiled(x)
        assert value == pytest.approx(plain(x), rel=1e-14)
        for k, e in enumerate(np.eye(3)):
            assert gradient[k] == pytest.approx(slope_along(plain, x, e), rel=1e-6)


def test_a_tensor_kept_from_one_run_is_a_constant_of_the_next():
    kept = []

    def f(x):
        y = np.sin(x)
        kept.append(y)
        return np.sum(y * (kept[0] if len(kept) > 1 else 1.0))

    first, second = tapec.grad(f), tapec.grad(f)
    x = np.array([0.3, 0.5])
    np.testing.assert_allclose(first(x), np.cos(x))
    np.testing.assert_allclose(second(2.0 * x), np.cos(2.0 * x) * np.sin(x))


# -- values that are asked for all the same ----------------------------------------------------------------------------
def test_gradients_operation_by_operation_compute_what_they_need():
    """Several results, calls of compiled functions and gradients of one's own are done again, too."""
    square = tapec.compile(lambda v: v * v)

    @tapec.custom_gradient
    def halved(v):
        return v * v, lambda ct: ct * v

    def f(x, n):
        whole, rest = np.divmod(x * 3.5, 0.7)
        y = np.sum(np.split(x, 2)[1] * rest[:2]) * square(x + whole) + halved(x)
        for k in range(n):
            y = np.sin(y) * x if k % 2 else y * y + x
        return np.sum(y)

    x = np.array([0.3, 0.5, 0.72, 0.95])
    one_by_one = tapec.value_and_grad(f, static_argnums=1)
    for n in range(gradients_tuning.NEW_IN_A_ROW + 4):
        found, whole = one_by_one(x, n), tapec.value_and_grad(f, static_argnums=1)(x, n)
        np.testing.assert_allclose(found[0], whole[0], rtol=1e-13)
        np.testing.assert_allclose(found[1], whole[1], rtol=1e-11)


# -- gradient functions inside -----------------------------------------------------------------------------------------
def test_gradient_functions_that_change_tensors_or_differentiate():
    inner = tapec.grad(lambda v: np.sum(v**3))

    @tapec.custom_gradient
    def cube(v):
        def gradient(ct):
            out = ct * v
            out[1] += 1.0
            with tapec.GradientTape() as tape:
                tape.watch(ct)
                t = np.sum(ct * ct * v)
            return out + tape.gradient(t, ct) + inner(v)

        return v**3, gradient

    def f(x):
        return np.sum(cube(np.sin(x)) * x)

    x = np.array([0.3, 0.5, 0.7])
    v = np.sin(x)
    ct = x
    expected = ct * v + np.array([0.0, 1.0, 0.0]) + 2.0 * ct * v + 3.0 * v * v
    gradient = tapec.grad(f)
    for _ in range(2):
        np.testing.assert_allclose(gradient(x), expected * np.cos(x) + v**3, rtol=1e-13)
