"""Thousands of launches from several threads, Ctrl-C, callbacks: right answers and no hang."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spmd.common import output

FORMS = pytest.mark.parametrize("form", ["fused", "gang"])


def run(*args: Any, devices: int, form: str, limit: float = 300) -> str:
    words = ["-m", "tests.spmd.storm_worker", *map(str, args)]
    return output(words, devices=devices, form=form, limit=limit)


@FORMS
@pytest.mark.parametrize("devices", [2, 4, 8])
@pytest.mark.parametrize("threads", [1, 4])
def test_two_thousand_launches_in_flight(devices, threads, form):
    assert "2000 launches are right" in run("launches", threads, 2000, devices=devices, form=form)


@FORMS
def test_ten_thousand_launches_in_bounded_memory(form):
    assert "10000 launches" in run("memory", 10_000, devices=4, form=form)


@pytest.mark.parametrize(
    "kind, form",
    [("jit", "fused"), *((k, f) for k in ("pmap", "host", "next") for f in ("fused", "gang"))],
)
def test_ctrl_c_in_a_long_wait(kind, form):
    text = run("interrupt", kind, devices=2, form=form)
    assert "interrupted early" in text and "usable" in text


@FORMS
@pytest.mark.parametrize("threads", [1, 4])
def test_programs_started_by_callbacks(threads, form):
    assert "are right" in run("nested", threads, devices=2, form=form)


@FORMS
def test_errors_among_many_launches(form):
    assert "errors harm nobody" in run("errors", devices=2, form=form)
