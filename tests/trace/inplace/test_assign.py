"""In-place code: exactly NumPy's values, the right gradient at every order, and what is refused."""

import contextlib
import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapec
from tapec.pytree import leaves_of
from tapec.trace.log import Log
from tapec.trace.recording_stack import recordings


def plain(t):
    return t.numpy() if isinstance(t, tapec.Tensor) else t


def loss(arrays):
    """A number in which every element counts differently, and not linearly."""
    total = 0.0
    for k, y in enumerate(arrays):
        weights = np.cos(1.0 + k + np.arange(math.prod(np.shape(y)))).reshape(np.shape(y))
        total = total + np.sum(weights * np.sin(np.real(y)) + 0.1 * np.imag(y) * weights)
    return total


def slope(f, x, direction, h=1e-5):
    return (8 * (f(x + h * direction) - f(x - h * direction)) - f(x + 2 * h * direction) + f(x - 2 * h * direction)) / (
        12 * h
    )


def gradient(f, x):
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = loss(f(t))
    return tape.gradient(y, t, unconnected_gradients="zero").numpy()


def check(f, shape=(4, 3), seed=0):
    """`f` maps an array to a list of arrays. Values, first and second derivative, on a tape and compiled."""
    rng = np.random.default_rng(seed)
    x, d, e = rng.standard_normal((3, *shape))
    expected = f(x.copy())
    t = tapec.constant(x)
    with tapec.GradientTape() as outer:
        outer.watch(t)
        with tapec.GradientTape() as tape:
            tape.watch(t)
            found = f(t)
            y = loss(found)
        g = tape.gradient(y, t, unconnected_gradients="zero")
        along = np.sum(g * d)
    second = outer.gradient(along, t, unconnected_gradients="zero").numpy()
    for want, got, compiled in zip(expected, found, tapec.compile(f)(x), strict=True):
        np.testing.assert_allclose(plain(got), want, rtol=5e-16)
        np.testing.assert_allclose(compiled, want, rtol=1e-13)
        assert got.dtype == compiled.dtype == want.dtype
    assert np.sum(g.numpy() * d) == pytest.approx(slope(lambda x: loss(f(x.copy())), x, d), rel=1e-6, abs=1e-7)
    assert np.sum(second * e) == pytest.approx(slope(lambda x: np.sum(gradient(f, x) * d), x, e), rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(tapec.grad(lambda x: loss(f(x)))(x), g.numpy(), rtol=1e-9, atol=1e-12)


def outcome(f, x):
    """The values that a function gives on a tape, the gradient of a loss of them, and the structure."""
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        found = f(t)
        y = loss(found)
    key = tape.log.key
    return [part.numpy() for part in found], tape.gradient(y, t).numpy(), key


# -- programs --------------------------------------------------------------------------------------------------------
def elements(x):
    y = np.zeros_like(x)
    y[0] = x[1] * 2
    y[1:3, 0] = x[0, 0]
    z = y * y
    y[2] += x[2]
    y[-1, ::2] = [1.0, 2.0]
    return [y, z]


def operators(x):
    y = np.copy(x)
    y += 1
    y -= x[0]
    y *= y
    y /= 2 + x[0, 0] ** 2
    y **= 2
    y @= x[:3]
    y[1] %= 0.7
    return [y]


def old_values_count(x):
    y = np.copy(x)
    a = y * y
    y[0] = a[1]
    b = y * a
    y += b
    return [y, a, b]


def masks(x):
    y = x * 1.0
    m = y > 0
    y[m] = 0.5
    z = y * 2
    y[~m] += z[~m]
    y[m[:, 0], 1] = x[0, 0]
    y[np.array([True, False, True, False])] *= 3
    return [y, z]


def masks_with_tensors(x):
    y = np.copy(x)
    y[x > 0] = x[0, 0]
    y[x < -1] -= x[1, 1]
    return [y]


def index_arrays(x):
    y = np.copy(x)
    y[np.array([0, 2, 0])] = x[1:4]
    y[[1, 1], [0, 0]] = x[0, :2]
    y[np.array([[0], [3]]), np.array([1, 2])] *= x[0, 0]
    y[..., np.array([2, 0])] += 1
    return [y]


def repeated_index_adds_once(x):
    y = np.copy(x)
    y[[0, 0, 1]] += x[1:4]
    return [y]


def at(x):
    y = np.copy(x)
    np.add.at(y, [0, 0, 2], x[1:4])
    np.multiply.at(y, ([0, 0], [1, 1]), x[3, :2])
    np.negative.at(y, [3, 3, 3])
    np.subtract.at(y, (slice(None), 1), x[:, 0])
    np.maximum.at(y, np.array([1, 1]), x[2:4])
    return [y]


def out(x):
    y = np.copy(x)
    np.add(x, y, out=y)
    np.multiply(y, 2, out=y, where=y > 0)
    np.exp(y[0], out=y[1])
    np.sum(x, axis=0, out=y[2])
    np.sum(x, 1, None, y[:, 0])
    np.clip(y, -1.0, 3.0, out=y)
    np.concatenate([x[:1], x[:1], x[:2]], out=y.view())
    w = np.zeros_like(x)
    np.divmod(x, 0.7, out=(y, w))
    np.cumsum(x, axis=0, out=w)
    return [y, w]


def where_without_division_by_zero(x):
    z = np.copy(x)
    z[0] = 0.0
    return [np.divide(x, z, out=np.zeros_like(z), where=z != 0)]


def views(x):
    y = x * 1.0
    v = y[1]
    v *= 2
    w = y.T
    w[0] = x[:, 1]
    u = w[1:]
    u[0] += v[0]
    return [y, v, w, u]


def overlapping(x):
    y = np.copy(x)
    a, b = y[0:3], y[1:4]
    a += b
    b[:] = a * 2
    y[1:] = y[:-1]
    y[::-1] *= y
    return [y, a, b]


def flat_views(x):
    y = x * 1.0
    r = y.reshape(-1)
    r[::2] = r[1::2]
    q = y * y
    y[0, 0] = 3.0
    s = np.ravel(y)
    s[1] = x[1, 1]
    c = y.flatten()
    c[2] = 7.0
    k = y.T.reshape(-1)
    k[0] = 5.0
    return [y, r, q, s, c, k]


def deep_views(x):
    y = np.copy(x)
    d = y[::-1, ::2]
    d[1:] *= x[0, 0]
    e = d.T
    e[0, :2] = x[1, 1]
    f = e[:, None, 1:]
    f += 1
    return [y, d, e, f]


def axes(x):
    y = np.copy(x)[None]
    z = np.squeeze(y, 0)
    z[0] = 1
    w = np.expand_dims(z, 1)
    w[1, 0, :] = x[0]
    np.swapaxes(y, 1, 2)[0, 0] = x[:, 2]
    np.moveaxis(y, 0, 2)[1, 1, 0] = 4.0
    return [y, z, w]


def parts(x):
    y = np.copy(x)
    p, q = np.split(y, 2)
    p[:] = q
    q *= p
    for row in y:
        row[0] = np.sum(row)
    np.flip(y)[0] = 2.0
    return [y, p, q]


def stale_views_read_anew(x):
    y = np.copy(x)
    rows = [y[i] for i in range(4)]
    for i in range(1, 4):
        y[i] = rows[i - 1] * x[i]
    return [y, *rows]


def functions(x):
    y = np.copy(x)
    y.sort(axis=0)
    np.copyto(y, x * 2, where=x > 0)
    np.fill_diagonal(y, x[0, 0])
    np.put(y, [1, 4, -1], [x[0, 1], x[2, 2]])
    np.place(y, x > 1, x[0])
    np.putmask(y, x < -1, x[1] * 3)
    np.put_along_axis(y, np.argsort(x, axis=0)[:1], x[:1], axis=0)
    np.copyto(y[0], 2.0)
    y.put([5, 6], x[3, :2], mode="wrap")
    return [y]


def flat(x):
    y = np.copy(x)
    y.flat[3] = x[0, 0]
    y.flat[::5] = x[1]
    z = np.copy(y)
    z.flat = x[0]
    w = np.copy(x)
    w.fill(1.5)
    v = np.copy(x)
    v[...] = x[0]
    v[:, :] += 1
    return [y, z, w, v]


def made_like(x):
    y = np.zeros(3, like=x)
    for i in range(3):
        y[i] = np.sum(x[i]) ** 2
    z = np.empty((2, 2), like=x)
    z[...] = x[0, 0]
    z[0, 1] = 1.0
    w = np.full(3, 0.5, like=x)
    w *= y
    return [y, z, w]


def scalars_are_rebound(x):
    s = np.sum(x)
    t = s
    s += 1
    s *= x[0, 0]
    return [np.stack([s, t])]


def copies_are_copies(x):
    y = x * 1.0
    made = [np.copy(y), y.copy(), y.flatten(), y.astype(float), np.array(y, like=y), +y, y[[0, 1]], np.concatenate([y])]
    for z in made:
        z[0] = 9.0
    return [y, *made]


def complex_parts(x):
    z = x + 2j * x
    z.real = x * x
    z.imag[0] = 3.0
    z.real[1] *= x[0]
    z[2] *= 1j
    return [z]


def cast(x):
    y = np.zeros_like(x, dtype=np.complex128)
    y[0] = x[0]
    y += x
    i = np.zeros(3, int, like=x)
    i[0] = 2.7
    i[1:] += np.array([1, 2])
    return [y, i.astype(float)]


def unconnected_when_overwritten(x):
    y = x * 2
    y[...] = 1.0
    y.fill(2.0)
    return [y]


def loops(x):
    u = np.zeros((5, 3), like=x)
    u[0] = x[0]
    for t in range(4):
        u[t + 1] = u[t] + 0.1 * np.sin(u[t])
        u[t + 1, 0] = x[t, 0]
    return [u]


def empty(x):
    y = x * 1.0
    y[0:0] = 3.0
    y[np.zeros(0, int)] = 1.0
    y[y > 100] = 2.0
    z = y[:0]
    z += 1
    return [y, z]


def many_places(x):
    a, b, c, d, e, f, g, h, i = (x * k for k in range(1, 10))
    np.put(a, [0, 99], x[0, :2], mode="clip")
    np.put(b, [1, -13, 25], x[1, :2], mode="wrap")
    np.put(c, [], x[0, :0])
    np.put(d, [0, 1, 2], x[3])
    np.put_along_axis(e, np.array([0, 7]), x[0, :2], None)
    np.put_along_axis(f, np.array([[0], [1], [2], [0]]), x[:, 1, None], 1)
    np.place(g, x > 9, x[0])
    np.fill_diagonal(h, x[0, 1], wrap=True)
    np.put(i, np.argsort(x[0]), x[1])
    cube = np.zeros((3, 3, 3), like=x)
    np.fill_diagonal(cube, x[0])
    return [a, b, c, d, e, f, g, h, i, cube]


def what_only_looks(x):
    y = np.copy(x)
    windows, diagonal, many = np.lib.stride_tricks.sliding_window_view(y, 2, axis=0), np.diagonal(y), y[None] + 0
    spread = np.broadcast_to(y, (2, *y.shape))
    y[0] = x[1] * 3
    return [y, windows * 1, diagonal * 1, spread * 1, many]


PROGRAMS = [
    elements,
    operators,
    old_values_count,
    masks,
    masks_with_tensors,
    index_arrays,
    repeated_index_adds_once,
    at,
    out,
    where_without_division_by_zero,
    views,
    overlapping,
    flat_views,
    deep_views,
    axes,
    parts,
    stale_views_read_anew,
    functions,
    many_places,
    what_only_looks,
    flat,
    made_like,
    scalars_are_rebound,
    copies_are_copies,
    complex_parts,
    cast,
    unconnected_when_overwritten,
    loops,
    empty,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy_does(program):
    check(program)


# -- programs drawn at random -----------------------------------------------------------------------------------------
def index(draw, shape):
    """A basic or advanced index into an array of this shape."""
    kind = draw(st.sampled_from(["int", "slice", "slices", "array", "mask", "new", "computed"]))
    n = shape[0]
    if kind == "int":
        return draw(st.integers(-n, n - 1))
    if kind == "computed":
        return lambda y: np.argmax(y.ravel()) % n  # an np.int64, or a tensor that stands for one
    if kind == "slice":
        return draw(st.sampled_from([slice(None, None, 2), slice(1, None), slice(None, None, -1), slice(0, 2), ...]))
    if kind == "slices":
        return tuple(draw(st.sampled_from([slice(None), slice(0, 2), slice(None, None, -1)])) for _ in shape)
    if kind == "array":
        return draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=3))
    if kind == "mask":
        return np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    return (None, slice(0, 2))


