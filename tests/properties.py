"""Properties of generated source, read off its syntax tree: tests assert on these and not on its text.

Every function takes generated code: its text, something compiled (which has it as `source`), or a part of its tree,
such as a loop that another function here gave. Comments, line breaks and brackets play no part. A function is named in
three ways: "np.dot" is that function, ".dot" is a method of an array, and "dot" is either.

    assert calls(compiled, ".dot") and not allocates(compiled, "zeros")
    assert count_of(compiled, "_ @ _.T") == 1  # `_` stands for any expression, `np.sum(...)` for any such call
    assert uses_out(block_loops(compiled)[0], "np.tanh")
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

Code = Any  # text, something with a text `source`, a node of a syntax tree, or a list of these nodes

ALLOCATING = ("empty", "zeros", "ones", "full", "eye", "empty_like", "zeros_like", "ones_like", "full_like")
MODULES = ("np", "math", "scipy", "special")
OPERATORS = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "@": ast.MatMult,
    "**": ast.Pow,
    "//": ast.FloorDiv,
    "%": ast.Mod,
    "&": ast.BitAnd,
    "|": ast.BitOr,
}


# -- the tree ----------------------------------------------------------------------------------------------------------
def nodes(code: Code, *kinds: type[ast.AST]) -> list[Any]:
    """Return all nodes of these kinds in the order of the text; of all kinds if none is given."""
    return [n for n in _walk(_tree(code)) if not kinds or isinstance(n, kinds)]


def functions(code: Code) -> dict[str, ast.FunctionDef]:
    """Return the functions of a module by name.

    >>> list(functions("def f(x):\\n    def blocks(): pass\\ndef helper(x): pass"))
    ['f', 'helper']
    """
    tree = _tree(code)
    return {
        n.name: n
        for n in ([tree] if isinstance(tree, ast.FunctionDef) else tree.body)
        if isinstance(n, ast.FunctionDef)
    }


def entry(code: Code) -> ast.FunctionDef:
    """Return the function that is called, which comes first.

    >>> entry("def f(x): pass\\ndef helper(x): pass").name
    'f'
    """
    return next(iter(functions(code).values()))


def statements(code: Code) -> list[Any]:
    """Return the statements, those inside of others included, without the definitions of functions.

    >>> len(statements("def f(x):\\n    for i in x:\\n        y = i\\n    return y"))
    3
    """
    return [n for n in nodes(code, ast.stmt) if not isinstance(n, ast.FunctionDef)]


def text(code: Code) -> str:
    """Return the text of a node as Python itself would write it.

    >>> text(nodes("y = (x  * 2)", ast.BinOp)[0])
    'x * 2'
    """
    return ast.unparse(_tree(code))


def below_head(source: str) -> list[str]:
    """Return the lines of a source from the first function on, with their comments."""
    lines = source.splitlines()
    return lines[next(k for k, line in enumerate(lines) if line.startswith("def ")) :]


def where(code: Code, pattern: str) -> list[int]:
    """Return the numbers of the lines in which a pattern stands: what comes first, and what last.

    >>> where("a = f(x)\\nb = g(a)\\nc = f(b)", "f(_)")
    [1, 3]
    """
    return [n.lineno for n in _found(code, pattern)]


# -- calls and expressions ---------------------------------------------------------------------------------------------
def calls(code: Code, name: str) -> bool:
    """Tell whether a function or method of this name is called.

    >>> calls("x.dot(y)", "dot"), calls("x.dot(y)", ".dot"), calls("x.dot(y)", "np.dot"), calls("np.dot(x, y)", ".dot")
    (True, True, False, False)
    """
    return call_count(code, name) > 0


def call_count(code: Code, *names: str) -> int:
    """Return how many times functions or methods of these names are called.

    >>> call_count("np.exp(np.log(x)) + y.sum()", "np.exp", "sum")
    2
    """
    return sum(any(_has_name(call, name) for name in names) for call in nodes(code, ast.Call))


def called(code: Code) -> set[str]:
    """Return the names of all functions and methods that are called; methods of expressions begin with a dot.

    >>> sorted(called("np.exp(x.sum() + (x * y).mean())"))
    ['.mean', 'np.exp', 'x.sum']
    """
    return {_path(call.func) for call in nodes(code, ast.Call)}


def operations(code: Code, sign: str) -> int:
    """Return how many times an operator stands in an expression; `x += y` is none (see `updates`).

    >>> operations("y = a @ b @ c; y += 1", "@"), operations("y += 1", "+")
    (2, 0)
    """
    return sum(isinstance(n.op, OPERATORS[sign]) for n in nodes(code, ast.BinOp))


def count_of(code: Code, pattern: str) -> int:
    """Return how many times an expression or statement like the pattern stands there.

    `_` is any expression, and `f(...)` a call with any arguments.

    >>> count_of("y = a.T @ (b + c)", "_.T @ _"), count_of("y = a @ b", "_.T @ _"), count_of("y[k] = 2 * x", "_[k] = _")
    (1, 0, 1)
    >>> count_of("y = f(a, b) + f(c)", "f(...)"), count_of("y = f(a, b) + f(c)", "f(_)")
    (2, 1)
    """
    return len(_found(code, pattern))


def has(code: Code, pattern: str) -> bool:
    """Tell whether an expression or statement like the pattern stands there (see `count_of`).

    >>> has("if not x > 0:\\n    pass", "x > 0"), has("y = x * 2", "_ * 3")
    (True, False)
    """
    return count_of(code, pattern) > 0


def transposes(code: Code) -> int:
    """Return how many times an array is looked at as its transpose.

    >>> transposes("y = x.T @ (a + b).T")
    2
    """
    return count_of(code, "_.T")


# -- memory ------------------------------------------------------------------------------------------------------------
def allocates(code: Code, name: str | None = None, shape: tuple[int, ...] | None = None) -> int:
    """Return how many arrays are made to be written to: by np.zeros and the like, of this name or shape if given.

    >>> code = "a = np.zeros((2, 3)); b = np.empty(4); c = np.exp(a)"
    >>> allocates(code), allocates(code, "zeros"), allocates(code, shape=(4,)), allocates(code, "zeros", (4,))
    (2, 1, 1, 0)
    """
    made = [n for n in nodes(code, ast.Call) if _path(n.func).rpartition(".")[2] in ALLOCATING]
    known = shapes_of(code)
    return sum((name is None or _has_name(n, name)) and (shape is None or _shape(n, known) == shape) for n in made)


def shapes_of(code: Code) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arguments of something compiled, as the code reads them: `np.empty(x.shape)`."""
    space = getattr(code, "space", None)
    return {} if space is None else {name: t.shape for name, t in space.arguments.values()}


