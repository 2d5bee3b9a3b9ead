"""Gradients operation by operation, where structures are others each time: the same as those compiled as a whole."""

import gc
import weakref

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tapec.errors import TapeValueError
from tapec.ir import OPS
from tapec.log_gradients import structure_cache
from tapec.log_gradients import tuning as gradients_tuning
from tapec.log_gradients.gradient_program import Segment
from tapec.op_by_op import tuning
from tapec.ops.core.stand_in import apply
from tests.ops.cases import cases
from tests.ops.test_conformance import TESTED
from tests.properties import functions

W = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
V = np.array([0.3, -1.2, 0.8])


@pytest.fixture(autouse=True)
def cleared():
    tapec.cache_clear()
    yield
    tapec.cache_clear()


@pytest.fixture
def at_first_sight(monkeypatch):
    """No structure is worth compiling before it comes again."""
    monkeypatch.setattr(gradients_tuning, "NEW_IN_A_ROW", 0)
    monkeypatch.setattr(tuning, "NEW_PIECES_MAX", 100)


def gradient(f, values, seed=None):
    """The gradients of f, and how many operations were gone back through one by one."""
    tensors = [constant(v) for v in values]
    with GradientTape() as tape:
        tape.watch([t for t in tensors if t.dtype.kind in "fc"])
        y = f(*tensors)
    found = tape.gradient(y, tensors, output_gradients=seed)
    return found, sum([type(s) is Segment and s.graph.name.startswith("back_through") for s in tape.shown.segments])


def dense(g):
    return None if g is None else np.asarray(g)


def assert_same(f, *values, seed=None, pieces=True):
    """One by one and as a whole."""
    first, count = gradient(f, values, seed)
    second, none = gradient(f, values, seed)
    assert none == 0 and (count > 0) == pieces
    for g, w in zip(first, second, strict=True):
        assert type(g) is type(w)
        if w is not None:
            assert dense(g).dtype == dense(w).dtype and dense(g).shape == dense(w).shape
            np.testing.assert_allclose(dense(g), dense(w), rtol=2e-5 if w.dtype.char in "fF" else 1e-9, atol=1e-12)


@pytest.mark.sampled(one_in=3)
# -- each operation ---------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:logm result may be inaccurate")
@pytest.mark.parametrize("name", [n for n in TESTED if OPS[n].gradient != "none"])
def test_each_operation(name, at_first_sight):
    op = OPS[name]
    for label, case in cases(op).items():
        params = tuple(case.params.items())

        def f(*xs, params=params):
            y = apply(op, xs, params)
            parts = y if op.multi else [y]
            flowing = [p for p in parts if p.dtype.kind in "fc"]
            return sum([np.sum(p * np.cos(np.arange(p.size)).reshape(p.shape)) for p in flowing])

        tapec.cache_clear()
        first, count = gradient(f, case.inputs)
        second, _ = gradient(f, case.inputs)
        assert (
            count
            or {"spectrum", "values_of"} & set(op.facts)
            or not all([np.isfinite(dense(w)).all() for w in second if w is not None])
        )
        for g, w in zip(first, second, strict=True):
            assert (g is None) == (w is None), label
            if w is not None:
                assert type(g) is type(w) and g.dtype == w.dtype and g.shape == w.shape, label
                np.testing.assert_allclose(dense(g), dense(w), rtol=1e-9, atol=1e-9, err_msg=label)


# -- programs ---------------------------------------------------------------------------------------------------------
PROGRAMS = {
    "a layer": lambda w, v: np.sum(np.tanh(w @ v) ** 2),
    "a value used often": lambda w, v: np.sum(v * v + np.exp(v) * v) + np.sum(w) * v[0],
    "the same operand twice": lambda w, v: np.sum((w * w) @ v),
    "numbers": lambda w, v: np.sum(2.0 * v**3 - 1.0 / (3.0 + v**2) + w[0] ** 0),
    "several results": lambda w, v: np.sum(np.split(v, 3)[1] * np.linalg.slogdet(w @ w.T)[1]),
    "an index": lambda w, v: w[1, 2] * v[np.array([0, 2])][1] + np.sum(w[:, ::-1] * v),
    "a change in place": lambda w, v: np.sum(changed(w * 1.0, v) * w),
    "rows that are joined": lambda w, v: np.sum(np.concatenate([w, v[None], w * 2.0]) ** 2),
    "a choice": lambda w, v: np.sum(np.where(v > 0, v**2, np.sin(v)) * w),
    "what has no gradient": lambda w, v: np.sum(np.floor(v) * v + np.sign(w)),
    "a path to one alone": lambda w, v: np.sum(v * 3.0),
    "broadcasting": lambda w, v: np.sum(w / (v + 3.0)[None] - v[0]),
    "a mean and a norm": lambda w, v: np.mean(w, axis=1) @ np.ones(2) + np.linalg.norm(v),
}


