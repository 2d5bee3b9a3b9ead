"""Arrays that a function makes and fills, as ordinary code does: they take tensors where the function can run again."""

import inspect
import math
import random
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from numpy import zeros

import tapec
from tests.ops.derivatives import differences
from tests.properties import has

X = np.array([0.3, 0.7, 1.2])
RNG = np.random.default_rng(3)
BUFFER = np.zeros(3)


# -- what works -------------------------------------------------------------------------------------------------------
def filled(x):
    y = np.zeros(5)
    for i in range(5):
        y[i] = x[i % 3] ** 2 * i
    return y @ y


def integrated(x):
    out = np.empty((6, 2))
    out[0] = 1.0, 0.5
    for t in range(5):
        out[t + 1, 0] = out[t, 0] + 0.1 * out[t, 1] * x[0]
        out[t + 1, 1] = out[t, 1] - 0.1 * np.sin(out[t, 0]) * x[1]
    return np.sum(out**2)


def assembled(x):
    stiffness = np.zeros((4, 4))
    for e in range(3):
        stiffness[np.ix_([e, e + 1], [e, e + 1])] += x[e] ** 3 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    load = np.zeros(3)
    load[-1] = 1.0
    return load @ np.linalg.solve(stiffness[1:, 1:], load)


def added_at_places(x):
    found = np.zeros((4, 4))
    ends = np.array([[e, e + 1] for e in range(3)])
    np.add.at(found, (ends[:, :, None], ends[:, None, :]), x[:, None, None] * np.ones((2, 2)))
    return np.sum(found**2)


def rotated(x):
    r = np.eye(3)
    c, s = np.cos(x[0]), np.sin(x[0])
    r[0, 0], r[0, 1], r[1, 0], r[1, 1] = c, -s, s, c
    return np.sum((r @ np.array([1.0, 2.0, 3.0])) ** 3) * x[1]


def diagonal(x):
    y = np.full((2, 2), 1.5)
    np.fill_diagonal(y, x[0])
    y[0] += x[1]
    return np.linalg.det(y)


def into_out(x):
    y = np.empty(3)
    np.multiply(x, 2.0, out=y)
    y *= x
    return y.sum()


def chosen(x):
    s = zeros(3)
    s += x * x
    s[s > 1] *= 2
    return s.sum()


def in_a_list(x):
    rows = [np.zeros(3) for _ in range(2)]
    for row in rows:
        row[:] = x * 2
        row[1] = 0
    return np.sum(np.array(rows) ** 2)


def triangle(x):
    factor = np.zeros((2, 2))
    factor[np.tril_indices(2)] = x
    return np.sum((factor @ factor.T) ** 2)


def of_a_copy(x):
    a = np.linspace(0.0, 1.0, 3)
    b = a.copy()
    b[1] = x[0]
    b[:] = b * x
    return b @ a


def ones(n):
    return np.ones(n)


def by_another_function(x):
    y = ones(3)
    y *= x
    y[0] = x[1]
    return np.prod(y)


def by_functions_that_change(x):
    y = np.arange(4.0)
    np.put(y, [1, 2], x[:2])
    np.copyto(y[2:], x[1:])
    return np.sum(y**2)


def while_small(x):
    y, k = np.zeros(10), 0
    while k < 10 and (k == 0 or y[k - 1] < 3):
        y[k] = x[0] + k * x[1]
        k += 1
    return y.sum()


def kernel(x):
    k = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            k[i, j] = np.exp(-((x[i] - x[j]) ** 2))
    return np.linalg.slogdet(k + np.eye(3))[1]


def warped(x):
    best = np.full((4, 4), np.inf)
    best[0, 0] = 0.0
    for i in range(3):
        for j in range(3):
            best[i + 1, j + 1] = (x[i] - 0.1 * j) ** 2 + min(best[i, j], best[i, j + 1], best[i + 1, j])
    return best[3, 3]


def converted(x):
    x = np.asarray(x, dtype=float)
    pair = np.array([x[0], x[1] * x[2]], dtype=float)
    return pair @ pair


def through_views(x):
    y = np.zeros(6)
    np.asarray(y)[0] = 5.0
    y.reshape(2, 3)[1] = 7.0
    y[::2] += 1.0
    for row in y.reshape(2, 3):
        row[2] = x[1]
    y[3] = x[0] ** 2
    return np.sum(y * np.arange(1, 7))


