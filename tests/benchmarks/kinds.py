"""What is done with small arrays again and again, as people write it: what recording it costs is measured line by line.

`x`, `y`, `s` are matrices, `v`, `w` vectors, `t` has three axes, `z` is complex, `c` a number; these are watched. Plain
arrays are `A`, `mask`, `flags`, `rows`, `cols`, `order`, `numbers` and `ranks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["IN_PLACE", "ONE", "SEVERAL", "arrays", "function_of"]

ONE = """
x * y
2.0 * x
x ** 2
-x
x > 0
x == y
A * x
np.sin(x)
np.multiply(x, y)
np.maximum(x, 0.0)
np.power(y, 3)
np.isfinite(x)
np.round(x, 2)
np.where(mask, x, y)
np.where(mask, x, 0.0)
np.clip(x, 0.0, 1.0)
x.clip(0, 1)
x.astype(np.float32)
np.real(z)
np.imag(z)
z.conj()
np.abs(z)
np.sum(x)
np.sum(x, axis=0)
np.sum(x, axis=-1, keepdims=True)
np.mean(x)
np.mean(x, axis=1, keepdims=True)
np.max(x)
np.prod(x, axis=0)
np.var(x, axis=0)
np.std(x)
np.argmax(x, axis=1)
x.sum()
x.mean(0)
x.max(axis=0)
np.add.reduce(x)
np.linalg.norm(x)
np.linalg.norm(x, axis=1)
np.median(x, axis=0)
np.median(x)
np.linalg.norm(t, axis=(0, 2))
x.T
x.mT
np.transpose(t, (2, 0, 1))
np.swapaxes(x, 0, 1)
x.reshape(2, 8)
x.reshape((2, 8))
np.reshape(x, (2, 8))
x.ravel()
np.expand_dims(x, 0)
np.broadcast_to(v, (3, 4))
np.flip(x, axis=1)
np.roll(x, 1, axis=0)
np.tile(v, 3)
np.repeat(x, 2, axis=0)
np.pad(x, 1)
np.pad(x, ((1, 1), (0, 0)))
np.copy(x)
np.concatenate([x, y])
np.concatenate([x, y], axis=1)
np.concatenate([x, A])
np.stack([x, y])
np.stack([x, y], axis=-1)
np.vstack([x, y])
np.hstack([x, y])
np.append(v, 1.0)
np.append(v, w)
np.delete(x, slice(0, 2), axis=0)
x @ A
A @ x
x @ v
np.dot(x, y)
np.dot(x, A)
np.matmul(x, y)
np.inner(v, w)
np.vdot(v, w)
np.tensordot(x, y, axes=1)
np.tensordot(x, y, axes=([1], [0]))
np.einsum('ij,jk->ik', x, y)
np.einsum('ij->i', x)
np.einsum(x, [0, 1], y, [1, 2], [0, 2])
np.linalg.solve(x, v)
np.linalg.inv(x)
np.linalg.det(x)
np.linalg.slogdet(x)
np.linalg.cholesky(s)
np.linalg.eigvalsh(s)
np.trace(x)
np.diag(x)
np.diag(v)
np.diagonal(x)
np.triu(x)
np.tril(x, -1)
np.sort(x)
np.sort(x, axis=0)
np.sort(x, axis=-1, kind='stable')
np.argsort(x)
np.cumsum(x, axis=0)
np.cumprod(v)
np.diff(v)
np.fft.fft(v)
np.fft.fft2(x)
np.fft.ifft(v, norm='ortho')
np.convolve(v, w)
np.convolve(v, w, mode='same')
x[1]
x[1, 2]
x[1:]
x[1:, 0]
x[:, 1]
x[:, ::-1]
x[1:-1, 1:-1]
x[None]
x[:, None]
x[..., 0]
x[..., None]
x[np.int64(1)]
x[rows]
x[[0, 2]]
x[rows, cols]
x[numbers, order]
x[:, cols]
x[flags]
x[mask]
x.take(rows, axis=0)
np.take(x, rows, axis=0)
np.take(x, [0, 2], axis=0)
np.take(v, rows)
np.take_along_axis(x, ranks, axis=1)
x[(0, 2), :]
x[::2, [0, 1]]
x[[True, False, True, False]]
np.take(v, rows, mode='clip')
np.take(x, rows, axis=0, mode='wrap')
np.compress(flags, x, axis=0)
x.compress(flags, axis=0)
np.repeat(v, numbers)
np.choose(numbers % 2, [v, w])
np.choose(numbers % 2, (v, 2.0))
np.bincount(numbers, weights=v)
np.bincount(numbers, v, minlength=6)
np.interp(v, numbers, order)
np.interp(v, [0.0, 1.0], [1.0, 2.0])
np.polyval([1.0, 2.0], v)
np.linspace(c, 2.0, 4)
np.broadcast_to(c, (4,))
np.percentile(v, [20, 80])
np.quantile(x, 0.3, axis=0)
np.pad(x, ((1, 0), (0, 1)), mode='symmetric')
np.tensordot(t, x, axes=([2], [0]))
np.concatenate([v, w, v])
np.add.accumulate(x, axis=0)
np.maximum.reduce(x, axis=1)
np.full_like(x, 2.0) * x
np.zeros_like(x) + x
np.array([c, 2.0 * c])
np.unique(v)
""".strip().splitlines()

# by nature several operations: counted by what is recorded
SEVERAL = f"""
(x > 0) & mask
x[x > 0]
np.where(x > 0, x, 0.0)
np.mean((x - y) ** 2)
v[1:] - v[:-1]
(x > 0).any()
np.cumsum(x)
np.roll(x, 1)
np.take(x, rows)
x[np.argmax(v)]
np.squeeze(x[None])
np.ravel(x, order='F')
x.reshape(8, 2, order='F')
np.insert(v, 1, 0.0)
np.delete(v, 1)
np.outer(v, w)
np.kron(v, w)
np.kron(A, x)
np.outer(x, w)
np.inner(x, y)
np.vdot(x, y)
np.vdot(A, x)
np.linalg.multi_dot([A, x, A])
np.tensordot(x, y)
np.einsum('ij,jk,kl->il', x, y, x)
np.split(x, 2)
np.split(x, [1, 3], axis=1)
np.array_split(x, 3)
{"np.unstack(x)" if hasattr(np, "unstack") else "np.vsplit(x, 4)"}
[row for row in x]
np.divmod(x, 2.0)
np.linalg.eigh(s)
np.linalg.qr(x)
np.ptp(x)
np.cov(x)
np.gradient(v)
np.trapezoid(v)
np.trapezoid(v, numbers)
np.meshgrid(v, w)
np.meshgrid(v, numbers)
np.count_nonzero(x > 0)
np.insert(v, rows, 0.0)
np.extract(mask, x)
np.delete(v, rows)
np.multiply.outer(v, w)
np.average(x, axis=0)
np.add.reduceat(v, [0, 2])
np.add.reduceat(x, rows, axis=1)
np.array([v, w])
np.sum(x, where=mask)
np.unique(v, return_counts=True)
""".strip().splitlines()

IN_PLACE = """
q = x * 1.0; q += y
q = x * 1.0; q *= 2.0
q = x * 1.0; q.fill(0.0)
q = x * 1.0; q[...] = y
q = x * 1.0; q[:] = v
q = x * 1.0; q[...] = numbers * 0.5
q = x * 1.0; q[...] = c
q = x * 1.0; q[:] = 0
q = x * 1.0; q[0] = 0.0
q = x * 1.0; q[:, 1] = v
q = x * 1.0; q[mask] = 0.0
q = x * 1.0; q[rows] = 0.0
q = x * 1.0; q[0] += v
q = x * 1.0; q[x > 1.0] = 0.0
q = x * 1.0; q[flags] = 0.0
q = x * 1.0; q[mask] += 1.0
q = x * 1.0; q[rows] += 1.0
q = x * 1.0; q[:, [0, 1]] = 0.0
q = x * 1.0; row = q[1]; row[2] = 0.5
q = x * 1.0; np.copyto(q, y)
q = x * 1.0; np.copyto(q, v)
q = x * 1.0; np.copyto(q, y, where=mask)
q = x * 1.0; np.putmask(q, mask, 0.0)
q = x * 1.0; np.place(q, mask, [0.0])
q = x * 1.0; np.put(q, rows, 1.0)
q = v * 1.0; np.put(q, [0, 2], 1.0)
q = x * 1.0; np.fill_diagonal(q, 0.0)
q = x * 1.0; np.fill_diagonal(q, v)
q = x * 1.0; np.put_along_axis(q, ranks[:, :1], 0.0, 1)
q = x * 1.0; np.add.at(q, rows, 1.0)
q = x * 1.0; np.add.at(q, rows, w)
q = x * 1.0; np.subtract.at(q, (rows, cols), w[:3])
q = x * 1.0; np.maximum.at(q, (rows, cols), 0.5)
q = x * 1.0; np.add(q, y, out=q)
q = x * 1.0; np.clip(x, 0.0, 1.0, out=q)
q = x * 1.0; np.sum(x, axis=0, out=q[0])
q = v * 1.0; x.sum(axis=0, out=q)
q = x * 1.0; np.divide(x, y, out=q, where=mask)
""".strip().splitlines()


def arrays() -> tuple[dict[str, Any], dict[str, Any]]:
    """What is watched, and what is not."""
    rng = np.random.default_rng(0)
    x = 0.3 * rng.standard_normal((4, 4)) + 2.0 * np.eye(4)
    y, v, w = rng.uniform(0.2, 0.8, (4, 4)), rng.uniform(0.2, 0.8, 4), rng.uniform(0.2, 0.8, 4)
    watched = {"x": x, "y": y, "s": x @ x.T + np.eye(4), "v": v, "w": w, "z": x + 1j * y, "c": np.float64(1.3)}
    watched["t"] = rng.standard_normal((2, 3, 4))
    plain = {
        "A": np.linalg.qr(rng.standard_normal((4, 4)))[0],
        "mask": x > 0.1,
        "flags": np.array([True, False, True, True]),
        "rows": np.array([2, 0, 2]),
        "cols": np.array([1, 1, 0]),
        "order": np.array([0, 3, 1, 2]),
        "numbers": np.arange(4),
        "ranks": np.argsort(x, axis=1),
    }
    return watched, plain


def function_of(code: str, plain: dict[str, Any]) -> tuple[Callable[..., None], list[str]]:
    """A function (count, *watched) that does it so many times, and the names of what it takes."""
    watched = [name for name in "xysvwzct" if re.search(rf"(?<![\w.]){name}\b(?!\()", code)]
    steps = "\n        ".join(code.split("; "))
    space = {"np": np, **plain}
    exec(f"def f(count, {', '.join(watched)}):\n    for _ in range(count):\n        {steps}\n", space)
    return space["f"], watched
