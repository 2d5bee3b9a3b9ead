"""What is a view and what is a copy is as NumPy has it, for every function, method and kind of index.

Each call is made once for each of its results and arguments, which is then written. NumPy says what all of them hold
afterwards, or that the write is refused; tensors must hold the same on a tape and in a function, and the gradient of
a function that writes must be that of what NumPy computes.
"""

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import inner, leaves, random_like
from tests.ops.test_calls import CALLS

pytestmark = pytest.mark.filterwarnings("ignore")  # NumPy's own, about sqrt(-1) and about what it will drop
RNG = np.random.default_rng(3)
POOL = {
    "x": RNG.standard_normal((3, 4)),
    "v": RNG.standard_normal(5),
    "m": RNG.standard_normal((3, 3)),
    "z": RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4)),
    "t": RNG.standard_normal((2, 3, 4)),
    "e": RNG.standard_normal((2, 2, 2)),
    "one": RNG.standard_normal((1, 3, 1)),
    "n": np.array([[1.0, np.nan, -2.0], [np.inf, 0.5, 2.0]]),
    "i": np.int64(1),
    "j": np.array([1, 0]),
    "mask": np.array([True, False, True]),
}
# what test_calls does not try, or tries of one layout alone
FUNCTIONS = """
np.reshape(t, (6, 4)) | np.reshape(t, (6, 4), order="F") | t.reshape(2, -1) | t.reshape(4, 3, 2) | t.reshape(t.shape)
np.ravel(t) | t.ravel() | t.ravel("F") | t.ravel("K") | np.ravel(v) | t.flatten() | t.flat[2:9] | v.flat[:]
t.flat[3] | np.squeeze(one) | one.squeeze(0) | np.squeeze(x) | np.expand_dims(x, 1) | np.atleast_1d(x)
np.atleast_2d(v) | np.atleast_3d(x) | np.atleast_1d(x, v) | np.atleast_3d(x, v) | np.transpose(t)
t.transpose(2, 0, 1) | t.T | t.mT | np.transpose(x, (0, 1)) | np.transpose(v) | v.T | np.swapaxes(t, 0, 2)
t.swapaxes(1, 1) | np.moveaxis(t, 0, -1) | np.rollaxis(t, 2) | np.rollaxis(t, 0) | np.matrix_transpose(t) | np.flip(x)
np.flip(v[:1].reshape(())) | v[:1].reshape(())[()] | v[:1].reshape(())[...]
np.nan_to_num(v[:1].reshape(()), copy=False)
np.flip(x, 0) | np.fliplr(x) | np.flipud(x) | np.rot90(x) | np.rot90(x, 2) | np.rot90(x, 4) | np.rot90(x, 3)
np.roll(x, 0) | np.broadcast_to(v, (2, 5)) | np.broadcast_to(v, v.shape) | np.broadcast_arrays(x, x) | np.diagonal(m)
m.diagonal(1) | np.diag(m) | np.diag(m, -1) | np.diag(v) | np.diagflat(v) | np.linalg.diagonal(m) | np.tril(m)
np.triu(m) | np.split(v, [1, 3]) | np.split(x, 2, 1) | np.array_split(v, 2) | np.hsplit(x, 2) | np.vsplit(x, 3)
np.dsplit(t, 2) | np.split(v, 1) | x.real | z.real | z.imag | np.real(x) | np.real(z) | np.imag(z) | x.imag
np.conj(x) | x.conj() | z.conj() | np.real_if_close(x) | x.view() | np.lib.stride_tricks.sliding_window_view(v, 2)
np.astype(x, float) | x.astype(float) | x.astype(float, copy=False) | x.astype(np.float32, copy=False) | np.copy(x)
x.copy() | np.positive(x) | +x | np.nan_to_num(x) | np.nan_to_num(n) | np.nan_to_num(n, copy=False)
np.nan_to_num(n[0], copy=False) | np.nan_to_num(n, False, 3.0) | np.fix(x) | np.round(x) | np.einsum("ij->ij", x)
np.einsum("ij->ji", x) | np.einsum("ii->i", m) | np.einsum("iij->ij", e) | np.einsum("iji->ji", e)
np.einsum("iii->i", e) | np.einsum("ij->i", x) | np.einsum("...i->i...", t) | np.einsum("ii->i", m[::-1])
np.einsum("ii->i", m)[1:] | np.einsum(m, [0, 0], [0]) | np.diff(x, 0) | np.diff(x) | np.meshgrid(v)
np.meshgrid(v, v) | np.meshgrid(v, x[0], copy=False, sparse=True) | np.meshgrid(v, v, sparse=True)
np.meshgrid(v, v, indexing="ij") | np.trim_zeros(v) | np.tile(x, 1) | np.repeat(x, 1) | np.resize(x, x.shape)
np.block([x]) | np.concatenate([x]) | np.hstack([x]) | np.stack([x]) | np.column_stack([x]) | np.append(x, [])
np.delete(x, []) | np.insert(x, [], 0) | np.sort(x) | np.partition(v, 2) | np.unique(v) | np.take(x, [0, 1])
x.take(i, 0) | np.take(x, i) | np.take_along_axis(x, np.zeros((3, 1), int), 1) | np.compress(mask, x, 0)
np.extract(x > 0, x) | np.choose(j, [v[:2], v[1:3]]) | np.select([x > 0], [x]) | np.where(x > 0, x, x)
np.clip(x, -1, 1) | np.pad(x, 0) | np.sum(x, ()) | np.max(x, ()) | np.mean(x, ()) | np.cumsum(v)
np.apply_over_axes(np.sum, x, []) | np.outer(v, 1.0) | np.linalg.matrix_power(m, 1) | np.linalg.matrix_power(m, 0)
np.fft.fftn(z, axes=()) | np.fft.fft(z) | np.fft.fftshift(v) | np.fft.ifft2(z, axes=())
np.average(x, 0, returned=True) | np.average(x, 1, x * x, returned=True) | np.unwrap(v) | np.vander(v) | np.kron(v, v)
np.trapezoid(x) | np.gradient(v) | np.interp(v, np.arange(5.0), v) | np.convolve(v, v, "same") | np.zeros_like(x)
np.empty_like(x)[:0] | np.full_like(x, 2.0) | np.modf(x) | np.frexp(x)[0] | np.add.reduce(x, ()) | np.array(x, like=x)
np.asarray(x, like=x) | np.array(x, copy=False, like=x) | np.searchsorted(v, v) | np.array_split(v, 6)
x.reshape(3, 4, copy=True) | np.reshape(x, (4, 3), copy=True) | np.reshape(x, (4, 3), copy=False) | np.polyder(v, 0)
np.polyint(v, 0) | np.nonzero(x) | np.argsort(x) | np.argmax(x, 0) | np.isclose(x, x) | np.any(x > 0, 0)
np.lexsort((v, v)) | np.tril_indices_from(m) | np.union1d(v, v) | np.setdiff1d(v, [], True) | np.isin(v, v[:2])
np.apply_along_axis(np.sort, 1, x) | np.piecewise(v, [v > 0], [lambda y: y, 0.0]) | np.cross(m, m) | np.linalg.eigh(m)
np.tensordot(x, x, 0) | np.matmul(m, m) | np.add.accumulate(v) | np.add.outer(v, v) | np.divmod(x, 2.0)
np.median(x, 0) | np.flip(x, ()) | x.transpose(None) | np.moveaxis(x, 0, 0) | np.expand_dims(x, ())
t.diagonal(0, 1, 2) | x.flatten("F") | x.astype(complex).real | z.T.imag | z[0].real | z.real.T | z.conj().real
z.imag[::2] | np.lib.stride_tricks.sliding_window_view(x, (1, 1))
"""
INDICES = """
x[0] | x[-1] | x[1, 2] | x[1:] | x[:] | x[...] | x[()] | x[:, 1] | x[::-1] | x[::2, 1:3] | x[None] | x[..., None]
x[0, ...] | x[1, 2, ...] | x[0][1:] | x.T[0] | t[0, :, 1] | t[..., 0] | t[:, None, 1] | t[0:0] | x[np.int64(1)]
x[np.int32(1), 1:] | x[i] | x[i, 1:] | x[:, i] | x[i, None] | x[i, ...] | x[i, 2] | x[i, 2, ...] | x[i, i] | t[i]
t[i, i] | t[:, i, 0] | t[i][i] | t[i - 1][1:][i] | x[-i] | x[i:] | x[: i + 1] | x[np.argmax(v[:3])]
x[np.argsort(v)[0] % 3] | x[[i]] | x[i, [0, 1]] | x[[0]] | x[[0, 1]] | x[j] | x[j, 1] | x[j, 1:] | x[:, j] | t[i, j]
t[j, :, i] | x[mask] | x[mask, 1:] | x[mask, i] | t[:, mask] | x[x > 0] | x[True] | x[np.array(1)] | x[np.arange(2)]
v[i] | v[j] | v[i:4] | x[np.ix_([0, 2], [1])] | v[i, ...] | t[j][0]
"""
ARRAYS = """
np.asarray(x) | np.asanyarray(x) | np.asarray(x, float) | np.asarray(x, order="F") | np.asarray(x.T, order="C")
np.ascontiguousarray(x) | np.ascontiguousarray(x.T) | np.asfortranarray(x) | np.asfortranarray(x.T) | np.array(x)
np.asarray(x[0]) | np.asarray(x.T)[1:] | np.array(x, copy=None) | np.array(x, copy=False)
np.asarray([x, x]) | np.require(x)
"""
LAYOUTS = {
    "C": lambda a: a * 1,
    "F": lambda a: (a.T * 1).T,
    "reversed": lambda a: (a * 1)[::-1],
    "gaps": lambda a: np.repeat(a, 2, -1)[..., ::2],
}
WRITES = {
    "all": lambda y: y.__setitem__(..., 7),
    "one": lambda y: y.__setitem__((0,) * y.ndim, 7),
    "scale": lambda y: y.__imul__(3),
    "fill": lambda y: y.fill(7),
    "part": lambda y: y[::2].__setitem__(..., 7),
    "through a reshape": lambda y: y.reshape(-1).__setitem__(y.size // 2, 7),  # which is a view, or not
}
STEPS = (1e-5, -1e-5)
WARNED = "NumPy warns that it will refuse to write what it broadcast; tensors refuse it now"
OTHER = {
    "np.broadcast_arrays(x, u)": WARNED,
    "np.broadcast_arrays(x, x)": WARNED,
}
# NumPy's results lie by columns here, or are arrays without axes: a write through a reshape of them is another one
BY_COLUMNS = ("np.argwhere(", "np.histogram2d(", "np.histogramdd(", "np.nanpercentile(", "np.nanquantile(")
WITHOUT_AXES = ("np.linalg.tensordot(x, y, axes=2)", "np.tensordot(t, t, axes=3)", "np.percentile(v, 33, weights=")


def split(text):
    return [call.strip() for line in text.strip().splitlines() for call in line.split(" | ")]


def call_of(text):
    """The function of a call, and the arrays that it names."""
    code = compile(text, "a call", "eval")
    names = [name for name in POOL if name in code.co_names]
    return lambda *arrays: eval(code, {"np": np}, dict(zip(names, arrays, strict=True))), [POOL[n] for n in names]


def written(f, k, write, layout):
    """A function that makes a call, writes into the k-th of its results and real arguments, and returns all of them."""

    def program(*arrays):
        args = [layout(a) if moves(a) else a for a in arrays]
        found = [*leaves(f(*args)), *filter(moves, args)]
        write(found[k])
        return found

    return program


def moves(a):
    return bool(a.shape) and a.dtype.kind in "fc"


def targets(f, arrays, layout):
    """The places of arrays among the results and arguments; numbers cannot be written.

    There are none where NumPy refuses the call for arrays of this layout, and then tapec must refuse it, too.
    """
    program = written(f, 0, lambda y: None, layout)
    found, refused = outcome(program, arrays)
    if refused is not None:
        with pytest.raises(type(refused)):
            tapec.compile(program)(*arrays)
    return [k for k, y in enumerate(found) if isinstance(y, np.ndarray) and y.size]


def outcome(program, arrays):
    """What a program gives, and the error that it raises instead."""
    try:
        return program(*arrays), None
    except (ValueError, TypeError, IndexError) as error:
        return [], error


def assert_alike(f, arrays, write, layout):
    """Tensors hold what arrays hold, and refuse what arrays refuse: on a tape, as often as plans need to be made."""
    for k in targets(f, arrays, layout):
        program = written(f, k, write, layout)
        want, refused = outcome(program, arrays)
        for _ in range(3):
            with tapec.GradientTape() as tape:
                tensors = [tapec.constant(a) for a in arrays]
                for t in tensors:
                    tape.watch(t) if moves(t) else None
                got, error = outcome(program, tensors)
            assert type(error) is type(refused), (k, refused, error)
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(plain(a), b, rtol=1e-12, atol=1e-12, err_msg=str(k))


def plain(y):
    if isinstance(y, np.ndarray) and y.dtype == object:  # what NumPy makes of tensors
        return np.array([plain(part) for part in y.ravel()]).reshape(y.shape)
    return y.numpy() if isinstance(y, tapec.Tensor) else y


def assert_differentiable(f, arrays, write, layout):
    """Value and gradient of a compiled function that makes the call and writes, beside NumPy and differences."""
    rng = np.random.default_rng(1)
    places = [n for n, a in enumerate(arrays) if moves(a)]
    directions = {n: random_like(rng, arrays[n]) for n in places}
    for k in targets(f, arrays, layout):
        program = written(f, k, write, layout)
        want, refused = outcome(program, arrays)
        if refused is not None:
            with pytest.raises(type(refused)):
                tapec.compile(program)(*arrays)
            continue
        if any(y.dtype == np.float32 for y in want):
            continue  # differences say nothing in single precision
        weights = [random_like(rng, y) for y in want]

        def loss(*arrays, program=program, weights=weights):
            return sum(inner(w, y * y) for w, y in zip(weights, program(*arrays), strict=True) if w is not None)

        value, gradients = tapec.value_and_grad(loss, argnums=tuple(places))(*arrays)
        np.testing.assert_allclose(value, loss(*arrays), rtol=1e-9)
        if np.isfinite(value):
            there, back = [[a + s * directions[n] if n in places else a for n, a in enumerate(arrays)] for s in STEPS]
            slope = (loss(*there) - loss(*back)) / (STEPS[0] - STEPS[1])
            found = sum(float(inner(g, directions[n])) for g, n in zip(gradients, places, strict=True))
            np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-7, err_msg=str(k))


