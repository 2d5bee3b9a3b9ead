"""Draw programs, hold them against plain NumPy, and print those that fail, as short as they can be made.

    python -m tests.generated --seconds 120 --seed 7
    python -m tests.generated --count 1000 --everything
    python -m tests.generated --only 123          one program: its text, and what is wrong with it

Exits 1 if a program was wrong or crashed. A refusal with an error of tapec's own is counted, and no failure.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import zlib
from collections import Counter

from tests.generated.checks import ALL, QUICK, Refused, check
from tests.generated.programs import Program, drawn, reduced, sizes_of


def _verdict(program: Program, parts: tuple) -> str | None:
    try:
        return check(program, parts)
    except Refused:
        return None


def _report(seed: int, program: Program, wrong: str, parts: tuple) -> None:
    kind = _kind(wrong)

    def fails(smaller: Program) -> bool:
        found = _verdict(smaller, parts) if _runs(smaller) else None
        return found is not None and _kind(found) == kind

    least = reduced(program, fails)
    print(f"\n# seed {seed}, {sizes_of(program)} statements, {sizes_of(least)} of them left: {_verdict(least, parts)}")
    print(least.text(), flush=True)


def _number(seed: str | None) -> int:
    """Return the number of the first program, from a number, any text, or by chance."""
    if seed is None:
        return random.SystemRandom().randrange(10**9)
    return int(seed) if seed.isdigit() else zlib.crc32(seed.encode())


def _kind(wrong: str) -> str:
    return wrong.split()[0].strip(",:")


def _without_place(message: str) -> str:
    return re.sub(r"<generated \d+>:\d+: ", "", message)


def _runs(program: Program) -> bool:
    try:
        for seed in (0, 1, 2):
            program.module()["f"](*program.arguments(seed))
    except Exception:  # a program that lacks a line may do anything; what plain NumPy cannot run is none
        return False
    return True


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.generated", description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, default=10**9, help="programs at most")
    parser.add_argument("--seed", default=None, help="of the first program, a number or any text; drawn if not given")
    parser.add_argument("--everything", action="store_true", help="tapes, state, second order, layouts as well")
    parser.add_argument("--only", type=int, default=None, metavar="SEED", help="one program")
    parser.add_argument("--most", type=int, default=10, help="failures that are reduced and printed")
    given = parser.parse_args(argv)
    parts = ALL if given.everything else QUICK
    if given.only is not None:
        program = drawn(given.only)
        print(program.text())
        print(check(program, ALL))
        return 0
    first = _number(given.seed)
    print(f"seed {first}", flush=True)
    start, found, seed = time.monotonic(), Counter(), first
    while time.monotonic() - start < given.seconds and seed - first < given.count:
        program = drawn(seed)
        try:
            wrong = check(program, parts)
        except Refused as e:
            found["refused"] += 1
            found[f"  {_without_place(str(e))[:90]}"] += 1
            wrong = None
        else:
            found["right" if wrong is None else f"wrong: {_kind(wrong)}"] += 1
        if wrong is not None and sum([n for kind, n in found.items() if kind.startswith("wrong")]) <= given.most:
            _report(seed, program, wrong, parts)
        seed += 1
    print(f"\n{seed - first} programs in {time.monotonic() - start:.0f} s")
    for kind, n in found.most_common():
        print(f"{n:6} {kind}")
    return int(any([kind.startswith("wrong") for kind in found]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
