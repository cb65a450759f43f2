"""Genuine streams of Debezium, decoded whole: the last image of each key is the row that the source has."""

import base64
import gzip
import json
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from formats.debezium_messages import CAPTURES, DEBEZIUM, capture
from retable.ddl.registry import gold_type
from retable.errors import RetableError
from retable.formats.image_text import read_image
from retable.formats.reading import Value, ValueRules, default_reader, value_reader
from retable.formats.registry import decode_message, find_format
from retable.model.event import ChangeEvent
from retable.model.schema import GoldType
from retable.model.sequence import Sequence

Row = dict[str, Any]
Key = tuple[Any, ...]
CHECKPOINTS = {
    "mariadb": ["cp0_preload", "cp1_dml", "cp2_columns", "cp3_types", "cp4_tables", "final"],
    "postgres": ["cp1_dml", "final"],
}
EPOCH = datetime.fromisoformat("1970-01-01")
START = Sequence(0, -1, 0)


def events_of(database: str, schemas: bool) -> list[ChangeEvent]:
    return [event for message in capture(database, schemas) for event in decode_message(message, DEBEZIUM)]


@pytest.fixture(scope="module")
def streams() -> dict[tuple[str, bool], list[ChangeEvent]]:
    return {(name, schemas): events_of(name, schemas) for name in CHECKPOINTS for schemas in (True, False)}


@pytest.mark.parametrize("schemas", [True, False])
def test_every_message_of_mariadb_decodes_to_what_its_operation_says(schemas: bool, streams: Any) -> None:
    assert Counter((event.op, event.op_raw) for event in streams["mariadb", schemas]) == {
        ("INSERT", "c"): 995,
        ("UPDATE", "u"): 370,
        ("DELETE", "d"): 276,
        ("OTHER", "tombstone"): 276,
        ("READ", "r"): 65,
        ("DDL", "snapshot"): 15,
        ("OTHER", "snapshot"): 22,
        ("DDL", "ALTER"): 28,
        ("DDL", "CREATE"): 8,
        ("DDL", "DROP"): 3,
        ("DDL", "DDL"): 5,
        ("HEARTBEAT", "heartbeat"): 9,
    }


@pytest.mark.parametrize("schemas", [True, False])
def test_every_message_of_postgresql_decodes_to_what_its_operation_says(schemas: bool, streams: Any) -> None:
    assert Counter((event.op, event.op_raw) for event in streams["postgres", schemas]) == {
        ("INSERT", "c"): 291,
        ("UPDATE", "u"): 96,
        ("DELETE", "d"): 58,
        ("OTHER", "tombstone"): 58,
        ("READ", "r"): 15,
        ("TRUNCATE", "t"): 2,
        ("HEARTBEAT", "heartbeat"): 10,
    }


@pytest.mark.parametrize("database", CHECKPOINTS)
def test_a_message_says_the_same_without_its_schema_but_for_the_types(database: str, streams: Any) -> None:
    """And but for a key that the defaults of its columns hide."""
    for told, bare in zip(streams[database, True], streams[database, False], strict=True):
        assert bare.column_types is None
        assert (told.column_types is None) == (told.kind != "row")
        assert bare.after == told.after
        assert bare.before == told.before or told.partial_before
        assert (bare.sequence, bare.keys, bare.table_name) == (told.sequence, told.keys, told.table_name)


def test_only_tables_without_any_key_have_a_problem(streams: Any) -> None:
    """PostgreSQL's connector knows no key of a table that was renamed under it."""
    found = Counter((event.table, event.problems) for events in streams.values() for event in events if event.problems)
    assert found == {
        ("events_nopk", ("KEYS_UNKNOWN",)): 2 * 67,
        ("nopk", ("KEYS_UNKNOWN",)): 2 * 20,
        ("orders2", ("KEYS_UNKNOWN",)): 2 * 14,
    }