NEW = ("reshape", "copy=")  # since NumPy 2.1
CASES = [text for text in [*split(FUNCTIONS), *split(INDICES)] if text not in OTHER]
if not hasattr(np, "unstack"):
    CASES = [text for text in CASES if not all(word in text for word in NEW)]


@pytest.mark.parametrize("text", CASES)
def test_on_a_tape(text):
    assert_alike(*call_of(text), WRITES["all"], LAYOUTS["C"])


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("text", CASES)
def test_in_a_function(text):
    assert_differentiable(*call_of(text), WRITES["all"], LAYOUTS["C"])


@pytest.mark.parametrize("text", split(ARRAYS))
def test_arrays_in_a_function(text):
    for layout in LAYOUTS.values():
        if text != "np.require(x)":
            assert_differentiable(*call_of(text), WRITES["all"], layout)


class TestArraysOnATape:
    """`np.asarray(t)` calls nothing of ours afterwards: neither it nor the tensor can change while it is in use."""

    @pytest.fixture
    def y(self):
        with tapec.GradientTape() as tape:
            x = tapec.constant([0.6, -1.2, 0.9])
            tape.watch(x)
            yield x * 2.0

    @pytest.mark.parametrize(
        "make", [np.asarray, np.asanyarray, np.ascontiguousarray, np.require, lambda y: np.asarray(y)[1:]]
    )
    def test_the_array_is_read_only(self, y, make):
        with pytest.raises(ValueError, match="read-only"):
            make(y)[0] = 5.0
        with pytest.raises(ValueError, match="read-only"):
            make(y).__isub__(1.0)
        with pytest.raises(tapec.errors.InPlaceError, match=r"Fix: change t itself, or a copy, np.array\(t\)"):
            make(y).__isub__(y[0])

    @pytest.mark.parametrize("part", [lambda y: y, lambda y: y[1:], lambda y: y[::-1][:2]])
    @pytest.mark.parametrize("held", [lambda a: a, lambda a: a[1:]])
    def test_the_tensor_does_not_change_meanwhile(self, y, part, held):
        a = held(np.asarray(part(y)))
        for change in (lambda: y.__setitem__(0, 5.0), lambda: y.__imul__(2.0), lambda: y[2:].fill(0.0)):
            with pytest.raises(tapec.errors.InPlaceError, match="np.asarray has made an array of its elements"):
                change()
        del a
        y[0] = 5.0
        np.testing.assert_allclose(y.numpy(), [5.0, -2.4, 1.8])

    def test_integers_are_shared_too(self, y):
        places = np.argsort(y)
        a = np.asarray(places)
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 2
        with pytest.raises(tapec.errors.InPlaceError, match="np.asarray"):
            places[0] = 2

    def test_so_it_is_of_a_tensor_that_the_tape_does_not_watch(self, y):
        made = np.zeros_like(y) + 1.0
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(made)[0] = 5.0
        a = np.asarray(made)
        with pytest.raises(tapec.errors.InPlaceError, match="np.asarray has made an array of its elements"):
            made -= 1.0
        del a
        np.asarray(made, dtype=np.float32)[0] = 5.0
        made -= 1.0
        assert made.numpy().tolist() == [0.0, 0.0, 0.0]

    def test_a_copy_may_change(self, y):
        for a in (np.array(y), np.array([y, y])[0]):
            a -= a.sum() / a.size
            y[0] = 5.0