def copies(code: Code) -> int:
    """Return how many arrays are copied as they are.

    >>> copies("y = x.copy(); z = np.copy(x[0])"), copies("y = x + 0")
    (2, 0)
    """
    return call_count(code, "copy")


def uses_out(code: Code, name: str = "", into: str | None = None) -> int:
    """Return how many calls, of a function of this name if given, write into an array that is there.

    >>> code = "np.exp(x, out=y); z = np.sin(x); np.tanh(y, out=y)"
    >>> uses_out(code), uses_out(code, "np.exp"), uses_out(code, "np.sin"), uses_out(code, into="y")
    (2, 1, 0, 2)
    """
    written = [(n, k.value) for n in nodes(code, ast.Call) for k in n.keywords if k.arg == "out"]
    return sum((not name or _has_name(n, name)) and (into is None or _like(_pattern(into), v)) for n, v in written)


def updates(code: Code, signs: str = "", target: str | None = None) -> int:
    """Return how many statements such as `x += y` there are, with one of these signs and on this target if given.

    >>> code = "x += y; x[1:] -= y; x *= 2"
    >>> updates(code), updates(code, "+ -"), updates(code, "*", "x"), updates(code, target="x[_]")
    (3, 2, 1, 1)
    """
    kinds = tuple(OPERATORS[sign] for sign in signs.split() or OPERATORS)
    found = [n for n in nodes(code, ast.AugAssign) if isinstance(n.op, kinds)]
    return sum(target is None or _like(_pattern(target), n.target) for n in found)


def in_place(code: Code) -> int:
    """Return how many operations write over an array: calls with `out=` and statements such as `x += y`.

    >>> in_place("np.exp(x, out=x); x += 1; y = x + 1")
    2
    """
    return uses_out(code) + updates(code)


def deleted(code: Code) -> set[str]:
    """Return the names that are deleted, so that their arrays are freed.

    >>> sorted(deleted("x = 1; del x, y"))
    ['x', 'y']
    """
    return {t.id for n in nodes(code, ast.Delete) for t in n.targets if isinstance(t, ast.Name)}


# -- loops and branches ------------------------------------------------------------------------------------------------
class BlockLoop(NamedTuple):
    """A loop over blocks of large arrays: how many rows there are, how many a block has, and its statements."""

    length: int | None  # None where it is read of an argument
    block: int
    body: list[Any]
    threads: int


def has_loop(code: Code) -> bool:
    """Tell whether there is a statement that repeats others.

    >>> has_loop("for k in x: y += k"), has_loop("y = [k for k in x]")
    (True, False)
    """
    return loop_count(code) > 0


def loop_count(code: Code) -> int:
    """Return how many statements repeat others, inner ones included.

    >>> loop_count("for k in x:\\n    while k: k -= 1"), loop_count("y = sum(k for k in x)")
    (2, 0)
    """
    return len(loops(code))