def changed(y, v):
    y[0] += v
    y[:, 1] = 2.0
    return y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, dtype, at_first_sight):
    assert_same(PROGRAMS[name], W.astype(dtype), V.astype(dtype))


def test_complex_programs(at_first_sight):
    assert_same(lambda z, x: np.sum(np.real(z * np.conj(z) * x) + np.real(np.exp(1j * z))), V + 1j * V[::-1], V)
    assert_same(lambda z, x: np.sum(z * z * x), V + 1j * V[::-1], V)


def test_exponents_that_are_equal_numbers_of_other_kinds(at_first_sight):
    """A complex one makes what is complex, of which a real base gets the real part."""
    assert_same(lambda x, y: np.real(np.sum(x ** (2 + 0j))) + np.sum(y**2), V, V)
    assert_same(lambda x, y: np.sum(y**2) + np.real(np.sum(x ** (2 + 0j))), V, V)
    assert_same(lambda z: np.sum(np.real(z**2 * z ** (2 + 0j))), V + 1j * V[::-1])


def test_complex_exponents_beside_kinks(at_first_sight):
    assert_same(lambda x: np.sum(np.maximum(x, 0.5) * np.real((x + 2.0) ** (2 + 1j))), V, pieces=False)


def test_a_gradient_to_start_from(at_first_sight):
    assert_same(lambda w, v: w @ v, W, V, seed=np.array([2.0, -3.0]))


def test_several_targets_and_values_between_as_sources(at_first_sight):
    def run():
        w, v = constant(W), constant(V)
        with GradientTape() as tape:
            tape.watch([w, v])
            h = np.tanh(w @ v)
            y, z = np.sum(h**2), np.sum(v * v)
        return [g.numpy() for g in tape.gradient([y, z, h], [w, h, v, v, z])], tape.shown

    found, shown = run()
    assert len(shown.segments) > 1
    again, whole = run()
    assert len(whole.segments) == 1
    for g, w in zip(found, again, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-13)


# -- rows -------------------------------------------------------------------------------------------------------------
ROWS = {
    "gathered": lambda t: np.sum(t[np.array([2, 0, -1])] ** 2),
    "twice": lambda t: np.sum(t[np.array([2, 0])]) + np.sum(np.take(t, [1, 1], axis=0) ** 2),
    "and read": lambda t: np.sum(t[np.array([2, 0])]) + np.sum(t * t),
    "of a copy": lambda t: np.sum(t.copy()[np.array([[2, 0], [1, 1]])] ** 2),
    "of what was computed": lambda t: np.sum((2.0 * t)[np.array([2, 0])] ** 2),
    "along another axis": lambda t: np.sum(t[:, np.array([1, 0])] ** 2),
    "one row": lambda t: np.sum(t[np.array(1)] ** 2),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows(name, at_first_sight):
    assert_same(ROWS[name], np.arange(6.0).reshape(3, 2))


def test_rows_of_variables(at_first_sight):
    table = Variable(np.arange(6.0).reshape(3, 2))
    found = []
    for _ in range(2):
        with GradientTape() as tape:
            loss = np.sum(table.read_value()[np.array([1, -1])] ** 2) + np.sum(np.take(table, [0], axis=0))
        found.append(tape.gradient(loss, table))
    assert [type(g) for g in found] == [tapec.IndexedSlices] * 2
    np.testing.assert_array_equal(found[0].indices.numpy(), found[1].indices.numpy())
    np.testing.assert_array_equal(found[0].values.numpy(), found[1].values.numpy())


# -- where it is not the right way ------------------------------------------------------------------------------------
def test_rules_for_several_operations_are_compiled(at_first_sight):
    x = np.array([0.0, 1.0, 4.0])
    for f in (
        lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)),
        lambda x: np.sum(np.where(x > 0, x**-0.5, 0.0) * x),
    ):
        with np.errstate(all="ignore"):
            assert_same(f, x, pieces=False)
            assert np.isfinite(gradient(f, [x])[0][0].numpy()).all()


def test_gradients_that_are_not_finite(at_first_sight):
    with np.errstate(all="ignore"):
        assert_same(lambda x: np.sum(1.0 / x), np.array([0.0, 1.0]), pieces=False)
        assert_same(lambda x: np.sum(np.log(x)[np.array([0, 1])]), np.array([0.0, -1.0]), pieces=False)