def failures(check, cases):
    """What a check says of the cases that fail it."""
    found = []
    for text, f, arrays, *more in cases:
        try:
            check(f, arrays, *more)
        except Exception as error:
            found.append((text, *more, str(error)[:300]))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("check", [assert_alike, assert_differentiable])
def test_all_layouts_and_writes(check, layout, write):
    cases = [(text, *call_of(text), WRITES[write], LAYOUTS[layout]) for text in CASES]
    assert not failures(check, cases)


@pytest.mark.thorough
@pytest.mark.parametrize("write, layout", [("all", "C"), ("through a reshape", "C"), ("through a reshape", "F")])
@pytest.mark.parametrize("check", [assert_alike, assert_differentiable])
def test_all_calls(check, write, layout):
    shown = ("np.asarray(x)", "np.asanyarray(x)", "np.ascontiguousarray(x)") if check is assert_alike else ()
    calls = [(text, call) for text, call in CALLS.items() if text not in (*OTHER, *shown) and "c" not in call.names]
    if write == "through a reshape":
        calls = [(text, c) for text, c in calls if not text.startswith(BY_COLUMNS + WITHOUT_AXES)]
    cases = [(text, c.function(), c.arrays(), WRITES[write], LAYOUTS[layout]) for text, c in calls]
    assert not failures(check, cases)


