import pytest

import tapec
from tests.codegen.kit import draw_anew


@pytest.fixture(autouse=True)
def same_numbers_in_every_order():
    draw_anew()


@pytest.fixture(autouse=True)
def graphs_are_verified():
    """After each pass of both pipelines."""
    with tapec.settings(verify=True):
        yield
