"""Generated code is printed by astor where that works, and by the interpreter's own printer elsewhere."""

import ast
import subprocess
import sys

import pytest

from tapec.codegen.common import astor_printer

# A module that cannot be imported is one of which sys.modules has None.
WITHOUT_ASTOR = """if True:
    import math, sys
    sys.modules["astor"] = None
    import numpy as np
    import tapec

    f = tapec.value_and_grad(lambda w, x: np.mean((np.tanh(x @ w) - 1.0) ** 2))
    value, gradient = f(np.ones(3), np.ones((4, 3)))
    scope = {"np": np, "math": math}
    exec(f.source(), scope)
    found = scope["function_value_and_grad"](np.ones(3), np.ones((4, 3)))
    assert found[0] == value and (found[1] == gradient).all()
"""


def run(code: str, *flags: str) -> str:
    found = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stderr


def test_source_is_written_without_astor():
    assert run(WITHOUT_ASTOR) == ""


def test_printing_warns_of_nothing():
    """Of what this Python deprecates in `ast`."""
    code = "import numpy as np, tapec; f = tapec.grad(lambda x: np.sum(2.0 * x)); f(np.ones(3)); f.source()"
    assert run(code, "-W", "error") == run(code, "-W", "always") == ""


@pytest.mark.parametrize("text", ["a - (b - c)", "(a + b) * 2.0 ** -x[1:, None]", "f(x, axis=-1) / 3", "y[i] += -1.0"])
@pytest.mark.parametrize("printer", [True, False])
def test_both_printers_write_what_was_meant(text, printer, monkeypatch):
    if not printer:
        monkeypatch.setattr(astor_printer, "_printer", lambda: None)
    tree = ast.parse(text).body[0]
    written = astor_printer.to_text(tree.value if isinstance(tree, ast.Expr) else tree)
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(text))


@pytest.mark.parametrize("start", range(60, 125))
def test_a_long_line_breaks_between_arguments_alone(start):
    """The comma of `(3,)` is no place for that."""
    text = f"return f({'x' * start}, (3,)), np.broadcast_to(y, (3,)).copy(), g(z, [1,], 'a, b'), h"
    lines = astor_printer.wrapped(text, 4)
    assert "".join([lines[0], *[f" {line}" for line in lines[1:]]]) == text
    ast.parse("def f():\n    " + "\n        ".join(lines))
