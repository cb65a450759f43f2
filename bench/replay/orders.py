"""Make a table of orders and random changes of it, as typed rows and as messages. Equal seeds give equal changes.

A row is computed from its key and its version, by SQL or by numpy, so that only versions are stored.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

import msgspec
import numpy as np
import pyarrow as pa

COLUMNS = ("id", "customer", "status", "amount", "created", "note")
CREATE = (
    "CREATE TABLE `{table}` (id BIGINT NOT NULL, customer BIGINT, status VARCHAR(16), amount DECIMAL(12,2), "
    "created DATETIME(3), note VARCHAR(32), PRIMARY KEY (id))"
)
BASE = """
SELECT id, (id * 7919) % 1000003 AS customer,
  element_at(array('new', 'paid', 'packed', 'sent', 'returned'), CAST(id % 5 AS INT) + 1) AS status,
  CAST(CAST((id * 2654435761) % 1000000000 AS DECIMAL(12,0)) / 100 AS DECIMAL(12,2)) AS amount,
  CAST(timestamp_millis(1600000000000 + id * 137) AS TIMESTAMP_NTZ) AS created,
  lower(concat(lpad(hex((id * 2654435761) % 4294967296), 8, '0'), lpad(hex((id * 2246822519) % 4294967296), 8, '0')))
    AS note
FROM range({start}, {end}, 1, {files})
"""
"""A query for rows of version 0 with keys from `start` to `end`. Each of `files` files has adjacent keys."""

TYPED = pa.schema(
    {
        "op": pa.string(),
        "position": pa.int64(),
        "id": pa.int64(),
        "customer": pa.int64(),
        "status": pa.string(),
        "amount": pa.decimal128(12, 2),
        "created": pa.timestamp("us"),
        "note": pa.string(),
    }
)
_STATUS = ("new", "paid", "packed", "sent", "returned")
_FIRST_MS = 1_600_000_000_000
_NOW_MS = 1_772_323_200_000
_GONE = -1
_WIRE = dict(zip(COLUMNS, ("LONG", "LONG", "STRING", "DOUBLE", "DATE", "STRING"), strict=True))
_OPS = {"U": "UPDATE_AFTER", "I": "INSERT", "D": "DELETE"}
Row = tuple[int, int, str, int, int, str]


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of one table in source order. `before` and `after` are row versions; -1 means that there is no row."""

    ops: list[str]
    ids: np.ndarray
    before: np.ndarray
    after: np.ndarray

    def __len__(self) -> int:
        return len(self.ops)

    def rows_after(self) -> list[Row | None]:
        return rows(self.ids, self.after)

    def typed(self) -> pa.Table:
        """Return the changes as typed columns, in order, for contestants that do not decode messages."""
        found = self.rows_after()
        columns = list(zip(*(row or (None,) * len(COLUMNS) for row in found), strict=True))
        columns[0] = tuple(self.ids.tolist())
        arrays = {
            "op": self.ops,
            "position": range(len(self)),
            **dict(zip(COLUMNS, columns, strict=True)),
            "amount": [None if cents is None else Decimal(cents).scaleb(-2) for cents in columns[3]],
            "created": pa.array(columns[4], pa.int64()).cast(pa.timestamp("ms")).cast(pa.timestamp("us")),
        }
        return pa.table({name: arrays[name] for name in TYPED.names}, schema=TYPED)


def rows(ids: np.ndarray, versions: np.ndarray) -> list[Row | None]:
    """Return the rows of these keys and versions. Amounts are in hundredths, times in epoch milliseconds."""
    customer = (ids * 7919 + versions) % 1_000_003
    status = (ids + versions) % len(_STATUS)
    amount = (ids * 2_654_435_761 + versions * 40_503) % 1_000_000_000
    created = _FIRST_MS + ids * 137
    high = (ids * 2_654_435_761 + versions * 65_537) % (1 << 32)
    low = (ids * 2_246_822_519 + versions * 92_821) % (1 << 32)
    parts = zip(*(each.tolist() for each in (ids, customer, status, amount, created, high, low, versions)), strict=True)
    return [
        None if version == _GONE else (key, who, _STATUS[state], cents, at, f"{left:08x}{right:08x}")
        for key, who, state, cents, at, left, right, version in parts
    ]


