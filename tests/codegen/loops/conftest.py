"""These tests are about loops that are found again in finished programs: none is found before differentiation."""

import pytest

from tapec.passes import tuning


@pytest.fixture(autouse=True)
def nothing_is_rolled(monkeypatch):
    monkeypatch.setattr(tuning, "ROLLED_MIN_ROUNDS", 10**9)