def test_what_takes_long_anyway_is_compiled(at_first_sight):
    assert_same(lambda x: np.sum(np.sin(x)), np.ones(400_000), pieces=False)
    assert_same(lambda x: np.sum(np.sin(x)), np.ones(40_000))


def test_vectors_of_equal_values_are_compiled(at_first_sight):
    assert_same(lambda x: np.sum(np.linalg.eigh(x)[0] ** 2), np.eye(3), pieces=False)

    def slopes(x):
        with GradientTape() as inner:
            inner.watch(x)
            y = np.sum(np.linalg.eigvalsh(x) ** 2)
        return np.sum(inner.gradient(y, x) * np.arange(9.0).reshape(3, 3))

    assert_same(slopes, np.eye(3), pieces=False)


def test_functions_with_their_own_gradient_are_cut_as_ever(at_first_sight):
    @tapec.custom_gradient
    def twice(x):
        return 2.0 * x, lambda ct: ct * 5.0

    assert_same(lambda x: np.sum(twice(np.sin(x))), V, pieces=False)


def test_under_another_tape_it_is_one_call(at_first_sight):
    x = constant(V)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = np.sum(x**3)
        g = inner.gradient(y, x)
    assert [entry[0].name for entry in outer.log.records][-1] == "call"
    np.testing.assert_allclose(outer.gradient(g, x).numpy(), 6.0 * V)


def test_the_second_order_goes_back_through_the_call(at_first_sight):
    def second(x):
        with GradientTape() as inner:
            inner.watch(x)
            y = np.sum(x**3) * np.sum(np.vdot(x, x))
        return np.sum(inner.gradient(y, x) ** 2)

    assert_same(second, V)


# -- when it is done --------------------------------------------------------------------------------------------------
def chain(n, x):
    """A program of n operations, which ends in one line whatever n is."""
    y = x
    for k in range(n):
        y = np.sin(y) if k % 2 else y * x
    return np.sum(y)


def slope(n, persistent=False):
    x = constant(V)
    with GradientTape(persistent) as tape:
        tape.watch(x)
        y = chain(n, x)
    return tape, y, x


def run(n):
    tape, y, x = slope(n)
    return tape.gradient(y, x).numpy()


def compilations():
    return tapec.cache_info().compilations


def test_structures_that_come_once_are_not_compiled():
    for n in range(1, gradients_tuning.NEW_IN_A_ROW + 3):
        run(n)
    before = compilations()
    for n in range(20, 40):
        run(n)
    assert compilations() - before <= 3  # a product, a sine and a sum, each with what came before
    tape, y, x = slope(50)
    grads = tape.gradient(y, x)
    assert 2 <= len(tape.shown.segments) <= 4
    np.testing.assert_allclose(grads.numpy(), tapec.grad(lambda x: chain(50, x))(V), rtol=1e-12)


def test_what_comes_again_is_compiled():
    for n in range(1, gradients_tuning.NEW_IN_A_ROW + 3):
        run(n)
    run(30)
    before = compilations()
    run(30)
    assert compilations() == before + 1
    run(30)
    assert compilations() == before + 1


def test_where_structures_come_again_new_ones_are_compiled():
    for n in range(1, 30):
        run(n)
        run(n)
    before = compilations()
    run(40)
    assert compilations() == before + 1


def test_other_places_are_told_apart():
    for n in range(1, gradients_tuning.NEW_IN_A_ROW + 3):
        run(n)
    x = constant(V)
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(np.cos(x))
    tape.gradient(y, x)
    assert not tape.shown.segments[0].graph.name.startswith("back_through")


def test_a_persistent_tape_asks_twice(at_first_sight):
    tape, y, x = slope(5, persistent=True)
    first, second = tape.gradient(y, x), tape.gradient(y, x)
    np.testing.assert_allclose(first.numpy(), second.numpy(), rtol=1e-13)
    assert [s.graph.name for s in tape.shown.segments] == ["gradient"]


# -- around it --------------------------------------------------------------------------------------------------------
def test_source_shows_each_function_that_ran(at_first_sight):
    tape, y, x = slope(4)
    tape.gradient(y, x)
    assert {"back_through_sin", "back_through_multiply"} <= functions(tape.source(y, x)).keys()
    with pytest.raises(TapeValueError, match="operation by operation"):
        tape.ir(y, x)


def test_source_before_it_ran_is_of_the_whole(at_first_sight):
    tape, y, x = slope(4)
    source = tape.source(y, x)
    assert functions(source).keys() == {"gradient"}
    tape.gradient(y, x)
    assert tape.source(y, x) == source


