"""These tests are about loops over blocks: programs have them here that are too short to gain by them."""

import pytest

from tapec.codegen import tuning


@pytest.fixture(autouse=True)
def short_programs_have_loops(monkeypatch):
    monkeypatch.setattr(tuning, "BLOCK_LOOP_MIN_OPS", 3)
    monkeypatch.setattr(tuning, "HUGE_MIN_BYTES", 1 << 22)
