import pytest

import tapec
from tapec.codegen import tuning
from tests.codegen.kit import draw_anew


@pytest.fixture(autouse=True)
def same_numbers_in_every_order():
    draw_anew()


@pytest.fixture(autouse=True)
def graphs_are_verified():
    """After each pass of both pipelines."""
    with tapec.settings(verify=True):
        yield


@pytest.fixture
def middle_sized_is_large(monkeypatch):
    """Arrays from 8 kB on are computed in place, and those from 16 kB on deleted, as larger ones are.

    Programs have loops over blocks that are too short to gain by them.
    """
    monkeypatch.setattr(tuning, "BLOCK_LOOP_MIN_OPS", 3)
    monkeypatch.setattr(tuning, "HUGE_MIN_BYTES", 1 << 22)
    monkeypatch.setattr(tuning, "BUFFER_MIN_BYTES", 1 << 13)
    monkeypatch.setattr(tuning, "BUFFER_ALWAYS_MIN_BYTES", 1 << 13)
    monkeypatch.setattr(tuning, "RENAMED_MIN_BYTES", 1 << 13)
    monkeypatch.setattr(tuning, "DELETED_MIN_BYTES", 1 << 14)
