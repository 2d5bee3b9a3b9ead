"""Functions that follow a plan: the same values, records and errors as without one, and no plan where values decide."""

import operator

import numpy as np
import pytest

import tapec
from tapec.trace import tuning

A = np.arange(12.0).reshape(3, 4) - 5.0
B = np.cos(A)
V = np.array([0.0, 2.0, -1.0, 0.0])

ONE = {
    "sum": lambda x: np.sum(x),
    "sum along": lambda x: np.sum(x, 1),
    "sum kept": lambda x: np.sum(x, axis=(0, 1), keepdims=True),
    "sum method": lambda x: x.sum(axis=-1),
    "mean": lambda x: x.mean(0),
    "max": lambda x: np.max(x, axis=0),
    "prod": lambda x: x.prod(),
    "std": lambda x: np.std(x, axis=1),
    "T": lambda x: x.T,
    "conj": lambda x: x.conj(),
    "transpose": lambda x: np.transpose(x, (1, 0)),
    "reshape": lambda x: x.reshape(2, -1),
    "reshape F": lambda x: np.reshape(x, (4, 3), order="F"),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten(),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "astype": lambda x: x.astype(np.float32),
    "cumsum": lambda x: np.cumsum(x),
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "flip": lambda x: np.flip(x, 1),
    "roll": lambda x: np.roll(x, 2, axis=1),
    "diff": lambda x: np.diff(x),
    "row": lambda x: x[1],
    "row and all": lambda x: x[1, :],
    "all of it": lambda x: x[:, :],
    "slice": lambda x: x[1:],
    "column": lambda x: x[:, 1],
    "steps": lambda x: x[::2, ::-1],
    "new axis": lambda x: x[:, None],
    "ellipsis": lambda x: x[..., -1],
    "clip": lambda x: np.clip(x, -1.0, 1.0),
    "clip below": lambda x: np.clip(x, None, 1.0),
    "clip by names": lambda x: x.clip(min=-1.0),
    "quantile": lambda x: np.quantile(x, 0.3, axis=1),
    "append a number": lambda x: np.append(x, -0.0),
    "repeated": lambda x: np.repeat(x, [2, 0, 1], axis=0),
    "taken": lambda x: np.take(x, [2, 0, 2], axis=0),
    "taken flat": lambda x: x.take([5, 1]),
    "weighted": lambda x: np.average(x, axis=0, weights=np.array([1.0, 2.0, 0.5])),
    "tensordot by lists": lambda x: np.tensordot(x, B, axes=([0, 1], [0, 1])),
    "pad": lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=2.0),
    "blocks": lambda x: np.block([[x, x], [B, x]]),
    "cumsum of all": lambda x: x.cumsum(),
    "reduce": lambda x: np.add.reduce(x, axis=1),
    "accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "in single precision": lambda x: np.exp(x, dtype=np.float32),
    "as it is": lambda x: x.astype(float),
    "mT": lambda x: x.mT,
    "gradient": lambda x: np.gradient(x, axis=1),
    "padded at the edge": lambda x: np.pad(x, ((1, 0), (0, 2)), mode="edge"),
    "padded around": lambda x: np.pad(x, 1, mode="wrap"),
    "tensordot of all axes": lambda x: np.tensordot(x, B, axes=([1, 0], [1, 0])),
    "interp": lambda x: np.interp(x, [-5.0, 0.0, 7.0], [1.0, -0.0, 2.0], left=0.5),
    "choose": lambda x: np.choose(np.arange(4) % 2, [x[0], 2.0], mode="clip"),
    "a single choice": lambda x: np.choose(np.zeros(4, int), [x[0]]),
    "polyval": lambda x: np.polyval([1.0, 0.0, -2.0], x),
    "full_like": lambda x: np.full_like(x, 2.5) * x,
    "zeros like": lambda x: np.zeros((3, 4), like=x) + x if isinstance(x, tapec.Tensor) else x,
    "with an array": lambda x: np.dot(x, B.T),
    "after an array": lambda x: np.dot(B.T, x),
}
TWO = {
    "dot": lambda x, y: np.dot(x, y.T),
    "inner": lambda x, y: np.inner(x, y),
    "outer": lambda x, y: np.outer(x[0], y[:, 0]),
    "tensordot": lambda x, y: np.tensordot(x, y, 2),
    "einsum": lambda x, y: np.einsum("ij,kj->ik", x, y),
    "concatenate": lambda x, y: np.concatenate([x, y], axis=1),
    "stack": lambda x, y: np.stack((x, y), -1),
    "stack of scalars": lambda x, y: np.stack([x[0, 0], y[1, 1], x[2, 2]]),
    "vstack": lambda x, y: np.vstack([x, y[0]]),
    "where": lambda x, y: np.where(y > 0, x, 0.0),
    "append": lambda x, y: np.append(x, y),
    "array of tensors": lambda x, y: np.concatenate([x[0], np.array([y[0, 0], y[1, 1] * 2.0])]),
    "dot of an array of tensors": lambda x, y: np.dot(np.array([y[0, 0], y[1, 1] * 2.0]), x[:2]),
    "array and tensor": lambda x, y: np.dot(B.T, x) + np.sum(y),
}


SEVERAL = {
    "split": lambda x: np.split(x, 2, axis=1),
    "split at": lambda x: np.split(x, [1, 3], axis=1),
    "array_split": lambda x: np.array_split(x, 2),
    "unstack": lambda x: np.unstack(x) if hasattr(np, "unstack") else tuple(x),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[0]),
    "meshgrid": lambda x: np.meshgrid(x[0], x[:, 0]),
    "divmod": lambda x: np.divmod(x, 2.5),
    "modf": lambda x: np.modf(x + 0.25),
    "slogdet": lambda x: np.linalg.slogdet(x[:, :3] + 9 * np.eye(3)),
    "eigh": lambda x: np.linalg.eigh(x @ x.T),
    "qr": lambda x: np.linalg.qr(x.T),
}


