"""The garbage collector rests while a graph is built, and is as it was afterwards."""

import gc
import threading
import weakref

import pytest

from tapec.runtime import gc_pause, tuning
from tapec.runtime.gc_pause import resting_collector


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


class Node:
    pass


def garbage() -> weakref.ref:
    node = Node()
    node.itself = node
    return weakref.ref(node)


@pytest.fixture
def thawed(monkeypatch):
    """No object is frozen, as in a user's process; otherwise those of the tests are (tests/conftest.py)."""
    monkeypatch.setattr(gc_pause, "_unasked", 0)
    gc.collect()  # what other tests made counts as new no more
    gc.unfreeze()
    yield
    gc.freeze()


def test_garbage_of_many_compilations_goes(thawed, monkeypatch):
    monkeypatch.setattr(tuning, "AGED_MIN_OBJECTS", 10_000)
    monkeypatch.setattr(gc_pause, "_alive", 0)
    monkeypatch.setattr(gc_pause, "_aged", 0)
    with resting_collector():
        seen = garbage()
    assert seen() is not None  # it counts as old now, and Python does not look there soon
    with resting_collector():
        made = [[] for _ in range(20_000)]
    assert seen() is None and len(made) == 20_000


def test_what_the_user_has_frozen_stays_frozen(thawed):
    gc.freeze()
    with resting_collector():
        pass
    assert gc.get_freeze_count() > 0


def test_frozen_objects_are_counted_once_in_many_compilations(monkeypatch):
    """To count a million of them takes five milliseconds."""
    counted = []
    monkeypatch.setattr(gc_pause.gc, "get_freeze_count", lambda: counted.append(1) or 1_000_000)
    monkeypatch.setattr(gc_pause, "_unasked", 0)
    for _ in range(tuning.FROZEN_UNASKED_COMPILATIONS + 2):
        with resting_collector():
            pass
    assert len(counted) == 2


def test_garbage_goes_while_another_thread_compiles_without_an_end(monkeypatch):
    monkeypatch.setattr(tuning, "AGED_MIN_OBJECTS", 5_000)
    begun, done = threading.Event(), threading.Event()

    def compile_without_an_end():
        with resting_collector():
            begun.set()
            done.wait(60)

    other = threading.Thread(target=compile_without_an_end)
    other.start()
    try:
        assert begun.wait(60)
        for _ in range(5):
            with resting_collector():
                for _ in range(3_000):
                    ring = []
                    ring.append(ring)
            kept = gc.get_count()[0]
        assert not gc.isenabled() and kept < 8_000
    finally:
        done.set()
        other.join()
    assert gc.isenabled()
