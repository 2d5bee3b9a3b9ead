"""Graphs are verified after each pass of both pipelines."""

import pytest

import tapec


@pytest.fixture(autouse=True)
def graphs_are_verified():
    with tapec.settings(verify=True):
        yield