def records(f, *arrays):
    """What a tape records, the value, and the gradient of its sum of squares."""
    tensors = [tapec.constant(a) for a in arrays]
    with tapec.GradientTape() as tape:
        tape.watch(tensors)
        y = f(*tensors)
        lines = [(entry[0], entry[2]) for entry in tape.log.records]
        loss = np.sum(y * y)
    return lines, y.numpy(), [None if g is None else g.numpy() for g in tape.gradient(loss, tensors)]


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_same_with_and_without(name, no_plans):
    f, arrays = (ONE[name], [A]) if name in ONE else (TWO[name], [A, B])
    first = records(f, *arrays)
    records(f, *arrays)
    planned = records(f, *arrays)
    np.testing.assert_allclose(first[1], f(*arrays), rtol=1e-14)
    np.testing.assert_array_equal(planned[1], first[1])
    assert planned[1].dtype == first[1].dtype
    assert planned[0][-1:] == first[0][-1:]
    assert len(planned[0]) <= len(first[0])
    for g, h in zip(first[2], planned[2], strict=True):
        np.testing.assert_array_equal(g, h)


@pytest.mark.parametrize("name", SEVERAL)
def test_several_results(name, no_plans):
    f = SEVERAL[name]
    want = f(A)

    def total(x):
        return sum(np.sum(np.cos(k + 1.0) * part * part) for k, part in enumerate(f(x)))

    first = records(total, A)
    records(total, A)
    planned = records(total, A)
    found = f(tapec.constant(A))
    assert len(found) == len(want)
    assert isinstance(found, type(want))
    for got, part in zip(found, want, strict=True):
        np.testing.assert_allclose(got.numpy(), part, rtol=1e-14)
        assert got.dtype == part.dtype
    assert planned[0] == first[0]
    np.testing.assert_array_equal(planned[1], first[1])
    np.testing.assert_array_equal(planned[2][0], first[2][0])


N = np.int64
DECIDING = {  # arrays and numbers of NumPy's whose values decide: k differs from call to call
    "axis": lambda x, k: np.sum(x, N(k % 2)) + np.sum(x, axis=N(k % 2)),
    "order": lambda x, k: np.linalg.norm(x, np.float64(k + 1), N(k % 2)),
    "ddof": lambda x, k: np.std(x, ddof=N(k)),
    "period": lambda x, k: np.unwrap(x * k, period=np.float64(k + 1)),
    "nan": lambda x, k: np.nan_to_num(x * np.nan, nan=np.float64(k)),
    "shift": lambda x, k: np.roll(x, N(k), N(k % 2)) + np.roll(x, np.array([k, 1]), (0, 1)),
    "shape": lambda x, k: np.reshape(x, np.array([(3, 4), (4, 3), (2, 6), (6, 2)][k])),
    "axes": lambda x, k: np.transpose(x, np.array([(0, 1), (1, 0)][k % 2])),
    "contracted": lambda x, k: np.tensordot(x, B, axes=np.array([[k % 2], [k % 2]])),
    "repeats": lambda x, k: np.repeat(x, np.array([k, 1, 2]), 0),
    "widths": lambda x, k: np.pad(x, np.array([[k, 0], [1, k]])),
    "sections": lambda x, k: np.split(x, np.array([k % 3 + 1]), 0)[0],
    "mask": lambda x, k: x[np.array([k > 0, True, k > 1])],
    "fractions": lambda x, k: np.quantile(x, np.array([0.1 * k])) + np.nanquantile(x, np.array(0.2 * k)),
    "edges": lambda x, k: np.histogram(x, np.array([-5.0, k + 1, 13.0]))[0],
    "places": lambda x, k: np.gradient(x, np.array([0.0, 1.0, 1.0 + k]), axis=0),
    "weights": lambda x, k: np.average(x, axis=1, weights=np.array([1.0, k, 2.0, 3.0])),
    "counts": lambda x, k: np.bincount(np.array([0, k, 1]), x[0, :3]),
    "dims": lambda x, k: np.unravel_index(np.argmax(x), np.array([(4, 3), (3, 4)][k % 2]))[0],
    "condition": lambda x, k: np.compress(np.array([k > 0, True]), x, 0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DECIDING)
def test_no_plan_where_values_decide(name, no_plans):
    f, x = DECIDING[name], tapec.constant(A)
    for k in (1, 2, 3, 0, 1, 3, 2):
        want, got = f(A, k), f(x, k).numpy()
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_true_is_not_one(no_plans):
    x = A.astype(np.float32)
    for k in (True, True, True, 1, 1, 1, False, 0, True):
        assert np.append(tapec.constant(x), k).dtype == np.append(x, k).dtype
    flags = A > 0
    for k in (1, 1, 1, True, 1, True, True, False, 0, False):
        got, want = np.diff(tapec.constant(flags), prepend=k), np.diff(flags, prepend=k)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.numpy(), want)


def test_parts_of_a_split_are_views(no_plans):
    for _ in range(4):
        plain, x = A.copy(), tapec.constant(A)
        for y in (plain, x):
            left, right = np.split(y, 2, axis=1)
            left[0] = 7.0
            y[:, 3] = 8.0
        np.testing.assert_array_equal(x.numpy(), plain)
        np.testing.assert_array_equal(right.numpy(), plain[:, 2:])


def structure(f, *arrays):
    tensors = [tapec.constant(a) for a in arrays]
    with tapec.GradientTape() as tape:
        tape.watch(tensors)
        f(*tensors)
    return tape.log.key


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_a_plan_records_the_same_structure(name, no_plans):
    """So that what was compiled for the first step of a loop serves all of them."""
    f, arrays = (ONE[name], [A]) if name in ONE else (TWO[name], [A, B])
    keys = [structure(f, *arrays) for _ in range(4)]
    assert keys[0] == keys[1] == keys[2] == keys[3]


