"""One workload of one MariaDB, as Canal and as DTS encoded it: one gold."""

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from laws.world import Gold, World, make_settings
from retable.formats.context import DecodeContext
from retable.formats.registry import decode_message
from retable.model.message import RawMessage

CAPTURES = Path(__file__).parents[1] / "captures"
FILES = {"canal_json": "canal_mariadb.jsonl.gz", "dts_avro": "dts_avro.jsonl.gz"}
ZERO_DATES = {"shop.zero_dates": {"zero_date": "string"}}
LAST = "END"


def messages(source_format: str) -> Iterator[RawMessage]:
    with gzip.open(CAPTURES / FILES[source_format], "rt", encoding="utf-8") as file:
        for record in map(json.loads, file):
            text, octets = record.get("value"), record.get("value_base64")
            value = base64.b64decode(octets) if text is None else text.encode()
            yield RawMessage(record["topic"], record["partition"], record["offset"], record["timestamp"], None, value)


def windows(source_format: str) -> Iterator[list[RawMessage]]:
    """The stream cut behind every row of shop.wl_marker, of which the last one ends what both have."""
    window: list[RawMessage] = []
    for message in messages(source_format):
        window.append(message)
        for event in decode_message(message, DecodeContext(source_format=source_format)):
            if event.table == "wl_marker" and event.op == "INSERT":
                yield window
                window = []
                if LAST in (event.after or ""):
                    return


def gold_of(source_format: str) -> dict[str, Gold]:
    world = World(make_settings(source_format, ZERO_DATES))
    for window in windows(source_format):
        world.replay(world.deliver(window))
    return world.gold()


def test_canal_and_dts_give_one_gold_but_for_what_each_loses() -> None:
    canal, dts = gold_of("canal_json"), gold_of("dts_avro")
    assert canal.keys() == dts.keys()
    unequal = {name for name in canal if (canal[name].columns, canal[name].rows) != (dts[name].columns, dts[name].rows)}
    assert unequal == {"gold_shop.geo", "gold_shop.legacy_gbk"}
    assert {name for name, table in canal.items() if table.hold} == {name for name, table in dts.items() if table.hold}
    assert len(canal["gold_shop.all_types"].rows) > 30
    assert dts["gold_shop.legacy_gbk"].rows == ()
    for ours, theirs in zip(dts["gold_shop.geo"].rows, canal["gold_shop.geo"].rows, strict=True):
        shape, with_srid = json.loads(ours), json.loads(theirs)
        for column in ("p", "g"):
            assert b"\0\0\0\0" + base64.b64decode(shape[column]) == base64.b64decode(with_srid[column])
