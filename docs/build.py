"""Writes the generated parts of the pages, and the site.

python -m docs.build                 what stands between `<!-- begin NAME -->` and `<!-- end -->`, from the code
python -m docs.build --check         exit code 1 if a part is out of date
python -m docs.build --site site/    all pages as HTML, as they are (pip install tapec[docs])
"""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import tapec
from docs import notebooks
from docs.blocks import Block, blocks_of
from docs.peers import categories_table, measured, ratios_table
from docs.reference import REFERENCE
from tapec import config, errors
from tapec.report import support_table as support

__all__ = ["PARTS", "build", "renewed", "site"]

DOCS = Path(__file__).resolve().parent
_PART = re.compile(r"(?<=<!-- begin )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    cells = [head, ["---"] * len(head), *[[c.replace("|", "\\|").replace("\n", " ") for c in row] for row in rows]]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def first_line(x: Any) -> str:
    return (inspect.getdoc(x) or "").split("\n\n")[0].replace("\n", " ")


# ---------------------------------------------------------------------------------------------------------------
# settings, errors, conventions
# ---------------------------------------------------------------------------------------------------------------
def settings_table() -> str:
    rows = [
        [f"`{name}`", f"`TAPEC_{name.upper()}`", type(default).__name__, f"`{default!r}`", config.ABOUT[name]]
        for name, default in config.Values._field_defaults.items()
    ]
    return table(("setting", "in the environment", "type", "default", "what it does"), rows)


def errors_table() -> str:
    classes = [x for name in errors.__all__ if isinstance(x := getattr(errors, name), type)]
    rows = [[f"`{c.__name__}`", bases(c), first_line(c)] for c in classes]
    return table(("error", "is also a", "when"), rows)


def bases(c: type) -> str:
    return ", ".join(f"`{b.__name__}`" for b in c.__bases__ if b is not Exception)


def conventions_tables() -> str:
    from tests.ops.conventions import CONVENTIONS

    parts = []
    for subject, rows in CONVENTIONS.items():
        shown = [[f"`{r.code}`", point(r.at), gradients(r), r.why] for r in rows]
        parts.append(f"## {subject}\n\n{table(('expression', 'at', 'gradient', ''), shown)}\n")
    return "\n".join(parts)


def point(at: dict[str, Any]) -> str:
    return ", ".join(f"`{k} = {compact(v)}`" for k, v in at.items())


def gradients(row: Any) -> str:
    return ", ".join(f"d{name}: `{compact(g)}`" for name, g in zip(row.at, row.grads, strict=True))


def compact(x: Any) -> str:
    """As few characters as will do: `[0, -1, 2.5]`."""
    if isinstance(x, np.ndarray):
        x = x.tolist()
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join(map(compact, x)) + "]"
    if isinstance(x, complex):
        return str(x).strip("()")
    return f"{x:.6g}" if isinstance(x, float) else str(x)


# ---------------------------------------------------------------------------------------------------------------
# support
# ---------------------------------------------------------------------------------------------------------------
def support_table(rows: list[support.Row]) -> str:
    head = ("function", "gradient", "reverse", "forward", "order", "complex", "vmap", "note")
    cells = [[f"`{r.name}`", r.kind, r.reverse, r.forward, r.order, r.complex, r.vmap, r.note] for r in rows]
    return table(head, cells)


def numpy_table() -> str:
    return support_table(support.rows())


def targets_table() -> str:
    from tests.codegen.target_answers import rows

    return table(("op", "kind", "portable"), [[f"`{name}`", kind, said] for name, kind, said in rows()])


def special_table() -> str:
    return support_table(support.special_rows())


def scipy_table() -> str:
    found = support.scipy_functions().items()
    return table(("module", "functions"), [[f"`{m}`", ", ".join(f"`{n}`" for n in names)] for m, names in found])


def kinds_table() -> str:
    return table(("gradient", "means"), [[f"**{kind}**", about] for kind, about in support.KINDS.items()])


# ---------------------------------------------------------------------------------------------------------------
# pages and site
# ---------------------------------------------------------------------------------------------------------------
# ---------------------------------------------------------------------------------------------------------------
# modules
# ---------------------------------------------------------------------------------------------------------------
PACKAGES = """ir ops autodiff passes codegen runtime trace values log_gradients op_by_op api scipy compat/tensorflow
    cli report testing progress"""


def modules_tables() -> str:
    """Each folder with its README, else with what its docstring and those of its modules say first."""
    root = DOCS.parent / "tapec"
    tops = [root / name for name in PACKAGES.split()]
    folders = [init.parent for top in tops for init in sorted(top.rglob("__init__.py"))]
    return "\n\n".join([package(folder, folder.relative_to(root).as_posix()) for folder in folders])


def package(folder: Path, name: str) -> str:
    head = f"{'##' if '/' not in name else '###'} {name}\n\n"
    if (folder / "README.md").exists():
        return head + readme(folder / "README.md")
    about, _, more = told(folder / "__init__.py").partition("\n\n")
    rows = [[f"`{p.stem}`", " ".join(told(p).partition("\n\n")[0].split())] for p in sorted(folder.glob("[!_]*.py"))]
    shown = f"\n\n```text\n{more}\n```" if more else ""
    modules = f"\n\n{table(('module', 'what it has'), rows)}" if rows else ""
    return f"{head}{about}{shown}{modules}"


def readme(path: Path) -> str:
    """The README of a package as part of a page: its title as a sentence, lower headings, links as plain text."""
    title, _, rest = path.read_text(encoding="utf-8").removeprefix("# ").strip().partition("\n")
    about = title.partition(": ")[2] or title
    pieces = re.split(r"(```.*?```)", rest.strip(), flags=re.DOTALL)
    for k in range(0, len(pieces), 2):  # outside of blocks
        text = re.sub(r"^##+ ", "#### ", pieces[k], flags=re.MULTILINE)
        pieces[k] = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
    return f"{about[0].upper()}{about[1:].removesuffix('.')}.\n\n{''.join(pieces)}"


def told(module: Path) -> str:
    return ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""


PARTS: dict[str, Callable[[], str]] = {
    "categories": lambda: categories_table(measured()),
    "peers": lambda: ratios_table(measured()),
    **REFERENCE,
    "conventions": conventions_tables,
    "errors": errors_table,
    "kinds": kinds_table,
    "modules": modules_tables,
    "numpy": numpy_table,
    "targets": targets_table,
    "scipy": scipy_table,
    "settings": settings_table,
    "special": special_table,
}


def renewed(text: str) -> str:
    """A page with its generated parts made anew."""
    return _PART.sub(lambda m: f"{m.group(1)}{m.group(2)}\n{PARTS[m.group(1)]().strip()}\n\n", text)


def build(check: bool = False) -> list[str]:
    """Renew all pages; gives the names of those that were out of date."""
    stale = []
    for path in [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        new = renewed(text)
        if new != text:
            stale.append(path.name)
            if not check:
                path.write_text(new, encoding="utf-8")
    return stale


def site(out: Path) -> None:
    """Build the site: MkDocs on a copy of the pages, since it wants its settings outside of them."""
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder) / "docs"
        shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.py", "*.yml", "__pycache__"))
        for page in pages.rglob("*.md"):
            page.write_text(for_site(page.read_text(encoding="utf-8"), page.stem, repository()), encoding="utf-8")
        for path in notebooks.paths():
            page = pages / "notebooks" / f"{path.stem}.md"
            page.write_text(links_for_site(notebooks.to_markdown(path), repository()), encoding="utf-8")
        playground_archive(pages / "live" / "tapec.zip")
        settings = (DOCS / "mkdocs.yml").read_text(encoding="utf-8")
        settings += f"\nrepo_url: {repository()}\nedit_uri: edit/main/docs/\n" if repository() else ""
        settings += f"\nsite_url: {address('documentation')}\n" if address("documentation") else ""
        settings = settings.replace("site_name: tapec", f"site_name: tapec {tapec.__version__}")
        (Path(folder) / "mkdocs.yml").write_text(settings, encoding="utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out.resolve())]
        subprocess.run(command, cwd=folder, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    for page in out.rglob("*.html"):
        page.write_text(with_labels(with_edit_links(page.read_text(encoding="utf-8"))), encoding="utf-8")


def with_edit_links(page: str) -> str:
    """A page on whose notebook, not on what was made of it, the link to edit it leads."""
    return re.sub(r"(/docs/notebooks/[\w-]+)\.md", r"\1.ipynb", page)


WIDE = 6  # columns from which on a phone shows the rows of a table one below the other


def with_labels(page: str) -> str:
    """A page whose cells in wide tables know what stands above them: where rows become blocks, that stands beside."""
    return re.sub(r"<table>.*?</table>", lambda m: labelled(m.group()), page, flags=re.DOTALL)


def labelled(table: str) -> str:
    heads = [re.sub("<[^>]*>", "", head) for head in re.findall("<th[^>]*>(.*?)</th>", table, re.DOTALL)]
    if len(heads) < WIDE:
        return table
    columns = itertools.cycle(heads)
    return re.sub("<td", lambda m: f'<td data-label="{next(columns)}"', table)


def playground_archive(path: Path) -> None:
    """Pack tapec, and what the page "Try it here" runs, for Python in the browser."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((DOCS.parent / "tapec").rglob("*.py")):
            archive.write(file, file.relative_to(DOCS.parent))
        archive.write(DOCS / "playground.py", "playground.py")


def repository() -> str:
    """The address of the code: pages link to it."""
    return address("source") or address("repository")


def address(name: str) -> str:
    """An address that pyproject.toml names; nothing where it does not."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {key.lower(): url for key, url in project.get("urls", {}).items()}.get(name, "")


_CODE_LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)+((?:tapec|examples|tests|README|LICENSE)[^)]*)\)")