@pytest.mark.parametrize("watched", [(True, False), (False, True), (False, False)])
def test_some_operands_are_watched(watched, no_plans):
    for f in (np.outer, np.inner, np.vdot, np.cross, lambda x, y: np.append(x, y)):
        keys, values = [], []
        for _ in range(4):
            tensors = [tapec.constant(A[0, :3]), tapec.constant(B[1, :3])]
            with tapec.GradientTape() as tape:
                tape.watch([t for t, is_watched in zip(tensors, watched, strict=True) if is_watched])
                y = f(*tensors)
                loss = np.sum(y * y)
            keys.append(tape.log.key)
            values.append([None if g is None else g.numpy() for g in tape.gradient(loss, tensors)])
        assert all(key == keys[0] for key in keys)
        for grads in values:
            for g, h in zip(grads, values[0], strict=True):
                assert (g is None) == (h is None)
                np.testing.assert_array_equal(g, h)


@pytest.mark.parametrize("f", [np.take, np.append, lambda x, rows: np.take(np.outer(x, x), rows)])
def test_a_plain_operand_of_several_ops_may_change_later(f, no_plans):
    results = []
    for _ in range(4):
        x, rows = tapec.constant(np.sort(V)), np.array([1, 0, 3])
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = f(x, rows)
            rows[:] = 2
            loss = np.sum(y * f(x, rows))
        results.append((tape.log.key, loss.numpy(), tape.gradient(loss, x)))
    for key, value, gradient in results:
        assert key == results[0][0]
        assert value == results[0][1]
        np.testing.assert_array_equal(np.asarray(gradient), np.asarray(results[0][2]))


@pytest.mark.parametrize("tapes", [1, 2])
@pytest.mark.parametrize("f", [np.outer, np.vdot, np.kron, lambda plain, x: np.take(x, plain, mode="clip")])
def test_views_of_a_plain_operand_keep_what_it_held(f, tapes, no_plans):
    """It is reshaped before it meets what is watched, and changes after that."""
    for _ in range(4):
        x, plain = tapec.constant(V + 1.5), np.array([1, 2, 3, 0])
        with tapec.GradientTape() as outer, tapec.GradientTape() as inner:
            outer.watch([x] * (tapes - 1))
            inner.watch(x)
            y = f(plain, x)
            plain[:] = 7
            loss = np.sum(y * y)
        basis = np.stack([f(np.array([1, 2, 3, 0]), row) for row in np.eye(4)])
        expected = 2 * np.reshape(basis, (4, -1)) @ np.ravel(y.numpy())
        np.testing.assert_allclose(inner.gradient(loss, x).numpy(), expected, rtol=1e-13)


def test_the_first_line_of_a_file_is_the_users(no_plans):
    """Also where the plan was made for another file."""
    space = {"np": np, "x": tapec.constant(V)}
    for k in range(4):
        code = compile("y = np.sum(x, axis=0)\n", f"/somewhere/file_{k}.py", "exec")
        with tapec.GradientTape() as tape:
            tape.watch(space["x"])
            exec(code, space)
        assert [entry[4] for entry in tape.log.records] == [code]


BILINEAR = {  # each makes something of one of its arguments alone
    "kron": np.kron,
    "outer": np.outer,
    "vdot": np.vdot,
    "tensordot": lambda a, b: np.tensordot(a, b, axes=([1], [1])),
    "meshgrid": lambda a, b: np.multiply(*np.meshgrid(a, b)),
    "atleast_3d": lambda a, b: np.multiply(*np.atleast_3d(a, b)),
    "swapped": lambda a, b: np.inner(b, a),
}


@pytest.mark.parametrize("turn", range(5))
@pytest.mark.parametrize("name", BILINEAR)
def test_the_same_types_plain_and_watched_in_turn(name, turn, no_plans):
    """What is made of a plain array alone is not recorded, and does not change with it; that of a tensor is."""
    f, roles = BILINEAR[name], ["watched plain", "plain watched", "watched watched"]
    roles += ["watched constant", "constant watched"]
    d = np.sin(np.arange(12.0)).reshape(3, 4)
    for role in (roles[turn:] + roles[:turn]) * 4:
        given, watched = [], []
        with tapec.GradientTape() as tape:
            for kind, value in zip(role.split(), (A, B)):
                given.append(value.copy() if kind == "plain" else tapec.constant(value))
                if kind == "watched":
                    tape.watch(given[-1])
                    watched.append(given[-1])
            y = f(*given)
            for a in given:
                if type(a) is np.ndarray:
                    a[:] = 7.0
            weights = np.cos(np.arange(y.size)).reshape(y.shape)
            total = np.sum(y * weights)
        np.testing.assert_allclose(y.numpy(), f(A, B), rtol=1e-14)
        slope = sum(np.sum(g.numpy() * d) for g in tape.gradient(total, watched))
        want = [np.sum(weights * f(*[d if w is v else v0 for w, v0 in zip(given, (A, B))])) for v in watched]
        assert slope == pytest.approx(sum(want), rel=1e-12)


@pytest.mark.parametrize("length, planned", [(3, True), (1000, False)])
def test_long_rows_of_numbers_are_no_part_of_a_key(length, planned, no_plans):
    x = tapec.constant(np.ones((2, length)))
    rows = [[0.5] * length] * 2
    for _ in range(4):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = np.append(x, rows, axis=0)
        np.testing.assert_array_equal(y.numpy(), np.append(np.ones((2, length)), rows, axis=0))
    assert any(type(word) is bytes for key in {*no_plans.PLANS, *no_plans._SEEN} for word in key) == planned


