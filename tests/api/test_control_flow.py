"""Python control flow on traced values: guards, paths, and one decision tree."""

import pickle
import runpy
import threading
import warnings

import numpy as np
import pytest

import tapec
from tapec.api.compiled.explain import counted
from tapec.api.compiled.programs.path_set import Program
from tapec.log_gradients import tuning as gradients_tuning
from tests.properties import allocates, branches, calls, count_of, has, has_loop, statements


def test_branches_follow_the_values():
    @tapec.value_and_grad
    def f(x):
        if np.sum(x) > 0:
            return np.sum(x * x)
        return -np.sum(x)

    a = np.array([1.0, 2.0])
    for _ in range(2):
        value, g = f(a)
        assert value == 5.0
        np.testing.assert_array_equal(g, [2.0, 4.0])
        value, g = f(-a)
        assert value == 3.0
        np.testing.assert_array_equal(g, [-1.0, -1.0])
    assert f.cache_info().compilations == 2


def test_while_loops_and_early_return():
    @tapec.grad
    def root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
            if x < 0:
                return x
        return x

    for a in (2.0, 9.0, 2.0, 1e4):
        assert root(a) == pytest.approx(0.5 / np.sqrt(a), rel=1e-9)


def test_and_or_assert_and_chained_comparisons():
    @tapec.grad
    def f(x):
        assert x > 0 or x < -1
        if 0 < x < 1 and x * x < 0.5:
            return x
        return x * x

    assert f(0.5) == 1.0
    assert f(0.9) == 1.8
    assert f(2.0) == 4.0
    with pytest.raises(AssertionError):
        f(-0.5)
    assert f(-2.0) == -4.0


def test_int_and_range():
    @tapec.grad
    def f(x, n):
        y = x
        for _ in range(int(n)):
            y = y * x
        return y

    assert f(2.0, 2) == 12.0
    assert f(2.0, 3.7) == 32.0
    assert f(2.0, 0) == 1.0
    assert f(2.0, 2) == 12.0


def test_a_loop_whose_number_of_steps_is_an_argument():
    """It is asked for first, and then there is one path, which has loops."""

    def simulated(x, v, steps=300, damped=True):
        for _ in range(steps):
            v = v - 0.01 * np.sin(x) - (0.02 * v if damped else 0.0)
            x = x + 0.01 * v
        return np.sum(x * v)

    for x, v in ((1.0, 0.5), (np.linspace(0.0, 1.0, 50), np.ones(50))):
        f = tapec.value_and_grad(simulated)
        value, slope = f(x, v)
        source = f.source(x, v)
        assert has(source, "steps != 300") and has_loop(source) and len(statements(source)) < 79
        assert value == pytest.approx(simulated(x, v), rel=1e-12)
        differences = (simulated(x + 1e-6, v) - simulated(x - 1e-6, v)) / 2e-6
        assert np.sum(slope) == pytest.approx(differences, rel=1e-6)
        assert f(x, v, 2)[0] == pytest.approx(simulated(x, v, 2), rel=1e-12)
        assert f(x, v, 2, damped=False)[0] == pytest.approx(simulated(x, v, 2, False), rel=1e-12)
        assert f(x, v)[0] == value


def test_paths_of_one_line_have_comments_of_their_own():
    @tapec.grad
    def f(x):
        y = np.sin(x) if x < 1.0 else np.exp(-x * x)
        return y * y

    f(0.5), f(2.0)
    floats = str(f.source(0.5, lines=True)).partition("\n\n")[0].splitlines()
    told = [line.split("   ")[-1] for line in floats if "test_control_flow.py" in line]
    assert told == ["np.sin(x)", "np.exp(-x * x)"]


def test_max_of_a_list_and_sorting():
    @tapec.grad
    def f(x):
        return max([x[0], x[1], x[2]]) + sorted([x[0], x[1]])[0]

    np.testing.assert_array_equal(f(np.array([1.0, 3.0, 2.0])), [1.0, 1.0, 0.0])
    np.testing.assert_array_equal(f(np.array([5.0, 3.0, 2.0])), [1.0, 1.0, 0.0])
    np.testing.assert_array_equal(f(np.array([1.0, 3.0, 9.0])), [1.0, 0.0, 1.0])