def test_an_image_is_partial_where_postgresql_did_not_log_all_of_it(streams: Any) -> None:
    """A key alone is told from a whole row by the schema part: it knows the defaults that fill the other columns."""
    schema = truth("postgres", "final", "schema.json.gz")
    full = {name for name, facts in schema.items() if facts["replica_identity"] == "f"}
    for event in streams["postgres", True]:
        if event.before is not None and event.table != "orders2":
            assert event.partial_before == (f"{event.schema}.{event.table}" not in full)
            assert not event.partial_before or read_image(event.before).keys() == set(event.keys or ())
    partial = [event for event in streams["postgres", False] if event.partial_after]
    assert [(event.table, event.address.offset) for event in partial] == [("customers", 37)]
    assert "big" not in read_image(partial[0].after or "")


@pytest.mark.parametrize("database", CHECKPOINTS)
def test_changes_of_one_table_come_in_the_order_of_their_sequences(database: str, streams: Any) -> None:
    last: dict[str, Sequence] = {}
    seen: set[tuple[str, Sequence]] = set()
    for event in streams[database, True]:
        if event.kind == "row":
            table, sequence = str(event.table_name), event.sequence
            assert last.get(table, START) <= sequence
            assert event.op == "READ" or (table, sequence) not in seen
            last[table] = sequence
            seen.add((table, sequence))


def test_a_snapshot_declares_its_tables_before_it_reads_them(streams: Any) -> None:
    declared = {event.table_name: event.sequence for event in streams["mariadb", True] if event.op_raw == "snapshot"}
    for event in streams["mariadb", True]:
        if event.op == "READ":
            assert declared[event.table_name] < event.sequence


# --- the last image of each key, by a fold of its own ----------------------------------------------------------------


