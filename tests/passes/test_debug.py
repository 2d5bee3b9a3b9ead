"""`settings.debug` tells what is compiled."""

import numpy as np
import pytest

import tapec


@pytest.mark.parametrize("level", [0, 1, 2])
def test_levels(capsys, level):
    with tapec.settings(debug=level):
        tapec.grad(lambda x: np.sum(x * x))(np.ones(3))
    told = capsys.readouterr().err
    assert ("tapec: function_grad: " in told) == (level >= 1)
    assert ("algebra " in told) == (level >= 2)
    assert bool(told) == (level >= 1) and (" ms" in told) == (level >= 1)
