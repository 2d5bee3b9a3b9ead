import pytest

from tests.codegen.kit import draw_anew


@pytest.fixture(autouse=True)
def same_numbers_in_every_order():
    draw_anew()