def loops(code: Code) -> list[Any]:
    """Return the statements that repeat others.

    >>> [text(loop.iter) for loop in loops("for k in x: pass\\nfor k in range(3): pass")]
    ['x', 'range(3)']
    """
    return nodes(code, ast.For, ast.While)


def rounds(code: Code) -> list[int]:
    """Return how often each loop over a range of known length runs.

    >>> rounds("for k in range(12): pass\\nfor k in reversed(range(1, 12)): pass\\nfor k in x: pass")
    [12, 11]
    """
    found = []
    for loop in nodes(code, ast.For):
        for call in nodes(loop.iter, ast.Call):
            if _path(call.func) == "range" and all(isinstance(n, ast.Constant) for n in call.args):
                found.append(len(range(*[n.value for n in call.args])))
    return found


def block_loops(code: Code) -> list[BlockLoop]:
    """Return the loops over blocks, in one thread and in several.

    >>> loop = block_loops("for i in range(0, 200, 50):\\n    block = slice(i, i + 50)")[0]
    >>> loop.length, loop.block, loop.threads, len(loop.body)
    (200, 50, 1, 1)
    >>> block_loops("for i in range(60): pass\\nfor k in range(0, 60, 2): pass")
    []
    """
    found: list[BlockLoop] = []
    defined = {n.name: n.body for n in nodes(code, ast.FunctionDef)}
    for n in nodes(code, ast.For, ast.Call):
        if isinstance(n, ast.Call) and _path(n.func) == "in_threads":
            name, length, block, threads = n.args
            # generated calls of `in_threads` have a name and three numbers
            found.append(BlockLoop(length.value, block.value, defined[name.id], threads.value))
        elif isinstance(n, ast.For) and isinstance(n.iter, ast.Call) and _path(n.iter.func) == "range":
            bounds = n.iter.args
            known = len(bounds) == 3 and isinstance(bounds[2], ast.Constant)
            known = known and isinstance(bounds[1], (ast.Constant, ast.Call))
            if known and has(n.body[0], f"{text(n.target)} + {text(bounds[2])}"):
                length = bounds[1].value if isinstance(bounds[1], ast.Constant) else _length(bounds[1], shapes_of(code))
                found.append(BlockLoop(length, bounds[2].value, n.body, 1))
    return found


def before_loop(code: Code) -> list[Any]:
    """Return the statements of the first function that stand before its first loop.

    >>> [text(s) for s in before_loop("def f(x):\\n    y = x\\n    for k in y: pass\\n    return y")]
    ['y = x']
    """
    body = _statements(code)
    at = next(k for k, s in enumerate(body) if loop_count(s))
    return body[:at]


def after_loop(code: Code) -> list[Any]:
    """Return the statements of the first function that stand after its last loop.

    >>> [text(s) for s in after_loop("def f(x):\\n    for k in x: pass\\n    return x")]
    ['return x']
    """
    body = _statements(code)
    at = max(k for k, s in enumerate(body) if loop_count(s))
    return body[at + 1 :]


def branches(code: Code) -> int:
    """Return how many `if` statements there are.

    >>> branches("if x: pass\\nelif y: pass"), branches("z = 1 if x else 2")
    (2, 0)
    """
    return len(nodes(code, ast.If))


def before_branch(code: Code) -> list[Any]:
    """Return the statements of the first function that run on every path: those before its first `if`.

    >>> [text(s) for s in before_branch("def f(x):\\n    y = x\\n    if y: return x\\n    return y")]
    ['y = x']
    """
    return _parted(code)[0]


def after_branch(code: Code) -> list[Any]:
    """Return the first `if` of the first function and all statements after it: what only some paths run.

    >>> len(after_branch("def f(x):\\n    y = x\\n    if y: return x\\n    return y"))
    2
    """
    return _parted(code)[1]


def on_floats(code: Code) -> bool:
    """Tell whether a program computes with Python's floats: it takes arrays apart, or makes floats of scalars.

    >>> on_floats("def f(x):\\n    a, b = x.tolist()"), on_floats("def f(x):\\n    x = float(x)")
    (True, True)
    >>> on_floats("def f(x): pass")
    False
    """
    return calls(code, ".tolist") or calls(code, "float") or any(f.startswith("math.") for f in called(code))


# -- names and numbers -------------------------------------------------------------------------------------------------
def names(code: Code) -> set[str]:
    """Return all names that stand in the code, parameters included.

    >>> sorted(names("def f(x): return y + np.sin(x)"))
    ['np', 'x', 'y']
    """
    return {n.arg if isinstance(n, ast.arg) else n.id for n in nodes(code, ast.arg, ast.Name)}


