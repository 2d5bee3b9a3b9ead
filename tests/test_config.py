"""Settings: defaults, the environment, changing them for a while, and what is said about mistakes."""

import os
import subprocess
import sys
import threading

import pytest

import tapec
from tapec.config import Values, from_environment

settings = tapec.settings


def test_defaults():
    assert Values() == Values(
        verify=False,
        debug=0,
        dump="",
        cache_size=1024,
        cache_dir="",
        cache_dir_size=256,
        path_limit=64,
        fast_math=False,
        check_nan=False,
        optimize=True,
        composite=True,
        threads=1,
        check="first",
    )


def test_environment():
    environment = {"TAPEC_VERIFY": "1", "TAPEC_FAST_MATH": "off", "TAPEC_CACHE_SIZE": " 7 ", "TAPEC_DEBUG": ""}
    assert from_environment(environment) == Values(verify=True, cache_size=7)
    assert from_environment({"TAPEC_CHECK": "every"}) == Values(check="every")
    assert from_environment({"TAPEC_VERIFY": "values", "TAPEC_DUMP": "a/b"}) == Values(verify="values", dump="a/b")
    assert from_environment({"TAPEC_CACHE_DIR": "~/kept code"}) == Values(cache_dir="~/kept code")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("TAPEC_VERIFY", "no?", "TAPEC_VERIFY=no?: write 1 or 0 (true, false, yes, no, on and off will do) or values"),
        ("TAPEC_CHECK_NAN", "maybe", "TAPEC_CHECK_NAN=maybe: write 1 or 0 (true, false, yes, no, on and off will do)"),
        ("TAPEC_THREADS", "two", "TAPEC_THREADS=two: write a whole number"),
        ("TAPEC_THREADS", "0", "setting threads must be at least 1, not 0"),
        ("TAPEC_CHECK", "always", "setting check is one of 'first', 'every', 'never', not 'always'"),
    ],
)
def test_bad_environment(name, text, message):
    with pytest.raises(ValueError) as e:
        from_environment({name: text})
    assert str(e.value) == message


def test_a_bad_environment_is_told_when_a_setting_is_asked_for():
    code = """if True:
        import tapec

        for ask in (lambda: tapec.settings.debug, lambda: tapec.grad(lambda x: x * x)(3.0)):
            try:
                ask()
            except ValueError as error:
                print(error)
        with tapec.GradientTape():  # which asks for none
            pass
    """
    env = os.environ | {"TAPEC_THREADS": "two"}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert run.stdout == 2 * "TAPEC_THREADS=two: write a whole number\n", run.stdout + run.stderr


def test_changes_nest_and_end():
    before = settings.path_limit, settings.verify
    with settings(path_limit=8) as inner:
        assert inner is settings and settings.path_limit == 8
        with settings(path_limit=9, verify=not before[1]):
            assert (settings.path_limit, settings.verify) == (9, not before[1])
        assert (settings.path_limit, settings.verify) == (8, before[1])
    assert (settings.path_limit, settings.verify) == before


def test_changes_end_with_an_exception():
    before = settings.debug
    with pytest.raises(RuntimeError), settings(debug=before + 1):
        raise RuntimeError
    assert settings.debug == before


def test_one_change_can_be_entered_twice():
    fewer = settings(path_limit=3)
    with fewer, fewer:
        assert settings.path_limit == 3
    with fewer:
        assert settings.path_limit == 3


def test_changes_stay_in_their_thread():
    seen = []
    with settings(path_limit=5):
        thread = threading.Thread(target=lambda: seen.append(settings.path_limit))
        thread.start()
        thread.join()
    assert seen == [settings.path_limit]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"verfy": True}, TypeError, "no setting is called 'verfy'; did you mean 'verify'?"),
        ({"verify": 1}, TypeError, "setting verify takes True or False or 'values', not 1"),
        ({"threads": 2.0}, TypeError, "setting threads takes an int, not 2.0"),
        ({"verify": "value"}, TypeError, "setting verify takes True or False or 'values', not 'value'"),
        ({"cache_dir": None}, TypeError, "setting cache_dir takes a str, not None"),
        ({"threads": True}, TypeError, "setting threads takes an int, not True"),
        ({"cache_size": 0}, ValueError, "setting cache_size must be at least 1, not 0"),
        ({"check": "once"}, ValueError, "setting check is one of 'first', 'every', 'never', not 'once'"),
        ({"check": True}, TypeError, "setting check takes a str, not True"),
    ],
)
def test_bad_changes(changes, error, message):
    before = repr(settings)
    with pytest.raises(error) as e:
        settings(**changes)
    assert str(e.value) == message
    assert repr(settings) == before


def test_unknown_attribute():
    with pytest.raises(AttributeError) as e:
        settings.colour
    assert str(e.value) == (
        "no setting is called 'colour'; "
        "settings are verify, debug, dump, cache_size, cache_dir, cache_dir_size, path_limit, fast_math, check_nan, "
        "optimize, composite, threads, check, traceback, progress"
    )


def test_assignment_is_refused():
    with pytest.raises(AttributeError) as e:
        settings.verify = True
    assert str(e.value) == (
        "settings are changed for a while: `with tapec.settings(verify=True):`, "
        "or for the whole process by TAPEC_VERIFY"
    )


def test_printing_shows_all():
    with settings(threads=3, cache_size=2):
        lines = repr(settings).splitlines()
    assert [line.split()[0] for line in lines] == [
        "verify", "debug", "dump", "cache_size", "cache_dir", "cache_dir_size", "path_limit", "fast_math",
        "check_nan", "optimize", "composite", "threads", "check", "traceback", "progress",
    ]  # fmt: skip
    assert lines[3] == "cache_size     = 2" and lines[11] == "threads        = 3"
