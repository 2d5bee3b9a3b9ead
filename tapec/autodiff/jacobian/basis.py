"""Hold a value for every vector of a basis, which remembers along which axes it is diagonal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.autodiff.symbolic.symbolic_zeros import filled
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Builder, Type
from tapec.ops import Symbol, apply
from tapec.ops.elementwise.powers import number_of
from tapec.ops.layout.diagonals import DIAG, EYE

__all__ = ["Basis", "Factor", "Rows"]

Pairs = tuple[tuple[int, int], ...]


class Factor(NamedTuple):
    """Holds an array, and the place of each of its axes among batch axes and body; along the others it is the same."""

    array: Any
    places: tuple[int, ...]

    def laid(self, ndim: int) -> Any:
        """The array with all the axes."""
        order = sorted(range(len(self.places)), key=self.places.__getitem__)
        shape = [1] * ndim
        for place, n in zip(self.places, self.array.shape, strict=True):
            shape[place] = n
        return np.reshape(np.transpose(self.array, order), shape)

    def moved(self, to: Callable[[int], int]) -> Factor:
        return Factor(self.array, tuple(map(to, self.places)))

    def is_same(self, other: Factor | None) -> bool:
        return other is not None and other.array.node is self.array.node and other.places == self.places


class Rows(NamedTuple):
    """Holds a value for every basis vector: batch axes, then the body; a batch axis of length one stands for all.

    `pairs` are the (batch axis, body axis) along which it is diagonal; such a batch axis has length one in `data`. A
    `factor` beside the data is not multiplied yet: the tangents of `x @ w` along the unit vectors of `w` are `x` times
    a diagonal, and what follows them works on the diagonal alone.
    """

    data: Any
    pairs: Pairs
    factor: Factor | None = None

    @property
    def product(self) -> Rows:
        """These rows with their factor multiplied into the data."""
        if self.factor is None:
            return self
        return Rows(self.factor.laid(len(self.data.shape)) * self.data, self.pairs)


class Basis:
    """Describes the basis of one array's space: a batch axis for each of its axes."""

    def __init__(self, builder: Builder, shape: tuple[int, ...]):
        self.builder = builder
        self.shape = shape
        self.rank = len(shape)

    def seed(self, t: Type) -> Rows:
        """Return all unit vectors; for a type with more axes in front, the same ones for all along these."""
        data = filled(self.builder, Type((1,) * self.rank + t.shape, t.dtype), 1.0)
        more = t.ndim - self.rank
        return Rows(data, tuple((i, i + more) for i, n in enumerate(self.shape) if n != 1))

    def body(self, x: Rows) -> tuple[int, ...]:
        return x.data.shape[self.rank :]

    def settled(self, x: Rows, keep: Sequence[tuple[int, int]] = ()) -> Rows:
        """The same values with other pairs than `keep` written out, zeros off the diagonals."""
        for i, j in x.pairs:
            if (i, j) not in keep:
                x = self._written(x, i, j)
        return x

    def _written(self, x: Rows, i: int, j: int) -> Rows:
        n = self.shape[i]
        rest = tuple(p for p in x.pairs if p != (i, j))
        unit = number_of(x.data) == 1
        if x.data.shape == (1, n) and not unit:
            return Rows(apply(DIAG, (np.reshape(x.data, (n,)),), (("k", 0),)), rest, x.factor)
        spot = [1] * len(x.data.shape)
        spot[i] = spot[self.rank + j] = n
        dtype = x.data.dtype if unit else np.dtype(bool)
        node = self.builder.emit(EYE, (), (("n", n), ("m", n), ("k", 0), ("dtype", dtype)))
        eye: Any = np.reshape(Symbol(node, self.builder), spot)
        if not unit:
            return Rows(np.where(eye, x.data, 0), rest, x.factor)
        whole = list(x.data.shape)
        whole[i] = n
        return Rows(np.broadcast_to(eye, whole), rest, x.factor)

    def full(self, x: Rows) -> Any:
        """Write rows out as one array, batch axes first."""
        x = self.settled(x).product
        data = x.data
        shape = (*self.shape, *self.body(x))
        return data if data.shape == shape else np.broadcast_to(data, shape)

    def flat(self, x: Rows) -> Any:
        """Write rows out as one array with one batch axis."""
        return np.reshape(self.full(x), (math.prod(self.shape), *self.body(x)))

    def rows(self, flat: Any) -> Rows:
        return Rows(np.reshape(flat, (*self.shape, *flat.shape[1:])), ())