def test_recursion():
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert tapec.grad(lambda x: power(x, 5))(2.0) == 80.0


def test_past_the_path_limit_it_runs_as_a_tape_would():
    with tapec.settings(path_limit=3):

        @tapec.grad
        def f(x):
            k = 0
            while x * 0.5**k > 1:
                k += 1
            return x * float(k)

        with pytest.warns(tapec.TapecWarning, match="more than 3 paths"):
            for a in (1.5, 3.0, 6.0, 12.0, 24.0):
                k = int(np.ceil(np.log2(a)))
                assert f(a) == k
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert f(100.0) == 7.0
            assert f(1.5) == 1.0


@pytest.mark.parametrize("make", [np.zeros, np.arange, lambda n: np.eye(n)[0] - 0.1], ids=["zeros", "arange", "eye"])
def test_large_arrays_are_the_same_on_all_paths(make):
    """Each run makes them anew; else no path would know the tests of the others, and would take their place."""

    @tapec.grad
    def f(x):
        h = make(600) * 1e-3
        while True:
            new = np.tanh(0.5 * h + x)
            if np.max(np.abs(new - h)) < 1e-6:
                return np.sum(new * new)
            h = new

    first = [f(c * np.ones(600)) for c in (1.0, 0.1)]
    again = [f(c * np.ones(600)) for c in (1.0, 0.1)]
    assert f.cache_info().compilations == 2 and f.cache_info().hits == 2
    for a, b in zip(first, again, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_large_arrays_that_each_round_makes_anew_are_one():
    @tapec.grad
    def f(x):
        for _ in range(12):
            x = np.tanh(np.eye(40) @ x) + x
        return np.sum(x)

    f(np.ones(40))
    assert allocates(f.source(np.ones(40)), "eye") <= 1


def test_the_code_shows_the_branch_with_the_users_condition():
    @tapec.compile
    def f(x):
        if np.sum(x) > 0:
            return x * 2.0
        return x * 3.0

    f(np.ones(2))
    f(-np.ones(2))
    source = f.source(np.ones(2), lines=True)
    assert branches(source) and "np.sum(x) > 0" in source  # in a comment


def test_guards_inside_transforms_and_tapes():
    inner = tapec.grad(lambda y: y * y if y > 0 else y * y * y)

    @tapec.grad
    def outer(x):
        return inner(x) * x

    assert outer(2.0) == 8.0
    assert outer(-2.0) == 36.0
    assert outer(3.0) == 12.0
    x = tapec.constant(-2.0)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = inner(x)
    assert tape.gradient(y, x).numpy() == -12.0


def test_a_changed_integer_capture_is_seen():
    n = 2

    @tapec.grad
    def f(x):
        return x**n

    assert f(3.0) == 6.0
    n = 3
    assert f(3.0) == 27.0


def test_an_exception_in_one_path_leaves_the_others():
    @tapec.grad
    def f(x):
        if x > 1:
            raise ValueError("too large")
        return x * x

    assert f(0.5) == 1.0
    with pytest.raises(ValueError, match="too large"):
        f(2.0)
    assert f(0.5) == 1.0
    assert f.cache_info().compilations == 1


MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])


def sum_of_factor(x):
    try:
        return np.sum(np.linalg.cholesky(x))
    except np.linalg.LinAlgError:
        return 7.0 * np.sum(x)


@pytest.mark.parametrize("first", [MATRIX, -MATRIX])
def test_an_error_that_is_caught_is_a_branch(first):
    compiled, slope = tapec.compile(sum_of_factor), tapec.grad(sum_of_factor)
    both = tapec.compile(lambda x: compiled(x) + np.sum(slope(x)))
    factored = tapec.grad(lambda x: np.sum(np.linalg.cholesky(x)))(MATRIX)
    for a in (first, -first, first, -first):
        g = factored if np.all(a > 0) else np.full((2, 2), 7.0)
        assert compiled(a) == sum_of_factor(a)
        np.testing.assert_array_equal(slope(a), g)
        np.testing.assert_allclose(both(a), sum_of_factor(a) + np.sum(g))
        x = tapec.constant(a)
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = compiled(x)
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), g)
    assert compiled.cache_info().compilations <= 2


