"""`jacobian` and `batch_jacobian` of a tape."""

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tests.ops.derivatives import differences
from tests.properties import allocates

WAYS = {
    "all at once": {},
    "in chunks": {"parallel_iterations": 4},
    "in one chunk": {"parallel_iterations": 1000},
    "one by one": {"experimental_use_pfor": False},
}
ways = pytest.mark.parametrize("how", WAYS.values(), ids=WAYS)


def recorded(f, *xs):
    with GradientTape(persistent=True) as tape:
        tape.watch(list(xs))
        y = f(*xs)
    return tape, y


FUNCTIONS = {
    "elementwise": lambda x: np.sin(x) * x,
    "sum": lambda x: np.sum(x * x, axis=0),
    "matmul": lambda x: np.tanh(x @ np.arange(6.0).reshape(3, 2)),
    "softmax": lambda x: np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True),
    "gather": lambda x: x[np.array([1, 0, 1])] * 2.0,
    "scalar": lambda x: np.sum(x**3),
    "transposed": lambda x: np.cumsum(x.T, axis=0),
    "mixed": lambda x: np.stack([x[0] * x[1], np.max(x, axis=0)]),
}


@ways
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_against_differences(f, how, rng):
    x = rng.standard_normal((2, 3))
    tx = constant(x)
    tape, y = recorded(f, tx)
    found = tape.jacobian(y, tx, **how)
    assert type(found) is tapec.Tensor and found.shape == y.shape + (2, 3) and found.dtype == np.float64
    np.testing.assert_allclose(found.numpy(), differences(f, x), rtol=1e-6, atol=1e-8)


