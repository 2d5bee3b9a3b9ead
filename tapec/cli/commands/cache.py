"""Look at the cache on disk, where generated code is kept for other processes (TAPEC_CACHE_DIR says where)."""

from __future__ import annotations

import argparse
import os
import re
import time
from typing import Any

from tapec.cli.error_messages import Problem
from tapec.cli.terminal import show, show_code, show_json, styled, table
from tapec.config import settings
from tapec.report.units import bytes_text, count_text
from tapec.runtime.disk_cache.entry import Damaged, described
from tapec.runtime.disk_cache.folder import File, Folder
from tapec.runtime.disk_cache.key import versions

HELP = "list, explain or clear the cache on disk"
EXAMPLES = """\
examples:
  tapec cache list
  tapec cache explain                   is the folder used, and what is in it?
  tapec cache explain e01fb4            one entry; the beginning of its key will do
  tapec cache clear e01fb4              drop one
  tapec cache clear --older-than 30d    drop what was not used for so long (h, d or w)
  tapec cache clear                     drop all

Within a process, tapec.cache_info() and f.cache_info() tell what is kept in memory."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "explain", "clear"))
    parser.add_argument("key", nargs="?", metavar="KEY", help="an entry, by the beginning of its key")
    parser.add_argument("--older-than", metavar="AGE", help="with clear: only what was not used for so long, as in 30d")
    parser.add_argument("--dir", metavar="FOLDER", help="the folder to look at (default: TAPEC_CACHE_DIR)")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> None:
    folder = folder_of(options)
    if options.action != "clear" and options.older_than is not None:
        raise Problem("--older-than goes with clear")
    if options.action == "list":
        if options.key is not None:
            raise Problem(f"list takes no KEY; tapec cache explain {options.key} tells of one entry")
        list_entries(folder, options.json)
    elif options.action == "clear":
        clear(folder, options)
    elif options.key is None:
        explain_folder(folder, options.json)
    else:
        explain_entry(folder, options.key, options.json)


def folder_of(options: argparse.Namespace) -> Folder:
    path = options.dir or settings.cache_dir
    if not path:
        raise Problem("there is no cache on disk: TAPEC_CACHE_DIR is not set (or name a folder by --dir)")
    return Folder(path)


# ---------------------------------------------------------------------------------------------------------------
# entries
# ---------------------------------------------------------------------------------------------------------------
def about(file: File) -> dict[str, Any]:
    """Return what is known of an entry, for programs."""
    found: dict[str, Any] = {"key": file.key, "size": file.size, "used": file.used}
    try:
        with open(file.path, "rb") as f:
            told = described(f.read())
    except (OSError, Damaged) as error:
        return {**found, "damaged": str(error)}
    names = ("name", "made", "versions", "settings", "inputs", "outputs", "nodes", "paths", "cost", "source")
    others = other_versions(told["versions"])
    return {**found, **{name: told[name] for name in names}, "other_versions": others}


def other_versions(then: dict[str, str]) -> dict[str, str]:
    """Return the versions in an entry that differ from those of this installation, which does not use the entry.

    SciPy counts where it is needed.
    """
    now = versions()
    return {name: v for name, v in then.items() if name in now and now[name] != v}


def entry_of(folder: Folder, start: str) -> File:
    files = [f for f in folder.files() if f.key.startswith(start)]
    if not files:
        raise Problem(f"no entry's key begins with {start}; tapec cache list shows them all")
    if len(files) > 1:
        raise Problem(f"{len(files)} keys begin with {start}: {', '.join(f.key[:12] for f in files[:5])}")
    return files[0]


def list_entries(folder: Folder, as_json: bool) -> None:
    entries = [about(file) for file in folder.files()]
    if as_json:
        show_json([{k: v for k, v in e.items() if k != "source"} for e in entries])
        return
    if entries:
        head = ("key", "function", "nodes", "size", "made", "last used", "")
        show(table([row(e) for e in entries], head, "  rr"))
    show(styled(summary(folder, len(entries), sum(e["size"] for e in entries)), "dim"))


def row(e: dict[str, Any]) -> list[str]:
    size, used = bytes_text(e["size"]), ago(e["used"])
    if "damaged" in e:
        return [e["key"][:12], "?", "", size, "", used, f"damaged: {e['damaged']}"]
    others = ", ".join(f"{name} {v}" for name, v in e["other_versions"].items())
    note = f"not used here: {others}" if others else ""
    return [e["key"][:12], e["name"], count_text(e["nodes"][1]), size, moment(e["made"]), used, note]


def summary(folder: Folder, count: int, size: int) -> str:
    entries = "1 entry" if count == 1 else f"{count} entries"
    return f"{entries}, {bytes_text(size)} of {settings.cache_dir_size} MB, in {folder.path}"


def moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def ago(seconds: float) -> str:
    """Say how long ago a time was: `5 minutes ago`."""
    age = max(0.0, time.time() - seconds)
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if age >= length:
            n = int(age // length)
            return f"{n} {name}{'s' if n > 1 else ''} ago"
    return "just now"


# ---------------------------------------------------------------------------------------------------------------
# explain, clear
# ---------------------------------------------------------------------------------------------------------------
def explain_folder(folder: Folder, as_json: bool) -> None:
    there = os.path.exists(folder.path)
    refusal = folder.refusal() if there else None
    entries = [about(file) for file in folder.files()]
    size = sum(e["size"] for e in entries)
    idle = [e for e in entries if e.get("other_versions")]
    damaged = [e for e in entries if "damaged" in e]
    if as_json:
        counts = {"entries": len(entries), "other_versions": len(idle), "damaged": len(damaged), "size": size}
        show_json({"folder": folder.path, "usable": refusal is None, "refusal": refusal, **counts})
        return
    show(folder.path)
    if not there:
        show("  does not exist yet: whoever compiles something first makes it")
        return
    show("  it is used" if refusal is None else styled(f"  it is not used: {refusal}", "bad"))
    show(f"  {summary(folder, len(entries), size)}".rpartition(", in ")[0])
    if idle:
        show(f"  {len(idle)} of other versions, which this installation does not use")
    if damaged:
        show(f"  {len(damaged)} damaged, which will be written anew")


def explain_entry(folder: Folder, start: str, as_json: bool) -> None:
    file = entry_of(folder, start)
    e = about(file)
    if as_json:
        show_json(e)
        return
    if "damaged" in e:
        show(f"{file.key}\n  damaged: {e['damaged']}; it will be written anew")
        return
    flops, moved, peak = e["cost"]
    before, after = e["nodes"]
    show(styled(e["name"], "bold"))
    lines = [
        ("key", e["key"]),
        ("size", bytes_text(e["size"])),
        ("made", moment(e["made"])),
        ("last used", f"{moment(e['used'])}, {ago(e['used'])}"),
        ("arguments", ", ".join(e["inputs"]) or "none"),
        ("results", ", ".join(e["outputs"])),
        ("graph", f"{count_text(before)} nodes, {count_text(after)} after the passes" + paths_text(e["paths"])),
        ("cost", f"{count_text(flops)} flop, {bytes_text(moved)} moved, at most {bytes_text(peak)} of memory"),
        ("settings", ", ".join(f"{k}={v}" for k, v in e["settings"].items())),
        ("versions", ", ".join(f"{k} {v}" for k, v in e["versions"].items())),
    ]
    if e["other_versions"]:
        now = versions()
        lines.append(("not used", "here there is " + ", ".join(f"{k} {now[k]}" for k in e["other_versions"])))
    show(table([[f"  {name}", text] for name, text in lines]))
    show()
    if e["source"] is None:
        show(styled("source as long as this is not kept: f.source() shows it", "dim"))
    else:
        show_code(e["source"])


def paths_text(paths: int) -> str:
    return f", {paths} paths" if paths > 1 else ""


def clear(folder: Folder, options: argparse.Namespace) -> None:
    files = [entry_of(folder, options.key)] if options.key is not None else folder.files()
    if options.older_than is not None:
        oldest = time.time() - seconds_of(options.older_than)
        files = [f for f in files if f.used < oldest]
    gone = [f for f in files if folder.remove(f.key)]
    size = sum(f.size for f in gone)
    if options.json:
        show_json({"removed": [f.key for f in gone], "bytes": size})
    else:
        show(f"removed {'1 entry' if len(gone) == 1 else f'{len(gone)} entries'}, {bytes_text(size)}")


_UNITS = {"h": 3600, "d": 86400, "w": 7 * 86400}


def seconds_of(age: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([hdw])", age.strip())
    if found is None:
        raise Problem(f"--older-than {age}: write a number and h, d or w, such as 12h or 30d")
    return float(found.group(1)) * _UNITS[found.group(2)]