def like_a_list(x):
    y, z = np.zeros_like([0.0, 0.0, 0.0]), np.tile([1.0, 2.0], 2)
    y[:] = x
    z[1:] *= y
    return np.sum(y**2) + z.sum()


def of_a_grid(x):
    a = np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])
    a[np.diag_indices(3)] = x
    a /= a.sum(axis=1, keepdims=True)
    return np.linalg.det(a)


def goes_by_class(x):
    y = np.zeros(3)
    scale = 2.0 if isinstance(y, np.ndarray) else 3.0
    y[0] = x[0]
    return np.sum(y) * scale


class Measured:
    def __init__(self, n):
        self.z = np.array([[None] * n]).T
        self.noise = np.eye(n)


def beside_objects(x):
    filter = Measured(2)
    filter.noise *= x[0] ** 2
    filter.z[0, 0] = x[1]
    return np.sum(filter.noise @ x[:2]) + filter.z[0, 0] if filter.z[1, 0] is None else 0.0


OF_NO_NUMBERS = {
    "strings": lambda: np.array(["mass", "speed", "mass"]) == "mass",
    "strings of a dtype": lambda: np.char.add(np.zeros(3, "U5"), np.repeat(np.full(1, "a"), 3)) == "a",
    "bytes": lambda: np.asarray([b"a", b"b", b"a"]) == b"a",
    "objects": lambda: np.ones(3, object) + np.eye(3, dtype=object)[0],
    "an object for each": lambda: np.array([v is None for v in np.full(3, None)]),
    "dates": lambda: (np.arange("2020-01", "2020-04", dtype="datetime64[M]") - np.datetime64("2020-01")).astype(float),
    "fractions": lambda: np.array([Fraction(k, 3) for k in range(3)]).astype(float),
    "records": lambda: np.zeros(3, [("mass", float)])["mass"] + 1.0,
    "an iterator": lambda: np.fromiter(iter(["a", "b", "a"]), "U3") == "a",
    "a class": lambda: np.array([v is None for v in np.ndarray(3, object)]),
    "copies": lambda: np.zeros_like(np.copy(np.tile(["a"], 3))) == "",
}


@pytest.mark.parametrize("made", OF_NO_NUMBERS.values(), ids=OF_NO_NUMBERS)
def test_arrays_of_what_is_no_number_stay_as_they_are(made):
    def f(x):
        y = np.zeros(3)
        y[:2] = x[:2] ** 2
        return np.sum((1.0 + y) * np.where(made(), 2.0, 3.0) * x)

    gradient = tapec.value_and_grad(f)
    for x in (X, X[::-1].copy()):
        value, found = gradient(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-13)
        np.testing.assert_allclose(found, differences(f, x), rtol=1e-6)


WORK = [
    beside_objects,
    goes_by_class,
    like_a_list,
    of_a_grid,
    filled,
    integrated,
    assembled,
    added_at_places,
    rotated,
    diagonal,
    into_out,
    chosen,
    in_a_list,
    triangle,
]
WORK += [
    of_a_copy,
    by_another_function,
    by_functions_that_change,
    while_small,
    kernel,
    warped,
    converted,
    through_views,
]


@pytest.mark.parametrize("f", WORK, ids=lambda f: f.__name__)
def test_values_and_derivatives_of_filled_arrays(f):
    gradient = tapec.value_and_grad(f)
    for x in (X, X[::-1].copy()):
        given = x.copy()
        value, _ = gradient(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-13)
        assert np.array_equal(x, given)
        tapec.check_grads(f, (x,), order=2)
    with tapec.testing.assert_compiles(gradient, at_most=0):
        gradient(X)
    assert gradient.explain(X).recorded_anew is None
    assert tapec.compile(f)(X) == pytest.approx(f(X), rel=1e-13)


def test_filled_arrays_under_all_transforms():
    hessian = tapec.hessian(filled)(X)
    assert np.allclose(hessian, np.diag(np.diag(hessian))) and np.all(np.diag(hessian) > 0)
    xs = np.stack([X, 2 * X])
    np.testing.assert_allclose(tapec.vmap(filled)(xs), [filled(x) for x in xs])
    np.testing.assert_allclose(tapec.vmap(tapec.grad(assembled))(xs), [tapec.grad(assembled)(x) for x in xs])
    outer = tapec.grad(lambda x: np.sum(tapec.grad(filled)(x) * x))
    np.testing.assert_allclose(outer(X), hessian @ X + tapec.grad(filled)(X))


