"""Write generated code as a file that runs: with its imports, and with the arrays that it holds."""

from __future__ import annotations

import ast

from tapec.api.compiled.exporting.source_literals import constant_text, list_text
from tapec.codegen import Compiled

__all__ = ["runnable"]


def runnable(code: Compiled, head: str = "", lines: bool = False) -> str:
    """Return the text of a module; `head` stands before its imports, with `lines` the user's beside each."""
    nodes = list(ast.walk(ast.parse(code.source)))
    names = {n.id for n in nodes if isinstance(n, ast.Name)} - {n.arg for n in nodes if isinstance(n, ast.arg)}
    write = list_text if code.target == "portable" else constant_text
    constants = [f"{name} = {write(value)}" for name, value in code.constants.items() if name in names]
    uses_numpy = "np" in names or any("np." in line for line in constants)
    imports = [*["import numpy as np"] * uses_numpy, *_scipy_imports(nodes)]
    parts = [head, "import math" if "math" in names else "", "\n".join(imports), "\n".join(constants)]
    above = "\n\n".join([part for part in parts if part])
    told = tuple([f"# {name}{mark} " for name in code.constants if name in names for mark in (" =", ":")])
    text = (code.lined_source if lines else code.source).strip("\n").split("\n")
    body = [line for line in text if not line.startswith(told)]  # the comments about arrays that stand above
    return (above and f"{above}\n\n\n") + "\n".join(body) + "\n"


def _scipy_imports(nodes: list[ast.AST]) -> list[str]:
    found = [n.attr for n in nodes if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "scipy"]
    return [f"import scipy.{name}" for name in sorted(set(found))]