def step(draw, shapes):
    """One statement over arrays of these shapes; new arrays come last. The same for NumPy and for tensors."""
    k = draw(st.integers(0, len(shapes) - 1))
    kind = draw(
        st.sampled_from(["view", "view", "layout", "write", "write", "augment", "compute", "fill", "copyto", "flat"])
    )
    if not shapes[k] or 0 in shapes[k]:
        return lambda ys: ys.append(ys[k] * 1.5), f"product of {k}"
    given = index(draw, shapes[k])
    j = draw(st.integers(0, len(shapes) - 1))
    way = draw(st.sampled_from(["T", "ravel", "reshape", "squeeze", "diagonal", "diag", "einsum", "spread"]))
    number = draw(st.floats(-1, 1))

    def place(ys):
        return given(ys[k]) if callable(given) else given

    def view(ys):
        ys.append(ys[k][place(ys)])

    def layout(ys):
        y = ys[k]
        if way in ("diagonal", "diag", "einsum") and y.ndim != 2:
            ys.append(y.ravel())
        elif way == "einsum":
            ys.append(np.einsum("ii->i", y[: min(y.shape), : min(y.shape)]))
        else:
            ways = {
                "T": lambda: y.T,
                "ravel": y.ravel,
                "reshape": lambda: y.reshape(-1, 1),
                "squeeze": y.squeeze,
                "diagonal": lambda: np.diagonal(y),
                "diag": lambda: np.diag(y),
                "spread": lambda: np.broadcast_to(y, (2, *y.shape)),
            }
            ys.append(ways[way]())

    def fitting(ys, shape):
        """Another array, or a number where that does not fit."""
        try:
            return ys[j] if np.broadcast_shapes(shape, ys[j].shape) == shape else number
        except ValueError:
            return number

    def write(ys):
        i = place(ys)
        ys[k][i] = fitting(ys, ys[k][i].shape)

    def copyto(ys):
        part = ys[k][place(ys)]
        if part.shape:
            np.copyto(part, fitting(ys, part.shape))

    def flat(ys):
        ys[k].flat[::2] = ys[j] if ys[j].shape and 0 not in ys[j].shape else number
        ys.append(ys[k].flat[1:4])

    def augment(ys):
        i = place(ys)
        ys[k][i] *= number
        ys[k][i] += np.sum(np.sin(ys[j])) / (1 + ys[j].size)

    def compute(ys):
        ys.append(ys[k] * np.sin(ys[k]))

    def fill(ys):
        ys[k].fill(number)

    steps = {"view": view, "layout": layout, "write": write, "augment": augment, "compute": compute, "fill": fill}
    text = {
        "layout": way,
        "write": f"{given} = {j}",
        "augment": f"{given} += {j}",
        "copyto": f"{given} = {j}",
        "flat": j,
    }
    return {**steps, "copyto": copyto, "flat": flat}[kind], f"{kind} of {k}: {text.get(kind, given)} {number}"


