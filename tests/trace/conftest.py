"""What several files of this folder need."""

import pytest

from tapec.trace import plans


@pytest.fixture
def no_plans():
    """None at the start, and those that there were at the end."""
    before = dict(plans.PLANS)
    for known in (plans.PLANS, plans._SEEN, plans._COUNTS):
        known.clear()
    yield plans
    plans.PLANS.clear()
    plans.PLANS.update(before)