def test_a_place_that_there_is_not_is_a_branch():
    @tapec.grad
    def f(x, i):
        try:
            return x[i]
        except IndexError:
            return -x[0]

    for i, g in ((np.array([1]), [0.0, 1.0]), (np.array([5]), [-1.0, 0.0]), (np.array([0]), [1.0, 0.0])):
        np.testing.assert_array_equal(f(np.ones(2), i), g)


def test_an_error_that_nobody_catches_comes_through():
    @tapec.compile
    def f(x):
        return np.linalg.inv(x)

    f(MATRIX)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        f(0.0 * MATRIX)
    assert any("np.linalg.inv(x)" in note for note in caught.value.__notes__)
    assert f.cache_info().compilations == 1
    np.testing.assert_array_equal(f(MATRIX), np.linalg.inv(MATRIX))


@pytest.mark.parametrize("own", [KeyError, np.linalg.LinAlgError])
def test_an_error_made_of_another_comes_through(own):
    @tapec.compile
    def f(x):
        try:
            return np.linalg.inv(x)
        except np.linalg.LinAlgError:
            raise own("no inverse of x") from None

    f(MATRIX)
    for f_or_itself in (f, lambda x: f(x=x)):
        with pytest.raises(own, match="no inverse of x"):
            f_or_itself(0.0 * MATRIX)


def test_shapes_that_hang_on_values():
    @tapec.value_and_grad
    def f(x):
        y = x * x
        y[y > 4] *= 2.0
        return np.sum(y) + np.sum(x[x > 0] ** 3)

    def expected(x):
        y = np.where(x * x > 4, 2 * x * x, x * x)
        return np.sum(y) + np.sum(np.where(x > 0, x, 0) ** 3)

    for n in (0, 1, 3, 2, 5, 4, 7, 6, 8, 10, 9, 0, 3):
        x = np.where(np.arange(10) < n, 3.0, -1.0)
        value, g = f(x)
        assert value == pytest.approx(expected(x))
        np.testing.assert_allclose(g, np.where(x * x > 4, 4 * x, 2 * x) + np.where(x > 0, 3 * x * x, 0))


def test_shapes_that_hang_on_values_after_other_turns():
    """What is written for a length is computed after all turns before it, on each path that asks for that length."""

    @tapec.grad
    def f(x, m, n):
        y = x[np.arange(9) < m]
        z = np.reshape(x[np.arange(9) < n], -1)
        return np.sum(y * y) + np.sum(np.sin(z))

    x = np.random.default_rng(0).normal(size=(9, 4))
    for m, n in ((3, 2), (4, 2), (5, 4), (5, 2), (4, 3), (3, 2)):
        rows = np.arange(9)[:, None]
        np.testing.assert_allclose(f(x, m, n), np.where(rows < m, 2 * x, 0) + np.where(rows < n, np.cos(x), 0))


def test_rounds_with_several_guards_are_counted():
    def f(x):
        for _ in range(4):
            if x < 0:
                return x
            if x > 100:
                break
            x = x * 2.0
        return x * x if x < 50 else x

    guards = tapec.grad(f).explain(2.0).paths[0]["guards"]
    lines = [line.split("   ")[1] for line in counted(guards)]
    assert lines == ["x < 0  is False", "x > 100  is False  (these 2 lines 4 times)", "x < 50  is True"]


def test_guards_of_a_loop_are_counted():
    def f(x):
        for _ in range(5):
            x = x * 0.9
            if x < 0:
                break
        return x if x < 10 else -x

    shown = tapec.grad(f).explain(2.0)
    lines = [line for line in str(shown).splitlines() if "x < " in line and " is " in line]
    assert len(lines) == 2 and lines[0].endswith("x < 0  is False  (5 times)") and lines[1].endswith("x < 10  is True")
    assert len(shown.to_dict()["paths"][0]["guards"]) == 6


