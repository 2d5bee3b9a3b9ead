"""`settings.debug` tells what is compiled."""

import numpy as np
import pytest

import tapec


@pytest.mark.parametrize("level, lines", [(0, 0), (1, 1), (2, 2)])
def test_levels(capsys, level, lines):
    with tapec.settings(debug=level):
        tapec.grad(lambda x: np.sum(x * x))(np.ones(3))
    told = capsys.readouterr().err
    assert ("tapec: function_grad: " in told) == (level >= 1)
    assert ("algebra " in told) == (level >= 2)
    assert lines == 0 or "ms" in told
