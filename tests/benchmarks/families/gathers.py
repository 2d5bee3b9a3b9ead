"""Rows taken from a table, whose gradient is zero almost everywhere."""

from __future__ import annotations

from typing import Any

import numpy

from tests.benchmarks.families.workload import Array, Workload

__all__ = ["WORKLOADS"]


def embedding_data(rng: numpy.random.Generator, words: int, columns: int, rows: int) -> tuple[Array, ...]:
    index = (words * rng.uniform(size=rows) ** 3).astype(numpy.int64)  # some words are frequent
    return rng.normal(size=(words, columns)), rng.normal(size=columns) / columns**0.5, index, rng.normal(size=rows)


def embedding(np: Any, table: Any, w: Any, index: Any, y: Any) -> Any:
    return np.mean((np.tanh(table[index]) @ w - y) ** 2)


def embedding_by_hand(table: Array, w: Array, index: Array, y: Array) -> tuple[float, Array, Array]:
    t = numpy.tanh(table[index])
    e = t @ w
    e -= y
    n = len(y)
    value = e @ e / n
    e *= 2.0 / n
    d_w = e @ t
    t *= t
    numpy.subtract(1.0, t, out=t)
    t *= w
    t *= e[:, None]
    d_table = numpy.zeros_like(table)
    numpy.add.at(d_table, index, t)
    return value, d_table, d_w


WORKLOADS = (
    Workload(
        "embedding 10000×64",
        "gathers",
        embedding,
        embedding_by_hand,
        embedding_data,
        (10_000, 64, 512),
        (20, 4, 9),
        wrt=(0, 1),
    ),
)