@dataclass(slots=True)
class Orders:
    """The version of each key of one table. Its methods make changes and raise the versions."""

    database: str
    table: str
    seed: int
    versions: np.ndarray
    batches: int = 0
    _dice: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._dice = np.random.default_rng(self.seed)

    @classmethod
    def of(cls, database: str, table: str, count: int, seed: int) -> "Orders":
        return cls(database, table, seed, np.zeros(count, np.int16))

    def change(self, count: int, newest: float = 1.0) -> Changes:
        """Return `count` changes of different keys: half are updates, a quarter deletes, a quarter inserts.

        Updates and deletes choose only from the newest keys. `newest` is their share of all keys, from 0 to 1.
        """
        first = int(len(self.versions) * (1 - newest))
        alive = np.flatnonzero(self.versions[first:] != _GONE) + first
        touched = self._dice.choice(alive, count * 3 // 4, replace=False)
        inserts = count - len(touched)
        start = len(self.versions)
        self.versions = np.concatenate([self.versions, np.full(inserts, _GONE, np.int16)])
        ids = np.concatenate([touched, np.arange(start, start + inserts)])
        ops = np.array(["U"] * (count // 2) + ["D"] * (len(touched) - count // 2) + ["I"] * inserts)
        order = self._dice.permutation(count)
        return self._take(ids[order], ops[order])

    def load(self) -> Changes:
        """Return an insert for each row of a new table."""
        count = len(self.versions)
        return Changes(["I"] * count, np.arange(count), np.full(count, _GONE), np.zeros(count, np.int64))

    def rewrite(self, count: int) -> Changes:
        """Return `count` updates of random keys of a new table, so that each key changes many times."""
        ids = self._dice.integers(0, len(self.versions), count)
        order = np.argsort(ids, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(ids[order]) > 0])
        turns = np.arange(count) - np.repeat(starts, np.diff(np.r_[starts, count]))
        after = np.empty(count, np.int64)
        after[order] = turns + 1
        np.maximum.at(self.versions, ids, after.astype(np.int16))
        return Changes(["U"] * count, ids, after - 1, after)

    def _take(self, ids: np.ndarray, ops: np.ndarray) -> Changes:
        self.batches += 1
        before = self.versions[ids].astype(np.int64)
        after = np.where(ops == "D", _GONE, self.batches)
        self.versions[ids] = after
        return Changes(ops.tolist(), ids, before, after)

    def create(self, position: int) -> str:
        """Return the message of the table's CREATE TABLE statement, at this binlog position."""
        source = {"dbType": "MySQL", "dbName": self.database, "tableName": self.table}
        schema = {"dataColumn": None, "primaryKey": None, "source": source}
        ddl = {"text": CREATE.format(table=self.table), "ddlMeta": ""}
        payload = {"before": None, "after": None, "sequenceId": str(position), "timestamp": _STAMP, "op": "CREATE"}
        return _text({"schema": schema, "payload": {**payload, "ddl": ddl}, "version": "0.0.1"})

    def messages(self, changes: Changes, position: int) -> Iterator[str]:
        """Yield the changes as DataWorks writes them, each in one message, from the binlog position `position` on."""
        columns = [{"name": name, "type": kind} for name, kind in _WIRE.items()]
        source = {"dbType": "MySQL", "dbName": self.database, "tableName": self.table}
        schema = _text({"dataColumn": columns, "primaryKey": ["id"], "source": source})
        stamp = _text(_STAMP)
        images = zip(changes.ops, rows(changes.ids, changes.before), changes.rows_after(), strict=True)
        for number, (op, before, after) in enumerate(images, position):
            yield (
                f'{{"schema":{schema},"payload":{{"before":{_image(before)},"after":{_image(after)},'
                f'"sequenceId":"{number}","timestamp":{stamp},"op":"{_OPS[op]}","ddl":null}},"version":"0.0.1"}}'
            )


_STAMP = {"eventTime": _NOW_MS, "systemTime": _NOW_MS + 900, "checkpointTime": _NOW_MS}


def _image(row: Row | None) -> str:
    if row is None:
        return "null"
    key, customer, status, cents, created, note = row
    return (
        f'{{"dataColumn":{{"id":{key},"customer":{customer},"status":"{status}",'
        f'"amount":"{cents // 100}.{cents % 100:02d}","created":{created},"note":"{note}"}}}}'
    )


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