CALLS = {
    "a function": lambda x: np.sum(x, axis=0),
    "a method": lambda x: x.sum(axis=0),
    "an item": lambda x: x[1],
    "a list": lambda x: np.concatenate([x, x, x]),
    "a ufunc": lambda x: np.sin(x),
    "a ufunc's method": lambda x: np.add.reduce(x, axis=0),
    "a ufunc's method with numbers": lambda x: np.add.reduceat(x, [0, 2]),
    "a ufunc's method with lists": lambda x: np.add.reduce(x, initial=0.0, where=[True, False, True, True]),
    "by value": lambda x: np.repeat(x, np.array([2, 0, 1, 1])),
    "a list beside": lambda x: np.choose(np.array([0, 1, 1, 0]), [x, 2.0]),
    "in place": lambda x: operator.iadd(x * 1.0, x),
    "an item in place": lambda x: operator.setitem(x * 1.0, 1, 0.5),
    "all in place": lambda x: operator.setitem(x * 1.0, ..., 0.5),
    "a mask in place": lambda x: operator.setitem(x * 1.0, np.array([True, False, True, True]), 0.5),
    "flat": lambda x: operator.setitem((x * 1.0).flat, slice(1, 3), 0.5),
    "all of flat": lambda x: setattr(x * 1.0, "flat", 0.5),
    "a function in place": lambda x: np.put(x * 1.0, [1, 2], 0.5),
    "a method in place": lambda x: (x * 1.0).put([1, 2], 0.5),
    "a choice in place": lambda x: np.copyto(x * 1.0, x, where=np.array([True, False, True, True])),
    "a ufunc in place": lambda x: np.add.at(x * 1.0, [0, 0], 1.0),
    "out": lambda x: np.add(x, x, out=x * 1.0),
}


@pytest.mark.parametrize("call", CALLS)
def test_records_name_the_innermost_line_of_the_user(call, no_plans):
    """Not that of who called there, however few frames of ours are in between."""
    f = CALLS[call]
    x = tapec.constant(V)
    for _ in range(4):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            f(x)
        assert {entry[4] for entry in tape.log.records} == {f.__code__}


def test_nested_tapes(no_plans):
    for _ in range(4):
        x = tapec.constant(A[0])
        with tapec.GradientTape() as outer:
            outer.watch(x)
            with tapec.GradientTape() as inner:
                inner.watch(x)
                y = np.sum(np.outer(x, x) ** 2)
            g = inner.gradient(y, x)
        total = np.sum(A[0] ** 2)
        np.testing.assert_allclose(g.numpy(), 4 * A[0] * total, rtol=1e-13)
        np.testing.assert_allclose(outer.gradient(g, x).numpy(), 4 * total + 8 * A[0] * np.sum(A[0]), rtol=1e-12)


WATCHED = {  # by the outer tape, by the inner one: operands
    "by both": ((0, 1), (0, 1)),
    "by the outer": ((0, 1), ()),
    "by the inner": ((), (0, 1)),
    "one by each": ((0,), (1,)),
    "one by both, one by one": ((0, 1), (0,)),
    "one by both": ((0,), (0,)),
    "by none": ((), ()),
}


def recorded_by_two(f, arrays, watched):
    """The structures that two tapes record, one in the other, of operands that an older tape knows, and the marks."""
    tensors = [tapec.constant(a) for a in arrays]
    older = tapec.GradientTape(persistent=True)
    with older:
        older.watch(tensors)
    with tapec.GradientTape() as outer, tapec.GradientTape() as inner:
        for tape, places in zip((outer, inner), watched):
            tape.watch([tensors[k] for k in places if k < len(tensors)])
        y = f(*tensors)
    for tape in (outer, inner):
        tape.log.scan()
    marks = [tape.token in (() if y._mark is None else y._mark.tokens) for tape in (outer, inner)]
    assert older.log.records == []
    return [tape.log.key for tape in (outer, inner)], marks, y.numpy()


@pytest.mark.sampled(one_in=3, per="name")
@pytest.mark.parametrize("watched", WATCHED)
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_two_tapes_that_watch_operands_record_as_without_a_plan(name, watched, no_plans):
    f, arrays = (ONE[name], [A]) if name in ONE else (TWO[name], [A, B])
    keys, marks, value = recorded_by_two(f, arrays, WATCHED[watched])
    recorded_by_two(f, arrays, WATCHED[watched])
    again, marks_again, value_again = recorded_by_two(f, arrays, WATCHED[watched])
    assert again == keys and marks_again == marks
    np.testing.assert_array_equal(value_again, value)


def second_derivatives(f, arrays, power):
    tensors = [tapec.constant(a) for a in arrays]
    with tapec.GradientTape() as outer:
        outer.watch(tensors)
        with tapec.GradientTape() as inner:
            inner.watch(tensors)
            y = np.sum(f(*tensors) ** power) if power > 1 else np.sum(f(*tensors))
        first = inner.gradient(y, tensors)
        total = sum([np.sum(g * g) for g in first if g is not None])
    found = outer.gradient(total, tensors) if isinstance(total, tapec.Tensor) else []
    return [None if g is None else g.numpy() for g in found]


@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("name", [*ONE, *TWO, "vdot"])
def test_second_derivatives_with_a_plan(name, power, no_plans):
    """What lies between the ops of a plan is known to both tapes."""
    some = {"vdot": lambda x, y: np.vdot(x[0, 0], y[0, 1])}  # two reshapes, and a product of what they give
    f, arrays = (ONE[name], [A]) if name in ONE else ({**TWO, **some}[name], [A, B])
    want = second_derivatives(f, arrays, power)
    second_derivatives(f, arrays, power)
    for g, w in zip(second_derivatives(f, arrays, power), want, strict=True):
        assert (g is None) == (w is None)
        np.testing.assert_array_equal(0 if g is None else g, 0 if w is None else w)