@ways
def test_of_an_intermediate_value_and_in_a_structure(how):
    x = constant([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    found = tape.jacobian(z, {"x": x, "y": [y]}, **how)
    assert found["x"].numpy().tolist() == [[4.0, 0.0], [0.0, 32.0]]
    assert found["y"][0].numpy().tolist() == [[2.0, 0.0], [0.0, 8.0]]


@ways
def test_by_variables(how):
    v, w = Variable([1.0, 2.0]), Variable(3.0)
    with GradientTape(persistent=True) as tape:
        y = v * v * w
    dv, dw = tape.jacobian(y, [v, w], **how)
    assert dv.numpy().tolist() == [[6.0, 0.0], [0.0, 12.0]] and dw.numpy().tolist() == [1.0, 4.0]


@ways
def test_by_an_assigned_variable(how):
    v = Variable([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        y = v * v
        v.assign([10.0, 20.0])
        z = y + v * v
    assert tape.jacobian(z, v, **how).numpy().tolist() == [[22.0, 0.0], [0.0, 44.0]]


@ways
def test_unconnected_is_none_or_zeros(how):
    x, y = constant([1.0, 2.0]), constant([[3.0]])
    tape, z = recorded(lambda x, y: x * x, x, y)
    assert tape.jacobian(z, y, **how) is None
    zero = tape.jacobian(z, y, unconnected_gradients="zero", **how)
    assert zero.shape == (2, 1, 1) and not zero.numpy().any()
    assert tape.jacobian(z, [x, y], **how)[1] is None


@ways
def test_of_an_empty_target(how):
    x = constant(np.ones((0, 3)))
    tape, y = recorded(lambda x: x * x, x)
    assert tape.jacobian(y, x, **how).shape == (0, 3, 0, 3)


@ways
def test_of_a_tensor_by_itself(how):
    x = constant([1.0, 2.0])
    tape, _ = recorded(lambda x: x * x, x)
    assert tape.jacobian(x, x, **how).numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with GradientTape(persistent=True) as other:
        pass
    assert other.jacobian(x, x, **how).numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]


@ways
def test_is_recorded_by_an_outer_tape(how):
    x = constant([1.0, 2.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape(persistent=True) as inner:
            inner.watch(x)
            y = x**3
        z = np.sum(inner.jacobian(y, x, **how))
    assert outer.gradient(z, x).numpy().tolist() == [6.0, 12.0]


def test_hessian_by_a_jacobian_of_a_gradient(rng):
    a = rng.standard_normal((3, 3))
    x = constant(rng.standard_normal(3))
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = np.sum(np.sin(a @ x))
        g = inner.gradient(y, x)
    found = outer.jacobian(g, x).numpy()
    expected = -a.T @ np.diag(np.sin(a @ x.numpy())) @ a
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@ways
def test_batch_jacobian(how, rng):
    x, w = rng.standard_normal((4, 3)), rng.standard_normal((3, 2))
    tx = constant(x)
    tape, y = recorded(lambda x: np.tanh(x @ w)[:, :, None] * np.ones(2), tx)
    found = tape.batch_jacobian(y, tx, **how)
    assert found.shape == (4, 2, 2, 3)
    whole = tape.jacobian(y, tx).numpy()
    np.testing.assert_allclose(found.numpy(), np.stack([whole[i, :, :, i] for i in range(4)]), rtol=1e-13)


@ways
def test_batch_jacobian_of_an_elementwise_function(how):
    x = constant([[1.0, 2.0], [3.0, 4.0]])
    tape, y = recorded(lambda x: x * x, x)
    found = tape.batch_jacobian(y, x, **how)
    assert found.numpy().tolist() == [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]


@ways
@pytest.mark.parametrize("other", ["float32", "float64", "int64", "bool"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_it_has_the_dtype_of_the_source(how, other, dtype):
    factor, x = np.array([1.1, 2.3]).astype(other), constant(np.array([[1.0, 2.0], [3.0, 4.0]], dtype))
    tape, y = recorded(lambda x: factor * (factor * x), x)
    whole, batch = tape.jacobian(y, x, **how).numpy(), tape.batch_jacobian(y, x, **how).numpy()
    assert whole.dtype == batch.dtype == tape.gradient(y, x).dtype == np.dtype(dtype)
    expected = np.diag(factor.astype(y.dtype) ** 2)
    np.testing.assert_allclose(
        batch, np.stack([expected] * 2), rtol=1e-6 if dtype in ("float32", "complex64") else 1e-15
    )
    np.testing.assert_array_equal(whole, np.einsum("ij,iab->iajb", np.eye(2), batch))


@ways
@pytest.mark.parametrize("unconnected", ["none", "zero"])
def test_unconnected_batch_jacobian_is_zeros(how, unconnected):
    x, y = constant(np.ones((2, 3))), constant(np.ones((2, 4)))
    tape, z = recorded(lambda x, y: x * x, x, y)
    found = tape.batch_jacobian(z, y, unconnected_gradients=unconnected, **how)
    assert found.shape == (2, 3, 4) and not found.numpy().any()


@pytest.mark.parametrize("shapes", [((3,), (3, 2)), ((3, 2), (3,)), ((), (3, 2)), ((3, 2), (2, 3))])
def test_batch_jacobian_needs_examples_along_the_first_axis(shapes):
    x = constant(np.ones(shapes[1]))
    tape, _ = recorded(lambda x: x * x, x)
    with tape:
        y = np.ones(shapes[0]) * np.sum(x)
    with pytest.raises(ValueError, match="rank 2 or more|Need first dimension of target"):
        tape.batch_jacobian(y, x)
    assert tape.gradient(y, x) is not None


@pytest.mark.parametrize("ask", ["jacobian", "batch_jacobian"])
def test_a_loop_needs_a_persistent_tape(ask):
    x = constant([[1.0, 2.0]])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(RuntimeError, match="must be created with persistent=True"):
        getattr(tape, ask)(y, x, experimental_use_pfor=False)
    assert tape.gradient(y, x) is not None


@pytest.mark.parametrize("ask", ["jacobian", "batch_jacobian"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"unconnected_gradients": "ZERO"},
        {"parallel_iterations": 0},
        {"parallel_iterations": "a", "experimental_use_pfor": False},
    ],
)
def test_bad_arguments_do_not_use_the_tape_up(ask, arguments):
    x = constant([[1.0, 2.0]])
    with GradientTape(persistent="experimental_use_pfor" in arguments) as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients|parallel_iterations must be"):
        getattr(tape, ask)(y, x, **arguments)
    assert tape.gradient(y, x) is not None


def test_a_target_must_be_one_tensor():
    x = constant([1.0, 2.0])
    tape, y = recorded(lambda x: x * x, x)
    with pytest.raises(TypeError, match="target"):
        tape.jacobian([y, y], x)
    with pytest.raises(TypeError, match="target"):
        tape.jacobian(None, x)


def test_inside_the_block():
    x = constant([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        found = tape.jacobian(y, x)
    assert found.numpy().tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_it_is_compiled_once():
    x = constant([1.0, 2.0])
    tape, y = recorded(lambda x: np.exp(x * x), x)
    tape.jacobian(y, x)
    before = tapec.cache_info().compilations
    for _ in range(3):
        tape, y = recorded(lambda x: np.exp(x * x), x)
        tape.jacobian(y, x)
    assert tapec.cache_info().compilations == before


def test_elementwise_jacobians_multiply_no_identity():
    """The source shows a diagonal being written, not a product with a unit matrix."""
    x = constant([1.0, 2.0, 3.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.sin(x)
    tape.jacobian(y, x)
    assert not allocates(tape.shown.segments[0], "eye")
