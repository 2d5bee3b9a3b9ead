"""The pages that are tables say what the registry and the tests say today."""

import numpy as np
import pytest

from docs.tables import DOCS, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_page_is_up_to_date(name):
    if name == "support.md" and not np.__version__.startswith("2.4."):
        pytest.skip("the page lists the names of NumPy 2.4")
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "python -m docs.tables --write"
