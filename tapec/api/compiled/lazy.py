"""This gate imports, when first used, what few calls of a compiled function need: export, pickling, explanations."""

from __future__ import annotations

from typing import Any

__all__ = ["explanation", "parting_line", "pickled", "shown", "write_module"]


def explanation(*args: Any) -> Any:
    from tapec.api.compiled import explain

    return explain.explanation(*args)


def parting_line(recorded: Any, plain: Any) -> str:
    from tapec.api.compiled.checks import parting_line as found

    return found.parting_line(recorded, plain)


def shown(source: str, program: Any, target: str | None, signature: Any) -> str:
    """Return the text of a program with the line that says for which shapes it holds, where it needs one, and with the
    default values of the user's function."""
    from tapec.api.compiled.exporting import default_values, shapes_held

    inputs, text = program.compiled.graph.inputs, shapes_held.with_shapes(source, program, target)
    return default_values.with_defaults(text, program.name, inputs, signature)


def write_module(function: Any, path: Any, args: Any, kwargs: Any, target: str | None = None) -> None:
    from tapec.api.compiled.exporting import export

    export.write_module(function, path, args, kwargs, target)


def pickled(function: Any) -> Any:
    """Return the loader and its state, for `__reduce__`."""
    from tapec.api.compiled.exporting import pickling

    return pickling.load_saved, pickling.saved_state(function, pickling.origin_of(function))
