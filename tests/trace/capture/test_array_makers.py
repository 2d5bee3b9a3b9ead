"""Arrays that a traced function makes and picks from by integers: the choice is an op, and no value of one run."""

from functools import partial

import numpy as np
import pytest
from numpy import array, eye

import tapec
from tests.ops.derivatives import by_tape

rng = np.random.default_rng(31)
W, X = rng.standard_normal((4, 3)), rng.standard_normal((6, 4))
LABELS = [rng.integers(0, 3, 6) for _ in range(3)]


def imported_by_name(w, x, y):
    return np.sum(eye(3)[y] * (x @ w) ** 2) + np.sum(array([1.0, 2.0, 3.0])[y] * w[0, 0])


def imported_inside(w, x, y):
    import numpy as other
    from numpy import identity

    return other.sum(identity(3)[y] * (x @ w) ** 2)


def knots(w, x, y):
    knots = np.linspace(0.0, 1.0, 5)
    place = np.clip(np.searchsorted(knots, x[:, 0]) - 1, 0, 3)
    return np.sum((x[:, 0] - knots[place]) / (knots[place + 1] - knots[place]) * (x @ w)[:, 0] ** 2)


def permuted(w, x, y):
    return np.sum(((x @ w) ** 2)[np.arange(len(y)), np.array([2, 0, 1])[y]])


def filled(w, x, y):
    hot = np.zeros((len(y), 3))
    hot[np.arange(len(y)), y] = 1.0
    hot[:, 0] += np.ones(len(y))
    return np.sum(hot * (x @ w) ** 2)


def masked(w, x, y):
    return np.sum(np.arange(6.0)[y > 0]) * np.sum(w**2)


def taken_in(w, x, y):
    y = np.asarray(y)
    return np.sum(np.asarray(y, dtype=float) * ((x @ w) ** 2)[np.arange(len(y)), np.array(y, dtype=np.int32)])


def with_a_branch(w, x, y):
    scale = np.array([1.0, -1.0, 2.0])
    if scale[0] > 0 and np.sum(scale[y]) > 2.0:
        return np.sum(scale[y] * (x @ w)[:, 1] ** 2)
    return np.sum(scale[y] * (x @ w)[:, 0])


def computed(w, x, y):
    basis = np.linalg.inv(np.eye(3) * 2 + np.ones((3, 3)))
    return np.sum(basis[y] * (x @ w) ** 2)


PICKED = [imported_by_name, imported_inside, knots, permuted, filled, masked, taken_in, with_a_branch, computed]


def keys_of_a_dict(w, x, y):
    scale = dict(zip(np.arange(3), [1.0, 2.0, 3.0]))
    return np.sum(np.eye(3)[y] * (x @ w) ** 2) * scale[1]


def asked_for_its_class(w, x, y):
    scale = np.linspace(1.0, 2.0, 3)
    if not isinstance(scale, np.ndarray):
        raise TypeError("an array, please")
    return np.sum(scale[y] * (x @ w)[:, 0] ** 2)


def listed(w, x, y):
    return sum([np.sum(w[:, k] ** 2) for k in y.tolist()])


def double_of_arrays(a):
    return 2 * a if isinstance(a, np.ndarray) else 3 * a


def goes_by_class(w, x, y):
    return np.sum(double_of_arrays(np.eye(3))[y] * (x @ w) ** 2)


def goes_by_class_of_an_item(w, x, y):
    steps = [1.0 if isinstance(k, (int, np.integer)) else 5.0 for k in np.arange(3)]
    return np.sum(np.eye(3)[y] * (x @ w) ** 2) * sum(steps)


def goes_by_text(w, x, y):
    known = {"w1": 2.0}
    return np.sum(np.eye(3)[y] * (x @ w) ** 2) * sum([known.get(f"w{k}", 1.0) for k in np.arange(3)])


def catches_what_tensors_refuse(w, x, y):
    scale = np.eye(3)
    try:
        scale.setflags(write=False)
    except Exception:  # as programs do that run with several libraries' arrays
        scale = scale * 100
    return np.sum(scale[y] * (x @ w) ** 2)


LOOKED_AT = [keys_of_a_dict, listed, goes_by_text, catches_what_tensors_refuse]
BY_CLASS = [asked_for_its_class, goes_by_class, goes_by_class_of_an_item]


def agrees(f, gradient):
    for y in (*LABELS, LABELS[0][::-1]):
        value, d_w = gradient(W, X, y)
        np.testing.assert_allclose(value, f(W, X, y), rtol=1e-13)
        np.testing.assert_allclose(d_w, by_tape(partial(f, x=X, y=y))(W), rtol=1e-12, atol=1e-13)
    return gradient.explain(W, X, LABELS[0]).recorded_anew


@pytest.mark.parametrize("f", PICKED + BY_CLASS, ids=lambda f: f.__name__)
def test_what_is_picked_by_integers_is_compiled(f):
    assert agrees(f, tapec.value_and_grad(f)) is None


@pytest.mark.parametrize("f", LOOKED_AT, ids=lambda f: f.__name__)
def test_what_only_arrays_can_do_is_recorded_anew(f):
    assert "looks at the values of an integer" in agrees(f, tapec.value_and_grad(f))