_NOTEBOOK_LINK = re.compile(r"(\]\((?:notebooks/)?\d[\w-]*)\.ipynb\)(?!\{)")


def links_for_site(text: str, source: str) -> str:
    """Let links to code lead to `source`, and links to notebooks to their pages."""
    text = _CODE_LINK.sub(rf"[\1]({source}/blob/main/\2)" if source else r"`\1`", text)
    return _NOTEBOOK_LINK.sub(r"\1.md)", text)


def for_site(text: str, stem: str, source: str = "") -> str:
    """A page as the site shows it: links that lead there, colours in generated code, numbers at lines."""
    text = links_for_site(text, source)
    numbered = f"{stem}.py:" in text  # outputs name lines of the page's code
    pieces, at, line = [], 0, 1
    for block in blocks_of(text):
        end = text.rindex("\n", 0, block.start)
        start = text.rindex("```", 0, end) + len("```")
        pieces += [text[at:start], fence_words(block, stem, line if numbered else None)]
        at = end
        line += block.text.count("\n") if block.runs_in_page else 0
    return "".join([*pieces, text[at:]])


def fence_words(block: Block, stem: str, line: int | None) -> str:
    """What stands behind the three backticks: the language, and where lines are numbered, from which number."""
    if block.file:
        return f'python title="{block.file}" linenums="1"'
    if block.runs_in_page and line is not None:
        return f'python title="{stem}.py" linenums="1"' if line == 1 else f'python linenums="{line}"'
    generated = block.language == "text" and re.search(r"^def \w+\(", block.text, re.MULTILINE)
    return "python" if generated else block.language


def main(words: list[str]) -> int:
    if "--site" in words:
        site(Path(words[words.index("--site") + 1]))
        return 0
    check = "--check" in words
    stale = build(check)
    for name in stale:
        print(f"{name} {'is out of date: run python -m docs.build' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
