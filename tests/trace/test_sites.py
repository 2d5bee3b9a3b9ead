"""Calls at places of the user's program that have made them before: the same records and values; others are told."""

import gc
import weakref

import numpy as np
import pytest

import tapec
from tapec.trace import sites
from tapec.trace.sites import MISS, SITES
from tests.benchmarks.kinds import ONE, SEVERAL, arrays, function_of

A = np.arange(12.0).reshape(3, 4) - 5.0
ENOUGH = 20  # calls after which a site is there


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    SITES.clear()
    monkeypatch.setattr(sites, "_missed", {})


def sites_of(f):
    return [site for site in SITES.values() if getattr(site, "code", None) is f.__code__]


def recorded(operate, operands, count):
    with tapec.GradientTape() as tape:
        tape.watch(operands)
        operate(count, *operands)
    places = [entry[4:6] for entry in tape.log.records]  # the same line has several as Python gets faster
    assert {code.co_filename for code, _ in places} <= {
        operate.__code__.co_filename
    }  # a comprehension has its own code
    lines = [next(line for start, end, line in code.co_lines() if start <= at < end) for code, at in places]
    return [(op, params, line) for (op, _, params, *_), line in zip(tape.log.records, lines, strict=True)]


def counting(site, taken):
    def counted(function, args, kwargs, depth):
        found = site(function, args, kwargs, depth + 1)
        taken.append(found is not MISS)
        return found

    return counted


@pytest.mark.parametrize("make", [tapec.constant, tapec.Variable])
@pytest.mark.parametrize("code", ONE + SEVERAL)
def test_the_same_is_recorded_by_sites(code, make, monkeypatch):
    watched, plain = arrays()
    operate, names = function_of(code, plain)
    operands = [make(watched[name]) for name in names]
    for _ in range(3):
        once = recorded(operate, operands, 1)
    assert recorded(operate, operands, ENOUGH) == once * ENOUGH
    taken = []
    made = sites_of(operate)
    for place, site in [*SITES.items()]:
        monkeypatch.setitem(SITES, place, counting(site, taken) if site in made else site)
    assert recorded(operate, operands, ENOUGH) == once * ENOUGH
    assert len(taken) == len(made) * ENOUGH and all(taken)


SAME_PLACE = {
    "another shape": [lambda x: x, lambda x: x[:2]],
    "another dtype": [lambda x: x, lambda x: x.astype(np.float32)],
    "no array": [lambda x: x, lambda x: x[0, 0], lambda x: np.float64(2.0), lambda x: 3.0, lambda x: [1.0, 2.0]],
    "a plain one": [lambda x: x, lambda x: A, lambda x: A.T],
    "a Variable": [lambda x: x, lambda x: tapec.Variable(A), lambda x: tapec.Variable(A[0])],
    "a number": [lambda x: x[0, 0], lambda x: x[0], lambda x: x[0, 0] > 0, lambda x: tapec.constant(np.float32(1.5))],
    "a mask": [lambda x: x, lambda x: x > 0, lambda x: A > 0],
}


@pytest.mark.parametrize("case", SAME_PLACE)
def test_other_operands_at_the_same_place(case):
    """What comes first gets a site, the others are told from it, and it is still there for what comes again."""
    first, *others = SAME_PLACE[case]
    x = tapec.constant(A)

    def at(v):
        return np.mean(v)

    with tapec.GradientTape() as tape:
        tape.watch(x)
        for _ in range(ENOUGH):
            at(first(x))
        assert len(sites_of(at)) == 1
        for make in [*others, first, *others]:
            given = make(x)
            expected = np.mean(given if isinstance(given, (np.ndarray, list, float)) else given.numpy())
            found = at(given)
            assert np.asarray(getattr(found, "numpy", lambda v=found: v)()).tobytes() == expected.tobytes()
            assert np.asarray(getattr(found, "numpy", lambda v=found: v)()).dtype == expected.dtype
    assert len(sites_of(at)) == 1


WORDS = [
    (lambda x, w: np.sum(x, axis=w), [0, 1, True, None, (0, 1), (1,), -1]),
    (lambda x, w: np.sum(x, w), [1, 0, None, (1, 0)]),
    (lambda x, w: np.roll(x, w, axis=1), [1, -1, True, (1,)]),
    (lambda x, w: np.sum(x, axis=0, keepdims=w), [True, False, 1]),
    (lambda x, w: np.diff(x, n=w), [1, 2, True]),
    (lambda x, w: np.quantile(x, w), [0.5, 0.25, 0.0, -0.0, 1, [0.5, 0.25], (0.5, 1)]),
    (lambda x, w: np.repeat(x, w, axis=0), [[1, 2, 0], [1, 1, 1], [True, 0, 2], (1, 2, 0)]),
    (lambda x, w: np.einsum(w, x), ["ij->i", "ij->j", "ij->"]),
    (lambda x, w: np.einsum(x, w), [[0, 1], [1, 0], (1, 0), [0, 0]]),
    (lambda x, w: np.linalg.norm(x, ord=w, axis=1), [2, 1, np.inf, 2.0, None]),
    (lambda x, w: np.sum(x, dtype=w), [np.float32, np.float64, np.dtype("f4"), None]),
    (lambda x, w: np.reshape(x, (4, 3), order=w), ["C", "F"]),
    (lambda x, w: np.concatenate([x, w]), [A, A[:1], np.ones((1, 4), np.float32)]),
    (lambda x, w: np.concatenate(w), [[A, A], (A, A), [A, A, A]]),
    (lambda x, w: np.stack([x, x], axis=w), [0, 1, -1]),
]