def test_each_of_two_tapes_keeps_what_an_array_held(no_plans):
    for _ in range(4):
        x, weights = tapec.constant(A), B.T.copy()
        with tapec.GradientTape() as outer, tapec.GradientTape() as inner:
            outer.watch(x)
            inner.watch(x)
            y = np.sum(np.dot(weights, x))
            weights[:] = 0.0
            total = y + np.sum(np.dot(weights, x))
        want = np.broadcast_to(B.sum(axis=1, keepdims=True), A.shape)
        for tape in (outer, inner):
            np.testing.assert_allclose(tape.gradient(total, x).numpy(), want, rtol=1e-14)


def test_numbers_that_are_others_each_time(no_plans):
    x = tapec.constant(A)
    for k in range(200):
        for _ in range(2):
            np.testing.assert_array_equal(np.append(x, k / 7).numpy(), np.append(A, k / 7))
    assert len(no_plans.PLANS) <= tuning.PLANS_OF_NUMBERS_MAX + 2


def test_numbers_that_are_equal_and_mean_something_else(no_plans):
    x = tapec.constant(A)
    for _ in range(4):
        for number in (0.0, -0.0, 1.0, 1, True, np.nan):
            got, want = np.append(x, number), np.append(A, number)
            np.testing.assert_array_equal(got.numpy(), want)
            np.testing.assert_array_equal(np.signbit(got.numpy()), np.signbit(want))
            assert got.dtype == want.dtype
        i = tapec.constant(np.arange(3))
        for number in (1, 1.0):
            assert np.append(i, number).dtype == np.append(np.arange(3), number).dtype


def test_lists_of_numbers_that_are_equal_and_mean_something_else(no_plans):
    x, small = tapec.constant(A), tapec.constant(A.astype(np.float32))
    lists = [[0.0, 1.0], [-0.0, 1.0], [0, 1], [False, True], [0.0, np.nan], [0.0, 1], (0.0, 1.0), [[0.0], [1.0]]]
    for _ in range(4):
        for numbers in lists:
            for t in (x, small):
                got, want = np.append(t, numbers), np.append(t.numpy(), numbers)
                np.testing.assert_array_equal(got.numpy(), want)
                np.testing.assert_array_equal(np.signbit(got.numpy()), np.signbit(want))
                assert got.dtype == want.dtype
        for p in ([1.0, -0.0], [1, 0], [0.0], [-0.0]):
            got, want = np.polyval(p, x * 0.0).numpy(), np.polyval(p, A * 0.0)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_lists_with_arrays_behind_numbers(no_plans):
    """What an array holds is no part of a key."""
    x = tapec.constant(A[0])
    for k in range(6):
        row = np.array([k, 1.0, 2.0, 3.0])
        places, others = np.arange(4) % 2, [1.0, 2.0, 3.0, 4.0]
        np.testing.assert_array_equal(np.choose(places, [1.0, row * x]), np.choose(places, [1.0, row * A[0]]))
        np.testing.assert_array_equal(np.append(x, [1.0, np.float64(k)]), np.append(A[0], [1.0, k]))
        row[0] = -k
        np.testing.assert_array_equal(np.append(x, [others, row]), np.append(A[0], [others, row]))


def test_a_list_of_arrays_stays_as_it_is_where_another_array_is_named(no_plans):
    rows, mask = [tapec.constant(A), tapec.constant(B)], tapec.constant(A > 0)
    for _ in range(4):
        got, want = np.sum(rows, axis=0, where=mask), np.sum([A, B], axis=0, where=A > 0)
        np.testing.assert_array_equal(got.numpy(), want)
        assert len(rows) == 2


GATHERED = (
    lambda f, a, b, c: f(a, [b, c]),
    lambda f, a, b, c: f([a, b, c]),
    lambda f, a, b, c: f([a, b], c),
    lambda f, a, b, c: f(a, b, c),
    lambda f, a, b, c: f((a, b), [c]),
    lambda f, a, b, c: f((a, b, c)),
    lambda f, a, b, c: f(a, [b]),
    lambda f, a, b, c: f([a, b]),
    lambda f, a, b, c: f([a], b),
    lambda f, a, b, c: f(a, b),
    lambda f, a, b, c: f([a], [b]),
)


@pytest.mark.parametrize("f", [np.atleast_1d, np.atleast_2d, np.broadcast_arrays])
def test_lists_of_the_same_arrays_are_told_apart_by_where_they_begin_and_end(f, no_plans):
    x, y = tapec.constant(A[0]), tapec.constant(B[0])
    for _ in range(4):
        for call in GATHERED:
            for given in ((x, y, x), (x, B[0], y), (A[0], x, B[0])):
                got, want = call(f, *given), call(f, *[np.asarray(a) for a in given])
                several = isinstance(want, (list, tuple))
                for one, other in zip(got if several else [got], want if several else [want], strict=True):
                    np.testing.assert_array_equal(np.asarray(one), other)