def test_counts_are_asked_for_their_length_at_little_cost():
    """By the largest of what is counted, once for all weights; an empty array and other dtypes included."""

    def f(x, ids):
        return np.sum(np.bincount(ids, x, minlength=4) / (1 + np.bincount(ids, minlength=4)))

    gradient = tapec.grad(f)
    x = np.arange(5.0)
    for ids in ([0, 3, 1, 1, 0], [2, 2, 2, 2, 2], [0, 6, 1, 1, 0], [0, 6, 6, 6, 6]):
        for dtype in (np.int64, np.uint8):
            places = np.array(ids, dtype)
            count = np.bincount(places, minlength=4)
            np.testing.assert_allclose(gradient(x, places), 1 / (1 + count[places]))
    source = gradient.source(x, np.array([0, 3, 1, 1, 0]))
    assert count_of(source, "max(int(ids.max(initial=0)) + 1, 4)") == 1 and not calls(source, "len")
    with pytest.raises(ValueError):
        gradient(x, np.array([0, -1, 1, 1, 0]))
    empty = tapec.grad(lambda x, ids: np.sum(np.bincount(ids, x)) + np.sum(x))
    assert empty(np.zeros(0), np.zeros(0, int)).shape == (0,)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_counts_of_repeats_are_inputs(dtype):
    """Compiled once for each total, which is asked for; what NumPy refuses is refused."""

    def f(x, counts):
        repeated = np.repeat(x, counts, axis=1)
        return np.sum(repeated**2 * np.arange(1.0, repeated.shape[1] + 1))

    gradient = tapec.grad(f)
    x = np.arange(1.0, 7.0).reshape(2, 3)
    for given in ([1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1], [0, 0, 0], [1, 1, 0]):
        counts = np.array(given, dtype)
        places = np.repeat(np.arange(3), counts)
        weights = np.zeros(3)
        np.add.at(weights, places, np.arange(1.0, len(places) + 1))
        np.testing.assert_allclose(gradient(x, counts), 2 * x * weights)
    assert gradient.cache_info().compilations == 3
    assert count_of(gradient.source(x, np.zeros(3, dtype)), "int(counts.sum())") == 1
    with pytest.raises(ValueError, match="broadcast"):
        gradient(x, np.array([1, 1], dtype))


def test_counts_of_repeats_may_not_be_negative():
    gradient = tapec.grad(lambda x, counts: np.sum(np.repeat(x, counts)))
    np.testing.assert_array_equal(gradient(np.ones(3), np.array([2, 0, 1])), [2, 0, 1])
    with pytest.raises(ValueError, match="negative"):
        gradient(np.ones(3), np.array([2, -1, 2]))


def test_counts_of_repeats_that_all_examples_share():
    rows = np.arange(6.0).reshape(2, 3)
    repeated = tapec.vmap(np.repeat, in_axes=(0, None))
    np.testing.assert_array_equal(repeated(rows, np.array([2, 0, 1])), rows[:, [0, 0, 2]])


def test_what_fails_on_other_paths_is_not_computed():
    """Not above the test that tells them apart either, when several of them compute it."""

    def f(a, k):
        y = np.sin(k) if k > 0 else np.cos(k)
        if np.linalg.det(a) > 1e-9:
            return y * np.sum(np.linalg.inv(a))
        return y * np.sum(a)

    compiled = tapec.compile(f)
    regular, singular = 2 * np.eye(3) + 0.1, np.ones((3, 3))
    for gradient in (tapec.grad(f, argnums=1), tapec.grad(lambda a, k: compiled(a, k), argnums=1)):
        for a in (regular, singular, regular, singular):
            for k in (1.0, -1.0):
                slope = np.cos(k) if k > 0 else -np.sin(k)
                total = np.sum(np.linalg.inv(a)) if a is regular else np.sum(a)
                np.testing.assert_allclose(gradient(a, k), slope * total, rtol=1e-14)
    inverse = tapec.grad(lambda a, k: np.sum(np.linalg.inv(a)) * (k if k > 0 else -k), argnums=1)
    for k in (1.0, -1.0):
        inverse(regular, k)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        inverse(singular, 1.0)


