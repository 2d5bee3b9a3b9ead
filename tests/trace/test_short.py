"""NumPy's buffers, shorter for a while."""

import runpy

import numpy as np
import pytest

from tapec.trace import short


@pytest.mark.parametrize("size, length", [(2048, 256), (8192, 1024), (10_000, 1248), (1024, 256), (65536, None)])
def test_length(size, length):
    """A small part of the array, in steps that NumPy takes; as it comes where the array is long."""
    assert short.buffer_for(size) == length


@pytest.fixture(params=["with", "without"])
def with_buffer(request, monkeypatch):
    """With what NumPy's own function is made of, and without it."""
    if request.param == "without":
        monkeypatch.delattr(np._core.umath, "_make_extobj")
    return runpy.run_path(short.__file__)["with_buffer"]


def test_it_is_as_it_was_then(with_buffer):
    before = np.setbufsize(4096)
    try:
        with np.errstate(divide="raise"):
            assert with_buffer(512, np.getbufsize, ()) == 512
            assert with_buffer(512, np.add, (1.0, 2.0), out=np.zeros(1)) == [3.0]
            with pytest.raises(FloatingPointError):
                with_buffer(512, np.divide, (np.ones(2), 0.0))
            assert np.getbufsize() == 4096 and np.geterr()["divide"] == "raise"
    finally:
        np.setbufsize(before)
