"""A source of Oracle: statements in Oracle's own words between its rows, and gold is the table as Oracle has it."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws.drawing import EXAMPLES, PHASES, SAME
from laws.world import World, make_settings
from retable.model.message import RawMessage

LAW = settings(max_examples=EXAMPLES, phases=PHASES, derandomize=SAME, database=None, deadline=None)
TYPES = {"ID": "LONG", "NAME": "STRING", "TITLE": "STRING", "PRICE": "DOUBLE", "SEEN": "DATE", "NOTE": "STRING"} | {
    "QTY": "LONG",
    "STATE": "STRING",
    "TAG": "BYTES",
    "CODE": "STRING",
}
NOON = 1_767_268_800_000
"""2026-01-01T12:00:00 UTC as DataWorks writes a DATE."""

Message = Callable[[int], RawMessage]


def message(table: str, payload: dict[str, object], columns: list[str], number: int) -> RawMessage:
    """A message of DataWorks about a table of ORCL.HR; `number` is its place in the source's order and in the queue."""
    source = {"dbType": "Oracle", "dbName": "ORCL", "schemaName": "HR", "tableName": table}
    listed = [{"name": name, "type": TYPES[name]} for name in columns]
    document = {
        "schema": {"dataColumn": listed or None, "primaryKey": ["ID"] if listed else None, "source": source},
        "payload": {"sequenceId": str(1_000 + number), "timestamp": {"eventTime": NOON, "systemTime": NOON}} | payload,
        "version": "0.0.1",
    }
    return RawMessage("erp", 0, number, NOON, None, json.dumps(document).encode())


def statement(text: str, op: str = "ALTER", table: str = "ORDERS") -> Message:
    return lambda number: message(table, {"op": op, "ddl": {"text": text}}, [], number)


def row(op: str, table: str = "ORDERS", before: dict[str, object] | None = None, **after: object) -> Message:
    images = {"before": before and {"dataColumn": before}, "after": {"dataColumn": after} if after else None}
    return lambda number: message(table, {"op": op, **images}, list(after or before or {}), number)


STORY = [
    statement(
        'CREATE TABLE "HR"."ORDERS" ("ID" NUMBER(9,0) GENERATED ALWAYS AS IDENTITY NOT NULL ENABLE, NAME VARCHAR2(20), '
        "PRICE NUMBER(8,2), SEEN DATE DEFAULT SYSDATE, NOTE CLOB, CONSTRAINT ORDERS_PK PRIMARY KEY (ID)) PCTFREE 9",
        "CREATE",
    ),
    row("INSERT", ID=1, NAME="one", PRICE=1.5, SEEN=NOON, NOTE="n1"),
    row("INSERT", ID=2, NAME="two", PRICE=22.25, SEEN=NOON, NOTE="n2"),
    statement("ALTER TABLE hr.orders ADD (qty NUMBER(5) DEFAULT 1 NOT NULL, state CHAR(5) DEFAULT q'[it's]')"),
    row("INSERT", ID=3, NAME="three", PRICE=3, SEEN=None, NOTE=None, QTY=7, STATE="open "),
    statement("COMMENT ON COLUMN orders.qty IS 'how many; DROP TABLE orders'"),
    statement('CREATE UNIQUE INDEX "HR"."I" ON "HR"."ORDERS" (UPPER(name)) ONLINE', "CINDEX"),
    statement("ALTER TABLE orders RENAME COLUMN name TO title"),
    statement("ALTER TABLE orders MODIFY (price NUMBER(12,2), title VARCHAR2(100 CHAR) NOT NULL)"),
    row(
        "UPDATE",
        before={"ID": 3, "TITLE": "three", "PRICE": 3, "SEEN": None, "NOTE": None, "QTY": 7, "STATE": "open "},
        ID=3,
        TITLE="III",
        PRICE=1234567890.12,
        SEEN=NOON,
        NOTE="n3",
        QTY=7,
        STATE="open ",
    ),
    statement("ALTER TABLE orders SET UNUSED (note) CASCADE CONSTRAINTS"),
    statement("ALTER TABLE orders DROP UNUSED COLUMNS CHECKPOINT 100"),
    statement("ALTER TABLE orders ADD note VARCHAR2(9)"),
    row("INSERT", ID=4, TITLE="four", PRICE=4, SEEN=NOON, QTY=1, STATE="new  ", NOTE="again"),
    row(
        "DELETE",
        before={"ID": 2, "TITLE": "two", "PRICE": 22.25, "SEEN": NOON, "QTY": 1, "STATE": "it's "} | {"NOTE": None},
    ),
    statement("RENAME orders TO purchases", "RENAME", "PURCHASES"),
    row("INSERT", "PURCHASES", ID=5, TITLE="five", PRICE=5, SEEN=NOON, QTY=2, STATE="new  ", NOTE=None),
    statement(
        "create table orders (id NUMBER(9) primary key, code VARCHAR2(5), tag RAW(4) default hextoraw('FF'))", "CREATE"
    ),
    row("INSERT", ID=1, CODE="a", TAG="/w=="),
    statement("TRUNCATE TABLE orders DROP STORAGE", "TRUNCATE"),
    row("INSERT", ID=1, CODE="b", TAG="AP8="),
    statement("ALTER TABLE orders ADD \"Seen\" TIMESTAMP(6) DEFAULT TIMESTAMP '2026-01-01 00:00:00' NOT NULL"),
    statement("CREATE GLOBAL TEMPORARY TABLE scratch (id NUMBER) ON COMMIT PRESERVE ROWS", "CREATE", "SCRATCH"),
]