@pytest.mark.parametrize("rows", [3, 300, 200_000])
def test_nothing_warns_that_the_path_does_not_compute(rows):
    """A test that keeps negative numbers from a logarithm keeps them from it in the code of several paths too."""

    def f(x, k):
        y = np.sum(x) if k > 0 else np.sum(x * x)
        if np.all(x > 0):
            return y * np.sum(np.log(x) / np.sqrt(x))
        return y

    def slope(x, k):
        y, d_y = (np.sum(x), 1.0) if k > 0 else (np.sum(x * x), 2 * x)
        if (x > 0).all():
            return d_y * np.sum(np.log(x) / np.sqrt(x)) + y * (1 - np.log(x) / 2) / x**1.5
        return d_y * np.ones(rows)

    positive = np.linspace(1.0, 2.0, rows)
    mixed = positive * np.where(np.arange(rows) % 3 == 0, -1.0, 1.0)
    gradient = tapec.grad(f)
    with np.errstate(all="raise"):
        for x, k in ((positive, 1.0), (mixed, 1.0), (positive, -1.0), (mixed, -1.0)) * 2:
            np.testing.assert_allclose(gradient(x, k), slope(x, k), rtol=1e-12)


@pytest.mark.parametrize("rows", [3, 200_000])
def test_an_unknown_path_is_asked_for_first(rows):
    """Also where the sum that a test looks at is made by a loop over blocks."""

    def f(x):
        h = np.tanh(x) * x
        if np.sum(h * h) > 0.1 * rows:
            return np.sum(np.log(x) * h)
        return np.sum(h * h + x)

    gradient = tapec.grad(f)
    with np.errstate(all="raise"):
        gradient(np.linspace(1.0, 2.0, rows))
        x = np.linspace(-0.3, -0.1, rows)
        t = np.tanh(x)
        np.testing.assert_allclose(gradient(x), 2 * t * x * (t + x * (1 - t * t)) + 1, rtol=1e-12)


def test_known_paths_are_there_while_another_is_compiled(monkeypatch):
    """In another thread, and after an error: with what they read, and nothing of the new one."""
    scale, shift = np.full(3, 2.0), np.full(3, 5.0)

    @tapec.compile
    def f(x, k):
        if k > 0:
            return (x * scale,)
        return x + shift, x

    sizes = [np.ones((n, 3)) for n in range(1, 8)]  # more than have a fast road
    for x in sizes:
        f(x, 1.0)
    x, found = sizes[0], []

    def build(*args, **options):
        thread = threading.Thread(target=lambda: found.append(f(x, 1.0)))
        thread.start()
        thread.join()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("tapec.api.compiled.programs.path_set.CompiledGraph", build)
        f(x, -1.0)
    for (y,) in (*found, f(x, 1.0)):
        np.testing.assert_array_equal(y, x * 2.0)
    np.testing.assert_array_equal(f(x, -1.0)[0], x + 5.0)
    np.testing.assert_array_equal(f(x, 1.0)[0], x * 2.0)


def test_how_many_there_are_is_not_called_as_what_is_picked():
    @tapec.grad
    def loss(w, x, seen):
        r = (x @ w)[seen]
        return np.mean(r**2)

    x, seen = np.arange(15.0).reshape(5, 3), np.array([True, False, True, True, False])
    np.testing.assert_allclose(loss(np.ones(3), x, seen), 2 / 3 * (x @ np.ones(3))[seen] @ x[seen])
    source = loss.source()
    assert count_of(source, "r = _") == 1 and has(source, "r = x.dot(w)[_]")


# -- many paths -------------------------------------------------------------------------------------------------------
def by_signs(x):
    total = 0.0
    for k in range(5):
        total = total + (x[k] ** 2 if x[k] > 0 else -0.5 * x[k])
    return total


def slopes_by_signs(x):
    return np.where(x > 0, 2 * x, -0.5)


def all_signs(count: int) -> list[np.ndarray]:
    return [np.array([1.0 + k if i >> k & 1 else -1.0 - k for k in range(5)]) for i in range(count)]


@pytest.fixture
def all_compiled(monkeypatch):
    """Paths are compiled at first sight, though many in a row are new."""
    monkeypatch.setattr(gradients_tuning, "NEW_IN_A_ROW", 1000)