def solved_or_not(x, matrix):
    try:
        step = np.linalg.solve(matrix, x)
    except np.linalg.LinAlgError:
        step = x
    y, identity = np.zeros(3), np.eye(3)
    for i in range(3):
        y[i] = x[i] ** 2 * step[i]
    identity[0, 1] = x[0]
    return np.sum(identity @ y)


def without_a_place(x, _):
    y = np.ndarray(2)
    try:
        y[0] = x[5]
    except IndexError:
        y[0] = x[0] ** 2
    y[1] = x[1]
    return np.sum(y * y)


def of_a_shape_that_does_not_fit(x, _):
    y = np.zeros(2)
    try:
        y += x.reshape(2, 7)[0]
    except ValueError:
        y[1] = x[1]
    return np.sum(y * y)


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.eye(3) * 2], ids=["singular", "regular"])
@pytest.mark.parametrize("f", [solved_or_not, without_a_place, of_a_shape_that_does_not_fit])
def test_functions_that_catch_errors_of_numpys_fill_arrays(f, matrix):
    gradient = tapec.value_and_grad(f)
    for x in (X, X[::-1].copy()):
        value, slope = gradient(x, matrix)
        np.testing.assert_allclose(value, f(x, matrix), rtol=1e-13)
        np.testing.assert_allclose(slope, differences(lambda x: f(x, matrix), x), rtol=1e-6, atol=1e-8)


def test_the_code_fills_an_array_as_the_function_does():
    def f(x):
        y = np.zeros(1000)
        y[:400] = np.sin(x)
        y[600:] += np.exp(x)
        return y

    source = tapec.compile(f).source(np.ones(400))
    assert has(source, "y[:400]") and has(source, "y[600:]")


def test_it_runs_again_in_the_first_call_alone(capsys):
    def f(x):
        print("run")
        y = np.zeros(2)
        y[0] = x * x
        return y[0] * 3.0

    gradient = tapec.grad(f)
    assert gradient(2.0) == 12.0
    # as it stands, with arrays that are tensors, and with plain numbers
    assert capsys.readouterr().out == "run\n" * 3
    assert gradient(3.0) == 18.0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("recorded", ["traced", "on a tape"])
def test_parts_that_were_read_hold_no_earlier_array(recorded):
    def f(x):
        u = np.zeros((61, 4000), like=x)
        u[0] = 1.0
        for n in range(60):
            u[n + 1, 1:-1] = u[n, 1:-1] + x[1:-1] * (u[n, 2:] - 2 * u[n, 1:-1] + u[n, :-2])
        return np.sum(u[-1] ** 2)

    x = np.linspace(0.1, 0.2, 4000)
    expected = tapec.grad(f)(x)
    tracemalloc.start()
    if recorded == "traced":
        found = tapec.grad(f)(x)
    else:
        v = tapec.constant(x)
        with tapec.GradientTape() as tape:
            tape.watch(v)
            y = f(v)
        found = tape.gradient(y, v).numpy()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert peak < 24 * 61 * 4000 * 8  # it would be 77 with one array for each step


# -- what does not ----------------------------------------------------------------------------------------------------
def shown_to_another(x):
    y = np.zeros(3)
    other = np.ma.array(y)  # which looks into the same memory
    y[0] = x[0]
    return np.sum(other) + np.sum(x)


def changed_by_another(x):
    y = np.zeros(3)
    np.ma.array(y)[1] = 4.0
    y[0] = x[0]
    return np.sum(y)


def with_a_buffer(x):
    y = np.zeros(3)
    memoryview(y)[0] = 5.0
    y[1] = x[0]
    return np.sum(y)


def drawn(x):
    y = np.zeros(3)
    y[0] = x[0] * np.random.normal()
    return np.sum(y)


def drawn_by_its_own(x):
    y = np.zeros(3)
    y[0] = x[0] * RNG.normal()
    return np.sum(y)


def drawn_by_python(x):
    y = np.zeros(3)
    y[0] = x[0] * random.random()
    return np.sum(y)


def drawn_by_a_new_one(x):
    y = np.zeros(3)
    y[0] = x[0] * np.random.default_rng().normal()
    return np.sum(y)