def test_nothing_is_held(at_first_sight):
    tape, y, x = slope(4)
    value = weakref.ref(x)
    tape.gradient(y, x)
    del x, y
    gc.collect()
    assert value() is None


def test_settings_have_their_own_functions(at_first_sight):
    plain = run(6)
    with tapec.config.settings(optimize=False):
        np.testing.assert_allclose(run(6), plain, rtol=1e-13)


def test_large_arrays_that_changed(at_first_sight):
    big = np.ones(100_000)
    x = constant(big)

    def recorded(f):
        with GradientTape() as tape:
            tape.watch(x)
            y = f()
        big[:] += 1.0
        return tape.gradient(y, x)

    np.testing.assert_array_equal(recorded(lambda: np.sum(x * big)).numpy(), np.ones(100_000))  # as it was then
    np.testing.assert_array_equal(recorded(lambda: np.sum(x + big)).numpy(), np.ones(100_000))


def test_large_places_that_changed(at_first_sight):
    rows = np.arange(10_000) % 3
    table = Variable(np.ones((3, 2)))
    with GradientTape() as tape:
        y = np.sum(table[rows])
    rows[:] = 0
    counts = np.bincount(np.arange(10_000) % 3)
    np.testing.assert_array_equal(tape.gradient(y, table).numpy(), np.stack([counts, counts], axis=1))


def test_many_pieces_are_forgotten(at_first_sight):
    with tapec.settings(cache_size=1):
        for n in range(1, 6):
            run(n)
            assert len(structure_cache.PIECES.entries) <= 2
    tapec.cache_clear()
    assert not structure_cache.PIECES.entries


def test_structures_of_new_operations_are_compiled():
    def run(n):
        x = constant(np.ones(n))
        with GradientTape() as tape:
            tape.watch(x)
            y = np.sum(np.sin(x * x) * np.cos(x) + np.exp(np.tanh(x)) / (x + 2.0))
        tape.gradient(y, x)
        return len(tape.shown.segments)

    for n in range(1, gradients_tuning.NEW_IN_A_ROW + 1 + gradients_tuning.TRIES_IN_VAIN_MAX):
        assert run(n) == 1
    before = compilations()
    for n in range(20, 40):
        assert run(n) == 1
    assert compilations() == before + 20


def test_slopes_at_kinks_are_found_by_rules(at_first_sight):
    x = np.array([0.0, 1.0])
    assert_same(lambda x: np.sum(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))), x, pieces=False)
    assert_same(lambda x: np.sum(np.maximum(x, 0) * x), x)
    assert_same(lambda x: np.sum(1 / (1 + np.exp(-x))), x)


# -- decorated functions ----------------------------------------------------------------------------------------------
SCALE = np.array([2.0, 0.5])


def root(a):
    """The cube root, by halving: the path depends on every bit of it."""
    low, high = 0.0 * a, a + 1.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        if middle**3 > a:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def numbers(count, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 9.5, count)


def test_paths_that_come_once_are_not_compiled_any_more():
    f = tapec.value_and_grad(root)
    for a in numbers(gradients_tuning.NEW_IN_A_ROW):
        f(a)
    before = f.cache_info()
    for a in numbers(20, 1):
        value, slope = f(a)
        want, exact = tapec.value_and_grad(root)(a)
        assert (type(value), type(slope)) == (np.float64, np.float64)
        assert value == want and slope == pytest.approx(exact, rel=1e-12)
    after = f.cache_info()
    assert after.compilations == before.compilations and after.misses == before.misses + 20


def test_a_path_that_comes_again_is_compiled_and_found():
    f = tapec.grad(root)
    for a in numbers(gradients_tuning.NEW_IN_A_ROW + 3):
        f(a)
    first, before = f(7.0), f.cache_info()
    assert f(7.0) == pytest.approx(first, rel=1e-12)
    between = f.cache_info()
    assert between.compilations == before.compilations + 1
    f(7.0)
    assert f.cache_info() == between._replace(hits=between.hits + 1)


def test_paths_among_calls_that_are_known_are_compiled():
    f = tapec.grad(root)
    for a in numbers(20):
        f(a)
        f(a)
        f(a)
    before = f.cache_info().compilations
    f(7.0)
    assert f.cache_info().compilations == before + 1


def tree_loss(weights, tree, scale=1.0):
    def value(part):
        if isinstance(part, float):
            return part * SCALE + weights["b"]
        left, right = value(part[0]), value(part[1])
        return np.tanh(weights["w"] @ (left + right) * scale)

    return np.sum(value(tree) ** 2) + 0.0 * weights["n"]


