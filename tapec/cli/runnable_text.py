"""Write generated code as a file that runs: with its imports, its arrays and the helpers that it calls."""

from __future__ import annotations

import ast
from contextlib import suppress

from tapec.api.compiled.exporting.head_lines import helpers_line
from tapec.api.compiled.exporting.source_literals import constant_text, list_text
from tapec.codegen import Compiled
from tapec.codegen.runtime_helpers import helper_text

__all__ = ["runnable"]


def runnable(code: Compiled, text: str, head: str = "") -> str:
    """Return a module that has this text of the code; `head` stands before its imports."""
    nodes = list(ast.walk(ast.parse(code.source)))
    names = {n.id for n in nodes if isinstance(n, ast.Name)} - {n.arg for n in nodes if isinstance(n, ast.arg)}
    write = list_text if code.target == "portable" else constant_text
    constants = [f"{name} = {write(value)}" for name, value in code.constants.items() if name in names]
    helpers = _written_out(code)
    uses_numpy = "np" in names or bool(helpers) or any("np." in line for line in constants)
    imports = [*["import numpy as np"] * uses_numpy, *_scipy_imports(nodes)]
    parts = [head, "import math" if "math" in names else "", "\n".join(imports), "\n".join(constants)]
    above = "\n\n".join([part for part in parts if part])
    told = tuple([f"# {name}{mark} " for name in code.constants if name in names for mark in (" =", ":")])
    told = (*told, helpers_line(code)) if helpers else told
    # without the comments about what stands above and below
    body = [line for line in text.strip("\n").split("\n") if not line.startswith(told)]
    return (above and f"{above}\n\n\n") + "\n".join(body) + (helpers and f"\n\n\n{helpers}") + "\n"


def _written_out(code: Compiled) -> str:
    """Return the source of the helpers; empty where one has none that stands alone, which the head says."""
    with suppress(ValueError):
        return helper_text(code.helpers)
    return ""


def _scipy_imports(nodes: list[ast.AST]) -> list[str]:
    found = [n.attr for n in nodes if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "scipy"]
    return [f"import scipy.{name}" for name in sorted(set(found))]