def drawn_by_one_that_spawns(x):
    y = np.zeros(3)
    y[0] = x[0] * RNG.spawn(1)[0].normal()
    return np.sum(y)


def drawn_after_a_seed(x):
    np.random.seed(4)
    y = np.zeros(3)
    y[0] = x[0] * np.random.normal()
    y[1] = y[0] * np.random.normal()
    return np.sum(y)


class Noise:
    def __init__(self, generator):
        self.generator = generator

    def __call__(self, x):
        y = np.zeros(3)
        for k in range(3):
            y[k] = x[k] * self.generator.normal() + random.gauss(0.0, 1.0)
        return np.sum(y**2)


REFUSED = [
    shown_to_another,
    changed_by_another,
    with_a_buffer,
    drawn_by_a_new_one,
    drawn_by_one_that_spawns,
]


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_might_come_to_something_else_is_refused(f):
    gradient = tapec.value_and_grad(f)
    lines, first = inspect.getsourcelines(f)
    line = first + next(k for k, text in enumerate(lines) if text.strip().startswith("y[") and "x[0]" in text)
    for _ in range(2):
        with pytest.raises(tapec.DetachError, match="storing into a plain NumPy array") as caught:
            gradient(X)
        assert str(caught.value).startswith(f"test_filled_arrays.py:{line}: ")
    assert gradient.cache_info().size == 0


DRAWING = {
    "NumPy": drawn,
    "a generator": drawn_by_its_own,
    "Python": drawn_by_python,
    "after a seed": drawn_after_a_seed,
    "attributes": Noise(np.random.default_rng(2)),
    "an older one": Noise(np.random.RandomState(2)),
    "another kind": Noise(np.random.Generator(np.random.MT19937(2))),
}


@pytest.mark.parametrize("f", DRAWING.values(), ids=DRAWING)
def test_who_fills_what_it_draws_draws_as_the_function_does(f):
    generator = getattr(f, "generator", RNG)

    def begin():
        np.random.seed(1)
        random.seed(1)
        if isinstance(generator, np.random.RandomState):
            generator.seed(5)
        else:
            generator.bit_generator.state = type(generator.bit_generator)(5).state

    def calls(call):
        begin()
        found = [call(k * X) for k in (1, 2, 3)]
        return found, [np.random.normal(), random.random(), generator.normal()]

    def differ(x):
        now = np.random.get_state(), random.getstate()
        own = generator.get_state() if isinstance(generator, np.random.RandomState) else generator.bit_generator.state

        def again(x):
            np.random.set_state(now[0])
            random.setstate(now[1])
            if isinstance(generator, np.random.RandomState):
                generator.set_state(own)
            else:
                generator.bit_generator.state = own
            return f(x)

        return again(x), differences(again, x)

    gradient = tapec.value_and_grad(f)
    found, after = calls(gradient)
    expected, after_plain = calls(differ)
    assert after == after_plain
    for (value, slope), (v, s) in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, v, rtol=1e-12)
        np.testing.assert_allclose(slope, s, rtol=1e-6, atol=1e-9)


def test_who_is_refused_has_drawn_what_the_function_draws():
    def shown(x):
        y = np.zeros(3)
        memoryview(y)
        y[0] = x[0] * np.random.normal()
        return np.sum(y)

    np.random.seed(1)
    shown(X)
    expected = np.random.normal()
    np.random.seed(1)
    with pytest.raises(tapec.DetachError):
        tapec.grad(shown)(X)
    assert np.random.normal() == expected


def test_a_function_that_changes_its_state_runs_once():
    class Counter:
        n = 0

        def step(self, x):
            self.n += 1
            y = np.zeros(2)
            y[0] = x[0] * self.n
            return np.sum(y)

    counter = Counter()
    with pytest.raises(tapec.DetachError):
        tapec.grad(counter.step)(X)
    assert counter.n == 1


def test_what_only_counts_counts_each_call_once():
    class Counter:
        n = 0

        def step(self, x):
            self.n += 1
            y = np.zeros(2)
            y[0] = x[0] * 3.0
            return np.sum(y)

    counter = Counter()
    gradient = tapec.grad(counter.step)
    for calls in range(1, 4):
        np.testing.assert_array_equal(gradient(X), [3.0] + [0.0] * (len(X) - 1))
        assert counter.n == calls
    assert gradient.cache_info().hits == 2


