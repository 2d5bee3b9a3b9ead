"""How many references there are to an object beside that of the list or dict that holds it."""

from weakref import ref

import numpy as np
import pytest

from tapec.trace.reference_counts import others

WAYS = {
    "a name": lambda x: x,
    "an item": lambda x: [x],
    "a view": lambda x: x[1:],
    "a weak reference": ref,
    "a buffer": memoryview,
}


@pytest.mark.parametrize("holder, key", [([np.ones(3)], 0), ({"x": np.ones(3)}, "x")])
@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_hold_an_object_counts(way, holder, key):
    assert others(holder, key) == 0
    held = [WAYS[way](holder[key])]
    assert others(holder, key) == 1
    held.append(holder[key])
    assert others(holder, key) == 2
    held.clear()
    assert others(holder, key) == 0
