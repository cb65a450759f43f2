"""A genuine stream as windows: Canal reading a MariaDB, cut at its checkpoints or wherever a test wants."""

import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

CAPTURES = Path(__file__).parent / "captures"
CANAL = CAPTURES / "canal_mariadb.jsonl.gz"
TRUTH = CAPTURES / "truth_mariadb"
CHECKPOINTS = ("cp0_preload", "cp1_dml", "cp2_columns", "cp3_types", "cp4_tables", "final")

SOURCE = """
[sources.erp]
kind = "files"
format = "canal_json"
path = "{folder}"
layout = "kafka_dump"
hour = '(\\d{{4}}-\\d{{2}}-\\d{{2}}T\\d{{2}})'
"""


def canal_lines() -> list[str]:
    """The lines of the stream, one Kafka record each."""
    with gzip.open(CANAL, "rt", encoding="utf-8") as file:
        return file.read().removesuffix("\n").split("\n")


def checkpoint_cuts(lines: Sequence[str]) -> list[int]:
    """Where the windows end: behind the row of shop.wl_marker that names each checkpoint."""
    ends = {}
    for number, line in enumerate(lines):
        value = json.loads(json.loads(line)["value"])
        if value["table"] == "wl_marker" and value["type"] == "INSERT":
            ends[value["data"][0]["label"]] = number + 1
    return [ends[checkpoint] for checkpoint in CHECKPOINTS]


def write_objects(lines: Sequence[str], cuts: Sequence[int], folder: Path) -> list[str]:
    """Write the stream as one object an hour, cut behind these lines; gives the names of the windows."""
    folder.mkdir(parents=True, exist_ok=True)
    bounds = [0, *[cut for cut in cuts if 0 < cut < len(lines)], len(lines)]
    names = []
    for hour, (start, end) in enumerate(pairwise(bounds)):
        day, of_day = divmod(hour, 24)
        stamp = f"2026-03-{day + 1:02}T{of_day:02}"
        (folder / f"erp-{stamp}.jsonl").write_text("".join(f"{line}\n" for line in lines[start:end]), encoding="utf-8")
        names.append(f"202603{day + 1:02}T{of_day:02}00Z")
    return names