def test_what_grows_a_list_runs_no_more_often():
    log = []

    def f(x):
        log.append(1.0)
        y = np.zeros(2)
        y[0] = x[0]
        return np.sum(y)

    with pytest.raises(tapec.DetachError):
        tapec.grad(f)(X)
    assert log == [1.0]


def test_arrays_of_the_caller_are_not_written():
    def f(x):
        BUFFER[:] = x
        return np.sum(BUFFER**2)

    with pytest.raises(tapec.InPlaceError, match="BUFFER, which belongs to the caller"):
        tapec.grad(f)(X)
    assert not BUFFER.any()


def test_on_a_tape_nothing_runs_again():
    x = tapec.constant(X)
    with pytest.raises(tapec.DetachError, match=r"np.zeros\(n, like=x\)"), tapec.GradientTape() as tape:
        tape.watch(x)
        filled(x)


def out_of_reach(x):
    y = np.zeros(2)
    y[0] = x[0]
    y[5] = x[1]
    return y


def singular(x):
    k = np.zeros((2, 2))
    k[0, 0] = x[0]
    return np.linalg.solve(k, x[:2])


def picky(x):
    y = np.zeros(2)
    y[0] = x[0]
    if y[0] > 0.0:
        raise KeyError("nothing above zero")
    return y


@pytest.mark.parametrize(
    ("f", "kind", "said"),
    [
        (out_of_reach, IndexError, "index 5"),
        (singular, np.linalg.LinAlgError, "Singular"),
        (picky, KeyError, "nothing above zero"),
    ],
)
def test_errors_of_plain_numbers_come_through(f, kind, said):
    with pytest.raises(kind, match=said) as told:
        tapec.grad(f)(X)
    error = told.value
    assert error.__suppress_context__ or not isinstance(error.__context__, tapec.DetachError)
    assert any(entry.name == f.__name__ for entry in told.traceback)


def test_other_errors_are_those_of_the_first_run():
    def f(x):
        y = np.zeros(2)
        y[0] = x[0]
        memoryview(y)  # which takes no tensor
        return y

    with pytest.raises(tapec.DetachError, match="storing"):
        tapec.grad(f)(X)


def takes_an_item(x):
    y = np.zeros(2)
    y[0] = x[0]
    return np.sum(y) + np.asarray(x[1]).flatten().item()  # here


def counts_to_a_tensor(x):
    y = np.zeros(2)
    y[0] = x[0]
    return np.sum(y) + len(np.arange(0, x[1], 0.5))  # here


class Item:
    def __init__(self, x):
        self.y = np.zeros(2)
        self.y[0] = x[0]

    def total(self):
        return math.floor(self.y[0].item()) + np.sum(self.y)  # here


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (takes_an_item, r"item\(\) would turn .* Fix: use the tensor itself"),
        (counts_to_a_tensor, r"np.arange\(\) would turn .* Fix: `start \+ step \* np.arange\(n\)`"),
        (lambda x: Item(x).total(), r"item\(\) would turn .* Fix: use the tensor itself"),
    ],
)
def test_the_line_is_named_that_stands_in_the_way_when_arrays_are_tensors(f, said):
    source = inspect.getsource(Item.total) if f.__name__ == "<lambda>" else inspect.getsource(f)
    begin = inspect.getsourcelines(Item.total if f.__name__ == "<lambda>" else f)[1]
    line = begin + next(k for k, text in enumerate(source.splitlines()) if text.endswith("# here"))
    with pytest.raises(tapec.DetachError, match=said) as caught:
        tapec.grad(f)(X)
    assert str(caught.value).startswith(f"test_filled_arrays.py:{line}: ")


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (with_a_buffer, "there it raises TypeError: memoryview"),
        (shown_to_another, "there it raises InPlaceError: test_filled_arrays.py"),
    ],
)
def test_errors_of_the_first_run_tell_what_the_second_came_to(f, said):
    with pytest.raises(tapec.DetachError, match="storing") as caught:
        tapec.grad(f)(X)
    assert any("with tensors for the arrays that it makes" in note and said in note for note in caught.value.__notes__)


def test_an_argument_that_is_written_is_named_beside_arrays_that_are_filled():
    def f(x):
        y = np.zeros(3)
        y[:] = x
        x -= 1.0
        return np.sum(y)

    with pytest.raises(tapec.InPlaceError, match="would change x, which belongs to the caller"):
        tapec.grad(f)(X.copy())
