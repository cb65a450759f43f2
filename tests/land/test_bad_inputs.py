"""Objects that are not what their layout says: every byte is accounted for, and nothing that is fine is lost."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard

from retable.land.objects.layouts import read_messages
from retable.model.window import SourceObject
from retable.settings.load import Settings
from retable.settings.sources import SourceSettings

FILE = Path(__file__).parent / "bad_inputs.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").split("\n") if line]
MOST = 24 << 20
"""Bytes: one slice of zstd unpacks to 8 MiB at most, and stands twice while it is cut into lines."""


def packed(content: bytes, how: str | None) -> bytes:
    match how:
        case "gzip":
            return gzip.compress(content)
        case "gzip members":
            half = len(content) // 2
            return gzip.compress(content[:half]) + gzip.compress(content[half:])
        case "zstd":
            return zstandard.ZstdCompressor().compress(content)
    return content


def content_of(case: dict[str, Any]) -> bytes:
    """Bytes as text or hex, with `repeat` in place of the sign @; then packed, cut short, or with one byte turned."""
    text = case.get("text", "")
    if "repeat" in case:
        text = text.replace("@", case["repeat"] * case["times"])
    content = bytearray(packed(bytes.fromhex(case["hex"]) if "hex" in case else text.encode(), case.get("pack")))
    if "flip" in case:
        content[case["flip"]] ^= 0xFF
    return bytes(content[: -case["cut"]] if "cut" in case else content)


def source_of(folder: Path, case: dict[str, Any]) -> SourceSettings:
    erp = {"kind": "files", "format": "canal_json", "path": folder, "layout": case["layout"]}
    sources = {"erp": {**erp, "max_message": case.get("max_message", 2000)}}
    settings = Settings.model_validate({"lake": {"catalog": "sqlite:////c.db", "warehouse": "/w"}, "sources": sources})
    return settings.source("erp")


@pytest.mark.parametrize("case", CASES, ids=[f"{case['id']} {case['what']}" for case in CASES])
def test_each_line_of_a_bad_object_is_a_message_or_says_what_is_wrong(case: dict[str, Any], tmp_path: Path) -> None:
    content = content_of(case)
    (tmp_path / "a.jsonl").write_bytes(content)
    source, item = source_of(tmp_path, case), SourceObject(3, "a.jsonl", "", len(content))
    tracemalloc.start()
    try:
        found = list(read_messages(source, item))
        spent = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == len(case["problems"])
    for message, expected in zip(found, case["problems"], strict=True):
        if expected == "none":
            assert message is None
            continue
        assert message is not None
        problem = message.container_problem
        assert (problem is None) == (expected is None)
        assert (expected or "") in (problem or "")
    assert spent < 4 * len(content) + MOST
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
