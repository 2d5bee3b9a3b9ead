"""List what drawn loops are made of: recurrences, filters, time steps, rows that are written and read, lists that grow.

They have enough rounds for tapec to find them in what it records and to write them as loops again. The templates are
filled as those of `templates.py` are.
"""

from __future__ import annotations

__all__ = ["AGAIN", "FIRST", "HEADERS", "MADE", "SECOND", "STEPS", "WRITTEN"]

# What stands before a loop: two values that go from round to round, and what the rounds write into
FIRST = (
    "h = {v}", "h = {v}.copy()", "h = np.zeros(3)", "h = np.ones(3) * s", "h = s", "h = {v}[0]", "h = {c}",
    "h = np.sum({v})", "h = W * {c}", "h = np.outer({v}[:4], {w}[:4])", "h = {v} * s",
    "h = np.zeros_like({v})", "h = 1",
)  # fmt: skip
SECOND = (
    "g = {w}", "g = h", "g = 0.0", "g = np.zeros_like(h)", "g = 0", "g = h * {c}", "g = np.ones(3)", "g = s",
    "g = np.float64({c})",
)  # fmt: skip
WRITTEN = (
    "out = np.zeros((24, 3))", "out = np.zeros(24)", "out = []", "out = np.ones((3, 24))",
    "out = np.full((24, 3), {c})",
    "out = [h]", "out = np.empty((24, 3)); out[:] = {c}", "out = np.zeros((25, 3)); out[0] = h",
    "out = np.zeros(24); out[0] = {c}", "out = np.array(ROWS)", "out = [0.0] * 24", "out = np.zeros((24, 2, 3))",
    "out = {v}", "out = np.zeros((24, *np.shape(h)))",
)  # fmt: skip
HEADERS = (
    "for k in range(24):", "for k in range(1, 24):", "for k in reversed(range(24)):", "for k in range(0, 24, 2):",
    "for k in range(23, -1, -1):", "for k, t in enumerate(SERIES):", "for t in SERIES:", "for row in ROWS:",
    "for k, (t, row) in enumerate(zip(SERIES, ROWS)):", "for t, row in zip(SERIES, ROWS):",
    "for k, row in enumerate(y[:20]):",
    "for k, t in enumerate(SERIES[::-1]):", "for k, t in enumerate(SERIES.tolist()):", "for row in reversed(ROWS):",
    "for k, (A, row) in enumerate(LAYERS):", "for k in range(2, 22):", "for k in range(len(ROWS) - 1):",
    "for t in x[:30]:",
    "for k, t in zip(range(20), x[1:]):", "for k in (*range(10), *range(10, 20)):", "for k, t in enumerate(STEPS):",
    "for row in ROWS.T.copy().T:", "for a, b in zip(ROWS, ROWS[1:]):", "for i in range(30):\nk = i % 24",
)  # fmt: skip
STEPS = (
    "h = np.tanh({c} * h + g)", "h = h + 0.1 * np.sin(g)", "g = 0.9 * g + 0.1 * h", "h, g = g, 0.5 * h - 0.3 * g",
    "h = 0.5 * h + t", "h = np.cos(h) * t + row", "g = g + np.sum(h * row)", "h = np.tanh(MIX @ h + row)",
    "h = {v} * 0.1 + 0.5 * h", "h = np.where(h > g, h, 0.5 * g)", "h = np.maximum(h, 0.1 * k)", "g = g + h",
    "out[k] = h", "out[k] = g", "out.append(h)", "out.append(g * t)", "out[:, k] = h", "out[k] = 0.5 * out[k - 1] + h",
    "out[k - 1] += h", "out[k, 0] = np.sum(h)", "out[-1] = h", "h = h.copy()", "h += 0.1 * g", "h[0] = 0.5 * h[1] + t",
    "h[1:] = 0.9 * h[:-1]", "h = h - 0.1 * (np.sin(h) ** 3 - s)", "h = h / (1.0 + h * h)",
    "h = 0.5 * (h + out[-1])", "if k % 2: h = -h",
    "g = 0.5 * g + np.sin(h * h) if k else h", "h = helper(h)", "h = 0.5 * model.act(h)",
    "g = 0.5 * g + 0.02 * float(k) * h",
    "g = g - 0.1 / (k + 1) * h", "h = 0.9 * h + BIG[k]", "h = h * x[k]",
    "h = np.roll(h, 1)", "h = np.concatenate([h[1:], [np.sum(h) * 0.2]])", "g = g + 0.1 * np.linalg.solve(MIX, h)",
    "h = 0.5 * np.dot(MIX, h)", "h = 0.4 * h @ MIX", "g = np.outer(h, row)", "h = np.float64(0.5) * h",
    "out[k] = [np.sum(h), s, {c}]", "h = 0.8 * h + 0.1 * y[k]", "t = SERIES[k]", "row = ROWS[k]", "row = ROWS[k - 1]",
    "row = ROWS[:, k]", "t = 0.5 * out[k]", "row = out[k]", "h = 0.5 * h + 0.1 * ROWS[k + 1]", "g, h = h, g",
    "out[k + 1] = 0.9 * out[k] + 0.1 * h", "out[k] = out[k - 1] * out[k - 2] * 0.1 + t", "h = h + 0.1 * a * b",
    "h = np.tanh(A @ h + row)", "h = 0.5 * h + np.mean(h)", "g = {v}", "g = g * {c}", "h = h + {w}", "t = {c} * k",
    "out[k][0] = t", "h = np.sort(h)", "g = -g",
    "h = np.clip(h, -{c}, 0.9)", "h = 0.5 * h ** 2", "h = np.exp(-h * h)", "g = g * h", "h = abs(h)",
    "out[23 - k] = h",
    "out[k, :2] = h[:2]", "g = g + out[k].sum()", "h = h.reshape(-1)", "g = np.stack([h, g])[0]",
    "g = np.tanh(np.dot(h, h))",
)  # fmt: skip
MADE = (
    "{n} = h + g", "{n} = h * g", "{n} = h + np.sum(out)", "{n} = h + g + np.sum(out)", "{n} = out * h + np.sum(g)",
    "{n} = np.array(out) + h", "{n} = np.stack(out) * g", "{n} = sum(out) + h", "{n} = np.sum(out, axis=0) - g",
    "{n} = np.mean(out) * h", "{n} = np.diff(out, axis=0) + h", "{n} = np.concatenate(out); {n} = {n} + np.sum(h)",
    "{n} = out[3] + h", "{n} = out[-1] * h", "{n} = out[::2] + h", "{n} = out",
)  # fmt: skip
# Headers of loops after which one line follows, which read what the first has written
AGAIN = (
    "for u in reversed(out[:24]):\nh = 0.9 * h + 0.1 * u", "for u in out[:24]:\nh = np.sin(h + u)",
    "for k in reversed(range(len(out[:24]))):\ng = 0.5 * g + np.cos(out[k])", "for u in out[1:24]:\ng = g * 0.9 + u",
    "for u, t in zip(out, SERIES):\nh = 0.5 * h + t * u", "for k in range(23):\nout[k + 1] = 0.5 * out[k] + out[k + 1]",
    "for u, w in zip(out[:24], out[1:24]):\ng = 0.9 * g + 0.1 * np.sum(u * w)",
)  # fmt: skip
