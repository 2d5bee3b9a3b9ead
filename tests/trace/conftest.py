"""What several files of this folder need."""

import pytest

from tapec.trace.dispatch import call_plans


@pytest.fixture
def no_plans():
    """None at the start, and those that there were at the end."""
    before = dict(call_plans.PLANS)
    for known in (call_plans.PLANS, call_plans._SEEN, call_plans._COUNTS):
        known.clear()
    yield call_plans
    call_plans.PLANS.clear()
    call_plans.PLANS.update(before)