def test_words_are_told_from_names_and_from_types_of_arrays(no_plans):
    x = tapec.constant(A)
    spellings = (
        lambda x: np.sum(x, (0,), np.dtype(np.float32)),
        lambda x: np.sum(x, (0,), np.float32),
        lambda x: np.sum(x, axis=(0,), dtype=np.dtype(np.float32)),
        lambda x: np.sum(x, 0, keepdims=True),
        lambda x: np.sum(x, 0, keepdims=1),
        lambda x: np.sum(x, dtype=complex),
        lambda x: np.sum(x, dtype=int, keepdims=False),
        lambda x: np.take(x, np.array([1, 5]), 1, None, "wrap"),
        lambda x: np.take(x, np.array([1, 5]), 1, mode="wrap"),
        lambda x: np.take(x, np.array([1, 5]), 1, mode="clip"),
        lambda x: np.convolve(x[0], x[1], "same"),
        lambda x: np.convolve(x[0], x[1], mode="valid"),
        lambda x: x.sum((0,), np.dtype(np.float32)),
        lambda x: x.sum(dtype=np.dtype(np.float32), axis=(0,)),
        lambda x: x.sum(keepdims=True),
        lambda x: x.sum(keepdims=1, axis=1),
        lambda x: x.take([0, 5], mode="wrap"),
    )
    for _ in range(4):
        for f in spellings:
            got, want = f(x), f(A)
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
            assert got.dtype == want.dtype and got.shape == want.shape
    with pytest.raises(TypeError):
        np.sum(x, "axis", 0)
    with pytest.raises(TypeError):
        np.sum(x, ("axis", 0))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.fmax])
def test_methods_of_ufuncs_are_told_apart(ufunc, no_plans):
    for _ in range(4):
        for operand in (tapec.constant(A), tapec.Variable(A)):
            for method in ("reduce", "accumulate"):
                got, want = getattr(ufunc, method)(operand, axis=1), getattr(ufunc, method)(A, axis=1)
                np.testing.assert_allclose(got.numpy(), want)
    first = [key[0] for key in no_plans.PLANS if key[1:] == (A.shape, A.dtype, ..., "axis", 1)]
    assert len(first) == len(set(first)) == 2  # one for each method, whoever calls it


SPREADING = (
    lambda c: np.linspace(c, 5.0, 4),
    lambda c: np.linspace(0, c, 4, dtype=float),
    lambda c: np.broadcast_to(c, (2,)),
    lambda c: np.round(c, 1),
)


def test_numbers_and_scalars_of_numpy_are_told_apart(no_plans):
    for _ in range(3):
        for c in (tapec.constant(2.0), tapec.constant(np.float32(2.0)), tapec.constant(3)):
            for f in SPREADING:
                assert f(c).dtype == f(c.numpy()).dtype
                np.testing.assert_array_equal(f(c).numpy(), f(c.numpy()))


def test_lists_that_change_are_read_anew(no_plans):
    x, rows = tapec.constant(A), [0, 1]
    for k in range(6):
        rows[1] = k % 3
        np.testing.assert_array_equal(np.take(x, rows, axis=0).numpy(), A[rows])
        np.testing.assert_array_equal(np.repeat(x, [1, k % 3, 2], axis=0).numpy(), np.repeat(A, [1, k % 3, 2], axis=0))


def test_a_tape_after_values_between_ops_were_recorded(no_plans):
    """A gradient in the block of its own tape reads values that no tensor holds."""
    direction = np.cos(A)
    for _ in range(4):
        x = tapec.constant(A)
        with tapec.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = np.sum(np.roll(np.vdot(x, x) * np.cumsum(x), 1) ** 2)
            g = tape.gradient(y, x)
            along = np.sum(g * direction)
        h = 1e-6

        def f(x):
            return np.sum(np.roll(np.vdot(x, x) * np.cumsum(x), 1) ** 2)

        slope = (f(A + h * direction) - f(A - h * direction)) / (2 * h)
        assert np.sum(g.numpy() * direction) == pytest.approx(slope, rel=1e-7)
        curvature = (f(A + h * 100 * direction) - 2 * f(A) + f(A - h * 100 * direction)) / (h * 100) ** 2
        second = tape.gradient(along, x).numpy()
        assert np.sum(second * direction) == pytest.approx(curvature, rel=1e-5)


# what is quick without one, and orders of memory
UNPLANNED = {"weighted", "row", "row and all", "all of it", "slice", "column", "steps", "clip", "where", "reshape F"}
UNPLANNED |= {"array of tensors", "dot of an array of tensors", "full_like"}


@pytest.mark.parametrize("name", sorted({*ONE, *TWO} - UNPLANNED))
def test_there_is_a_plan(name, no_plans):
    f, arrays = (ONE[name], [A]) if name in ONE else (TWO[name], [A, B])
    for _ in range(3):
        f(*map(tapec.constant, arrays))
    assert any(no_plans.PLANS.values())


BY_VALUE = {
    "trim_zeros": (np.trim_zeros, V, np.array([1.0, 2.0, 0.0, 3.0])),
    "nonzero": (lambda x: np.nonzero(x)[0], V, np.array([1.0, 0.0, 0.0, 0.0])),
    "unique": (np.unique, V, np.array([1.0, 2.0, 3.0, 4.0])),
    "polymul": (lambda x: np.polymul(x, x), np.array([1.0, 2.0]), np.array([0.0, 2.0])),
    "polydiv": (
        lambda x: np.polydiv(x, np.array([1.0, 1.0]))[1],
        np.array([1.0, 2.0, 5.0]),
        np.array([1.0, 2.0, 1.0]),
    ),
    "roots": (np.roots, np.array([1.0, -3.0, 2.0]), np.array([1.0, 0.0, 1.0])),
    "real_if_close": (np.real_if_close, np.array([1 + 0j]), np.array([1 + 1j])),
    "extract": (lambda x: np.extract(x > 0, x), V, -V),
    "mask": (lambda x: x[x > 0], V, -V),
    "order A": (lambda x: np.ravel(x, "A"), A, np.asfortranarray(A)),
    "reshaped in order A": (lambda x: np.reshape(x, (4, 3), order="A"), A, np.asfortranarray(A)),
}


@pytest.mark.parametrize("name", BY_VALUE)
def test_values_decide(name, no_plans):
    f, one, other = BY_VALUE[name]
    for array in (one, one, one, other, one):
        want, got = f(array), f(tapec.constant(array))
        np.testing.assert_array_equal(np.asarray(got), want)
        assert np.asarray(got).dtype == want.dtype


