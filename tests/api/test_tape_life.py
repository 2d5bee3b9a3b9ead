"""The life of a tape: entering, stopping, resetting, using up, threads, exceptions."""

import contextvars
import threading

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tapec.trace.recording_stack import CURRENT
from tests.api.test_threads import together


def square_of(x, **options):
    with GradientTape(**options) as tape:
        tape.watch(x)
        y = x * x
    return tape, y


def test_gradient_after_the_block():
    x = constant(3.0)
    tape, y = square_of(x)
    gradient = tape.gradient(y, x)
    assert type(gradient) is tapec.Tensor
    assert gradient.numpy() == 6.0 and gradient.dtype == np.float64 and gradient.shape == ()


def test_gradient_inside_the_block_of_a_plain_tape_ends_its_recording():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        assert tape.gradient(y, x).numpy() == 6.0
        assert CURRENT.get() is None
        with pytest.raises(RuntimeError, match="can only be used to compute one set of gradients"):
            tape.gradient(y, x)
    assert CURRENT.get() is None


def test_a_second_gradient_on_a_plain_tape_is_a_runtime_error():
    x = constant(3.0)
    tape, y = square_of(x)
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="A non-persistent GradientTape can only be used to compute one set"):
        tape.gradient(y, x)


@pytest.mark.parametrize("ask", ["jacobian", "batch_jacobian"])
def test_a_jacobian_after_a_gradient_on_a_plain_tape_is_a_runtime_error(ask):
    x = constant([[1.0, 2.0]])
    tape, y = square_of(x)
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="one set of gradients"):
        getattr(tape, ask)(y, x)


def test_a_gradient_after_a_jacobian_on_a_plain_tape_is_a_runtime_error():
    x = constant([1.0, 2.0])
    tape, y = square_of(x)
    tape.jacobian(y, x)
    with pytest.raises(RuntimeError, match="one set of gradients"):
        tape.gradient(y, x)


def test_a_persistent_tape_gives_as_many_gradients_as_asked_for():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert tape.gradient(z, x).numpy() == 108.0
    assert tape.gradient(y, x).numpy() == 6.0
    assert tape.gradient(z, y).numpy() == 18.0
    assert tape.gradient(z, x).numpy() == 108.0


def test_a_gradient_inside_a_persistent_tape_is_recorded_by_it():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x
        slope = tape.gradient(y, x)
    assert slope.numpy() == 27.0
    assert tape.gradient(slope, x).numpy() == 18.0


@pytest.mark.parametrize("value", ["ZERO", "NONE", None, 0, 1, True, "zeros"])
def test_a_bad_unconnected_gradients_does_not_use_the_tape_up(value):
    x = constant(3.0)
    tape, y = square_of(x)
    with pytest.raises(ValueError, match=r"Unknown value for unconnected_gradients: ") as caught:
        tape.gradient(y, x, unconnected_gradients=value)
    assert str(caught.value).startswith(f"Unknown value for unconnected_gradients: {value!r} (test_tape_life.py:")
    assert tape.gradient(y, x).numpy() == 6.0


def test_stop_recording_on_a_tape_never_entered():
    with (
        pytest.raises(RuntimeError, match="Trying to stop recording a tape which is not recording"),
        GradientTape().stop_recording(),
    ):
        pass


def test_stop_recording_after_the_exit_of_a_tape():
    x = constant(3.0)
    tape, y = square_of(x)
    with pytest.raises(ValueError, match="Tape is not recording"), tape.stop_recording():
        pass
    assert tape.gradient(y, x).numpy() == 6.0


def test_stop_recording_on_a_used_tape():
    x = constant(3.0)
    tape, y = square_of(x)
    tape.gradient(y, x)
    with pytest.raises(RuntimeError), tape.stop_recording():
        pass


def test_stop_recording_inside_stop_recording():
    with (
        GradientTape() as tape,
        tape.stop_recording(),
        pytest.raises(ValueError, match="Tape is not recording"),
        tape.stop_recording(),
    ):
        pass


def test_nothing_is_recorded_while_recording_is_stopped():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = x * x * x
        w = y * x
    assert tape.gradient(z, x) is None
    assert tape.gradient(w, x).numpy() == 27.0


