"""Methods by which a captured object is a number for Python: `__float__`, `__bool__`, `__int__`, `__len__`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import tapec


class Parameter:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __float__(self) -> Any:
        return self.value * 1.0

    def __complex__(self) -> Any:
        return self.value + 0j

    def __bool__(self) -> Any:
        return self.value > 1

    def __int__(self) -> Any:
        return int(self.value)

    def __index__(self) -> Any:
        return int(self.value)

    def __len__(self) -> Any:
        return int(self.value)


x = np.array([0.4, -0.8, 1.2])


@pytest.mark.parametrize("kind", [float, int])
@pytest.mark.parametrize("convert", [float, complex, int, len, operator.index, lambda p: 2.0 if p else 3.0])
def test_number_of_a_captured_object(convert: Any, kind: Any) -> None:
    p = Parameter(kind(2))

    def f(x: Any) -> Any:
        return np.sum(np.abs(x * convert(p)))

    g = tapec.value_and_grad(f)
    for value in (2, 5, 1, 2):
        p.value = kind(value)
        v, d = g(x)
        assert np.isclose(v, f(x), rtol=1e-15)
        np.testing.assert_allclose(d, np.sign(x) * np.abs(convert(p)))