class Tables:
    """Rows by table and message key: the event of the last image, or None for a deleted one."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[Key, ChangeEvent | None]] = defaultdict(dict)
        self.bags: dict[str, Counter[str]] = defaultdict(Counter)
        self.changed: dict[str, Sequence] = {}

    def take(self, event: ChangeEvent) -> None:
        table = ".".join(filter(None, (event.schema or event.database, event.table)))
        match event.op:
            case "DDL":
                self._state(event, (event.ddl_text or "").replace("`", ""), table)
            case "TRUNCATE":
                self.rows.pop(table, None)
            case "INSERT" | "UPDATE" | "DELETE" | "READ" if event.keys is None:
                self.bags[table][event.before or ""] -= event.before is not None
                self.bags[table][event.after or ""] += event.after is not None
            case "INSERT" | "UPDATE" | "DELETE" | "READ":
                image = read_image(event.after or event.before or "")
                key = tuple(image[name] for name in event.keys)
                self.rows[table][key] = None if event.op == "DELETE" else event

    def _state(self, event: ChangeEvent, text: str, table: str) -> None:
        if found := re.match(r"(?i)rename table (\S+) to (\S+)|alter table (\S+) rename to (\S+)", text):
            old, new = (name for name in found.groups() if name)
            self.rows[new] = self.rows.pop(old, {})
        elif found := re.match(r"(?i)drop table (?:if exists )?(\S+)", text):
            self.rows.pop(found[1], None)
        elif text.lower().startswith("alter table") and event.sequence is not None:
            self.changed[table] = event.sequence
            if found := re.search(r"(?i)add primary key \((.*?)\)", text):
                live = [row for row in self.rows.pop(table).values() if row is not None]
                keys = found[1].split(", ")
                self.rows[table] = {tuple(read_image(row.after or "")[name] for name in keys): row for row in live}


def tables_at(checkpoint: str, events: list[ChangeEvent]) -> Tables:
    """Fold, in the order of the sequences, what is not behind the marker of a checkpoint."""
    (end,) = (
        event.sequence
        for event in events
        if event.table == "wl_marker" and read_image(event.after or "{}").get("label") == checkpoint
    )
    tables = Tables()
    ordered = [event for event in events if event.sequence is not None and end is not None and event.sequence <= end]
    for event in sorted(ordered, key=lambda event: (event.sequence, event.address.offset)):
        tables.take(event)
    return tables


def truth(database: str, checkpoint: str, file: str) -> Any:
    text = gzip.decompress((CAPTURES / f"truth_{database}" / checkpoint / file).read_bytes()).decode()
    return json.loads(text) if file == "schema.json.gz" else [json.loads(line) for line in text.split("\n") if line]


def read_or_refuse(read: Callable[[str | None], Value], raw_value: str | None) -> object:
    try:
        return read(raw_value)
    except RetableError as error:
        return error.code


LOST_ROWS = {
    "shop.trunc_me": "TRUNCATE is not in the stream",
    "shop.part_t": "DROP and TRUNCATE PARTITION take rows away without an event",
}
LOST_VALUES = {
    ("shop.zero_dates", "d"): "a zero date is null",
    ("shop.zero_dates", "dtm"): "a zero date is null",
    ("shop.zero_dates", "ts"): "a zero timestamp is 1970",
    ("shop.zero_dates", "dn"): "a zero date is 1970 where null is not allowed",
    ("shop.legacy_gbk", "memo"): "text of a converted table is garbled",
    ("shop.legacy_gbk", "lat"): "text of a converted table is garbled",
}


@pytest.mark.parametrize("schemas", [True, False])
@pytest.mark.parametrize("checkpoint", CHECKPOINTS["mariadb"])
def test_the_last_images_are_the_rows_of_mariadb(checkpoint: str, schemas: bool, streams: Any) -> None:
    tables = tables_at(checkpoint, streams["mariadb", schemas])
    compared, lost = 0, set()
    for table, facts in truth("mariadb", checkpoint, "schema.json.gz").items():
        keys = facts["primary_key"] or ["code"]
        if table == "shop.events_nopk":
            continue
        read = {told["name"]: mariadb_reader(told, None) for told in facts["columns"]}
        mine = {
            tuple(str(read[name](read_image(event.after or "")[name])) for name in keys): event
            for event in tables.rows[table].values()
            if event is not None
        }
        theirs = {
            tuple(str(row[name]) for name in keys): row for row in truth("mariadb", checkpoint, f"{table}.jsonl.gz")
        }
        assert theirs.keys() <= mine.keys()
        assert mine.keys() == theirs.keys() or table in LOST_ROWS
        for key, row in theirs.items():
            if mine[key].sequence > tables.changed.get(table, START):
                differing = set(mariadb_differences(facts, mine[key], row))
                compared, lost = compared + len(row), lost | {(table, name) for name in differing}
    assert lost <= LOST_VALUES.keys()
    assert compared > 200


def mariadb_differences(facts: Row, event: ChangeEvent, row: Row) -> Iterator[str]:
    """The columns in which the last image differs from the row, both read as their type in gold."""
    image = read_image(event.after or "")
    for told in facts["columns"]:
        name = told["name"]
        read = mariadb_reader(told, (event.column_types or {}).get(name))
        mine, theirs = read_or_refuse(read, image.get(name)), mariadb_value(row[name], told["column_type"])
        if f"json_valid(`{name}`)" in facts["create"] and mine is not None:
            mine, theirs = json.loads(str(mine)), json.loads(str(theirs))
        if mine != theirs:
            yield name


def mariadb_reader(told: Row, wire: str | None) -> Callable[[str | None], Value]:
    gold = gold_type("mysql", told["column_type"])
    assert gold is not None
    return value_reader("debezium_json", wire, gold, ValueRules(), told["column_type"])


def mariadb_value(shown: Any, declared: str) -> object:
    gold = gold_type("mysql", declared)
    if shown is None or gold is None:
        return None
    if gold.kind == "binary":
        return base64.b64decode(shown)
    return read_or_refuse(default_reader(declared, gold, ValueRules()), str(shown))


@pytest.mark.parametrize("checkpoint", CHECKPOINTS["mariadb"])
def test_the_rows_of_a_table_without_key_are_inserts_minus_deletes(checkpoint: str, streams: Any) -> None:
    bag = tables_at(checkpoint, streams["mariadb", True]).bags["shop.events_nopk"]
    mine = Counter({tuple(read_image(image).values()): count for image, count in bag.items() if image and count})
    theirs = Counter(
        tuple(None if value is None else str(value) for value in row.values())
        for row in truth("mariadb", checkpoint, "shop.events_nopk.jsonl.gz")
    )
    assert theirs <= mine
    assert mine == theirs or checkpoint in ("cp4_tables", "final"), "TRUNCATE is not in the stream"


@pytest.mark.parametrize("checkpoint", CHECKPOINTS["postgres"])
def test_the_rows_of_a_table_without_key_are_those_of_postgresql(checkpoint: str, streams: Any) -> None:
    bag = tables_at(checkpoint, streams["postgres", False]).bags["sales.nopk"]
    mine = Counter({tuple(json.loads(image).values()): count for image, count in bag.items() if image and count})
    assert mine == Counter(tuple(row.values()) for row in truth("postgres", checkpoint, "sales.nopk.jsonl.gz"))


WITHOUT_KEY = {"sales.nopk"}
LOST_TABLES = {("final", "sales.orders"): "it was renamed, made anew, dropped and renamed back, and no event tells"}


@pytest.mark.parametrize("checkpoint", CHECKPOINTS["postgres"])
def test_the_last_images_are_the_rows_of_postgresql(checkpoint: str, streams: Any) -> None:
    tables = tables_at(checkpoint, streams["postgres", True])
    compared, refused = 0, set()
    for table, facts in truth("postgres", checkpoint, "schema.json.gz").items():
        if table in WITHOUT_KEY or (checkpoint, table) in LOST_TABLES:
            continue
        mine = {key: event for key, event in tables.rows[table].items() if event is not None}
        keys = facts["primary_key"]
        theirs = {
            tuple(str(row[name]) for name in keys): row for row in truth("postgres", checkpoint, f"{table}.jsonl.gz")
        }
        assert mine.keys() == theirs.keys()
        for key, row in theirs.items():
            event = mine[key]
            for told in facts["columns"]:
                outcome = postgres_outcome(told, event, row)
                compared += outcome == "equal"
                refused |= {(told["name"], row[told["name"]])} if outcome == "refused" else set()
                assert outcome != "differs", (table, key, told, event.after, row)
    assert {value for _, value in refused} <= {"0044-03-15 BC", "infinity", "-infinity"}
    assert compared > 200


def postgres_outcome(told: Row, event: ChangeEvent, row: Row) -> str:
    name, declared = told["name"], told["type"]
    image, types = read_image(event.after or ""), event.column_types or {}
    if name not in image:
        return "absent"
    wire = types[name]
    gold = find_format("debezium_json").default_type(wire) or GoldType("string")
    assert isinstance(gold, GoldType)
    expect = POSTGRES.get(re.sub(r"\(.*\)", "", declared))
    if expect is None or image[name] is None or (declared == "jsonb" and not wire.endswith("Json")):
        return "other form"
    value = read_or_refuse(value_reader("debezium_json", wire, gold, ValueRules()), image[name])
    if value == "BAD_VALUE":
        return "refused"
    if declared == "numeric":
        # Nothing bounds its digits, so gold keeps it as text.
        value = Decimal(str(value))
    return "equal" if repr(value) == repr(expect(row[name])) or value == expect(row[name]) else "differs"


def micros(shown: str) -> int:
    return (datetime.fromisoformat(shown.removesuffix("+00")) - EPOCH) // timedelta(microseconds=1)


POSTGRES: dict[str, Callable[[Any], object]] = {
    **dict.fromkeys(("smallint", "integer", "bigint", "boolean", "text", "uuid", "xml", "json"), lambda v: v),
    "real": lambda shown: struct.unpack("<f", struct.pack("<f", shown))[0],
    "jsonb": lambda shown: shown,
    "character varying": lambda shown: shown,
    "int4range": lambda shown: shown,
    "double precision": float,
    "numeric": Decimal,
    "date": lambda shown: (date.fromisoformat(shown) - EPOCH.date()).days,
    "timestamp without time zone": micros,
    "timestamp with time zone": micros,
    "time without time zone": lambda shown: shown,
    "bytea": base64.b64decode,
    "bit": lambda shown: int(shown, 2),
    "bit varying": lambda shown: int(shown, 2),
}
