"""The garbage collector waits while a program is compiled."""

import gc

import numpy as np
import pytest

from tapec import GradientTape, constant
from tapec.runtime.pause import collector_paused


def test_paused_inside_and_running_after():
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_running_again_after_an_exception():
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled()


def test_whoever_has_switched_it_off_keeps_it_off():
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_runs_after_a_gradient():
    x = constant(np.ones(7))
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(np.sin(x) * 0.123)
    tape.gradient(y, x)
    assert gc.isenabled()