@pytest.fixture
def compiled(monkeypatch):
    """How many paths each compilation had."""
    counts: list[int] = []
    compile = Program.compile

    def counting(program):
        counts.append(len(program.paths))
        compile(program)

    monkeypatch.setattr(Program, "compile", counting)
    return counts


def test_a_new_path_compiles_few_paths_again(compiled):
    f = tapec.grad(by_signs)
    points = all_signs(32)
    for n, x in enumerate(points):
        np.testing.assert_array_equal(f(x), slopes_by_signs(x))
        if n % 5 == 0:
            for y in points[: n + 1]:
                np.testing.assert_array_equal(f(y), slopes_by_signs(y))
    assert len(compiled) == 32 and sum(compiled) < 32 * 33 / 2 / 2
    assert compiled[:8] == [1, 2, 3, 4, 5, 6, 7, 8]  # few paths are one function at any time
    assert f.cache_info().compilations == 32


def test_who_looks_sees_all_paths_in_one_function(compiled, all_compiled):
    f = tapec.grad(by_signs)
    points = all_signs(12)
    for x in points:
        f(x)
    assert compiled[8:] == [1, 10, 1, 2]
    source = f.source(points[0])
    assert source == f.source(points[11])
    assert len(f.explain(points[0]).paths) == 12
    for x in points:
        np.testing.assert_array_equal(f(x), slopes_by_signs(x))
    assert compiled[12:] == [12]


def test_many_paths_are_pickled_and_exported_as_one(tmp_path, all_compiled):
    f = tapec.grad(by_signs)
    points = all_signs(11)
    for x in points:
        f(x)
    again = pickle.loads(pickle.dumps(f))
    f.export(tmp_path / "slopes.py", points[0])
    module = runpy.run_path(str(tmp_path / "slopes.py"))
    for x in points:
        np.testing.assert_array_equal(again(x), slopes_by_signs(x))
        np.testing.assert_array_equal(module["by_signs_grad"](x), slopes_by_signs(x))


FACTOR = 2


def test_facts_that_later_paths_rely_on_may_change(compiled, all_compiled):
    global FACTOR

    def f(x):
        total = by_signs(x)
        return total * FACTOR if x[4] > 0 else total

    FACTOR = 2
    slope = tapec.grad(f)
    try:
        for factor, compilations in ((2, 32), (3, 64), (2, 64)):
            FACTOR = factor
            for x in all_signs(32):
                np.testing.assert_array_equal(slope(x), slopes_by_signs(x) * (factor if x[4] > 0 else 1))
            assert len(compiled) <= compilations  # a path that does not read the factor is one for all of them
    finally:
        FACTOR = 2


def test_paths_past_the_limit_are_counted_in_all(all_compiled):
    with tapec.settings(path_limit=11):
        f = tapec.grad(by_signs)
        with pytest.warns(tapec.TapecWarning, match="more than 11 paths"):
            for x in all_signs(20):
                np.testing.assert_array_equal(f(x), slopes_by_signs(x))
        assert f.cache_info().compilations >= 11


def test_threads_find_many_paths():
    f = tapec.grad(by_signs)
    points = all_signs(32)
    wrong = []

    def work(seed):
        for k in np.random.default_rng(seed).permutation(32):
            if not np.array_equal(f(points[k]), slopes_by_signs(points[k])):
                wrong.append(k)
            if k % 7 == 0:
                f.source(points[k])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_a_guard_that_follows_from_those_before_it_is_not_asked():
    """Sizes such as `n + 1` are asked for as a whole number, and then in other ways."""

    @tapec.grad
    def f(x, n):
        grid = np.arange(n + 1) * np.linspace(0.0, 1.0, n + 1)
        return np.sum(np.sin(x * grid))

    for n in (5, 3, 5):
        grid = np.arange(n + 1) * np.linspace(0.0, 1.0, n + 1)
        np.testing.assert_allclose(f(2.0, n), np.sum(grid * np.cos(2.0 * grid)), rtol=1e-12)
    assert f.cache_info().compilations == 2
    assert [len(path["guards"]) for path in f.explain(2.0, 5).paths] == [1, 1]
