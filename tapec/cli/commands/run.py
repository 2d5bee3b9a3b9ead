"""Run a script, then list, show or write out every function and tape gradient that it compiled."""

from __future__ import annotations

import argparse
import runpy
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tapec.cli.error_messages import Problem, user_traceback
from tapec.cli.runnable_text import runnable
from tapec.cli.terminal import show, show_code, show_json, styled, table
from tapec.codegen.list_inputs import gathered
from tapec.ir.source_location import place_of
from tapec.runtime.compile import WATCHERS

HELP = "run a script and show what it compiled"
EXAMPLES = """\
examples:
  tapec run train.py --epochs 3             words after the script are its own
  tapec run --show loss_grad train.py       the source of one
  tapec run --show '*' train.py             the source of all
  tapec run --export generated/ train.py    a file for each"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--show", metavar="NAME", help="print the source of those with this name (* and ? match)")
    parser.add_argument("--export", metavar="FOLDER", help="write a file for each")
    parser.add_argument("--json", action="store_true", help="list for programs (the script's output goes to stderr)")
    parser.add_argument("script", help="a Python file")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="arguments of the script")


def run(options: argparse.Namespace) -> int:
    if not Path(options.script).is_file():
        raise Problem(f"there is no file {options.script}")
    compiled: dict[Any, Any] = {}

    def watch(code: Any) -> None:
        compiled[code.name, tuple(i.type for i in code.graph.inputs), len(code.graph.outputs)] = code

    WATCHERS.append(watch)
    try:
        code = run_script(options.script, options.words, quiet=options.json)
    finally:
        WATCHERS.remove(watch)
    found = list(compiled.values())
    if options.export:
        write_all(found, Path(options.export))
    if options.json:
        show_json([as_dict(c) for c in found])
    elif options.show:
        show_sources([c for c in found if fnmatch(c.name, options.show)], options.show)
    else:
        show_list(found)
    return code


def run_script(script: str, words: list[str], quiet: bool) -> int:
    """Run a file as `python script words` would; gives its exit code."""
    keep = sys.argv, sys.path[:], sys.stdout
    sys.argv = [script, *words]
    sys.path.insert(0, str(Path(script).resolve().parent))
    if quiet:
        sys.stdout = sys.stderr
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as e:
        return exit_code(e)
    except KeyboardInterrupt:
        raise
    except BaseException as e:  # whatever a script may raise
        sys.stdout.flush()
        print(user_traceback(e), end="", file=sys.stderr)
        return 1
    finally:
        sys.stdout.flush()
        sys.argv, sys.path[:], sys.stdout = keep
    return 0


def exit_code(e: SystemExit) -> int:
    if e.code is None or isinstance(e.code, int):
        return e.code or 0
    print(e.code, file=sys.stderr)
    return 1


def as_dict(code: Any) -> dict[str, Any]:
    inputs = [{"name": name, "type": t} for name, t in parameters(code)]
    outputs = [str(o.type) for o in code.graph.outputs]
    return {"name": code.name, "from": lines_of(code), "inputs": inputs, "outputs": outputs, "source": code.source}


def show_list(found: list[Any]) -> None:
    if not found:
        show(styled("nothing was compiled", "dim"))
        return
    rows = [[c.name, ", ".join(lines_of(c)), str(len(c.source.splitlines())), signature(c)] for c in found]
    show(styled(f"compiled {len(found)} function{'s' if len(found) > 1 else ''}:", "bold"))
    show(table(rows, ("name", "from", "lines", "arguments"), "  r"))
    show(styled("--show NAME prints one, --export FOLDER writes all", "dim"))


def lines_of(code: Any) -> list[str]:
    """Return the lines of the user's that a function was recorded from, for each file: `model.py:6-9`."""
    lines: dict[str, list[int]] = {}
    for node in [*code.graph.nodes, *code.graph.inputs]:
        if node.origin is not None:
            place = place_of(node.origin)
            lines.setdefault(place.short.rpartition(":")[0] or place.short, []).append(place.line)
    ranges = [(file, min(found), max(found)) for file, found in lines.items()]
    return [f"{file}:{first}-{last}" if last > first else f"{file}:{first}" for file, first, last in ranges]


def signature(code: Any) -> str:
    words = [f"{name}: {t}" for name, t in parameters(code)]
    return ", ".join(words[:6]) + (f", … {len(words) - 6} more" if len(words) > 6 else "")


def parameters(code: Any) -> list[tuple[str, str]]:
    names = code.generated.__code__.co_varnames
    types = [str(i.type) for i in code.graph.inputs]
    given = [f"list of {len(t)} {t[0]}" if type(t) is list else t for t in gathered(types, code.lists)]
    return list(zip(names, given))


def show_sources(found: list[Any], wanted: str) -> None:
    if not found:
        raise Problem(f"nothing called {wanted} was compiled")
    for k, code in enumerate(found):
        if k:
            show()
        show_code(code.source)


def write_all(found: list[Any], folder: Path) -> None:
    """A file for each; those of one name are numbered."""
    folder.mkdir(parents=True, exist_ok=True)
    used: dict[str, int] = {}
    for code in found:
        used[code.name] = used.get(code.name, 0) + 1
        name = code.name if used[code.name] == 1 else f"{code.name}_{used[code.name]}"
        told = f'"""{code.name}: of a script run by tapec. It takes {signature(code)}."""'
        (folder / f"{name}.py").write_text(runnable(code, code.source, told), encoding="utf-8")
        show(f"wrote {folder / name}.py")