def grown(n):
    tree = 0.5
    for k in range(n):
        tree = (tree, 0.25 * k) if k % 2 else (0.1 * k, tree)
    return tree


@pytest.mark.parametrize("options", [{}, {"argnums": (0, 2)}, {"argnums": 2}])
@pytest.mark.parametrize("transform", [tapec.grad, tapec.value_and_grad])
def test_trees_as_static_arguments(transform, options, monkeypatch):
    weights = {"b": np.array([0.1, -0.2], np.float32), "n": 3, "w": np.array([[0.4, -0.3], [0.2, 0.5]])}
    f = transform(tree_loss, static_argnums=1, **options)
    for n in range(1, gradients_tuning.NEW_IN_A_ROW + 1):
        f(weights, grown(n), 0.75)
    before = f.cache_info().compilations
    for n in range(12, 16):
        monkeypatch.setitem(globals(), "SCALE", np.array([1.0, n / 10]))
        got, want = (
            f(weights, grown(n), 0.75),
            transform(tree_loss, static_argnums=1, **options)(weights, grown(n), 0.75),
        )
        same_structure(got, want)
    assert f.cache_info().compilations == before


def same_structure(got, want):
    assert type(got) is type(want)
    if isinstance(want, dict):
        assert list(got) == list(want)
        got, want = list(got.values()), list(want.values())
    if isinstance(want, (tuple, list)):
        for g, w in zip(got, want, strict=True):
            same_structure(g, w)
    elif want is not None:
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-6 if want.dtype == np.float32 else 1e-12)


def power(x, n):
    y = x
    for _ in range(n):
        y = y * np.sin(x)
    return np.sum(y)


OTHERS = {
    "with more": lambda: tapec.value_and_grad(lambda x, n: (power(x, n), x), has_aux=True, static_argnums=1),
    "holomorphic": lambda: tapec.grad(lambda x, n: power(x, n), holomorphic=True, static_argnums=1),
    "a Hessian": lambda: tapec.hessian(power, static_argnums=1),
    "compiled alone": lambda: tapec.compile(power, static_argnums=1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_compiled_as_ever(name):
    f, x = OTHERS[name](), V + 0.5j if name == "holomorphic" else V
    for n in range(1, gradients_tuning.NEW_IN_A_ROW + 4):
        got, want = f(x, n), OTHERS[name]()(x, n)
        same_structure(got, want)
    assert f.cache_info().compilations == gradients_tuning.NEW_IN_A_ROW + 3


def test_what_is_not_finite_is_compiled():
    f = tapec.grad(lambda x, n: np.sum(np.where(x > 0, np.log(x), 0.0)) * n + power(x, n), static_argnums=1)
    with np.errstate(all="ignore"):
        for n in range(1, gradients_tuning.NEW_IN_A_ROW + 4):
            assert np.isfinite(f(np.array([0.0, 1.0, 2.0]), n)).all()
    assert f.cache_info().compilations == gradients_tuning.NEW_IN_A_ROW + 3


def square_of(x, n):
    y = np.outer(x, x)
    for k in range(n):
        y = np.sin(y) if k % 2 else y * 0.5
    return np.sum(y)


def test_large_values():
    f, x = tapec.value_and_grad(square_of, static_argnums=1), np.linspace(0.1, 1.0, 200)
    for n in range(1, gradients_tuning.NEW_IN_A_ROW + 4):
        same_structure(f(x, n), tapec.value_and_grad(square_of, static_argnums=1)(x, n))


def test_under_a_tape_new_paths_are_part_of_the_recording():
    f = tapec.grad(power, static_argnums=1)
    for n in range(1, gradients_tuning.NEW_IN_A_ROW + 3):
        f(V, n)
    x = constant(V)
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(f(x, 20))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), tapec.hessian(power, static_argnums=1)(V, 20).sum(axis=0))


def test_random_numbers_are_found_by_structure():
    f = tapec.grad(lambda x: np.sum(x * x * np.random.default_rng().uniform(0.5, 1.5, 3)))
    for _ in range(gradients_tuning.NEW_IN_A_ROW + 5):
        assert (np.abs(f(V) / V) > 0.9).all()
    assert f.cache_info().compilations == 1


def test_functions_of_new_operations_are_compiled_as_ever():
    f = tapec.grad(lambda x: np.sum(np.sin(x * x) * np.cos(x) + np.exp(np.tanh(x)) / (x + 2.0)))
    for n in range(1, gradients_tuning.NEW_IN_A_ROW + 20):
        f(np.ones(n))
    before = f.cache_info().compilations
    for n in range(40, 50):
        f(np.ones(n))
    assert f.cache_info().compilations == before + 10
