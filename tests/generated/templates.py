"""List what drawn programs are made of: the state that they capture, and templates of expressions and statements.

In templates `{v}` and `{w}` stand for names that are there, `{n}` for a new one, `{c}` for a constant. The function's
arguments are two arrays x and y, a float s and an integer m of 0, 1 or 2.
"""

from __future__ import annotations

import re

__all__ = [
    "BINARY",
    "BLOCKS",
    "CONTAINERS",
    "HEADERS",
    "INSIDE",
    "MADE",
    "REDUCED",
    "STATES",
    "UNARY",
    "VIEWS",
    "WRITES",
    "state_of",
]

# What a function captures: each name with the text that defines it. `checks.state` changes the values between calls.
STATES = {
    "W": "W = np.array([0.3, -0.7, 1.1])",
    "P": "P = {'scale': 0.8, 'table': np.array([0.5, -0.4, 0.9]), 3: 1.5}",
    "BIG": "BIG = np.linspace(-1.0, 1.0, 9000)",
    "Model": """
class Model:
    rate = 0.6

    def __init__(self):
        self.w = np.array([0.2, 0.4, -0.3])

    def act(self, t):
        return np.tanh(t * self.rate) + self.w[0]

    @classmethod
    def scaled(cls, t):
        return t * cls.rate""",
    "model": "model = Model()",
    "helper": "def helper(t, k=2):\n    return t * t / (k + np.abs(t))",
    "gained": "def gained(t, shift=0.25):\n    return t * gained._gain + shift\n\ngained._gain = 0.7",
    "Part": "import enum\n\nclass Part(enum.Enum):\n    A = 1",
    "RATES": "RATES = {Part.A: 0.7, np.int64(4): -0.4, (1, None): 0.9}",
    "TABLE": "TABLE = {'w0': 0.5, 'w1': -0.8, 'w2': 1.3}",
    "Normal": "import collections\n\nNormal = collections.namedtuple('Normal', 'mean scale')",
    "Uniform": "Uniform = collections.namedtuple('Uniform', 'low high')",
    "prior": "prior = Normal(0.5, 2.0)",
    "SERIES": "SERIES = np.sin(np.arange(1.0, 25.0))",
    "ROWS": "ROWS = np.cos(np.arange(72.0)).reshape(24, 3)",
    "MIX": "MIX = np.eye(3) - 0.3 * np.cos(np.arange(9.0)).reshape(3, 3)",
    "LAYERS": "LAYERS = [(np.sin(np.arange(9.0) + i).reshape(3, 3), np.cos(np.arange(3.0) * i)) for i in range(12)]",
    "STEPS": "STEPS = [0.1, -0.2, 0.3, 0.1, 0.5, -0.4, 0.2, 0.0] * 3",
    "TREE": "TREE = [0.4, [0.3, -1.0], 0.2]",
    "total": "def total(t):\n    return sum(map(total, t)) if type(t) is list else t if isinstance(t, float) else 0.0",
    "HANDLERS": "HANDLERS = {Model: lambda layer, t: t * layer.rate}",
    "Lazy": "class Lazy:\n    def __getattr__(self, name):\n        return P[name]",
    "lazy": "lazy = Lazy()",
    "Node": """
class Node:
    def __init__(self, weight, *children):
        self.weight, self.children = weight, children""",
    "LEAF": "LEAF = Node(0.4)",
    "ROOT": "ROOT = Node(0.7, Node(0.3, LEAF), Node(0.5, LEAF))",
    "weights": """
def weights(node, seen):
    if node in seen:
        return 0.0
    seen.append(node)
    return node.weight + sum([weights(n, seen) for n in node.children])""",
    "SHARES": "SHARES = {LEAF: 0.9, ROOT: 0.4}",
    "TIED": "TIED = Node(W)",
    "keyed": "def keyed(t, key=LEAF):\n    return t * (0.5 if key is LEAF else 2.0)",
    "TRACE": "TRACE = []",
    "Value": """
class Value:
    def __init__(self, data, parents=()):
        self.data, self.parents, self.slope = data, parents, 0.0
        TRACE.append(self)""",
    "squared": """
def squared(t):
    TRACE.clear()
    a = Value(t)
    b = Value(a.data * a.data, [(a, 2 * a.data)])
    b.slope = 1.0
    for node in reversed(TRACE):
        for parent, slope in node.parents:
            parent.slope = parent.slope + slope * node.slope
    return a.slope""",
    "kernel": "def kernel(a, b):\n    return np.exp(-a * b) + (0.25 if a is b else 0.0)",
    "ratio": """
def ratio(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return 0.0""",
    "math": "import math",
    "Grid": """
class Grid:
    def __init__(self, t, rate):
        self.t, self.rates = t, np.zeros((2, 3))
        self.rates[0, :] = 0.5 * rate
        self.rates[1] += rate

    def total(self):
        return self.t * np.sum(self.rates)""",
    "centre": "def centre(a):\n    a = np.asarray(a)\n    a -= a.mean()",
    "installed": """
import types

installed = types.ModuleType('installed')
exec(compile('''
import numpy as np
RATE = 0.5

class Box:
    def __init__(self):
        self.w = 0.9

    def act(self, t):
        return t * self.w

box = Box()

def scaled(t):
    return t * RATE

def filled(rate):
    out = np.zeros((2, 3))
    out[0, :] = rate
    out[1] += np.asarray(rate)
    return out
''', '/drawn/site-packages/installed.py', 'exec'), installed.__dict__)""",
}


