"""The garbage collector rests while a graph is built, and is as it was afterwards."""

import gc

import pytest

from tapec.runtime.collector import resting_collector


def test_it_rests_and_wakes():
    assert gc.isenabled()
    with resting_collector():
        assert not gc.isenabled()
        with resting_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_wakes_after_an_error():
    with pytest.raises(KeyError), resting_collector():
        raise KeyError
    assert gc.isenabled()


def test_it_stays_off_when_it_was_off():
    gc.disable()
    try:
        with resting_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
