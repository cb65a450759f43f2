"""Write the messages of the demo's sources: a genuine change log, split into files of one hour, and a shop."""

import gzip
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import demo_shop

ROOT = Path(__file__).resolve().parent.parent
STREAM = ROOT / "tests" / "captures" / "canal_mariadb.jsonl.gz"
TRUTH = ROOT / "tests" / "captures" / "truth_mariadb"
FOLDER = ROOT / "var" / "demo"
SETTINGS = FOLDER / "retable.toml"
SOURCE = "demo"

HOURS = ("cp1_dml", "cp3_types", "final")
"""The checkpoints of the log at which the hours end. The last hour also has all messages after its checkpoint."""


def prepare() -> Path:
    """Write the messages of both sources and the settings that read them. Return the path of the settings.

    The newest hour of both sources is the last full hour before now. If the settings exist, nothing is written.
    """
    if not SETTINGS.exists():
        now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        first, shop_first = (now - timedelta(hours=hours) for hours in (len(HOURS), demo_shop.HOURS))
        landing = FOLDER / "landing"
        landing.mkdir(parents=True)
        with gzip.open(STREAM, "rt", encoding="utf-8", newline="\n") as stream:
            for number, lines in enumerate(cut(stream, HOURS)):
                hour = first + timedelta(hours=number)
                (landing / f"{hour:%Y-%m-%dT%H}.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")
        demo_shop.write_landing(FOLDER / "landing_shop", shop_first)
        template = (ROOT / "infra" / "settings" / "demo.toml").read_text(encoding="utf-8")
        for place, time in (("{start}", first), ("{shop_start}", shop_first)):
            template = template.replace(place, f"{time:%Y-%m-%dT%H:%MZ}")
        SETTINGS.write_text(template, encoding="utf-8")
    return SETTINGS


def cut(stream: Iterable[str], checkpoints: Iterable[str]) -> Iterator[list[str]]:
    """Split a stream after the marker row of each checkpoint. The last part has all lines up to the end."""
    lines = iter(stream)
    *earlier, _ = checkpoints
    for checkpoint in earlier:
        part = []
        for line in lines:
            part.append(line)
            if _marks(line, checkpoint):
                break
        yield part
    yield list(lines)


def _marks(line: str, checkpoint: str) -> bool:
    if checkpoint not in line:
        return False
    change = json.loads(json.loads(line)["value"])
    return change["table"] == "wl_marker" and any(row.get("label") == checkpoint for row in change["data"] or ())
