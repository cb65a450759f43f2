"""What is particular to a format: its messages have the parts of the vendors' own, and say what those would."""

import io
import json
import random
from pathlib import Path
from typing import Any

import fastavro
import pytest

from retable.formats.dts.record import SCHEMA
from retable.land.objects.files import list_objects
from retable.land.objects.layouts import read_messages
from retable.model.window import SourceObject
from retable.settings.sources import FilesSource
from retable.simulate import (
    FORMATS,
    ROW_KINDS,
    History,
    Message,
    debezium_json,
    deliver,
    dts_avro,
    shareplex_json,
    simulate,
    write_objects,
)
from retable.simulate.history import RowChange

GOLDEN = Path(__file__).parents[1] / "golden"


def history_of(name: str, seed: int = 5) -> History:
    known = FORMATS[name]
    return known.as_source(simulate(random.Random(seed), 80, kinds=known.kinds, loaded=known.loaded))


def messages_of(name: str, seed: int = 5) -> tuple[Message, ...]:
    stream = FORMATS[name].write(history_of(name, seed))
    assert stream.by_offset == FORMATS[name].by_offset
    return stream.messages


def read(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(message.value or "")
    return found


def golden(name: str, case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / name / f"{case}.message.json").read_text(encoding="utf-8"))
    return found


def shape(part: Any, deep: int) -> Any:
    """The names of a message's parts, down to a depth."""
    return {name: shape(inner, deep - 1) for name, inner in part.items()} if deep and isinstance(part, dict) else None


@pytest.mark.parametrize(
    ("name", "case", "deep", "kind"),
    [
        ("datahub_blob", "0004_vendor_delete", 1, "row"),
        ("datahub_blob", "0006_vendor_alter_ddl", 2, "statement"),
        ("lindorm_debezium", "0003_vendor_update", 2, "row"),
        ("shareplex_json", "0014_trap_key_change", 1, "row"),
    ],
)
def test_a_message_has_the_parts_of_a_vendors_message(name: str, case: str, deep: int, kind: str) -> None:
    wanted = shape(golden(name, case), deep)
    seen = [shape(read(message), deep) for message in messages_of(name) if message.kind == kind]
    assert any(_has(each, wanted) for each in seen), (wanted, seen[:1])


def _has(seen: Any, wanted: Any) -> bool:
    """Whether all parts are there; more may be, and the columns are the tables' own."""
    if not isinstance(wanted, dict):
        return True
    return isinstance(seen, dict) and all(
        name in ("before", "after") or (name in seen and _has(seen[name], inner)) for name, inner in wanted.items()
    )


def test_a_change_of_debezium_has_the_parts_of_a_genuine_one() -> None:
    genuine = golden("debezium_json", "0020_mariadb_read_with_schema")
    mine = next(read(message) for message in messages_of("debezium_json") if message.kind == "row" and message.value)
    assert mine["payload"].keys() == genuine["payload"].keys()
    assert mine["payload"]["source"].keys() == genuine["payload"]["source"].keys()
    assert names_in(mine["schema"]) == names_in(genuine["schema"])


def names_in(schema: dict[str, Any]) -> list[tuple[str, set[str]]]:
    """The parts of a schema, and the names in those that are not of the row."""
    return [
        (part["field"], set() if part["field"] in ("before", "after") else {f["field"] for f in part.get("fields", ())})
        for part in sorted(schema["fields"], key=lambda part: str(part["field"]))
    ]


def test_a_changed_key_is_a_delete_a_tombstone_and_a_create_at_one_place_in_debezium() -> None:
    history = simulate(random.Random(3), 60, kinds=("insert", "change_key"))
    moved = next(
        entry
        for entry in history.entries
        if isinstance(entry, RowChange) and entry.keys and entry.before is not None and entry.after is not None
    )
    three = [m for m in debezium_json.write(history).messages if m.kind == "row" and m.position == moved.position]
    assert [None if m.value is None else read(m)["payload"]["op"] for m in three] == ["d", None, "c"]
    assert three[0].key == three[1].key != three[2].key
    places = [[read(m)["payload"]["source"][name] for name in ("file", "pos", "row")] for m in three if m.value]
    assert places[0] == places[1]


def test_positions_of_debezium_rise_over_all_binlog_files() -> None:
    sources = [
        read(message)["payload"]["source"]
        for message in messages_of("debezium_json")
        if message.kind in ("row", "statement") and message.value
    ]
    places = [(source["file"], source["pos"], source["row"]) for source in sources]
    assert places == sorted(places)
    assert len({file for file, _, _ in places}) > 1
    assert max(row for _, _, row in places) > 0


def test_an_update_of_shareplex_has_only_what_changed_and_the_key() -> None:
    history = history_of("shareplex_json")
    changes = {entry.position: entry for entry in history.entries if isinstance(entry, RowChange)}
    updates = [
        (changes[message.position], read(message))
        for message in shareplex_json.write(history).messages
        if message.kind == "row" and read(message)["meta"]["op"] == "upd"
    ]
    assert updates
    for change, update in updates:
        cells = zip(change.columns, change.before or (), change.after or (), strict=True)
        changed = {column.name for column, before, after in cells if before != after}
        assert update["data"].keys() == changed
        assert update["key"].keys() == changed | set(change.keys)


def test_a_history_of_oracle_has_no_empty_text() -> None:
    history = history_of("shareplex_json")
    rows = [row for table in history.truth().tables.values() for row in table.rows.values()]
    assert not [row for row in rows if "" in row or b"" in row]


def test_the_library_of_avro_reads_the_records_of_dts_to_their_ends() -> None:
    whole = json.loads(SCHEMA)
    fields = [part for part in whole["fields"] if part["name"] != "bornTimestamp"]
    schema = fastavro.parse_schema(whole | {"fields": fields})
    operations = set()
    for message in dts_avro.write(simulate(random.Random(2), 80, kinds=FORMATS["dts_avro"].kinds)).messages:
        assert isinstance(message.value, bytes)
        stream = io.BytesIO(message.value)
        record = fastavro.schemaless_reader(stream, schema, None)
        assert isinstance(record, dict)
        assert stream.read() == b""
        operations.add(record["operation"])
    assert operations == {"INIT", "INSERT", "UPDATE", "DELETE", "DDL", "BEGIN", "COMMIT", "HEARTBEAT"}


@pytest.mark.parametrize("name", FORMATS)
def test_keys_values_and_headers_are_read_from_a_dump_as_they_were_written(name: str, tmp_path: Path) -> None:
    stream = FORMATS[name].write(simulate(random.Random(1), 20, kinds=ROW_KINDS, loaded=FORMATS[name].loaded))
    write_objects(deliver(stream, random.Random(1)), tmp_path)
    facts = {"name": "shop", "kind": "files", "format": name, "path": tmp_path, "layout": "kafka_dump"}
    source = FilesSource.model_validate({**facts, **FORMATS[name].source})
    found = [
        message
        for item in sorted(list_objects(source), key=lambda item: item.key)
        for message in read_messages(source, SourceObject(0, item.key, "", item.size))
        if message is not None
    ]
    assert not any(message.container_problem for message in found)
    assert [(m.key, m.value, m.headers) for m in found] == [
        (
            None if m.key is None else m.key.encode(),
            m.value.encode() if isinstance(m.value, str) else m.value,
            tuple((header, text.encode()) for header, text in m.headers),
        )
        for m in stream.messages
    ]