def state_of(text: str) -> tuple[str, ...]:
    """Return the definitions of the names of STATES that a text uses, and of those that these use."""
    used: set[str] = set()
    pending = [text]
    while pending:
        words = set(re.findall(r"\w+", pending.pop())) & STATES.keys() - used
        used |= words
        pending += [STATES[word] for word in words]
    return tuple([definition for name, definition in STATES.items() if name in used])


UNARY = (
    "np.sin({v})", "np.exp(-{v} ** 2)", "np.tanh({v})", "np.sqrt(1.0 + {v} * {v})", "np.log1p({v} * {v})", "{v} ** 2",
    "1 / (1 + np.exp(-{v}))", "helper({v})", "model.act({v})", "np.where({v} > 0.1, {v}, 0.3 * {v})", "-{v}",
    "np.clip({v}, -0.8, 0.9)", "np.abs({v})", "np.cumsum({v}, axis=0)", "np.roll({v}, 1)", "np.flip({v})", "{v} * s",
    "{v} * P['scale']", "{v} + W[1]", "{v} * model.rate", "np.maximum({v}, 0)", "np.diff({v}, axis=0)", "{v}.copy()",
    "np.nan_to_num({v})", "np.sort({v}, axis=0)", "np.logaddexp({v}, 0.2)", "np.zeros_like({v}) + {v}",
    "(lambda t: t * {c})({v})", "{v} / P[3]", "np.cos({v}) if s > 0.7 else np.sin({v})",
    # what a function asks of its arguments and of what it captures
    "{v} * (2.0 if np.ndim({v}) and isinstance({v}, np.ndarray) else 0.5)",
    "{v} * (2.0 if np.ndim({v}) and type({v}) is np.ndarray else 0.5)",
    "{v} * (2.0 if isinstance(s, float) else 0.5)", "{v} * (2.0 if np.isscalar(s) and np.ndim(m) == 0 else 0.5)",
    "{v} * total(TREE)", "HANDLERS.get(type(model), lambda layer, t: -t)(model, {v})",
    "{v} * (prior[1] if isinstance(prior, Normal) else -prior[0])",
    "{v} * (prior.mean if hasattr(prior, 'mean') else 2)",
    "keyed({v})", "kernel({v}, {v})", "{v} * (2.0 if x is y else 0.5)", "{v} * weights(ROOT, [])",
    "{v} * (0.5 if ROOT.children[0].children[0] is LEAF else 2.0)", "{v} * {{LEAF: 0.4}}.get(LEAF, 1.0)",
    "{v} * (1.5 if TIED.weight is W else 0.5)", "{v} * SHARES.get(LEAF, 0.3)",
    "{v} * sum([0.5 + (n is LEAF) for n in SHARES])",
    "{v} * len({{LEAF, *ROOT.children[0].children, *ROOT.children[1].children}})",
    "{v} + len({{id(n) for n in (LEAF, *ROOT.children[0].children)}})",
    # state that is reached in rarer ways
    "{v} * RATES[Part.A]", "{v} * RATES[4]", "{v} * RATES[1, None]", "model.scaled({v})", "{v} * type(model).rate",
    "{v} * lazy.scale", "gained({v})", "installed.scaled({v})", "{v} * installed.RATE", "installed.box.act({v})",
    "{v} * BIG[:len({v})]", "Grid({v}, P['scale']).total()", "{v} * np.sum(installed.filled(P['scale']))",
    "{v} * np.sum(installed.filled(W))", "{v} * np.sum(installed.filled(s))", "np.sum({v}) * BIG", "squared({v})",
    # numbers of Python, text and keys made of them
    "{v} * ratio(s, m - 1)", "{v} * s ** (m - 1)", "{v} * ((m > 0) + (m > 1))", "{v} * round(s, 1)", "{v} * s**-2",
    "{v} * (2**-m + (m + 1) ** -2)", "{v} * divmod(s, 0.3)[1]", "{v} * (s + 0.1) ** (m + 0.5)",
    "{v} * ratio(s, m)", "{v} / 2 ** (m * 40)", "{v} * (7 // (m + 1))", "{v} * (-7 % (m + 2))", "{v} / (1 << m)",
    "{v} * math.sin(s)", "{v} * math.sqrt(P['scale'] ** 2 + s)", "{v} * math.log(m + s)", "{v} / math.hypot(s, 1, m)",
    "{v} * sum(math.exp(-abs(t)) for t in W)", "{v} * math.floor(3 * s)", "{v} * math.atan2({v}[0], s)",
    "{v} * (1.0 if math.isclose(s, 0.5) else math.pow(s, m))",
    "{v} * float(f'{{s:.1f}}')", "{v} * TABLE[f'w{{m}}']", "{v} * TABLE['w' + str(m)]", "{v} * round(s, 1)",
    "{v} * len([0.5] * m)", "{v} * sum([0.5] * m)", "{v} * max(s, 0.6)", "{v} * int(3 * s)", "{v} ** (m + 1)",
    "{v} * (np.mean((s, s)) * np.ones(2, np.float32)).dtype.itemsize",
)  # fmt: skip
BINARY = (
    "{v} + {w}", "{v} - {w}", "{v} * {w}", "{v} / (1.5 + {w} * {w})", "np.maximum({v}, {w})", "{v} @ {w}",
    "np.hypot({v}, 1.0 + {w} * {w})", "np.where({v} > {w}, {v}, {w})", "np.concatenate([{v}, {w}])",
    "np.stack([{v}, {w}])", "np.outer({v}, {w})", "np.dot({v}, {w})", "np.arctan2({v}, 1.5 + {w} * {w})",
    "np.add({v}, {w})", "np.interp({v}, np.array([-1.0, 0.0, 1.0]), {w})", "{v} * np.sum({w})",
    "{v} / np.exp({w})[0]", "np.interp({v}, np.array([-1.0, 0.2, 0.2]), {w})", "np.array([{v}[0], {w}[1]]) * s",
    "np.array([{v}[0], 0.5, s])", "np.nan_to_num(np.array([{v}[0], {w}[0]]))",
    "np.floor(np.array([{v}[0], s])) * {w}[0]", "np.mean([{v}, {w}], axis=0)", "np.sin([np.sum({v}), {c}])",
    "{v} * (2.0 if np.array([{w}[0]]).dtype.kind == 'f' else 1)",
    "np.where(np.logical_or([{v}[0]], 0), {w}[0], {c})",
    "np.linalg.solve([[2.0, 0.1 * {v}[0]], [{c} * 0.1, 3]], ({w}[0], 1))", "np.exp(-np.abs([{v}, {w}]))",
    "np.interp({c}, [-2, 0, 2], [{v}[0], {c}, {w}[0]])", "np.logaddexp([{v}[0], 1], {w}[0])",
    "np.abs(np.fft.fft(({v}[0], {c}, {w}[0])))", "np.concatenate([[{v}[0], {c}], {w}])", "np.full(3, {v}[0]) * {w}[0]",
    "np.max([{v}, {w}], axis=0)", "np.asarray([{v}[0], True]) * {w}[0]", "np.append([{v}[0]], ({w}[0], {c}))",
    "np.array([[{v}[0], {c}], [1, {w}[0]]], ndmin=3)", "np.r_[{v}[0], [{w}[0], 1]]",
    "np.linalg.det([[{v}[0], 1], [{c}, {w}[0]]])",
)  # fmt: skip
REDUCED = (
    "np.sum({v})", "np.sum({v}, axis=0)", "np.mean({v})", "np.max({v})", "np.min({v}, axis=-1)",
    "np.prod(1 + 0.1 * {v})", "np.linalg.norm({v} + 2.0)", "np.var({v})", "{v}.sum(axis=-1, keepdims=True)",
    "{v}.mean(axis=0)", "np.std({v} + np.arange({v}.size).reshape({v}.shape))",
    "np.linalg.det(np.eye(3) + 0.1 * np.outer({v}, {v}))",
    "np.linalg.solve(np.eye(3) + 0.1 * np.outer({v}, {v}), {v})", "np.einsum('i,i->', {v}, {v})",
    "np.trace(np.outer({v}, {v}))", "np.log(np.sum(np.exp({v})))", "np.median({v})",
)  # fmt: skip
VIEWS = (
    "{v}[1:]", "{v}[::-1]", "{v}[0]", "{v}[-1]", "{v}.reshape(-1)", "{v}.T", "{v}[..., None]", "{v}[None]",
    "np.ravel({v})", "{v}[np.argmax({v}[:, 0])]", "{v}[:, 1]", "{v}[[0, 1]]", "{v}[{v} > -9.0]",
    "np.diag({v})", "{v}[:2]", "np.squeeze({v}[:1])", "np.swapaxes({v}, 0, -1)", "np.split({v}, [1])[0]",
    "np.atleast_1d({v})", "{v}.flat[1:3]", "np.broadcast_to({v}, (2,) + {v}.shape)", "np.expand_dims({v}, 0)",
    "np.moveaxis({v}, 0, -1)", "{v}[np.array([2, 0])]", "np.asarray({v})", "np.nan_to_num({v}, copy=False)",
    "{v}[np.argsort({v})[-1]]", "{v}[m]", "{v}[np.argmax({v})]", "{v}.real", "np.atleast_2d({v})", "{v}[np.int64(m)]",
)  # fmt: skip
WRITES = (
    "{v}.shape = {v}.shape", "{v}.shape = -1", "{v}.shape = 1, -1",
    "{v}[0] = {w}[0]", "{v}[1:] = {w}[1:]", "{v}[:] = {w}", "{v} += {w}", "{v} *= {c}", "{v}[-1] += {c}",
    "{v}[{v} > 0.3] = {c}", "{v}[0], {v}[1] = {v}[1], {v}[0]", "np.add({v}, {w}, out={v})", "{v}.fill({c})",
    "np.copyto({v}, {w})", "{v}[::2] *= {c}", "{v}[1] = np.sum({w})", "{v} -= {v}[0]",
    "np.multiply({v}, {w}, out={v})", "{v}[:, 0] = {c}", "{v}[0] *= {v}[1]", "{v}.sort(axis=0)",
    "np.exp(-{v} ** 2, out={v})", "np.put({v}, [0], {c})", "{v}[np.array([0, 1])] += {c}",
    "np.maximum({v}, {w}, out={v})", "centre({v})", "{v}[1:] += {v}[:-1]", "{v}[m] = {w}[0]",
    "{v}.shape = -1", "{v}[{v} > {c}] = {v}[{v} > {c}] * s", "{v} *= s",
)  # fmt: skip
MADE = (
    "{n} = np.ndarray(2); {n}[:] = {w}[0]", "{n} = np.ones(2).dot([[{w}[0], {c}], [0, {w}[-1]]])",
    "{n} = np.zeros(3)", "{n} = np.arange(3.0)", "{n} = np.array([{c}, {c}, {c}])", "{n} = np.ones((3, 3)) * {c}",
    "{n} = np.empty(3); {n}[:] = {w}", "{n} = np.zeros(3); {n}[1:] = {w}[1:]", "{n} = np.eye(3) * {c}",
    "{n} = np.arange(6.0).reshape(2, 3)", "{n} = W * {c}", "{n} = P['table'] + 0.0", "{n} = model.w * {c}",
    "{n} = np.linspace(0.0, {c}, 3)", "{n} = W[::-1]",
)  # fmt: skip
CONTAINERS = (
    "d = {{'a': {v}, 'b': {w}}}; {n} = d['a'] + d['b']", "parts = [{v}, {w}]; {n} = parts[0] * parts[-1]",
    "{n} = sum([t * {c} for t in ({v}, {w})])",
    "parts = []; parts.append({v}); parts.append({w}); {n} = np.stack(parts)", "a, b = {v}, {w}; {n} = a - b",
    "{n} = [np.sum(t) for t in {v}][0]", "{n} = dict(zip('ab', ({v}, {w})))['b']", "{n}, *others = {v}",
    "{n} = max(np.sum({v}), np.sum({w}))",
    "{n} = np.array([{v}[k] * {w}[k] for k in range(3)]) if False else {v} * {w}",
    "logits = {v} * TABLE[f'w{{m}}']; {n} = logits + 1.0",
    "mask = np.zeros(np.shape({v}), bool); mask |= {v} > 0; {n} = {v} * mask",
    "mask = np.zeros(np.shape({v}), bool); np.greater({v}, {c}, out=mask); {n} = np.where(mask, {v}, {w})",
    "count = np.zeros(np.shape({v}), int); count += {v} > {c}; {n} = {v} * count",
    "{n} = np.zeros(3); {n}[m] = np.sum({v})", "made = np.arange(3.0); {n} = made[:2] * {v}[:2]; made[:] = 5.0",
    "made = np.array([{c}, {c}]); {n} = np.concatenate([{v}, made[:1]]); made[0] = 3.0",
    "{n} = {v} * 2.0; row = {n}[np.argmax({v})]; row += 1.0", "rest = [np.sum({v})] * m; {n} = {w} * len(rest)",
    "{n} = np.outer({v}, {w}); d = np.diag({n}); {n} += 1.0; {n} = d * 2.0",
    "{n} = np.arange(6.0).reshape(2, 3); {n}[0] -= {v}[0]; {n}[:-1] += 0.3",
)  # fmt: skip
HEADERS = (
    "for k in range(3):", "for k in range(2):", "if s > 0.7:", "if np.sum({v}) > 0:", "if {v}.ndim == 1:",
    "for t in {v}:", "if {v}.flat[0] < 0.4:", "while False:", "for k, t in enumerate({v}):", "try:",
    "if len({v}) > 2:", "for k in range(m + 1):",
    "if m == 1:", "if np.ndim({v}) and isinstance({v}, np.ndarray):",
)  # fmt: skip

INSIDE = (
    "{v}[k] = {v}[k] * {c} + {w}[k]",
    "{v} = {v} * {c} + {w}",
    "{v}[k] += t",
    "{v} = {v} + t",
    "{v} = np.sin({v} + {c} * k)",
    "{v}[0] += k",
)
# whole blocks: a header and the statements below it
BLOCKS = (
    ("for buffer in [np.zeros(x.size)]:", "buffer[0] = 1.0", "{v} = {v} + np.sum(buffer * x)", "buffer[0] = 0.0",
     "buffer[2] = 1.0", "{v} = {v} + np.sum(buffer * x)"),
    ("for k in range(3):", "made = np.zeros(np.shape({v}))", "made[:1] = {w}[:1]", "{v} = {v} + made * k"),
    ("for k in range(2):", "logits = {v} * TABLE[f'w{{k}}']", "{v} = {v} + logits"),
    ("for k in range(4):", "if np.sum({v}) > 2.0: break", "{v} = {v} * 1.2 + 0.1"),
    ("for name in sorted(TABLE):", "{v} = {v} * TABLE[name]"),
)  # fmt: skip
