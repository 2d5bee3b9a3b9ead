"""Plain arrays of integers and truth values take recorded ones in place: what they hold is that of each call."""

import numpy as np
import pytest

import tapec

ROWS = [np.array(v) for v in ([0.6, -1.2, 0.9, 0.4], [-0.6, 1.2, -0.9, -0.4], [0.1, 0.7, 0.2, 0.75])]
PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


@program
def mask_and(x):
    m = np.ones(4, bool)
    m &= x > 0
    return np.sum(x[m])


@program
def mask_xor(x):
    m = np.ones(4, bool)
    m ^= x > 0
    return np.sum(x * m)


@program
def greater_out(x):
    m = np.zeros(4, bool)
    np.greater(x, 0.5, out=m)
    return np.sum(x * m)


@program
def logical_or_out(x):
    m = np.zeros(4, bool)
    np.logical_or(m, x > 0.5, out=m)
    return np.sum(x * m)


@program
def logical_and_out_where(x):
    m = np.zeros(4, bool)
    np.logical_and(x > 0.5, x < 0.8, out=m, where=np.array([True, True, False, True]))
    return np.sum(x * m)


@program
def sum_out(x):
    c = np.zeros((), int)
    np.sum(x > 0, out=c)
    return np.sum(x * c)


@program
def add_at_recorded_places(x):
    c = np.zeros(3, int)
    np.add.at(c, (x > 0).astype(int), 1)
    return np.sum(x) * c[1]


@program
def add_at_recorded_values(x):
    c = np.zeros(4, int)
    np.add.at(c, [0, 1, 1, 2], (x > 0).astype(int))
    return np.sum(x * c)


@program
def or_at(x):
    c = np.zeros(4, bool)
    np.logical_or.at(c, [0, 1, 1, 2], x > 0)
    return np.sum(x * c)


@program
def copied(x):
    m = np.zeros(4, bool)
    np.copyto(m, x > 0)
    return np.sum(x * m)


@program
def put_one(x):
    m = np.zeros(4, int)
    np.put(m, np.argmax(x), 5)
    return np.sum(x * m)


@program
def put_by_mask(x):
    m = np.zeros(4, int)
    np.putmask(m, x > 0, 5)
    return np.sum(x * m)


@program
def placed(x):
    m = np.zeros(4, int)
    np.place(m, x > 0, [5])
    return np.sum(x * m)


@program
def store_at_recorded_place(x):
    m = np.zeros(4, int)
    m[np.argmax(x)] = 2
    return np.sum(x * m)


@program
def store_by_mask(x):
    m = np.zeros(4, int)
    m[x > 0] = 2
    return np.sum(x * m)


@program
def store_part(x):
    m = np.zeros(4, int)
    m[:2] = (x > 0)[:2]
    return np.sum(x * m)


@program
def add_to_part(x):
    m = np.zeros(4, int)
    m[1:] += (x > 0)[1:]
    return np.sum(x * m)


@program
def add_to_recorded_place(x):
    m = np.zeros(4, int)
    m[np.argmax(x)] += 1
    return np.sum(x * m)


@program
def floatcount(x):
    m = np.zeros(4)
    m += x > 0
    return np.sum(x * m)


@program
def floatcount_out(x):
    m = np.zeros(4)
    np.add(m, x > 0, out=m)
    return np.sum(x * m)


@program
def floatcount_mul(x):
    m = np.ones(4)
    m *= np.sign(x).astype(int)
    return np.sum(x * m)


@program
def shifted_bits(x):
    m = np.zeros(4, int)
    m |= (x > 0).astype(int) << 1
    return np.sum(x * m)


@program
def filled(x):
    m = np.zeros(4, int)
    m.fill(np.argmax(x))
    return np.sum(x * m)


@program
def flat_written(x):
    m = np.zeros((2, 2), int)
    m.flat = (x > 0).astype(int)
    return np.sum(x * m.ravel())


@program
def diagonal(x):
    m = np.zeros((4, 4), int)
    np.fill_diagonal(m, x > 0)
    return np.sum(m @ x)