def test_a_gradient_while_recording_is_stopped_is_not_recorded():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            slope = tape.gradient(y, x)
    assert slope.numpy() == 6.0
    assert tape.gradient(slope, x) is None


def test_recording_goes_on_after_an_exception_while_it_was_stopped():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(KeyError), tape.stop_recording():
            raise KeyError
        y = x * x
    assert tape.gradient(y, x).numpy() == 6.0


def test_a_plain_tape_used_up_while_stopped_begins_anew():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            assert tape.gradient(y, x).numpy() == 6.0
        tape.watch(x)
        z = x * x * x
    assert tape.gradient(z, x).numpy() == 27.0


def test_reset_forgets_what_was_recorded_and_watched():
    x = constant(3.0)
    v = Variable(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * v
        tape.reset()
        assert tape.watched_variables() == ()
        z = x * x
        tape.watch(x)
        w = x * y
    assert tape.gradient(y, x) is None
    assert tape.gradient(z, x) is None
    assert tape.gradient(w, x).numpy() == 18.0


def test_reset_differentiates_only_what_follows():
    v = Variable(3.0)
    with GradientTape() as tape:
        loss = v * v
        tape.reset()
        loss = loss + 5.0 * v
    assert tape.gradient(loss, v).numpy() == 5.0


def test_reset_outside_the_block():
    x = constant(3.0)
    tape, y = square_of(x)
    with pytest.raises(ValueError, match="Tape is not recording"):
        tape.reset()
    assert tape.gradient(y, x).numpy() == 6.0


def test_reset_of_a_tape_never_entered():
    with pytest.raises(ValueError, match="Tape is not recording"):
        GradientTape().reset()


def test_entering_an_active_tape():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ValueError, match="Tape is still recording"), tape:
            pass
        y = x * x
    assert tape.gradient(y, x).numpy() == 6.0


def test_entering_a_finished_tape_again_continues_it():
    x = constant(3.0)
    tape, y = square_of(x)
    with tape:
        z = y * x
    assert tape.gradient(z, x).numpy() == 27.0


def test_entering_a_used_tape_again_begins_anew():
    x = constant(3.0)
    tape, y = square_of(x)
    tape.gradient(y, x)
    with tape:
        z = y * x
        tape.watch(x)
        w = x * 5.0
    assert tape.gradient([z, w], x).numpy() == 5.0


def test_a_tape_never_entered_has_no_gradient():
    x = constant(3.0)
    with pytest.raises(RuntimeError, match="never entered"):
        GradientTape().gradient(x, x)


def test_a_tensor_may_be_watched_before_the_tape_is_entered():
    x = constant(3.0)
    tape = GradientTape()
    tape.watch(x)
    with tape:
        y = x * x
    assert tape.gradient(y, x).numpy() == 6.0


def test_what_happens_before_watching_is_not_recorded():
    x = constant(3.0)
    with GradientTape() as tape:
        y = x * x
        tape.watch(x)
        z = y * x
    assert tape.gradient(z, x).numpy() == 9.0


def test_watching_is_for_this_tape_alone():
    x = constant(3.0)
    with GradientTape() as outer, GradientTape() as inner:
        outer.watch(x)
        y = x * x
    assert inner.gradient(y, x) is None
    assert outer.gradient(y, x).numpy() == 6.0


def test_an_exception_in_the_block_leaves_no_tape_open():
    x = constant(3.0)
    with pytest.raises(ZeroDivisionError), GradientTape() as tape:
        tape.watch(x)
        y = x * x
        raise ZeroDivisionError
    assert CURRENT.get() is None
    assert tape.gradient(y, x).numpy() == 6.0


def test_an_exception_in_an_inner_block_leaves_the_outer_tape_recording():
    x = constant(3.0)
    with GradientTape() as outer:
        outer.watch(x)
        with pytest.raises(ZeroDivisionError), GradientTape():
            raise ZeroDivisionError
        y = x * x
    assert outer.gradient(y, x).numpy() == 6.0


def test_tapes_may_be_left_in_any_order():
    x = constant(3.0)
    first, second = GradientTape(), GradientTape()
    first.__enter__()
    second.__enter__()
    first.watch(x)
    second.watch(x)
    y = x * x
    first.__exit__(None, None, None)
    z = y * x
    second.__exit__(None, None, None)
    assert CURRENT.get() is None
    assert first.gradient(z, x) is None
    assert second.gradient(z, x).numpy() == 27.0