TWELVE = "2026-01-01T12:00:00.000000"
GOLD = {
    "gold_orcl__hr.purchases": [
        {"id": "1", "title": "one", "price": "1.50", "seen": TWELVE, "qty": "1", "state": "it's ", "note": None},
        {
            "id": "3",
            "title": "III",
            "price": "1234567890.12",
            "seen": TWELVE,
            "qty": "7",
            "state": "open ",
            "note": None,
        },
        {"id": "4", "title": "four", "price": "4.00", "seen": TWELVE, "qty": "1", "state": "new  ", "note": "again"},
        {"id": "5", "title": "five", "price": "5.00", "seen": TWELVE, "qty": "2", "state": "new  ", "note": None},
    ],
    "gold_orcl__hr.orders": [{"id": "1", "code": "b", "tag": "AP8=", "seen": "2026-01-01T00:00:00.000000"}],
}
"""What Oracle shows at the end; columns in their order."""


def world() -> World:
    return World(make_settings("streamx_json"))


def shown(found: World) -> dict[str, list[dict[str, object]]]:
    assert [gold.hold for gold in found.gold().values()] == [None, None]
    return {name: [json.loads(row) for row in gold.rows] for name, gold in found.gold().items()}


def cut(story: list[Message], cuts: list[int]) -> Iterator[list[RawMessage]]:
    messages = [told(number) for number, told in enumerate(story)]
    for start, end in pairwise([0, *cuts, len(messages)]):
        yield messages[start:end]


@given(st.lists(st.integers(1, len(STORY) - 1), max_size=5, unique=True).map(sorted))
@LAW
def test_statements_in_oracles_words_change_gold_at_their_place_however_the_stream_is_cut(cuts: list[int]) -> None:
    found = world()
    for messages in cut(STORY, cuts):
        found.replay(found.deliver(messages))
    assert shown(found) == GOLD
    assert {name: list(gold.columns) for name, gold in found.gold().items()} == {n: list(r[0]) for n, r in GOLD.items()}


def test_messages_of_a_window_may_come_in_any_order() -> None:
    found = world()
    (messages,) = cut(STORY, [])
    found.replay(found.deliver(messages[::-1]))
    assert shown(found) == GOLD


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE orders EXCHANGE PARTITION p WITH TABLE staging",
        "ALTER TABLE orders DISABLE PRIMARY KEY",
        "ALTER TABLE orders ADD total NUMBER GENERATED ALWAYS AS (price * qty) VIRTUAL",
        "ALTER TABLE orders ADD place MDSYS.SDO_GEOMETRY",
        "FLASHBACK TABLE orders TO BEFORE DROP",
        "ALTER TABLE orders FROBNICATE",
    ],
)
def test_what_is_not_replayed_holds_its_table_at_its_place(text: str) -> None:
    kept = STORY[:10]
    found = world()
    messages = [told(number) for number, told in enumerate([*kept, statement(text), *STORY[10:15]])]
    found.replay(found.deliver(messages))
    at_rest = world()
    at_rest.replay(at_rest.deliver(next(cut(kept, []))))
    gold, before = (each.gold()["gold_orcl__hr.orders"] for each in (found, at_rest))
    assert gold.hold is not None
    assert (gold.columns, gold.rows) == (before.columns, before.rows)
    assert gold.hold.statement == text