@program
def put_along(x):
    m = np.zeros((1, 4), int)
    np.put_along_axis(m, np.argmax(x).reshape(1, 1), 1, 1)
    return np.sum(m @ x)


@program
def take_out(x):
    m = np.zeros(2, int)
    np.take(np.arange(4), np.argsort(x)[:2], out=m)
    return np.sum(x[m])


@program
def cumsum_out(x):
    m = np.zeros(4, int)
    np.cumsum(x > 0, out=m)
    return np.sum(x * m)


@program
def clip_out(x):
    m = np.zeros(4, int)
    np.clip(np.argsort(x), 0, 2, out=m)
    return np.sum(x * m)


@program
def float_takes_truth(x):
    m = np.zeros(4)
    np.greater(x, 0, out=m)
    return np.sum(x * m)


@program
def concat_out(x):
    m = np.zeros(8, bool)
    np.concatenate([x > 0, x < 0], out=m)
    return np.sum(x * m[:4])


@program
def frexp_out(x):
    m = np.zeros(4, np.int32)
    np.frexp(x, None, m)
    return np.sum(x * m)


@program
def any_out(x):
    m = np.zeros((), bool)
    np.any(x > 0.7, out=m)
    return np.sum(x) * m


@program
def argmax_out(x):
    m = np.zeros((), np.intp)
    np.argmax(x, out=m)
    return x[m]


@program
def masks_in_a_list(x):
    masks = [np.zeros(4, bool) for _ in range(2)]
    for m in masks:
        m |= x > 0
    return np.sum(x * masks[1])


@program
def row_of_a_mask(x):
    m = np.zeros((2, 4), int)
    m[1] |= x > 0
    return np.sum(m @ x)


def differences(f, x):
    return np.array([(f(x + step) - f(x - step)) / 2e-6 for step in 1e-6 * np.eye(4)])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_traced_function_reads_what_they_hold_at_each_call(f):
    compiled = tapec.value_and_grad(f)
    for x in (*ROWS, ROWS[0]):
        value, gradient = compiled(x)
        np.testing.assert_allclose(value, f(x))
        np.testing.assert_allclose(gradient, differences(f, x), atol=1e-5)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_tape_reads_what_they_hold_then(f):
    for x in ROWS:
        v = tapec.Variable(x)
        try:
            with tapec.GradientTape() as tape:
                y = f(v)
        except tapec.DetachError as error:
            assert f.__name__.startswith("floatcount"), error  # the array could take a gradient
            return
        np.testing.assert_allclose(float(y), f(x))
        np.testing.assert_allclose(tape.gradient(y, v).numpy(), differences(f, x), atol=1e-5)


def test_what_carries_a_gradient_is_refused_with_the_fix():
    def rounded(x):
        m = np.zeros(4, int)
        np.rint(x * 3, out=m, casting="unsafe")
        return np.sum(x * m)

    with pytest.raises(tapec.DetachError, match=r"test_plain_targets.py:\d+: .*Fix: give a tensor as `out`"):
        tapec.grad(rounded)(ROWS[0])


@pytest.mark.parametrize(
    "add",
    [
        lambda a, x: np.add.at(a, [0, 1], [x[0], x[1]]),
        lambda a, x: np.add.at(a, [0, 1], np.array([x[0], x[1]])),
        lambda a, x: np.subtract.at(a, ([0, 1, 0],), (x[0], x[1], x[2])),
        lambda a, x: np.power.at(a, [0, 1], [x[0], 2.0]),
    ],
)
def test_lists_of_tensors_for_at_are_refused_with_the_fix_on_a_tape(add):
    def f(x, a):
        add(a, x)
        return np.sum(a**2)

    x = tapec.Variable(ROWS[0])
    fix = r"test_plain_targets.py:.*\.at\(\) would turn .* Fix: make the array a tensor: np.zeros_like\(x\)"
    with pytest.raises(tapec.DetachError, match=fix), tapec.GradientTape():
        f(x, np.ones(4))
    with tapec.GradientTape() as tape:
        y = f(x, np.ones(4, like=x))
    expected = differences(lambda x: f(x, np.ones(4)), ROWS[0])
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected, rtol=1e-6, atol=1e-6)