def test_equal_arguments_that_mean_something_else():
    x = tapec.constant(A)
    for _ in range(3):
        assert x.sum(1).shape == (3,)
        assert x[1].shape == (4,)
        assert x[1, :].shape == (4,)
        assert x.reshape(4, 3).shape == (4, 3)
    with pytest.raises(TypeError):
        x.sum(1.0)
    with pytest.raises(TypeError):
        np.reshape(x, (4.0, 3.0))
    with pytest.raises(TypeError):
        x[1.0:]
    assert x[True, :].shape == A[True, :].shape
    assert x[np.int64(1), :].shape == (4,)


def test_bounds_that_are_tensors():
    x, n = tapec.constant(A), tapec.constant(2)
    for _ in range(3):
        assert x[n:, 1:].shape == (1, 3)


@pytest.mark.parametrize("name", ["T", "conj", "reshape", "ravel", "column", "steps", "slice", "expand_dims"])
def test_planned_views_write_through(name, no_plans):
    for _ in range(4):
        plain, tensor = A.copy(), tapec.constant(A)
        for x in (plain, tensor):
            view = ONE[name](x)
            view[0] = 7.0
            x[-1] = 8.0
        np.testing.assert_array_equal(tensor.numpy(), plain)
        np.testing.assert_array_equal(view.numpy(), ONE[name](plain))


def test_planned_copies_do_not():
    for _ in range(4):
        x = tapec.constant(A)
        y = x.flatten()
        y[0] = 7.0
        np.testing.assert_array_equal(x.numpy(), A)


def test_errors_are_those_of_the_call():
    x = tapec.constant(A)
    for _ in range(4):
        with pytest.raises(np.exceptions.AxisError, match="axis 5 is out of bounds") as caught:
            np.sum(x, axis=5)
        assert "test_call_plans.py" in "".join(caught.value.__notes__)
        with pytest.raises(ValueError, match="cannot reshape array of size 12"):
            x.reshape(5, 5)
        with pytest.raises(IndexError, match="index 7 is out of bounds") as caught:
            x[7, 1:]


def test_the_number_of_plans_is_bounded(no_plans, monkeypatch):
    monkeypatch.setattr(tuning, "PLANS_MAX", 20)
    x = tapec.constant(np.ones(200))
    for n in range(1, 150):
        for _ in range(2):
            x[None, :n]
    assert len(no_plans.PLANS) + len(no_plans._SEEN) <= 22


def test_an_array_for_the_result_is_filled_each_time():
    x = tapec.constant(A)
    for _ in range(4):
        t, plain = tapec.constant(np.zeros(4)), np.zeros(4)
        assert np.sum(x, 0, None, t) is t
        assert x.sum(0, None, plain) is plain
        np.testing.assert_array_equal(t.numpy(), A.sum(0))
        np.testing.assert_array_equal(plain, A.sum(0))
        y = tapec.constant(np.zeros((3, 3)))
        assert np.dot(x, A.T, y) is y
        np.testing.assert_allclose(y.numpy(), A @ A.T)


@pytest.mark.parametrize("bad", [np.array(["a", "b", "c", "d"]), np.array([None, {}, print, "a"], dtype=object)])
def test_arrays_that_hold_no_numbers_are_refused_each_time(bad):
    x = tapec.constant(A[0])
    for f in (lambda: np.concatenate([x, bad]), lambda: np.dot(x, bad), lambda: np.where(x > 0, x, bad)):
        messages = set()
        for _ in range(4):
            with pytest.raises((TypeError, ValueError)) as caught:
                f()
            messages.add((caught.type, str(caught.value)))
        assert len(messages) == 1


class OwnKind(np.ndarray):
    pass


def test_an_own_kind_of_array_has_a_shape():
    w = np.arange(3.0).view(OwnKind)
    f = tapec.value_and_grad(lambda x, w: np.sum(np.sum(w) * x) + np.max(w))  # a sum of one number, too
    for x in (2.0, 3.0, 4.0):
        assert f(x, w) == (3.0 * x + 2.0, 3.0)
        assert tapec.grad(lambda x: np.sum(np.sum(w) * x))(x) == 3.0


def test_an_own_kind_of_array_may_have_another_shape_each_time():
    x = tapec.constant(V)
    for n in (3, 3, 3, 5):
        own = np.arange(float(n)).view(OwnKind)
        np.testing.assert_array_equal(np.asarray(np.kron(x, own)), np.kron(V, own))
        np.testing.assert_array_equal(np.asarray(np.meshgrid(x, own)[1]), np.meshgrid(V, own)[1])


@pytest.mark.parametrize("bad", [np.ma.masked_array(V, V > 0), V.view(np.matrix)])
def test_arrays_with_rules_of_their_own_are_refused_each_time(bad):
    x = tapec.constant(V)
    for f in (lambda: np.stack([x, bad]), lambda: np.kron(x, bad), lambda: np.sum(x, where=bad > 0)):
        for _ in range(4):
            with pytest.raises(tapec.UnsupportedError, match="not supported. Fix: "):
                f()


@pytest.mark.parametrize("times, planned", [(3, 0), (40, 1)])
def test_a_function_that_is_traced_makes_plans_of_what_it_does_often(times, planned, no_plans):
    """It runs once, so that a plan for two calls would cost more than it spares; on a tape the next step comes soon."""

    def f(x):
        return sum([np.sum(x.cumsum(axis=0)) for _ in range(times)])

    value, gradient = tapec.value_and_grad(f)(np.ones(4))
    assert value == 10.0 * times and gradient[0] == 4.0 * times
    assert len([key for key in no_plans.PLANS if np.cumsum.__name__ in str(key)]) == planned