@pytest.mark.parametrize(
    "copy", [lambda x: x.T.copy(), lambda x: np.copy(x.T), lambda x: x.T.copy("K"), lambda x: x.copy("F")]
)
def test_copies_lie_in_memory_as_numpys_do(copy):
    """So that a reshape of one is a view, or is none."""

    def f(x):
        y = copy(x)
        y.reshape(-1)[1] = 7.0
        return np.sum(y * y.shape[0])

    x = np.arange(6.0).reshape(2, 3)
    v = tapec.Variable(x)
    with tapec.GradientTape() as tape:
        value = f(v)
    assert value == f(x)
    expected = np.array([[f(x + h) - f(x) for h in row] for row in np.eye(6).reshape(2, 3, 2, 3)])
    np.testing.assert_allclose(tape.gradient(value, v), expected)
    calls = []
    compiled = tapec.compile(lambda x: (calls.append(1), f(x))[1])  # recorded anew at each call
    assert compiled(x) == compiled(x) == f(x)


@pytest.mark.parametrize("make", [np.ascontiguousarray, np.asfortranarray, lambda y: np.array(y, order="C", copy=None)])
def test_a_contiguous_array_of_a_reversed_one_is_a_copy(make):
    """However often it was asked for: calls of one kind are answered by a plan after a while."""

    def f(x):
        y = (x * 2.0)[::-1]
        z = make(y)
        y[0] = 50.0
        return np.sum(z * 1.0)

    x, calls = np.arange(1.0, 4.0), []
    compiled = tapec.compile(lambda x: (calls.append(1), f(x))[1])  # recorded anew at each call
    assert [compiled(x) for _ in range(14)] == [f(x)] * 14
    np.testing.assert_array_equal(tapec.grad(f)(x), [2.0, 2.0, 2.0])


FILLED = """
np.take(x, [0, 1, 1], 1) | x.take([[0, 1], [1, 1]], 1) | np.take(t, [0, 1], 1) | np.take(x, [0, 7], 1, mode="wrap")
np.compress([True, False, True], x, 1) | np.repeat(x, [1, 2, 1], 0) | np.repeat(x, [1, 2, 1, 2], 1)
np.select([x > 1, x > 0], [x, 2 * x], 0.5) | np.piecewise(x, [x > 0], [lambda y: 2 * y, lambda y: y])
x.astype(float, order="C") | x.astype(float, order="F") | x.astype(np.float32, order="C") | np.gradient(x, axis=1)
np.delete(x, 1, 1) | np.delete(x, [0, 1], 1) | np.insert(x, 1, 5.0, 1) | np.insert(x, [0, 1], 5.0, 1)
np.array([x, x + 1]) | np.array([x.T, x.T])
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", split(FILLED))
def test_results_lie_in_memory_as_numpys_do(text, layout):
    assert_alike(*call_of(text), WRITES["through a reshape"], LAYOUTS[layout])
    assert_differentiable(*call_of(text), WRITES["through a reshape"], LAYOUTS[layout])
