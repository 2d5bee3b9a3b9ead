"""The tool that writes programs: what it draws is right, and what it reduces still fails."""

import numpy as np
import pytest

from tests.generated import checks
from tests.generated.__main__ import main
from tests.generated.programs import Block, Program, drawn, reduced, sizes_of


@pytest.mark.parametrize("seed", range(12))
def test_drawn_programs_are_right(seed):
    try:
        assert checks.check(drawn(seed), checks.ALL) is None
    except checks.Refused as e:
        pytest.skip(f"tapec refuses the program: {e}")  # no defect: what was not refused is right


def test_a_seed_draws_the_same_program():
    assert drawn(5).text() == drawn(5).text() != drawn(6).text()


def test_arguments_stay_as_they_were():
    program = drawn(3)
    args = program.arguments(0)
    before = [np.array(a) for a in args]
    program.module()["f"](*args)
    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True))


def test_a_failure_is_reduced_to_what_fails():
    body = (
        Block("a = x + 1"),
        Block("if s > 0:", (Block("b = a * 2"), Block("c = 7.0"))),
        Block("d = np.sum(a)"),
    )
    program = Program(body, "np.sum(np.sin(c) * 0.4) + np.sum(np.sin(d) * 0.5)", ((3,), (3,)))
    least = reduced(program, lambda p: "c = 7.0" in p.text())
    assert sizes_of(least) == 1 and least.result.count("np.sin") == 1


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("v = x * 1.0", None),
        ("v = x.copy() if x.__array_priority__ == 0 else x + 1e-3", "value"),
        ("v = str(1 / 0)", "crash"),
    ],
)
def test_what_is_wrong_is_told(line, kind):
    program = Program((Block(line),), "np.sum(np.sin(v) * 0.4)", ((3,), (3,)))
    found = checks.check(program, checks.QUICK)
    assert (found or "None").split()[0].strip(",") == str(kind)


def test_the_command_draws_checks_and_counts(capsys):
    assert main(["--count", "3", "--seed", "20"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("seed 20\n") and "3 programs in" in out
