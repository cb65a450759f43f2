"""The benchmark of the decoder still finds messages of every format. What it measures is no test."""

import runpy
from pathlib import Path

import pytest

from retable.formats.registry import FORMATS

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "decode.py"))


@pytest.mark.parametrize("name", FORMATS)
def test_there_are_messages_to_measure(name: str, tmp_path: Path) -> None:
    context = BENCH["_context"](BENCH["write_project"](name, tmp_path))
    assert BENCH["messages_of"](name, context)