@pytest.mark.parametrize("k", range(len(WORDS)))
def test_other_words_at_the_same_place(k):
    """1, True and 1.0 are equal, and so are 0.0 and -0.0, lists and what they hold, but do not mean the same."""
    call, words = WORDS[k]
    x = tapec.constant(A[:, :3] if k == 8 else A)  # of which a diagonal may be taken

    def outcome(w, operand):
        try:
            value = call(operand, w)
        except Exception as error:
            return type(error) if not isinstance(error, tapec.TapecError) else ValueError
        value = value.numpy() if isinstance(value, tapec.Tensor) else value
        return value.dtype, value.shape, value.tobytes()

    with tapec.GradientTape() as tape:
        tape.watch(x)
        for first in words:
            expected = [outcome(w, x) for w in words]
            SITES.clear()
            sites._missed.clear()
            for _ in range(ENOUGH):
                outcome(first, x)
            assert [outcome(w, x) for w in words] == expected
    for w, found in zip(words, expected):
        plain = outcome(w, x.numpy())
        if not isinstance(plain, type) and not isinstance(found, type):
            assert found[:2] == plain[:2]


def test_another_function_or_call_at_the_same_place():
    x = tapec.constant(A)

    def call(f, *args, **kwargs):
        return f(*args, **kwargs)

    with tapec.GradientTape() as tape:
        tape.watch(x)
        for _ in range(ENOUGH):
            call(np.sum, x, axis=0)
        assert len(sites_of(call)) == 1
        out = tapec.constant(np.zeros(4))
        for found, expected in [
            (call(np.prod, x, axis=0), np.prod(A, axis=0)),
            (call(np.sum, x), np.sum(A)),
            (call(np.sum, x, 1), np.sum(A, 1)),
            (call(np.sum, x, keepdims=True), np.sum(A, keepdims=True)),
            (call(np.sum, x, axis=0, keepdims=True), np.sum(A, axis=0, keepdims=True)),
            (call(np.sum, x, axis=0, out=out), np.sum(A, axis=0)),
            (call(np.sum, a=x, axis=0), np.sum(A, axis=0)),
            (call(np.sum, x, axis=0), np.sum(A, axis=0)),
        ]:
            assert np.array_equal(found.numpy(), expected) and found.shape == expected.shape
        assert np.array_equal(out.numpy(), np.sum(A, axis=0))
        with pytest.raises(Exception, match="axis"):
            call(np.sum, x, axis=2)
        with pytest.raises(TypeError):
            call(np.sum, x, axes=0)


def test_many_kinds_of_calls_at_one_place_are_left_alone():
    def call(x, axis):
        return np.sum(x, axis=axis)

    x = tapec.constant(np.ones((2, 3, 4, 5, 6, 7)))
    with tapec.GradientTape() as tape:
        tape.watch(x)
        for axis in [*range(6)] * 5 * ENOUGH:
            assert call(x, axis).shape == np.sum(x.numpy(), axis=axis).shape
    assert list(SITES.values()) == [False]


def test_in_a_traced_function_no_sites_are_made():
    def f(x):
        for _ in range(3 * ENOUGH):
            x = np.cumsum(x, axis=0) * 0.1
        return np.sum(x)

    tapec.grad(f)(A)
    assert not SITES


def test_a_site_knows_the_line_of_the_user():
    def f(x):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            for _ in range(2 * ENOUGH):
                y = np.cumsum(x, axis=0)
        return tape, y

    tape, _ = f(tapec.constant(A))
    assert len(sites_of(f)) == 1
    assert {entry[4] for entry in tape.log.records} == {f.__code__}
    lines = {
        line for start, end, line in f.__code__.co_lines() for entry in tape.log.records if start <= entry[5] < end
    }
    assert lines == {f.__code__.co_firstlineno + 4}


def test_an_array_that_changes_between_calls():
    """The record holds what the array held."""
    places, x = np.array([0, 2]), tapec.constant(A)

    def call(tape):
        return np.add.reduceat(x, places, axis=1)

    for _ in range(ENOUGH):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            call(tape)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        first = call(tape)
        places[1] = 3
        second = call(tape)
        y = np.sum(first[:, 1]) + 10 * np.sum(second[:, 1])
    assert sites_of(call)
    assert np.array_equal(tape.gradient(y, x), np.tile([0.0, 0.0, 1.0, 11.0], (3, 1)))


def test_code_that_is_gone_is_not_mistaken():
    """Functions of the same text, made and dropped: a site holds its code, so that no other has its id; as many as
    there may be."""
    x = tapec.constant(A)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        for k in range(40):
            space = {"np": np}
            exec(f"def f(x): return np.sum(x, axis={k % 2})", space)
            for _ in range(ENOUGH):
                assert space["f"](x).shape == (4 - k % 2,)
    assert len(SITES) == 40


def test_no_more_than_so_many(monkeypatch):
    monkeypatch.setattr(sites, "_MANY", 8)
    x = tapec.constant(A)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        for _ in range(30):
            space = {"np": np}
            exec("def f(x): return np.sum(x, axis=0)", space)
            for _ in range(ENOUGH):
                space["f"](x)
            alive = weakref.ref(space["f"])
    assert len(SITES) <= 9
    del space
    gc.collect()
    assert alive() is None  # of the function a site holds its code alone
