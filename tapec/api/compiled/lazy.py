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


def shown(code: Any, program: Any, target: str | None, signature: Any, lines: bool) -> str:
    """Return the text of a program's code as a person reads it.

    Its head says for which shapes it holds and which helpers it calls, where that needs to be said; its function has
    the default values of the user's, and with `lines` the user's lines stand beside what computes them.
    """
    from tapec.api.compiled.exporting import default_values, head_lines, shapes_held

    source = head_lines.with_head_line(code.lined_source if lines else code.source, head_lines.helpers_line(code))
    text = shapes_held.with_shapes(source, program, target)
    return default_values.with_defaults(text, program.name, program.compiled.graph.inputs, signature)


def write_module(function: Any, path: Any, args: Any, kwargs: Any, target: str | None = None) -> None:
    from tapec.api.compiled.exporting import export

    export.write_module(function, path, args, kwargs, target)


def pickled(function: Any) -> Any:
    """Return the loader and its state, for `__reduce__`."""
    from tapec.api.compiled.exporting import pickling

    made = pickling.of_method(function)
    return made or (pickling.load_saved, pickling.saved_state(function, pickling.origin_of(function)))
