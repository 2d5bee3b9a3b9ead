"""Record the text of all generated code of a Python process, where the environment names a folder for it.

Python imports `sitecustomize` when it starts, so a program is recorded with everything that it starts, unchanged.
tapec registers generated functions with `linecache`, under file names in a folder `generated` of the package; that
holds wherever the code that does so stands. Call stubs are compiled from text under the same folder.

A recorded process writes one file of JSON: `[[kind, name, text], ...]`, in the order of compilation.
"""

import os

FOLDER = os.environ.get("FENCE_RECORD")
MARK = os.path.join("tapec", "generated") + os.sep


def name_of(file: str) -> str | None:
    """The name of a generated function by its file, without the number of a repeated name; None for other files."""
    _, mark, name = file.rpartition(MARK)
    if not mark:
        return None
    stem, _, number = name.removesuffix(".py").rpartition("_")
    return stem if stem and number.isdigit() else name.removesuffix(".py")


def install(folder: str) -> None:
    """Replace the cache of `linecache` and `compile` by versions that record."""
    import atexit
    import builtins
    import json
    import linecache
    import time

    found: list[tuple[str, str, str]] = []
    compile_text = builtins.compile

    class Recording(dict):  # type: ignore[type-arg]
        """Asks for a generated text when it is registered: it goes with its function."""

        def __setitem__(self, file, entry):
            super().__setitem__(file, entry)
            name = name_of(file)
            if name is not None and len(entry) == 1:
                found.append(("function", name, entry[0]() or ""))

    def recording_compile(source, filename, *args, **kwargs):
        if isinstance(source, str) and isinstance(filename, str):
            name = name_of(filename)
            if name is not None:
                found.append(("stub", name, source))
        return compile_text(source, filename, *args, **kwargs)

    def write() -> None:
        if found:
            path = os.path.join(folder, f"{time.time_ns()}-{os.getpid()}.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(found, f)

    linecache.cache = Recording(linecache.cache)
    builtins.compile = recording_compile
    atexit.register(write)


if FOLDER:
    install(FOLDER)
