"""The check of derivatives is checked: right ones pass, wrong ones by 0.1 % do not, kinks are told from errors."""

import numpy as np
import pytest

from tapec.api.compiled.checks.direction_check import check_direction, complex_step, ridders


@pytest.mark.parametrize(
    ("along", "slope"),
    [
        (lambda t: np.sin(1 + t), np.cos(1)),
        (lambda t: np.exp(3 + t), np.exp(3)),
        (lambda t: np.real(t) ** 3, 0.0),
        (lambda t: 7.0, 0.0),
        (lambda t: 1e8 + np.sin(1 + np.real(t)), np.cos(1)),
        (lambda t: abs(0.5 + np.real(t)), 1.0),
        (lambda t: abs(1e-3 + np.real(t)), 1.0),  # a kink nearby
        (lambda t: np.floor(0.3 + np.real(t)), 0.0),
    ],
)
def test_right_ones_pass_and_wrong_ones_do_not(along, slope):
    assert check_direction(along, slope).status == "ok"
    if slope:
        assert check_direction(along, slope * 1.001).status == "wrong"
    assert check_direction(along, slope + 1.0).status == "wrong"


def test_the_complex_step_is_exact():
    verdict = check_direction(lambda t: np.sin(1 + t) * np.exp(t), np.cos(1) + np.sin(1))
    assert verdict.how == "complex step" and verdict.error < 1e-15


@pytest.mark.parametrize(
    ("slope", "status"), [(-1.0, "kink"), (0.0, "kink"), (0.3, "kink"), (1.0, "kink"), (1.5, "wrong")]
)
def test_at_a_kink_any_slope_between_is_right(slope, status):
    assert check_direction(lambda t: abs(np.real(t)), slope).status == status


def test_many_kinks_within_reach_prove_nothing():
    """A layer of rectifiers: large steps cross a hundred kinks, and their differences agree on a wrong slope."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        offsets, slopes, weights = rng.normal(size=(3, 300))
        along = lambda t, o=offsets, s=slopes, w=weights: np.sum(w * np.maximum(o + s * np.real(t), 0.0) ** 1.5)
        slope = np.sum(weights * 1.5 * np.sqrt(np.maximum(offsets, 0.0)) * slopes)
        assert check_direction(along, slope, scale=3.0).status == "ok"
        assert check_direction(along, slope * 1.01, scale=3.0).status == "wrong"


def test_jumps_within_reach_prove_nothing():
    along = lambda t: np.sin(np.real(t)) + 1e-5 * np.floor(40 * np.real(t) + 0.5)
    assert check_direction(along, 1.0).status == "ok"
    assert check_direction(along, 1.001).status == "wrong"


def test_single_precision_is_allowed_its_rounding():
    along = lambda t: np.float32(np.sin(np.float32(1 + np.real(t))))
    assert check_direction(along, np.cos(1), precision=1.2e-7).status == "ok"
    assert check_direction(along, np.cos(1) * 1.01, precision=1.2e-7).status == "wrong"


@pytest.mark.parametrize("along", [lambda t: np.nan, lambda t: np.sqrt(np.real(t)), lambda t: np.log(np.real(t))])
def test_values_that_are_not_finite_prove_nothing(along):
    assert check_direction(along, 0.0).status == "undefined"


def test_complex_step_wants_complex_results():
    assert complex_step(lambda t: abs(t)) is None
    assert complex_step(lambda t: float(t)) is None  # code that takes no complex numbers
    assert complex_step(lambda t: t * t + 3 * t) == pytest.approx(3.0, rel=1e-15)


def test_complex_step_does_not_end_in_an_array_of_real_numbers(recwarn):
    def along(t):
        total = np.zeros(1)
        np.add.at(total, [0], np.array([t + 2.0]))
        return (total * total)[0] + 0 * t

    assert complex_step(along) is None
    assert check_direction(along, 4.0).status == "ok"
    assert not recwarn.list


def test_ridders_knows_its_error():
    slope, error = ridders(np.exp, 0.1)
    assert abs(slope - 1) <= 10 * error < 1e-10