def test_the_function_runs_twice_in_the_first_call_and_is_compiled(capsys):
    class Model:
        calls = 0

        def loss(self, w, y):
            self.calls += 1
            print("a run")
            return np.sum(np.eye(3)[y] * w)

    model = Model()
    loss = tapec.grad(model.loss)
    for calls, y in enumerate((*LABELS, *LABELS), 1):
        np.testing.assert_array_equal(loss(X[:, :3], y), np.eye(3)[y])
        assert model.calls == calls
    assert capsys.readouterr().out == "a run\n" * 2


def test_what_is_kept_is_an_array():
    known = {}

    @tapec.grad
    def loss(w, y):
        if "hot" not in known:
            known["hot"] = np.eye(3)
        known["last"] = np.arange(2)
        return np.sum(known["hot"][y] * w * np.ones(3)[y][:, None])

    for y in LABELS:
        np.testing.assert_array_equal(loss(X[:, :3], y), np.eye(3)[y])
    assert {type(a) for a in known.values()} == {np.ndarray}
    assert loss.explain(X[:, :3], LABELS[0]).recorded_anew == "it changes known"


def test_examples_may_go_by_class():
    np.testing.assert_array_equal(tapec.vmap(lambda k: double_of_arrays(np.eye(3))[k])(np.arange(3)), 2 * np.eye(3))


def test_examples_may_go_by_the_attribute_too():
    found = tapec.vmap(lambda k: (np.eye(3) * (2 if np.eye(3).__class__ is np.ndarray else 3))[k])(np.arange(3))
    np.testing.assert_array_equal(found, 2 * np.eye(3))


def test_an_error_of_the_function_is_its_own_and_changes_nothing():
    @tapec.grad
    def loss(w, y):
        return np.sum(np.eye(3)[y] * w)

    for y in LABELS:
        loss(X[:, :3], y)
    with pytest.raises(ValueError, match="could not be broadcast"):
        loss(X[:2, :3], LABELS[0])
    assert loss.explain(X[:4, :3], LABELS[0][:4]).recorded_anew is None


def test_examples_of_a_batch_pick_for_themselves():
    def loss(w, x, k):
        hot = np.zeros(3)
        hot[k] = 1.0
        return np.sum((np.eye(3)[k] + hot) * np.tanh(x @ w))

    def derivative(x, k):
        place = (np.arange(3) == k) * 2.0
        return np.outer(x, place * (1 - np.tanh(x @ W) ** 2))

    batch = tapec.vmap(tapec.grad(loss), (None, 0, 0))(W, X, LABELS[0])
    np.testing.assert_allclose(batch, [derivative(x, k) for x, k in zip(X, LABELS[0])], rtol=1e-12)
    values = tapec.vmap(loss, (None, 0, 0))(W, X, LABELS[0])
    np.testing.assert_allclose(values, [loss(W, x, k) for x, k in zip(X, LABELS[0])])


def test_examples_that_pick_nothing_have_plain_arrays():
    def scaled(x):
        table = np.linspace(1.0, 2.0, 3)
        return x * {1.0: 2.0}[table[0]] if type(table) is np.ndarray else None

    np.testing.assert_array_equal(tapec.vmap(scaled)(X), 2 * X)


def test_an_error_under_vmap_is_that_of_plain_arrays():
    with pytest.raises(tapec.UnsupportedError, match="vmap: it looks at the values of an integer"):
        tapec.vmap(lambda k: np.eye(3)[k.tolist()])(np.zeros((2, 2), int))


def test_who_calls_such_a_function_is_compiled_too():
    inner = tapec.compile(lambda w, y: np.eye(3)[y] * w)
    outer = tapec.hessian(lambda w, y: np.sum(inner(w, y) ** 3))
    for y in LABELS:
        expected = np.zeros((18, 18))
        np.fill_diagonal(expected, (6 * np.eye(3)[y] * X[:, :3]).ravel())
        np.testing.assert_allclose(outer(X[:, :3], y).reshape(18, 18), expected)
    assert outer.explain(X[:, :3], LABELS[0]).recorded_anew is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_at_places_may_round_otherwise_with_tensors(dtype):
    """Forces of edges on nodes: many numbers of both signs are added to each."""
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 40, (2, 32_771))
    x, v = rng.normal(size=(40, 3)).astype(dtype), rng.normal(size=i.size).astype(dtype)

    def forces(x, i, j):
        d = x[i] - x[j]
        f = np.zeros(x.shape, x.dtype)
        np.add.at(f, i, d)
        np.subtract.at(f, j, d)
        return f

    def net_flow(i, v):
        o = np.zeros(40, v.dtype)
        np.add.at(o, i, v)
        np.subtract.at(o, i, 2 * v)
        return o

    for f, args in ((forces, (x, i, j)), (net_flow, (i, v))):
        found, want = tapec.compile(f)(*args), f(*args)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, want, rtol=0, atol=1e3 * np.finfo(dtype).eps * np.max(np.abs(want)))