def assigned(code: Code) -> set[str]:
    """Return the names that are given a value.

    >>> sorted(assigned("w, v = np.linalg.eigh(x); y[0] = w; z += v"))
    ['v', 'w', 'z']
    """
    return {n.id for n in nodes(code, ast.Name) if isinstance(n.ctx, ast.Store)}


def parameters(code: Code) -> list[str]:
    """Return the parameters of the first function.

    >>> parameters("def f(x, y): pass")
    ['x', 'y']
    """
    return [a.arg for a in entry(code).args.args]


def reads(code: Code, name: str) -> int:
    """Return how many times the value of a name is read.

    >>> reads("x = y + y; z = x[0]; x += 1", "y"), reads("x = 1", "x")
    (2, 0)
    """
    return sum(n.id == name and isinstance(n.ctx, ast.Load) for n in nodes(code, ast.Name))


def constants(code: Code) -> list[Any]:
    """Return the numbers and texts that are written out; a negative number is one number.

    >>> constants("y = x * -2.0 + 'a' - 3")
    [-2.0, 'a', 3]
    """
    found: list[Any] = []
    signed = {id(n.operand): n for n in nodes(code, ast.UnaryOp) if isinstance(n.op, ast.USub)}
    for n in nodes(code, ast.Constant):
        number = type(n.value) in (int, float, complex)
        found.append(-n.value if number and id(n) in signed else n.value)
    return found


# -- how it is done ----------------------------------------------------------------------------------------------------
def _tree(code: Code) -> Any:
    if isinstance(code, ast.AST):
        return code
    if isinstance(code, BlockLoop):
        return _body(code.body)
    if isinstance(code, Sequence) and not isinstance(code, str):
        return _body(list(code))
    source = code if isinstance(code, str) else code.source
    if not isinstance(source, str):
        raise TypeError(f"the code of {code!r} is asked for by a call: pass f.source(...), not f")
    return _parsed(str(source))


def _body(found: list[Any]) -> ast.Module:
    return ast.Module(body=found, type_ignores=[])


@lru_cache(maxsize=64)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _path(function: ast.expr) -> str:
    """`np.linalg.solve`, `x.sum`, or `.sum` of an expression."""
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        inner = _path(function.value) if isinstance(function.value, (ast.Name, ast.Attribute)) else ""
        return f"{inner}.{function.attr}"
    return ""


def _has_name(call: ast.Call, name: str) -> bool:
    path = _path(call.func)
    if name.startswith("."):
        return "." in path and path.endswith(name) and path.partition(".")[0] not in MODULES
    return path == name if "." in name else path.rpartition(".")[2] == name


def _length(call: Any, known: dict[str, tuple[int, ...]]) -> int | None:
    """Return the length of an argument, `len(x)`, where its shape is known."""
    shape = known.get(text(call.args[0]))
    return shape[0] if shape else None


def _shape(call: ast.Call, known: dict[str, tuple[int, ...]]) -> tuple[int, ...] | None:
    arrays = {name: np.broadcast_to(0.0, shape) for name, shape in known.items()}
    try:
        given = eval(ast.unparse(call.args[0]), {"__builtins__": {"len": len}}, arrays)
    except NameError:  # of the shape of an array that is no argument
        return None
    return given if isinstance(given, tuple) else (given,)


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> ast.AST:
    statement = ast.parse(pattern).body[0]
    return statement.value if isinstance(statement, ast.Expr) else statement


def _found(code: Code, pattern: str) -> list[Any]:
    wanted = _pattern(pattern)
    return [n for n in nodes(code) if _like(wanted, n)]


def _like(pattern: Any, node: Any) -> bool:
    """Whether a node is like a pattern: contexts and types of comments are not compared."""
    if isinstance(pattern, ast.Name) and pattern.id == "_":
        return isinstance(node, ast.expr)
    if isinstance(pattern, ast.Call) and isinstance(node, ast.Call) and _is_open(pattern):
        return _like(pattern.func, node.func)
    if isinstance(pattern, ast.AST):
        if type(pattern) is not type(node):
            return False
        fields = [name for name in pattern._fields if name not in ("ctx", "type_comment", "kind")]
        return all(_like(getattr(pattern, name), getattr(node, name)) for name in fields)
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(_like(p, n) for p, n in zip(pattern, node))
    return type(pattern) is type(node) and repr(pattern) == repr(node)


def _statements(code: Code) -> list[Any]:
    """The statements of the first function; what runs on floats stands in a `try`."""
    body: list[Any] = entry(code).body
    return body[0].body if isinstance(body[0], ast.Try) else body


def _is_open(call: ast.Call) -> bool:
    return len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value is ...


def _parted(code: Code) -> tuple[list[Any], list[Any]]:
    body = _statements(code)
    at = next((k for k, s in enumerate(body) if branches(s)), len(body))
    return body[:at], body[at:]
