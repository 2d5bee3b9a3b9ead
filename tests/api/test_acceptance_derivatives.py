"""What people may expect of transforms as decorators, of derivatives of all kinds, and no other file asks for."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import by_tape
from tests.properties import functions

X = np.array([1.0, 2.0, 3.0])


# ---------------------------------------------------------------------------------------------------------------
# in classes
# ---------------------------------------------------------------------------------------------------------------
class Model:
    rate = 2.0

    def __init__(self):
        self.w = np.ones(3)

    @tapec.grad
    @staticmethod
    def above_static(v):
        return np.sum(v * v)

    @staticmethod
    @tapec.grad
    def below_static(v):
        return np.sum(v * v)

    @tapec.grad
    @classmethod
    def above_class(cls, v):
        return np.sum(v * v) * cls.rate

    @classmethod
    @tapec.grad
    def below_class(cls, v):
        return np.sum(v * v) * cls.rate

    @tapec.compile
    @property
    def above_property(self):
        return self.w * 2

    @property
    @tapec.compile
    def below_property(self):
        return self.w * 2

    @tapec.compile
    @functools.cached_property
    def above_cached(self):
        return self.w * 2

    @tapec.hvp
    def product(self, v):
        return np.sum(self.w * v**3)

    @staticmethod
    @tapec.hvp
    def static_product(v):
        return np.sum(v**3)

    @classmethod
    @tapec.hvp
    def class_product(cls, v):
        return np.sum(v**3) * cls.rate

    @tapec.per_example_grad
    def by_example(self, w, a):
        return np.sum(self.w * w * a)

    @tapec.jacobian(sparse=True)
    def bands(self, v):
        return v * v * self.w

    @tapec.sparsity
    def pattern(self, v):
        return v * v * self.w

    @tapec.custom_gradient
    @staticmethod
    def stated(v):
        return v * 2, lambda d: d * 5

    @tapec.custom_jvp
    @staticmethod
    def ruled(v):
        return v * 2


Model.ruled.defjvp(lambda primals, tangents: (primals[0] * 2, tangents[0] * 7))


class Faster(Model):
    rate = 7.0


@pytest.mark.parametrize("name", ["above_static", "below_static"])
def test_static_methods_in_both_orders(name):
    for owner in (Model, Model()):
        np.testing.assert_array_equal(getattr(owner, name)(X), 2 * X)


@pytest.mark.parametrize("name", ["above_class", "below_class"])
def test_class_methods_in_both_orders(name):
    for owner in (Model, Model()):
        np.testing.assert_array_equal(getattr(owner, name)(X), 4 * X)
    np.testing.assert_array_equal(getattr(Faster, name)(X), 14 * X)
    np.testing.assert_array_equal(getattr(Model, name)(X), 4 * X)


@pytest.mark.parametrize("name", ["above_property", "below_property", "above_cached"])
def test_properties_in_both_orders(name):
    model = Model()
    np.testing.assert_array_equal(getattr(model, name), np.full(3, 2.0))
    model.w = X
    expected = np.full(3, 2.0) if name == "above_cached" else 2 * X
    np.testing.assert_array_equal(getattr(model, name), expected)


def test_products_of_methods():
    model = Model()
    np.testing.assert_allclose(model.product(X, X), 6 * X * X)
    model.w = X
    np.testing.assert_allclose(model.product(X, X), 6 * X**3)
    np.testing.assert_allclose(Model.static_product(X, X), 6 * X * X)
    np.testing.assert_allclose(model.class_product(X, X), 12 * X * X)


def test_sparse_and_by_example_as_methods():
    model = Model()
    np.testing.assert_array_equal(model.bands(X).toarray(), np.diag(2 * X))
    assert model.pattern(X).nnz == 3
    np.testing.assert_array_equal(model.by_example(X, np.full((4, 3), 2.0)), np.full((4, 3), 2.0))


def test_rules_of_static_methods():
    model = Model()
    np.testing.assert_array_equal(tapec.grad(lambda v: np.sum(model.stated(v)))(X), np.full(3, 5.0))
    np.testing.assert_array_equal(tapec.grad(lambda v: np.sum(model.ruled(v)))(X), np.full(3, 7.0))


def test_copies_of_objects_compile_for_themselves():
    model = Model()
    model.product(X, X)
    np.testing.assert_array_equal(model.above_property, np.full(3, 2.0))
    assert len(pickle.dumps(model)) < 2000
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        twin.w = X
        np.testing.assert_allclose(twin.product(X, X), 6 * X**3)
        np.testing.assert_allclose(model.product(X, X), 6 * X * X)


@pytest.mark.parametrize("transform", [tapec.grad, tapec.hvp, functools.partial(tapec.jacobian, sparse=True)])
def test_a_function_is_its_own_copy_as_functions_are(transform):
    made = transform(lambda x: x**2)
    assert copy.copy(made) is made
    assert copy.deepcopy([made, made])[1] is made


def test_deep_copies_have_their_own_functions():
    class Holder:
        def __init__(self, w):
            self.w = w
            self.slope = tapec.grad(self.loss)
            self.curve = tapec.hvp(self.loss)
            self.scale = tapec.jacobian(self.scaled, sparse=True)

        def scaled(self, x):
            return self.w * x

        def loss(self, x):
            return np.sum(self.w * x**2)

    one = Holder(X)
    one.slope(X)
    two = copy.deepcopy(one)
    two.w = 3.0 * X
    for holder in (two, one):
        np.testing.assert_allclose(holder.slope(X[:1] * X), 2 * holder.w * X[0] * X)
        np.testing.assert_allclose(holder.curve(X, X), 2 * holder.w * X)
        np.testing.assert_allclose(holder.scale(X).diagonal(), holder.w)


def test_names_of_parameters_that_are_ours_too():
    np.testing.assert_allclose(tapec.hvp(lambda v: np.sum(v**3))(X, X), 6 * X * X)
    _, tangent = tapec.jvp(lambda x, d_x: x * d_x, (2.0, 3.0), (1.0, 1.0))
    assert tangent == 5.0


# ---------------------------------------------------------------------------------------------------------------
# structures
# ---------------------------------------------------------------------------------------------------------------
def test_stop_gradient_of_a_structure():
    stopped = tapec.stop_gradient({"w": X, "n": None, "s": "name", "t": (2.0, 3)})
    assert stopped["n"] is None and stopped["s"] == "name" and stopped["t"] == (2.0, 3)
    gradient = tapec.grad(lambda p: np.sum(tapec.stop_gradient(p)["w"] * p["w"]))({"w": X})
    np.testing.assert_array_equal(gradient["w"], X)


@tapec.custom_jvp
def scaled(p, k):
    return {"out": p["w"] * p["b"], "k": k}


@scaled.defjvp
def _(primals, tangents):
    (p, k), (dp, dk) = primals, tangents
    return scaled(p, k), {"out": 10 * (dp["w"] * p["b"] + p["w"] * dp["b"]), "k": dk}


def test_a_rule_of_structures_in_both_modes():
    params = {"w": X, "b": X}
    gradient = tapec.grad(lambda p: np.sum(scaled(p, 2.0)["out"]))(params)
    np.testing.assert_allclose(gradient["w"], 10 * X)
    _, tangent = tapec.jvp(lambda p: scaled(p, k=2.0)["out"], (params,), (params,))
    np.testing.assert_allclose(tangent, 20 * X * X)


def test_keywords_of_a_rule():
    np.testing.assert_array_equal(scaled(k=2.0, p={"w": X, "b": X})["out"], X * X)
    only = tapec.custom_jvp(lambda x, *, k: x * k)
    only.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    with pytest.raises(TypeError, match="all arguments by position, and k has none"):
        only(1.0, k=2.0)


@tapec.custom_gradient
def doubled(p):
    return {"a": p["w"] * 2, "b": p["w"] * 3}, lambda da, db: {"w": 5 * da + 7 * db}


def test_a_stated_gradient_of_structures():
    np.testing.assert_array_equal(tapec.grad(lambda p: np.sum(doubled(p)["a"]))({"w": X})["w"], np.full(3, 5.0))
    w = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(w)
        y = np.sum(doubled({"w": w})["b"])
    np.testing.assert_array_equal(tape.gradient(y, w), np.full(3, 7.0))


def test_a_checkpoint_of_structures():
    block = tapec.checkpoint(lambda p: {"out": (np.tanh(p["w"]) * p["k"], p["name"])})
    gradient = tapec.grad(lambda p: np.sum(block(p)["out"][0]))({"w": X, "k": 2.0, "name": "n"})
    np.testing.assert_allclose(gradient["w"], 2 / np.cosh(X) ** 2)
    assert gradient["name"] is None


# ---------------------------------------------------------------------------------------------------------------
# texts
# ---------------------------------------------------------------------------------------------------------------
def test_errors_say_what_numpy_would_print():
    def refuse(v):
        if v[0] > 0:
            raise ValueError(f"bad {v}, {v[0]} and {v[1]:.2f}", v)
        return np.sum(v)

    with pytest.raises(ValueError, match=r"bad \[1. 2. 3.\], 1.0 and 2.00") as caught:
        tapec.grad(refuse)(X)
    assert type(caught.value.args[1]) is np.ndarray


class TooLarge(Exception):
    def __init__(self, value):
        super().__init__(f"too large: {value}")
        self.value = value


def test_errors_of_the_users_own_hold_plain_numbers():
    def refuse(v):
        raise TooLarge(v[2])

    with pytest.raises(TooLarge, match="too large: 3.0") as caught:
        tapec.grad(refuse)(X)
    assert type(caught.value.value) is np.float64


PARAMETERS = {"w0": X, "w1": 2 * X}


@pytest.mark.parametrize(
    "name", [lambda n: f"w{n}", lambda n: "w" + str(n), lambda n: "w" + format(n), lambda n: f"w{n:d}"]
)
def test_an_integer_in_a_name_is_a_branch(name):
    f = tapec.compile(lambda v, n: v * PARAMETERS[name(n)])
    for n in (0, 1, 0):
        np.testing.assert_array_equal(f(X, n), X * PARAMETERS[f"w{n}"])


def test_what_is_only_printed_is_no_branch(capsys):
    def step(v, n):
        print(v, n, f"step {n}")
        return v * n

    f = tapec.compile(step)
    for n in range(70):
        f(X, n)
    assert capsys.readouterr().out == "[1. 2. 3.] 0 step 0\n"
    assert f.cache_info().compilations == 1


# ---------------------------------------------------------------------------------------------------------------
# pickles
# ---------------------------------------------------------------------------------------------------------------
@pytest.fixture
def saved():
    @tapec.grad
    def squares(w):  # no module knows it
        """The sum of squares."""
        return np.sum(w * w)

    squares(X)
    return pickle.loads(pickle.dumps(squares))


def test_a_pickled_function_answers_for_itself(saved, tmp_path):
    np.testing.assert_array_equal(saved(X), 2 * X)
    assert saved.cache_info()[:4] == (1, 0, 0, 1)
    assert saved.source() == saved.source(X) == saved.last_source() and "squares_grad" in functions(saved.source())
    assert "w: f64[3]" in str(saved.explain(X))
    assert list(inspect.signature(saved).parameters) == ["w"]
    assert saved.__doc__.split("\n")[0] == "The sum of squares."
    saved.export(tmp_path / "again.py", X)
    assert (tmp_path / "again.py").read_text() == saved.source()
    saved.cache_clear()
    assert saved.cache_info().hits == 0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(saved))(X), 2 * X)


@pytest.mark.parametrize("method", ["ir", "generated", "locate"])
def test_a_pickled_function_says_what_it_lacks(saved, method):
    with pytest.raises(tapec.TapecError, match="pickled as generated code, which has no .*decorate the function again"):
        getattr(saved, method)(X)


def test_a_pickled_function_does_not_detach_tensors(saved):
    result = saved(tapec.constant(X))
    assert isinstance(result, tapec.Tensor)
    with pytest.raises(tapec.TapecError, match="which has no derivative, and its argument is recorded; no module"):
        tapec.grad(lambda v: np.sum(saved(v)))(X)
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(tapec.TapecError, match="decorate the function again here"):
            saved(x)


# ---------------------------------------------------------------------------------------------------------------
# transforms of transforms
# ---------------------------------------------------------------------------------------------------------------
def wave(v):
    return np.sin(v) * v**2


def third(v):
    return 6 * np.cos(v) - 6 * v * np.sin(v) - v**2 * np.cos(v)


DERIVATIVES = {
    "grad": tapec.grad,
    "compiled": lambda h: tapec.grad(tapec.compile(h)),
    "checkpoint": lambda h: tapec.grad(tapec.checkpoint(h)),
    "value": lambda h: lambda v: tapec.value_and_grad(h)(v)[1],
    "jvp": lambda h: lambda v: tapec.jvp(h, (v,), (1.0,))[1],
    "vjp": lambda h: lambda v: tapec.vjp(h, v)[1](1.0),
    "linearize": lambda h: lambda v: tapec.linearize(h, v)[1](1.0),
    "jacrev": tapec.jacrev,
    "jacfwd": tapec.jacfwd,
    "vmap": lambda h: lambda v: tapec.vmap(tapec.grad(h))(np.stack([v, v]))[0],
    "tape": by_tape,
}


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("outer", DERIVATIVES)
def test_third_derivatives_by_all_ways(outer):
    for middle in DERIVATIVES.values():
        for inner in list(DERIVATIVES.values())[::2]:
            assert float(DERIVATIVES[outer](middle(inner(wave)))(1.3)) == pytest.approx(third(1.3))


# ---------------------------------------------------------------------------------------------------------------
# errors
# ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("argnums", [1.5, True, (0, None)])
def test_argnums_that_are_none(argnums):
    with pytest.raises(TypeError, match="argnums is a position, a name, or a tuple of these, not"):
        tapec.grad(lambda a, b: np.sum(a * b), argnums=argnums)(X, X)


def falls(a):
    while a[0] > 0:
        a = a - 1
    return a


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (lambda a: a if a[0] > 0 else -a, r"bool\(\) of a value that differs.*np.where"),
        (falls, r"bool\(\) of a value that differs.*np.where"),
        (lambda a: (a[0] > 0 and a[1]) or a[2], r"bool\(\) of a value that differs.*np.where"),
        (lambda a: a * int(a[0]), r"int\(\) of a value that differs.*np.take"),
        (lambda a: np.sum(a[a > 0]), r"len\(\) of a value that differs.*np.where\(mask, x, 0.0\)"),
        (lambda a: a * np.random.random(), "draws random numbers.*pass it with a batch axis"),
        (lambda a: a * np.random.default_rng().random(), "draws random numbers.*pass it with a batch axis"),
    ],
)
def test_what_one_example_decides_for_all(function, fix):
    with pytest.raises(tapec.UnsupportedError, match=rf"test_acceptance_derivatives.py:\d+: vmap: .*{fix}"):
        tapec.vmap(function)(np.ones((4, 3)))


# ---------------------------------------------------------------------------------------------------------------
# what every kind of compiled function answers
# ---------------------------------------------------------------------------------------------------------------
def cubes(v):
    return np.sum(v**3)


def plain(result):
    return result.toarray() if hasattr(result, "toarray") else result


ROWS = np.arange(12.0).reshape(4, 3)
KINDS = {
    "compile": (lambda: tapec.compile(cubes), (X,)),
    "grad": (lambda: tapec.grad(cubes), (X,)),
    "jacobian": (lambda: tapec.jacobian(lambda v: v * v), (X,)),
    "hessian": (lambda: tapec.hessian(cubes), (X,)),
    "vmap": (lambda: tapec.vmap(cubes), (ROWS,)),
    "checkpoint": (lambda: tapec.checkpoint(cubes), (X,)),
    "hvp": (lambda: tapec.hvp(cubes), (X, X)),
    "ggn_vp": (lambda: tapec.ggn_vp(lambda v: v * v, np.sum), (X, X)),
    "per_example_grad": (lambda: tapec.per_example_grad(lambda w, a: np.sum(w * a)), (X, ROWS)),
    "sparse jacobian": (lambda: tapec.jacobian(lambda v: v[1:] * v[:-1], sparse=True), (X,)),
    "sparse hessian": (lambda: tapec.hessian(cubes, sparse=True), (X,)),
    "sparsity": (lambda: tapec.sparsity(lambda v: v[1:] * v[:-1]), (X,)),
    "sparse by index": (lambda: tapec.jacobian(lambda v, i: v[i] * 2, sparse=True), (X, np.array([2, 0]))),
    "sparse blocks": (lambda: tapec.jacobian(lambda v: (v * v, np.sum(v)), has_aux=True, sparse=True), (X,)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_compiled_function_shows_keeps_and_forgets(kind, tmp_path):
    make, args = KINDS[kind]
    f = make()
    result = f(*args)
    expected = plain(result[0] if isinstance(result, tuple) else result)
    f.export(tmp_path / "kept.py", *args)
    space = {"__name__": "kept"}
    exec((tmp_path / "kept.py").read_text(), space)
    for again in (space[space["__all__"][0]], pickle.loads(pickle.dumps(f))):
        found = again(*args)
        np.testing.assert_array_equal(plain(found[0] if isinstance(found, tuple) else found), expected)
    assert functions(f.source(*args)) and "graph" in str(f.ir(*args)) and str(f.explain(*args))
    assert f.__wrapped__ is not None
    _, misses, compilations, size, maxsize = f.cache_info()
    assert misses == compilations == size == 1 and maxsize == 1024
    f.cache_clear()
    assert f.cache_info()[:4] == (0, 0, 0, 0)


def test_a_kept_sparse_matrix_has_its_own_integers():
    f = tapec.jacobian(lambda v, i: v[i] * 2, sparse=True)
    f(X, np.array([2, 0]))
    kept = pickle.loads(pickle.dumps(f))
    with pytest.raises(tapec.TapecError, match="knows these signatures alone"):
        kept(X, np.array([1, 0]))


def test_defaults_are_the_same_for_all_examples():
    np.testing.assert_array_equal(tapec.vmap(lambda a, k=2.0: a * k)(ROWS), 2 * ROWS)
    np.testing.assert_array_equal(tapec.vmap(lambda a, *, k=2.0: a * k)(ROWS), 2 * ROWS)
    np.testing.assert_array_equal(tapec.vmap(lambda a, b, k=2.0: a * k, in_axes=(0, None))(ROWS, X), 2 * ROWS)
    by_example = tapec.per_example_grad(lambda w, a, k=2.0: np.sum(w * a) * k, argnums="w")
    np.testing.assert_array_equal(by_example(X, ROWS), 2 * ROWS)
    with pytest.raises(ValueError, match="there is no argument 'q'; the arguments are w, a"):
        tapec.per_example_grad(lambda w, a: np.sum(w * a), argnums="q")(X, ROWS)


# ---------------------------------------------------------------------------------------------------------------
# rules with control flow
# ---------------------------------------------------------------------------------------------------------------
@tapec.custom_jvp
def magnitude(v):
    return v if v > 0 else -v


@magnitude.defjvp
def _(primals, tangents):
    (v,), (dv,) = primals, tangents
    return magnitude(v), dv if v > 0 else -dv


def test_a_rule_may_look_at_its_primals():
    for name, derivative in DERIVATIVES.items():
        if name == "vmap":  # what differs from example to example decides nothing
            continue
        f = derivative(lambda v: magnitude(v) * v)
        assert [float(f(v)) for v in (2.0, -3.0, 4.0)] == [4.0, 6.0, 8.0]
    f = tapec.grad(magnitude)
    assert [f(2.0), f(-2.0), f(3.0)] == [1.0, -1.0, 1.0]
    assert f.cache_info().compilations == 2


@tapec.custom_gradient
def squared(v, k=1.0):
    return v * v * k, lambda d: 2 * d * v * k


def test_a_stated_gradient_in_all_modes():
    rows = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(tapec.jvp(squared, (X,), (X,))[1], 2 * X * X)
    np.testing.assert_allclose(tapec.vmap(tapec.grad(lambda v: np.sum(squared(v))))(rows), 2 * rows)
    np.testing.assert_allclose(tapec.hessian(lambda v: np.sum(squared(v)))(X), 2 * np.eye(3))
    np.testing.assert_allclose(tapec.jacfwd(lambda v: squared(v, k=3.0))(X), np.diag(6 * X))
    clipped = tapec.custom_gradient(lambda v: (v * 1.0, lambda d: np.clip(d, -1, 1)))
    with pytest.raises(tapec.GraphError, match=r"derivatives.py:\d+: .*not linear in the cotangent.*tapec.jacrev"):
        tapec.jvp(clipped, (X,), (X,))
    np.testing.assert_array_equal(tapec.jacrev(tapec.grad(lambda v: np.sum(clipped(v) ** 2)))(X), np.zeros((3, 3)))


# ---------------------------------------------------------------------------------------------------------------
# random numbers in every transform
# ---------------------------------------------------------------------------------------------------------------
def noisy(v):
    return v * np.random.default_rng().random()


def test_forward_mode_and_pullbacks_draw_anew():
    for value in (
        lambda: tapec.jvp(noisy, (X,), (X,))[0][0],
        lambda: tapec.vjp(noisy, X)[0][0],
        lambda: tapec.linearize(noisy, X)[0][0],
        lambda: tapec.jacobian(noisy)(X)[0, 0],
        lambda: tapec.jacobian(noisy, sparse=True)(X)[0, 0],
    ):
        assert len({float(value()) for _ in range(4)}) > 1


def test_a_sparse_jacobian_of_two_paths_is_kept_with_both():
    f = tapec.jacobian(lambda v: v * v if v[0] > 0 else v[::-1] * 1.0, sparse=True)
    expected = [f(v).toarray() for v in (X, -X)]
    kept = pickle.loads(pickle.dumps(f))
    for v, matrix in zip((X, -X), expected, strict=True):
        np.testing.assert_array_equal(kept(v).toarray(), matrix)


@pytest.mark.parametrize("wrap", [tapec.compile, tapec.checkpoint])
@pytest.mark.parametrize(
    "f",
    [
        lambda b, wrap: np.sum(wrap(lambda x: np.sin(x * b))(b)),
        lambda b, wrap: np.sum(wrap(lambda x, y: np.sin(x * y))(b, b)),
        lambda b, wrap: np.sum(wrap(lambda x: np.sin(x * b))(2.0 * b)) + np.sum(wrap(lambda x: x * b)(b)),
    ],
)
def test_a_value_that_comes_in_twice_counts_once_for_each_place(f, wrap):
    b = np.array([0.3, 1.1])
    plain = lambda b: f(b, lambda g: g)
    np.testing.assert_allclose(tapec.grad(lambda b: f(b, wrap))(b), tapec.grad(plain)(b), rtol=1e-12)
    np.testing.assert_allclose(tapec.hessian(lambda b: f(b, wrap))(b), tapec.hessian(plain)(b), rtol=1e-12, atol=1e-12)
    variable = tapec.Variable(b)
    with tapec.GradientTape() as tape:
        y = f(variable, wrap)
    np.testing.assert_allclose(tape.gradient(y, variable).numpy(), tapec.grad(plain)(b), rtol=1e-12)


@pytest.mark.parametrize("make", [lambda a: tapec.vjp(np.sin, a)[1], lambda a: tapec.linearize(np.sin, a)[1]])
def test_a_variable_is_a_cotangent_or_tangent(make):
    a, b = tapec.Variable([0.5, 0.7]), tapec.Variable([0.3, 1.1])
    with tapec.GradientTape() as tape:
        found = make(a)(b)
        y = np.sum(found[0] if isinstance(found, tuple) else found)
    np.testing.assert_allclose(tape.gradient(y, b).numpy(), np.cos(a.numpy()), rtol=1e-12)