OPERANDS = {  # the first comes often, the others follow
    "another shape": [lambda x: x, lambda x: x[:2]],
    "another dtype": [lambda x: x, lambda x: x.astype(np.float32)],
    "no array": [lambda x: x, lambda x: x[0, 0], lambda x: np.float64(2.0), lambda x: 3.0, lambda x: [1.0, 2.0]],
    "a plain array": [lambda x: x, lambda x: A, lambda x: A.T],
    "a Variable": [lambda x: x, lambda x: tapec.Variable(A), lambda x: tapec.Variable(A[0])],
    "a number": [lambda x: x[0, 0], lambda x: x[0], lambda x: x[0, 0] > 0, lambda x: tapec.constant(np.float32(1.5))],
    "a mask": [lambda x: x, lambda x: x > 0, lambda x: A > 0],
}


@pytest.mark.parametrize("case", OPERANDS)
def test_operands_of_another_type_have_the_value_of_numpy(case, no_plans):
    first, *others = OPERANDS[case]
    x = tapec.constant(A)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        for _ in range(4):
            np.mean(first(x))
        for make in [*others, first, *others]:
            given = make(x)
            expected = np.mean(given if isinstance(given, (np.ndarray, list, float)) else given.numpy())
            found = np.mean(given)
            value = np.asarray(found.numpy() if isinstance(found, tapec.Tensor) else found)
            assert value.dtype == expected.dtype and value.tobytes() == expected.tobytes()


WORDS = [
    (lambda x, w: np.sum(x, axis=w), [0, 1, True, None, (0, 1), (1,), -1]),
    (lambda x, w: np.sum(x, w), [1, 0, None, (1, 0)]),
    (lambda x, w: np.roll(x, w, axis=1), [1, -1, True, (1,)]),
    (lambda x, w: np.sum(x, axis=0, keepdims=w), [True, False, 1]),
    (lambda x, w: np.diff(x, n=w), [1, 2, True]),
    (lambda x, w: np.quantile(x, w), [0.5, 0.25, 0.0, -0.0, 1, [0.5, 0.25], (0.5, 1)]),
    (lambda x, w: np.repeat(x, w, axis=0), [[1, 2, 0], [1, 1, 1], [True, 0, 2], (1, 2, 0)]),
    (lambda x, w: np.einsum(w, x), ["ij->i", "ij->j", "ij->"]),
    (lambda x, w: np.einsum(x[:, :3], w), [[0, 1], [1, 0], (1, 0), [0, 0]]),
    (lambda x, w: np.linalg.norm(x, ord=w, axis=1), [2, 1, np.inf, 2.0, None]),
    (lambda x, w: np.sum(x, dtype=w), [np.float32, np.float64, np.dtype("f4"), None]),
    (lambda x, w: np.reshape(x, (4, 3), order=w), ["C", "F"]),
    (lambda x, w: np.concatenate([x, w]), [A, A[:1], np.ones((1, 4), np.float32)]),
    (lambda x, w: np.stack([x, x], axis=w), [0, 1, -1]),
]


@pytest.mark.parametrize("k", range(len(WORDS)))
def test_words_that_follow_others_have_the_value_of_numpy(k, no_plans):
    """1, True and 1.0 are equal, and so are 0.0 and -0.0, but do not mean the same."""
    call, words = WORDS[k]
    x = tapec.constant(A)

    def outcome(w, operand):
        try:
            value = call(operand, w)
        except Exception as error:
            return ValueError if isinstance(error, (ValueError, tapec.TapecError)) else TypeError
        value = value.numpy() if isinstance(value, tapec.Tensor) else value
        return value.dtype, value.shape, value.tobytes()

    expected = [outcome(w, A) for w in words]
    for first in words:
        for known in (no_plans.PLANS, no_plans._SEEN, no_plans._COUNTS):
            known.clear()
        for _ in range(4):
            outcome(first, x)
        for _ in range(3):
            assert [outcome(w, x) for w in words] == expected


def test_calls_of_one_line_may_be_of_several_functions(no_plans):
    x = tapec.constant(A)

    def call(f, *args, **kwargs):
        return f(*args, **kwargs)

    with tapec.GradientTape() as tape:
        tape.watch(x)
        for _ in range(4):
            out = tapec.constant(np.zeros(4))
            for found, expected in [
                (call(np.sum, x, axis=0), np.sum(A, axis=0)),
                (call(np.prod, x, axis=0), np.prod(A, axis=0)),
                (call(np.sum, x), np.sum(A)),
                (call(np.sum, x, 1), np.sum(A, 1)),
                (call(np.sum, x, keepdims=True), np.sum(A, keepdims=True)),
                (call(np.sum, x, axis=0, keepdims=True), np.sum(A, axis=0, keepdims=True)),
                (call(np.sum, x, axis=0, out=out), np.sum(A, axis=0)),
                (call(np.sum, a=x, axis=0), np.sum(A, axis=0)),
            ]:
                assert np.array_equal(found.numpy(), expected) and found.shape == expected.shape
            assert np.array_equal(out.numpy(), np.sum(A, axis=0))
            with pytest.raises(np.exceptions.AxisError, match="axis"):
                call(np.sum, x, axis=2)
            with pytest.raises(TypeError):
                call(np.sum, x, axes=0)


def test_an_array_of_places_that_changes_between_calls(no_plans):
    """The record holds what the array held."""
    places, x = np.array([0, 2]), tapec.constant(A)
    for _ in range(4):
        places[:] = 0, 2
        with tapec.GradientTape() as tape:
            tape.watch(x)
            first = np.add.reduceat(x, places, axis=1)
            places[1] = 3
            second = np.add.reduceat(x, places, axis=1)
            y = np.sum(first[:, 1]) + 10 * np.sum(second[:, 1])
        assert np.array_equal(tape.gradient(y, x), np.tile([0.0, 0.0, 1.0, 11.0], (3, 1)))
