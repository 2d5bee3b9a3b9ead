"""Compare two commits of tapec: generated text, Python calls, memory and times. `python -m tests.fence OLD NEW`.

A change that only moves and renames must leave all of it as it was: this is the fence around such changes. OLD and NEW
are git revisions, or folders with a checkout. Each is laid out in a folder of its own, with the tests of this checkout,
and measured by processes of its own, which take turns. Only tapec's public surface is used, so internal modules may
stand elsewhere in OLD and NEW.

    python -m tests.fence main .                       everything, in two to five minutes
    python -m tests.fence main . --quick               a subset
    python -m tests.fence main . --text --ignore-lines generated text alone, but for the line numbers of user lines
    python -m tests.fence main . --times --only net    times of the workloads whose name holds a word

    text      that of all functions generated for golden functions, benchmarks, examples and pages: equal to a byte
    calls     Python functions that run in a first, second and third call, and in the steps of a tape: within 5 %
    memory    the most that these calls allocate: within 20 %
    times     of warm and first calls, steps, recording, imports, beside derivatives by hand: within 20 %

It prints tables in Markdown. What NEW does worse is bold, and ends the command with 1.

Files, in reading order: `checkouts` lays out commits; `hook/sitecustomize` records generated text, `program` and `text`
run programs and compare it; `measure` runs in the measured processes, `compare` asks them; `table` decides and shows.
"""