@st.composite
def programs(draw):
    steps = []
    size = draw(st.sampled_from([1, 100]))  # generated code changes large arrays in place
    ys = [np.zeros((3 * size, 2)), np.zeros(4 * size)]
    for _ in range(draw(st.integers(1, 10))):
        do = Refusable(*step(draw, [y.shape for y in ys]))
        do(ys)
        steps.append(do)
    return steps, size


class Refusable:
    """A step that does nothing where NumPy refuses to write."""

    def __init__(self, do, text):
        self.do = do
        self.text = text

    def __call__(self, ys):
        with contextlib.suppress(ValueError):
            self.do(ys)

    def __repr__(self):
        return self.text


@given(programs(), st.integers(0, 10))
def test_any_program_as_numpy_does(program, seed):
    steps, size = program

    def f(x):
        ys = [np.copy(x[: 6 * size]).reshape(3 * size, 2) * 1.0, np.copy(x[6 * size :])]
        for do in steps:
            do(ys)
        return [y for y in ys if isinstance(y, (np.ndarray, tapec.Tensor)) and y.shape]

    rng = np.random.default_rng(seed)
    x, d = rng.standard_normal((2, 10 * size))
    expected = f(x)
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        found = f(t)
        y = loss(found)
    g = tape.gradient(y, t, unconnected_gradients="zero").numpy()
    for want, got in zip(expected, found, strict=True):
        np.testing.assert_allclose(plain(got), want, rtol=1e-13, atol=1e-13)
    assert np.sum(g * d) == pytest.approx(slope(lambda x: loss(f(x)), x, d), rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(tapec.grad(lambda x: loss(f(x)))(x), g, rtol=1e-9, atol=1e-11)


# -- what shares memory ------------------------------------------------------------------------------------------------
def test_views_outside_any_recording():
    y = tapec.constant(np.arange(6.0).reshape(2, 3))
    v, w = y[0], y.T
    y[0, 1] = 10.0
    w[2, 0] = 20.0
    assert v.tolist() == [0.0, 10.0, 20.0]
    assert y.tolist() == [[0.0, 10.0, 20.0], [3.0, 4.0, 5.0]]
    assert v.base is y and y.base is None and y[[0, 1]].base is None


def test_a_constant_is_changed_in_place_outside_any_recording():
    c = tapec.constant([1.0, 2.0])
    d = c
    c[0] = 5.0
    c += 1
    assert d is c and c.tolist() == [6.0, 3.0]


def test_numpys_own_array_is_never_shared():
    a = np.zeros(3)
    t = tapec.constant(a)
    a[0] = 1.0
    t[1] = 2.0
    np.asarray(t)[2] = 3.0
    assert a.tolist() == [1.0, 0.0, 0.0] and t.tolist() == [0.0, 2.0, 0.0]


def test_broadcast_views_are_read_only():
    y = np.broadcast_to(tapec.constant([1.0, 2.0]), (3, 2))
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1.0


def test_views_do_not_pile_up():
    y = tapec.constant(np.zeros((4, 4)))
    for _ in range(1000):
        y[0]
    assert len(y._link.refs) < 50


def test_rows_are_written_in_linear_time():
    n = 400
    x = tapec.constant(np.ones(3))
    with tapec.GradientTape() as tape:
        tape.watch(x)
        u = tapec.zeros((n + 1, 3))
        u[0] = x
        rows = []
        for t in range(n):
            rows.append(u[t])
            u[t + 1] = rows[-1] * 1.01
    assert len(tape.log.records) < 4 * n
    assert tape.gradient(u, x).numpy()[0] == pytest.approx(sum(1.01**k for k in range(n + 1)))


# -- several recordings ------------------------------------------------------------------------------------------------
def test_gradients_through_what_was_there_before():
    """The inner gradient needs a value that is overwritten; the outer tape must see that value too."""
    x = tapec.constant([1.0, 2.0])
    with tapec.GradientTape() as outer:
        outer.watch(x)
        with tapec.GradientTape() as inner:
            inner.watch(x)
            y = x * x
            z = y * y
            y[0] = 5.0
            s = np.sum(z * y)
        g = inner.gradient(s, x)
    h = outer.gradient(g, x)
    assert g.tolist() == [4 * 5.0, 6 * 2.0**5]
    assert h.tolist() == [12 * 5.0, 30 * 2.0**4]


def test_a_constant_that_a_tape_has_read_keeps_its_value_for_that_tape():
    x, c = tapec.constant([1.0, 2.0]), tapec.constant([3.0, 4.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x * c)
        c[0] = 100.0
        y = y + np.sum(x * c * c)
    assert tape.gradient(y, x).tolist() == [3.0 + 1e4, 4.0 + 16.0]


MADE = {
    "an array": lambda z: np.array([3.0, 4.0]),
    "a constant": lambda z: tapec.constant([3.0, 4.0]),
    "computed": lambda z: z * 1.0,
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("when", ["never", "inside", "between", "after"])
def test_an_outer_tape_knows_what_an_inner_one_recorded(make, when):
    x, z = tapec.constant([1.0, 2.0]), tapec.constant([3.0, 4.0])
    with tapec.GradientTape() as outer:
        outer.watch([x, z])
        c = make(z)
        with tapec.GradientTape() as inner:
            inner.watch(x)
            y = np.sum(x * x * c)
            if when == "inside":
                c[0] = 100.0
        if when == "between":
            c[0] = 100.0
        g = inner.gradient(y, x)
        total = np.sum(g * g)
        if when == "after":
            c[0] = 100.0
    dx, dz = outer.gradient(total, [x, z])
    assert g.tolist() == [6.0, 16.0] and dx.tolist() == [72.0, 256.0]
    assert (dz if dz is None else dz.tolist()) == ([24.0, 128.0] if make is MADE["computed"] else None)


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("when", ["never", "inside", "between", "after"])
def test_a_function_knows_what_a_tape_in_it_recorded(make, when):
    def f(x, z):
        c = make(z)
        with tapec.GradientTape() as inner:
            inner.watch(x)
            y = np.sum(x * x * c)
            if when == "inside":
                c[0] = 100.0
        if when == "between":
            c[0] = 100.0
        g = inner.gradient(y, x)
        total = np.sum(g * g)
        if when == "after":
            c[0] = 100.0
        return total

    gradient = tapec.grad(f, argnums=(0, 1))
    for _ in range(2):
        dx, dz = gradient(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
        assert dx.tolist() == [72.0, 256.0]
        assert dz.tolist() == ([24.0, 128.0] if make is MADE["computed"] else [0.0, 0.0])


def test_plain_arrays_that_change_after_they_were_recorded():
    def f(x):
        buffer, total = np.zeros(3), 0.0
        for i in range(3):
            buffer[:] = 0
            buffer[i] = i + 1
            total = total + np.sum(buffer * x) ** 2 + np.sum(np.sin(buffer) * x)
        return total

    x = np.array([1.0, 2.0, 3.0])
    expected = 2 * x * np.array([1, 4, 9]) + np.sin([1.0, 2.0, 3.0])
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    np.testing.assert_allclose(tape.gradient(y, t).numpy(), expected)
    np.testing.assert_allclose(tapec.grad(f)(x), expected)


def test_an_array_that_changes_between_the_block_and_the_gradient():
    x, a = tapec.constant([1.0, 2.0]), np.array([3.0, 4.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * a
    a[:] = 0
    assert tape.gradient(y, x).tolist() == [3.0, 4.0]


SIZES = 10, 100_000  # what is compared as bytes, and what element by element


@pytest.mark.parametrize("n", SIZES)
def test_each_operation_reads_what_an_array_held_then(n):
    x, a = tapec.constant(np.ones(n)), np.ones(n)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * a
        a[n // 3] = 2.0
        y = y + x * a
        a[n // 3] = 1.0
        y = y + x * a
        a[:] = 5.0
    expected = np.full(n, 3.0)
    expected[n // 3] = 4.0
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), expected)


@pytest.mark.parametrize("n", SIZES)
def test_each_operation_reads_the_shape_that_an_array_had_then(n):
    x, y, a = tapec.constant(np.ones(n)), tapec.constant(np.ones((2, n // 2))), np.arange(float(n))
    with tapec.GradientTape() as tape:
        tape.watch([x, y])
        total = np.sum(x * a)
        a.resize((2, n // 2), refcheck=False)
        total = total + np.sum(y * a)
    d_x, d_y = tape.gradient(total, [x, y])
    np.testing.assert_array_equal(d_x.numpy(), np.arange(float(n)))
    np.testing.assert_array_equal(d_y.numpy(), np.arange(float(n)).reshape(2, -1))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8", "i2", "?", "g", ">f8"])
@pytest.mark.parametrize("part", [np.s_[:], np.s_[::2], np.s_[::-1]])
def test_one_changed_element_is_seen(n, dtype, part):
    x, a = tapec.constant(np.ones(a_size := len(np.arange(n)[part]))), np.zeros(n, dtype)
    view = a[part]
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * view
        view[a_size // 7] = 1
        z = x * view
        view[a_size // 7] = 0
    assert not np.any(tape.gradient(y, x).numpy())
    assert np.flatnonzero(tape.gradient(z, x).numpy()).tolist() == [a_size // 7]


@pytest.mark.parametrize("n", SIZES)
def test_signs_of_zeros_and_nan_are_contents(n):
    x, a = tapec.constant(np.ones(n)), np.zeros(n)
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.copysign(x, a)
        a[3] = -0.0
        z = np.copysign(x, a)
        a[3] = np.nan
        w = x * a
    found = [tape.gradient(t, x).numpy()[3] for t in (y, z, w)]
    np.testing.assert_array_equal(found, [1.0, -1.0, np.nan])


@pytest.mark.parametrize("n", SIZES)
def test_a_buffer_that_is_refilled_in_a_function(n):
    def f(x):
        mask, total = np.zeros(x.shape), 0.0
        for c in range(3):
            mask[...] = 0
            mask[c::3] = 1.0
            total = total + np.sum(mask * x) ** 2
        return total

    x = np.linspace(0.0, 1.0, n)
    value, gradient = tapec.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x))
    np.testing.assert_allclose(gradient, [2 * x[k % 3 :: 3].sum() for k in range(n)])


@pytest.mark.parametrize("n", SIZES)
def test_rows_that_are_shuffled_in_place_between_two_steps_of_a_tape(n):
    rng, data, w = np.random.default_rng(0), np.arange(2.0 * n).reshape(n, 2), tapec.Variable(np.ones(2))
    for _ in range(3):
        before = data.copy()
        with tapec.GradientTape() as tape:
            loss = np.sum((data @ w)[: n // 2])
        rng.shuffle(data)
        np.testing.assert_allclose(tape.gradient(loss, w).numpy(), before[: n // 2].sum(0))


@pytest.mark.parametrize("n", SIZES)
def test_places_of_a_mask_that_changes(n):
    x, mask = tapec.constant(np.arange(1.0, n + 1)), np.zeros(n, bool)
    mask[2] = True
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x[mask] ** 2)
        mask[2], mask[5] = False, True
        y = y + np.sum(x[mask] ** 2)
    gradient = tape.gradient(y, x).numpy()
    assert np.flatnonzero(gradient).tolist() == [2, 5] and gradient[[2, 5]].tolist() == [6.0, 12.0]


def test_a_stale_view_as_a_target():
    x = tapec.constant([1.0, 2.0, 3.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        v = y[:2]
        y[0] = x[2] ** 2
    assert tape.gradient(v, x).tolist() == [0.0, 1.0, 6.0]


@pytest.mark.parametrize("as_sources", [lambda v: v, lambda v: [v], lambda v: {"a": (v,)}], ids=["one", "list", "dict"])
@pytest.mark.parametrize("where", ["in the block", "after the block"])
def test_a_stale_view_as_a_source_is_what_it_is_now(as_sources, where):
    x = tapec.constant([1.0, 2.0, 3.0])
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 1.0
        v = y[:2]
        z = np.sum(v**2)
        y[0] = x[2] ** 2
        if where == "in the block":
            found = tape.gradient(z, as_sources(v))
    if where == "after the block":
        found = tape.gradient(z, as_sources(v))
    assert leaves_of(found) == [None]  # z is made of what the view was


def test_a_view_is_read_anew_once_and_where_its_base_has_changed():
    x = tapec.constant([1.0, 2.0, 3.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        v = y[:2]
        y[0] = 5.0
        y[1] = x[0]
        before = len(tape.log.records)
        assert [v.shape, v.dtype, v.ndim] == [(2,), float, 1]
        assert v.tolist()[0].numpy() == 5.0 and recordings(v) == [tape]
        assert [entry[3] is v for entry in tape.log.records[before:]].count(True) == 1
        assert not hasattr(v, "no_such_thing")


def a_row_squared(x):
    y = x * 1.0
    row = y[0]
    y[0] = row * row
    return np.sum(y * x)


def what_was_made_of_a_row(x):
    y = x * 1.0
    z = np.sin(y[:1])
    y *= 2.0
    return np.sum(z) + np.sum(y)


def a_row_read_before_and_after(x):
    y = x * 1.0
    row = y[1:]
    z = row**3
    y *= x
    return np.sum(z * row)


@pytest.mark.parametrize("f", [a_row_squared, what_was_made_of_a_row, a_row_read_before_and_after])
def test_second_derivatives_through_what_a_view_was_before_its_base_changed(f):
    x = tapec.constant([[0.5, 0.7], [0.9, 1.1]])
    with tapec.GradientTape() as outer:
        outer.watch(x)
        with tapec.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        total = np.sum(inner.gradient(y, x) ** 2)
    expected = tapec.grad(lambda x: np.sum(tapec.grad(f)(x) ** 2))(x.numpy())
    assert np.any(expected)
    np.testing.assert_allclose(outer.gradient(total, x).numpy(), expected, rtol=1e-12)


def test_a_stale_view_that_is_watched():
    c = tapec.constant([1.0, 2.0, 3.0])
    v = c[:2]
    c[0] = 5.0
    with tapec.GradientTape() as tape:
        tape.watch(v)
        y = v * v
    assert tape.gradient(y, v).tolist() == [10.0, 4.0]


# -- refused -----------------------------------------------------------------------------------------------------------
def in_place(name):
    def change(y):
        if name == "item":
            y[0] = 1.0
        elif name == "operator":
            y += 1
        elif name == "view":
            y.T[0] = 1.0
        elif name == "out":
            np.add(y, 1, out=y)
        else:
            y.sort()

    return change


CHANGES = [in_place(name) for name in ("item", "operator", "view", "out", "sort")]


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_tape_watches_is_not_changed(change):
    x = tapec.constant([3.0, 2.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(tapec.InPlaceError, match=r"^test_assign.py:\d+: .*watches.*Fix: .*x.copy\(\)"):
            change(x)
        y = x * x
    assert x.tolist() == [3.0, 2.0]
    assert tape.gradient(y, x).tolist() == [6.0, 4.0]


@pytest.mark.parametrize("change", CHANGES)
def test_an_argument_is_not_changed(change):
    def f(x):
        change(x)
        return np.sum(x)

    a = np.array([3.0, 2.0])
    with pytest.raises(tapec.InPlaceError, match=r"^test_assign.py:\d+: .*change x.*caller"):
        tapec.grad(f)(a)
    assert a.tolist() == [3.0, 2.0]


CAPTURED = np.array([3.0, 2.0])
CONSTANT = tapec.constant([3.0, 2.0])


def test_captured_state_is_not_changed():
    def f(x):
        CAPTURED[0] = x[0]
        return np.sum(x)

    def g(x):
        CONSTANT[0] = x[0]
        return np.sum(x)

    for function in f, g:
        with pytest.raises(tapec.InPlaceError, match=r"^test_assign.py:\d+: "):
            tapec.grad(function)(np.ones(2))
    assert CAPTURED.tolist() == CONSTANT.tolist() == [3.0, 2.0]


def test_a_tensor_of_a_tape_that_records_no_longer():
    x = tapec.constant([1.0, 2.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(tapec.InPlaceError, match="records? no longer|does not record"):
        y[0] = 1.0
    assert tape.gradient(y, x).tolist() == [2.0, 4.0]
    y[0] = 7.0  # the tape is used up: nothing knows y any more
    assert y.tolist() == [7.0, 4.0]


def test_inside_stop_recording():
    x = tapec.constant([1.0, 2.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording(), pytest.raises(tapec.InPlaceError):
            y[0] = 1.0
        y[0] = x[1]
    assert tape.gradient(y, x).tolist() == [0.0, 5.0]


def test_variables_change_by_assignment_alone():
    v = tapec.Variable([1.0, 2.0])
    with pytest.raises(tapec.InPlaceError, match="assign"):
        v[0] = 1.0
    for view in (v.T, v[:], v.reshape(2), np.squeeze(v)):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1.0
    for change in CHANGES:
        change(v.read_value())
    assert v.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda a, x: a.__setitem__(0, x[0]),
        lambda a, x: a.__setitem__(slice(None), x),
        lambda a, x: a.__setitem__(..., x[0]),
        lambda a, x: a.__iadd__(x),
        lambda a, x: np.add(x, 1, out=a),
        lambda a, x: np.sum(x, keepdims=True, out=a[:1]),
        lambda a, x: np.copyto(a, x),
        lambda a, x: np.put(a, [0], x[0]),
        lambda a, x: np.place(a, [True, False], x[:1]),
        lambda a, x: np.putmask(a, [True, False], x),
        lambda a, x: np.add.at(a, [0], x[:1]),
        lambda a, x: a.put([0], x[0]),
    ],
)
def test_a_plain_array_takes_no_recorded_tensor(write):
    x, a = tapec.constant([1.0, 2.0]), np.zeros(2)
    with (
        pytest.raises(tapec.DetachError, match=r"^test_assign.py:\d+: .*Fix: .*zeros_like|astype"),
        tapec.GradientTape() as tape,
    ):
        tape.watch(x)
        write(a, x)
    assert a.tolist() == [0.0, 0.0]
    write(a, tapec.constant([1.0, 2.0]))
    assert a[0] > 0.0


def test_storing_in_a_statement():
    x = tapec.constant([1.0, 2.0])
    arr = np.zeros(2)
    with pytest.raises(tapec.DetachError) as caught, tapec.GradientTape() as tape:
        tape.watch(x)
        arr[0] = x[0]
    line = test_storing_in_a_statement.__code__.co_firstlineno + 5
    assert str(caught.value).startswith(f"test_assign.py:{line}: storing into a plain NumPy array")
    assert "np.zeros(n, like=x)" in str(caught.value)

    def f(x):
        arr = np.zeros(2)
        memoryview(arr)  # as arrays alone have it, so that no tensor can stand for this one
        arr[0] = x[0]
        return np.sum(arr)

    with pytest.raises(tapec.DetachError, match="storing into a plain NumPy array"):
        tapec.grad(f)(np.ones(2))


# -- errors of NumPy ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("error", "change"),
    [
        (ValueError, lambda y: y.__setitem__(0, np.ones(3))),
        (ValueError, lambda y: y.__setitem__([0, 1, 0], np.ones((2, 2)))),
        (IndexError, lambda y: y.__setitem__(10, 1.0)),
        (IndexError, lambda y: y.__setitem__((0, 0, 0), 1.0)),
        (IndexError, lambda y: y.__setitem__(np.array([True, False, True]), 1.0)),
        (IndexError, lambda y: y.__setitem__("a", 1.0)),
        (IndexError, lambda y: y.__setitem__((..., ...), 1.0)),
        (IndexError, lambda y: y.__setitem__((slice(None),) * 3, 1.0)),
        (TypeError, lambda y: y.__setitem__(slice(np.array([0, 1]), None), 1.0)),
        (ValueError, lambda y: y.__setitem__(0, "a")),
        (TypeError, lambda y: y.__setitem__((0, 0), 1j)),
        (ValueError, lambda y: y.__iadd__(np.ones((3, 2)))),
        (ValueError, lambda y: np.add(y, np.ones((3, 1, 1)), out=y)),
        (TypeError, lambda y: y.__iadd__(1j)),
        (TypeError, lambda y: y.astype(int).__iadd__(0.5)),
        (TypeError, lambda y: np.add(y, 1, out=[0])),
        (IndexError, lambda y: y.put([100], [1.0])),
        (ValueError, lambda y: np.fill_diagonal(y[0], 1.0)),
        (TypeError, lambda y: np.copyto(y, 1j * np.ones(2))),
        (TypeError, lambda y: np.copyto(y, 2, casting="equiv")),
        (OverflowError, lambda y: y.__setitem__(..., 10**400)),
        (ValueError, lambda y: y.__setitem__(..., np.ones((3, 1, 2)))),
    ],
)
def test_errors_are_numpys_and_leave_everything_as_it_was(error, change):
    before = np.array([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(error):
        change(before.copy())
    x = tapec.constant(before)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        records = len(tape.log.records)
        with pytest.raises(error) as caught:
            change(y)
        assert len([r for r in tape.log.records if r[6] is not None]) == 0
        z = np.sum(y * y)
    text = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "test_assign.py:" in text
    assert y.numpy().tolist() == before.tolist() and records >= 1
    assert tape.gradient(z, x).numpy().tolist() == (2 * before).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda y: y.resize(3),
        lambda y: y.byteswap(),
        lambda y: y.view(np.int64),
        lambda y: y.setflags(),
        lambda y: setattr(y, "dtype", np.int64),
    ],
)
def test_what_would_reinterpret_memory_is_refused(call):
    with pytest.raises(tapec.UnsupportedError, match=r"test_assign.py:\d+: .*Fix: "):
        call(tapec.constant([1.0, 2.0]))


RAVELED = {
    "reversed": lambda x: x[::-1],
    "with gaps": lambda x: x[::2],
    "a column": lambda x: x.reshape(2, 3)[:, 1],
    "reversed twice": lambda x: x.reshape(2, 3)[::-1, ::-1],
    "transposed": lambda x: x.reshape(2, 3).T,
    "as it is": lambda x: x,
    "a row": lambda x: x.reshape(2, 3)[1],
    "a matrix": lambda x: x.reshape(2, 3),
}


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("name", RAVELED)
def test_raveled_memory_is_shared_where_numpy_shares_it(name, order):
    for ravel in (lambda x: x.ravel(order), lambda x: np.ravel(x, order)) + ((np.ravel,) if order == "C" else ()):
        for _ in range(4):
            plain, tensor = np.arange(6.0), tapec.constant(np.arange(6.0))
            for x in (plain, tensor):
                ravel(RAVELED[name](x))[1] = 9.0
            np.testing.assert_array_equal(tensor.numpy(), plain)


WRITES = {
    "add": lambda y, x: operator.iadd(y, x[0]),
    "power": lambda y, x: operator.ipow(y, 2),
    "product with an array": lambda y, x: operator.imul(y, np.arange(4.0)),
    "matmul": lambda y, x: operator.imatmul(y, np.arange(16.0).reshape(4, 4)),
    "row": lambda y, x: operator.setitem(y, 0, x[1] * 2),
    "element": lambda y, x: operator.setitem(y, (1, -1), 3.0),
    "slices": lambda y, x: operator.setitem(y, (slice(1, None), slice(None, None, -2)), x[:2, :2]),
    "array": lambda y, x: operator.setitem(y, np.arange(3), x[::-1]),
    "rows": lambda y, x: operator.setitem(y, np.array([2, 0, 2]), x),
    "row and array": lambda y, x: operator.setitem(y, (1, np.array([0, 2])), x[0, :2]),
    "list": lambda y, x: operator.setitem(y, [2, 0], 0.0),
    "mask": lambda y, x: operator.setitem(y, np.arange(12).reshape(3, 4) % 2 == 0, 1.5),
    "recorded mask": lambda y, x: operator.setitem(y, x > 0, 1.5),
    "mask and values": lambda y, x: operator.setitem(y, np.array([True, False, True]), x[1:]),
    "part": lambda y, x: operator.setitem(y, 1, operator.iadd(y[1], x[0])),
    "column": lambda y, x: operator.setitem(y, (slice(None), 2), operator.imul(y[:, 2], x[:, 0])),
    "element of it": lambda y, x: operator.setitem(y, (1, 2), y[1, 2] + x[0, 0]),
    "from itself": lambda y, x: operator.setitem(y, slice(1, None), y[:-1]),
    "itself": lambda y, x: operator.setitem(y, 0, y[0]),
    "another row of itself": lambda y, x: operator.setitem(y, 0, y[1]),
    "out": lambda y, x: np.multiply(x, x, out=y),
    "cast": lambda y, x: operator.setitem(y, 0, np.arange(4)),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("start", [np.copy, np.zeros_like, lambda x: x * 1.0, lambda x: (x.T * x.T).T])
def test_each_write_twice(name, start):
    def f(x):
        y = start(x)
        before = y * x
        WRITES[name](y, x)
        WRITES[name](y, x)
        return [y, before, y[0]]

    x = np.cos(np.arange(12.0).reshape(3, 4))

    values, gradient, key = outcome(f, x)
    for got, want in zip(values, f(x.copy()), strict=True):
        np.testing.assert_array_equal(got, want)
    d = np.sin(x)
    assert np.sum(gradient * d) == pytest.approx(slope(lambda x: loss(f(x.copy())), x, d), rel=1e-6, abs=1e-7)
    assert outcome(f, x)[2] == key


def test_writes_to_what_a_variable_gave():
    with tapec.GradientTape() as tape:
        v = tapec.Variable(np.ones(4))
        y = np.zeros_like(v)
        y[0] = v[1]
        y += v
        y[1:] *= v[1:]
        y[np.array([0, 3])] = 2.0
        z = v * v
        z -= y
        np.add(v, v, out=z)
    np.testing.assert_array_equal(tape.gradient(z, v).numpy(), [2.0, 2.0, 2.0, 2.0])


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.__setitem__(0, 2.0),
        lambda y: np.put(y, [0, 2], 2.0),
        lambda y: np.copyto(y, 0.5, where=np.array([True, False, False, True])),
    ],
)
def test_a_slope_that_takes_its_own_result_finds_it_after_a_write(write):
    """The slope of a quotient takes the quotient; a write to some elements comes after."""

    def f(x):
        y = x * 1.0
        y /= 1.0 + x * x
        write(y)
        return np.sum(y * y * y)

    x = tapec.constant(np.linspace(0.5, 2.0, 4))
    with tapec.GradientTape() as tape:
        tape.watch(x)
        loss = f(x)
    d = np.cos(np.arange(4.0))
    assert np.sum(tape.gradient(loss, x) * d) == pytest.approx(slope(f, x.numpy(), d), rel=1e-6)


def test_views_of_what_changed_more_than_once():
    t = tapec.constant(np.arange(6.0))
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = t * 1.0
        head, tail = y[:3], y[3:]
        head += tail
        y[5] = 7.0
        tail *= 2.0
        total = np.sum(y * np.arange(1.0, 7.0))
    plain = np.arange(6.0)
    plain[:3] += plain[3:]
    plain[5] = 7.0
    plain[3:] *= 2.0
    np.testing.assert_array_equal(y.numpy(), plain)
    np.testing.assert_array_equal(head.numpy(), plain[:3])
    np.testing.assert_array_equal(tail.numpy(), plain[3:])
    np.testing.assert_array_equal(tape.gradient(total, t).numpy(), [1.0, 2.0, 3.0, 1.0 + 8.0, 2.0 + 10.0, 3.0])


def test_changing_rows_of_what_was_just_computed_does_not_scan_the_log_each_time(monkeypatch):
    scans = []
    scan = Log.scan
    monkeypatch.setattr(Log, "scan", lambda log: scans.append(log) or scan(log))
    x = tapec.constant(np.ones((3, 2)))
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y, row = x * 2.0, x[1]
        scans.clear()
        for _ in range(5):
            y[0] += row
        assert scans == []
        total = np.sum(y**2)
    np.testing.assert_allclose(tape.gradient(total, x), [[28.0, 28.0], [78.0, 78.0], [8.0, 8.0]])


# -- all of it, and elements by their number -------------------------------------------------------------------------
WHOLE = {
    "a number": lambda y, plain: y.fill(2.5),
    "a number to all": lambda y, plain: operator.setitem(y, ..., -1.5),
    "an array": lambda y, plain: operator.setitem(y, slice(None), plain),
    "a row": lambda y, plain: operator.setitem(y, ..., plain[0]),
    "itself, more": lambda y, plain: operator.iadd(y, plain),
    "a column": lambda y, plain: operator.setitem(y, (..., 1), plain[:, 1]),
    "by number": lambda y, plain: np.put(y, [0, -1, 5], plain[0, :2]),
    "a diagonal": lambda y, plain: np.fill_diagonal(y, plain[0, :3]),
    "flat": lambda y, plain: operator.setitem(y.flat, slice(1, 4), plain[1, 1]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_written_may_change_later(name):
    x = tapec.constant(np.arange(12.0).reshape(3, 4))
    want, given_plain = 2.0 * x.numpy(), np.linspace(-1.0, 1.0, 12).reshape(3, 4)
    WHOLE[name](want, given_plain)
    for _ in range(3):
        plain_array = given_plain.copy()
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = x * 2.0
            WHOLE[name](y, plain_array)
            plain_array[:] = 9.0
            total = np.sum(y * y * x)
        np.testing.assert_array_equal(y.numpy(), want)
        kept = np.where(want == 2.0 * x.numpy(), 1.0, float(name == "itself, more"))
        np.testing.assert_allclose(tape.gradient(total, x).numpy(), want**2 + 4.0 * want * x.numpy() * kept, rtol=1e-12)


@pytest.mark.parametrize("place", [12, -13])
def test_there_is_no_such_element(place):
    y = tapec.constant(np.zeros((3, 4)))
    with pytest.raises(IndexError, match="out of bounds"):
        np.put(y, [place], 1.0)
    assert not y.numpy().any()


@pytest.mark.parametrize(
    "place",
    [
        lambda y: y[..., 0],
        lambda y: y[1:][..., 0],
        lambda y: np.squeeze(y[1:2]),
        lambda y: y[1:2].reshape(()),
        lambda y: y[..., 2][None],
        lambda y: np.expand_dims(y[1:][..., 0], 0),
        lambda y: np.squeeze(y[:1]).reshape(1, 1),
    ],
)
def test_views_without_axes(place):
    def f(x):
        found = []
        for k in range(3):  # plans are followed from the second time on
            y = x * (k + 1.0)
            v = place(y)
            v += x[1]
            y[:2] *= 2.0
            v *= x[2]
            found += [y, v * 1.0]
        return found

    check(f, (3,))


def test_numbers_are_no_views():
    def f(x):
        y = np.tanh(x)
        v, s, w = y[0], np.sum(y), np.take(y, 1)
        t = s.reshape(1)
        z = y[2][...]
        v += 1.0
        s += 1.0
        w += 1.0
        t += 1.0
        z += 1.0
        return [y, v, s, w, t, z * 1.0]

    for _ in range(3):
        check(f, (3,))


def test_arrays_of_tensors_take_results_in_place():
    """np.array of tensors holds them one by one, and so may hold what is computed of them."""

    def f(x):
        q = np.array([1.0, x[0] * x[1], x[1]])
        same = q
        q /= np.linalg.norm(q)
        q += x[0]
        np.multiply(q, np.sin(x[:1]), out=q)
        return same @ np.array([1.0, 2.0, 3.0])

    x = np.array([0.3, 0.8])
    assert tapec.compile(f)(x) == f(x)
    tapec.check_grads(f, (x,), order=2)
    with tapec.GradientTape() as tape:
        v = tapec.constant(x)
        tape.watch(v)
        y = f(v)
    np.testing.assert_allclose(tape.gradient(y, v), tapec.grad(f)(x))


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("how", ["tensor", "bool"])
def test_an_array_without_axes_where_a_truth_value_says_so(flag, how):
    def f(x):
        v = np.asarray(np.sum(x))
        v[(v > -1.0) == flag if how == "tensor" else flag] = 0.75 * x[0]
        return v * x[1]

    x = np.array([0.3, 0.4])
    value, slope = (0.09, [0.3, 0.225]) if flag else (0.28, [0.4, 1.1])
    found, gradient = tapec.value_and_grad(f)(x)
    np.testing.assert_allclose(found, value, rtol=1e-13)
    np.testing.assert_allclose(gradient, slope, rtol=1e-13)
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    np.testing.assert_allclose(tape.gradient(y, t).numpy(), slope, rtol=1e-13)


@pytest.mark.parametrize("start", [-1.0, 1.0])
def test_masks_of_values_without_axes_may_be_false(start):
    def f(x, s):
        x = x * 1.16
        v = np.squeeze(x[:1])
        v[v > -0.67] = v[v > -0.67] * s
        return np.sum(x * x)

    x = np.array([start])
    assert tapec.compile(f)(x, 2.0) == pytest.approx(f(x, 2.0))
    scale = 1.16 * (2.0 if start > 0 else 1.0)
    np.testing.assert_allclose(tapec.grad(f)(x, 2.0), 2.0 * scale**2 * x)
    with pytest.raises(ValueError, match="cannot assign 2 input values"):
        tapec.compile(lambda x: (np.squeeze(x * 1.0).__setitem__(False, np.ones(2)), x)[1])(x)
