"""The command line runs commands such as `tapec source model.py:loss`. One file a command stands in `commands/`.

Comes in: words.  Goes out: text, files, an exit code: 0; 1 when a check fails or versions differ; 2 for a wrong call.
Must not be imported here: compat.
"""

from tapec.cli.main import main

__all__ = ["main"]