def test_a_failing_gradient_leaves_the_tape_as_it_was():
    x = constant([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(ValueError, match="shape"):
            tape.gradient(y, x, output_gradients=constant([1.0, 2.0, 3.0]))
        with pytest.raises(TypeError):
            tape.gradient(y, "x")
        with pytest.raises(TypeError):
            tape.gradient(None, x)
        z = y * x
    assert tape.gradient(z, x).numpy().tolist() == [3.0, 12.0]


def test_a_gradient_function_that_raises_leaves_a_recording_tape_recording():
    @tapec.custom_gradient
    def fragile(x):
        def gradient(dy):
            raise ZeroDivisionError

        return x * 2.0, gradient

    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = fragile(x)
        with pytest.raises(ZeroDivisionError):
            tape.gradient(y, x)
        z = x * x
    assert tape.gradient(z, x).numpy() == 6.0


def test_operations_in_another_thread_are_not_recorded():
    x = constant(3.0)
    found = []
    with GradientTape() as tape:
        tape.watch(x)
        thread = threading.Thread(target=lambda: found.append(x * x))
        thread.start()
        thread.join()
    assert found[0].numpy() == 9.0
    assert tape.gradient(found[0], x) is None


def test_a_variable_read_in_another_thread_is_not_watched():
    v = Variable(3.0)
    found = []
    with GradientTape() as tape:
        thread = threading.Thread(target=lambda: found.append(v * v))
        thread.start()
        thread.join()
    assert tape.watched_variables() == ()
    assert tape.gradient(found[0], v) is None


def test_operations_in_a_copy_of_the_context_are_recorded():
    x = constant(3.0)
    found = []
    with GradientTape() as tape:
        tape.watch(x)
        context = contextvars.copy_context()
        thread = threading.Thread(target=lambda: context.run(lambda: found.append(x * x)))
        thread.start()
        thread.join()
    assert tape.gradient(found[0], x).numpy() == 6.0


def in_thread(function):
    caught = []

    def run():
        try:
            function()
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return caught


@pytest.mark.parametrize("persistent", [False, True])
def test_a_recording_tape_is_not_to_be_asked_from_another_thread(persistent):
    x = constant(3.0)
    with GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = x * x
        [error] = in_thread(lambda: tape.gradient(y, x))
        assert isinstance(error, tapec.TapeError) and "another thread" in str(error)
        [error] = in_thread(tape.reset)
        assert isinstance(error, tapec.TapeError)
        z = y * x
    assert tape.gradient(z, x).numpy() == 27.0


def test_a_finished_tape_may_be_asked_from_another_thread():
    x = constant(3.0)
    tape, y = square_of(x)
    found = []
    assert in_thread(lambda: found.append(tape.gradient(y, x))) == []
    assert found[0].numpy() == 6.0


def test_tapes_of_several_threads_watch_the_same_variable():
    v = Variable(np.arange(1.0, 5.0))

    def work(k):
        for _ in range(200):
            with GradientTape() as tape:
                y = np.sum(v * v * float(k))
            assert np.array_equal(tape.gradient(y, v).numpy(), 2.0 * k * np.arange(1.0, 5.0))

    together(work)


def test_one_finished_persistent_tape_serves_several_threads():
    x = constant(np.arange(1.0, 5.0))
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.sum(np.sin(x) * x)
    expected = np.cos(x.numpy()) * x.numpy() + np.sin(x.numpy())

    def work(_):
        for _ in range(100):
            np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected, rtol=1e-13)

    together(work)


def test_a_tape_asked_from_inside_its_own_gradient_function():
    x = constant(3.0)
    caught = []

    @tapec.custom_gradient
    def curious(x):
        def gradient(dy):
            with pytest.raises(tapec.TapeError, match="inside a gradient function") as error:
                tape.gradient(y, x)
            caught.append(error)
            return dy * 2.0

        return x * 2.0, gradient

    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = curious(x)
    assert tape.gradient(y, x).numpy() == 2.0
    assert len(caught) == 1
    assert tape.gradient(y, x).numpy() == 2.0
