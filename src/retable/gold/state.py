"""The state of a gold table. It is stored in table properties, which are committed together with the rows."""

import json
from dataclasses import dataclass, field, replace
from typing import Any, cast

from retable.ledger.rows import TableState
from retable.model.event import TableName
from retable.model.schema import GoldType, parse_gold_type
from retable.model.sequence import Sequence, parse_sequence
from retable.schema_history.history import Hold, TableHistory
from retable.schema_history.shards.parts import SHARD_ID, shard_of, source_part
from retable.schema_history.traced import InferredColumn

PREFIX = "retable."
RUN_PROPERTY = f"{PREFIX}run"
FLOOR_PROPERTY = f"{PREFIX}floor"
HEAD_PROPERTY = f"{PREFIX}head"
"""Property name. Its value is the id and the sequence number of main's snapshot at Retable's last write of rows."""
SEQUENCE_COLUMN = "_retable_sequence"
KEEP_APPLIED = 400


@dataclass(frozen=True, slots=True)
class GoldColumn:
    """A column of a gold table, as recorded in the table's state.

    `id` is its identity (an ID that a rename does not change), `field_id` its ID in Iceberg. `name` is its name in the
    source, and `gold` in the gold table. `default` is the text of the value in rows that are older than the column.
    """

    id: str
    field_id: int
    name: str
    gold: str
    source_type: str | None
    type: GoldType
    default: str | None


@dataclass(frozen=True, slots=True)
class RetentionFloor:
    """Says which row events of a table retention dropped from silver.

    `dropped` has, by source partition, the highest sequence (position in the source's order) of a dropped row. Silver
    has all rows above it. `through` is the number of a window: gold has all rows that arrived up to this window.
    `partial` says whether some of the dropped rows had only some of their columns.
    """

    dropped: dict[str, Sequence]
    through: int
    partial: bool = False

    def covers(self, part: str | None, sequence: Sequence) -> bool:
        """Return whether retention may have dropped a row of the source partition `part` above this sequence."""
        last = self.dropped.get(part or "")
        return last is not None and sequence < last

    def reaches(self, part: str | None, sequence: Sequence) -> bool:
        """Return whether retention may have dropped a row of the partition `part` at or above this sequence."""
        last = self.dropped.get(part or "")
        return last is not None and sequence <= last

    def above(self, truncated_at: Sequence | None) -> "RetentionFloor | None":
        """Return the floor without the dropped rows below the truncation point `truncated_at`: these do not count.

        Return None if no other row was dropped. If `truncated_at` is None, the floor stays as it is.
        """
        dropped = {part: last for part, last in self.dropped.items() if truncated_at is None or last >= truncated_at}
        return replace(self, dropped=dropped) if dropped else None


@dataclass(frozen=True, slots=True)
class ShardState:
    """The recorded state of one shard: one of several source tables whose rows go into one gold table.

    `truncated_at` is the shard's last truncation point. `reassigned` is for columns that were created with another name
    than their gold column, and renamed later. It maps the ID of the shard's column (`Column.id`) to the gold column's.
    """

    table: TableName
    truncated_at: Sequence | None
    reassigned: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldState:
    """The state of one gold table: what a replay must know about the table before it changes it.

    - `identity`: an ID of the table that a rename does not change. `table`: its name in the source.
    - `applied`: for each of the last windows, a digest of the rows and settings that were replayed.
    - `high_water`: for each source partition, the greatest sequence (position of a change) in gold.
    - `truncated_at`: the position of the last TRUNCATE, DROP or CREATE TABLE. Older rows do not count.
    - `changes`: the positions of the DDL statements from which the table's schema results.
    - `horizon`: the number of the last window whose DDL statements were read.
    - `pending`: the sequences of updates of which only one of two messages has come, each with its window.
    - `floor`: which rows retention dropped from silver.
    - `inferred`: the undeclared columns. `typing`: a digest of the settings that gave them their types.
    - `keys_are_set`: whether the settings name the `keys`.
    - `shards`: by identity, the source tables that go into the gold table, if there are several.
    - `clashes`: how many keys have rows of more than one shard, if readers do not see the shard of a row.
    - `debts`: for a table without a key, the number of deletes whose insert has not come yet; None if not counted.
    - `gathered`: other gold tables that have, or had, rows of this table. By the identity of each, a digest of what was
      replayed into it before. If its digest now differs, this table lacks some of these rows.
    - `is_set_back` (not stored): main was rolled back, so rows are missing.
    - `is_unread` (not stored): the table's metadata is lost or unreadable, so only its row in ops.tables is known.
    """

    source: str
    identity: str
    table: TableName
    state: TableState = "live"
    columns: tuple[GoldColumn, ...] = ()
    keys: tuple[str, ...] = ()
    high_water: dict[str, Sequence] = field(default_factory=dict)
    applied: dict[str, str] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    inferred: tuple[InferredColumn, ...] = ()
    pending: dict[str, str] = field(default_factory=dict)
    truncated_at: Sequence | None = None
    hold: Hold | None = None
    horizon: int = -1
    floor: RetentionFloor | None = None
    typing: str = ""
    keys_are_set: bool = False
    shards: dict[str, ShardState] = field(default_factory=dict)
    clashes: int = 0
    debts: int | None = None
    gathered: dict[str, str] = field(default_factory=dict)
    is_set_back: bool = False
    is_unread: bool = False

    @property
    def names(self) -> set[TableName]:
        """The recorded source name of the table, and the names of its shards (source tables that go into it)."""
        return {self.table, *(shard.table for shard in self.shards.values())}

    def has_shards_of(self, history: TableHistory) -> bool:
        """Return whether `history` has all recorded shards, with the same names and reassigned columns."""
        now = {each.history.identity: (each.history.name, each.reassigned) for each in history.shards}
        return all(now.get(identity) == (shard.table, shard.reassigned) for identity, shard in self.shards.items())

    @property
    def undeclared_shards(self) -> list[TableName]:
        """The names of the shards (source tables) for which no CREATE TABLE statement is known."""
        return [shard.table for identity, shard in self.shards.items() if identity == f"{shard.table}@base"]

    def of_shard(self, table: TableName) -> "GoldState":
        """Return the state for the shard `table`: only its high-water marks, and a key without the shard's name."""
        marks = {
            source_part(part) or "": high_water
            for part, high_water in self.high_water.items()
            if shard_of(part) == str(table)
        }
        own = {column.name for column in self.columns if column.id == SHARD_ID}
        return replace(self, table=table, high_water=marks, keys=tuple(key for key in self.keys if key not in own))

    @property
    def missing(self) -> RetentionFloor | None:
        """Says which rows after the truncation point silver no longer has. If None, silver can rebuild the table."""
        return None if self.floor is None else self.floor.above(self.truncated_at)

    def with_applied(self, window: str, identity: str) -> "GoldState":
        """Return the state with the digest `identity` of `window` in `applied`. The last KEEP_APPLIED windows stay."""
        applied = {**self.applied, window: identity}
        kept = sorted(applied)[-KEEP_APPLIED:]
        return replace(self, applied={name: applied[name] for name in kept})

    def with_high_water(self, part: str | None, sequence: Sequence) -> "GoldState":
        """Return the state with a partition's high-water mark raised to `sequence`. The mark is never lowered."""
        high_water = self.high_water.get(part or "")
        if high_water is not None and sequence <= high_water:
            return self
        return replace(self, high_water={**self.high_water, part or "": sequence})


def first_schema_json(with_part: bool) -> str:
    """Return the first schema of a gold table: only the sequence column (`with_part`: with the source partition)."""
    members = [("epoch", "int"), ("hi", "decimal(38,0)"), ("lo", "long")] + ([("part", "string")] if with_part else [])
    fields = [
        {"id": number, "name": name, "required": False, "type": kind}
        for number, (name, kind) in enumerate(members, start=2)
    ]
    struct = {"type": "struct", "fields": fields}
    column = {"id": 1, "name": SEQUENCE_COLUMN, "required": False, "type": struct}
    return json.dumps({"type": "struct", "schema-id": 0, "fields": [column]})


def to_properties(state: GoldState) -> dict[str, str]:
    """Return a state as table properties. The caller must remove all other properties that begin with PREFIX."""
    table = [state.table.database, state.table.schema, state.table.table]
    properties = {
        "source": state.source,
        "identity": state.identity,
        "table": _json(table),
        "state": state.state,
        "columns": _json([_column_json(column) for column in state.columns]),
        "keys": _json(state.keys),
        "mark": _json({part: str(sequence) for part, sequence in state.high_water.items()}),
        "applied": _json(state.applied),
        "changes": _json(state.changes),
        "implicit": _json([_inferred_json(column, state.identity) for column in state.inferred]),
        "pending": _json(state.pending),
        "horizon": str(state.horizon),
        "typing": state.typing,
        "keys_are_set": str(state.keys_are_set).lower(),
    }
    if state.truncated_at is not None:
        properties["void"] = str(state.truncated_at)
    if state.shards:
        properties["shards"] = _json({identity: _shard_json(shard) for identity, shard in state.shards.items()})
    if state.clashes:
        properties["clashes"] = str(state.clashes)
    if state.debts is not None:
        properties["debts"] = str(state.debts)
    if state.gathered:
        properties["gathered"] = _json(state.gathered)
    if state.hold is not None:
        properties["hold"] = _json(hold_json(state.hold))
    if state.floor is not None:
        properties["floor"] = floor_json(state.floor)
    return {PREFIX + name: value for name, value in properties.items()}


def from_properties(properties: dict[str, str]) -> GoldState | None:
    """Read a state from table properties. Return None if Retable did not create the table."""
    own = {name.removeprefix(PREFIX): value for name, value in properties.items() if name.startswith(PREFIX)}
    if "identity" not in own:
        return None
    database, schema, table = json.loads(own["table"])
    return GoldState(
        source=own["source"],
        identity=own["identity"],
        table=TableName(database, schema, table),
        state=cast(TableState, own["state"]),
        columns=tuple(_column(item) for item in json.loads(own["columns"])),
        keys=tuple(json.loads(own["keys"])),
        high_water={part: parse_sequence(text) for part, text in json.loads(own["mark"]).items()},
        applied=json.loads(own["applied"]),
        changes=tuple(json.loads(own["changes"])),
        inferred=tuple(_inferred(own["identity"], item) for item in json.loads(own["implicit"])),
        pending=json.loads(own.get("pending", "{}")),
        truncated_at=parse_sequence(own["void"]) if "void" in own else None,
        hold=parse_hold(json.loads(own["hold"])) if "hold" in own else None,
        horizon=int(own["horizon"]),
        floor=_floor(json.loads(own["floor"])) if "floor" in own else None,
        typing=own.get("typing", ""),
        keys_are_set=own.get("keys_are_set") == "true",
        shards={identity: _shard(item) for identity, item in json.loads(own.get("shards", "{}")).items()},
        gathered=json.loads(own.get("gathered", "{}")),
        clashes=int(own.get("clashes", "0")),
        debts=int(own["debts"]) if "debts" in own else None,
    )


def hold_json(hold: Hold) -> dict[str, str | None]:
    """Return a hold as a mapping that can be written as JSON."""
    return {
        "code": hold.code,
        "reason": hold.reason,
        "position": None if hold.position is None else str(hold.position),
        "part": hold.part,
        "statement": hold.statement,
        "remedy": hold.remedy,
        **({} if hold.at is None else {"at": str(hold.at)}),
    }


def floor_json(floor: RetentionFloor) -> str:
    """Return a retention floor as the text of its table property."""
    dropped = {part: str(sequence) for part, sequence in floor.dropped.items()}
    return _json({"dropped": dropped, "through": floor.through, "partial": floor.partial})


def _floor(facts: dict[str, Any]) -> RetentionFloor:
    dropped = {part: parse_sequence(text) for part, text in facts["dropped"].items()}
    return RetentionFloor(dropped, facts["through"], facts["partial"])


def parse_hold(facts: dict[str, str | None]) -> Hold:
    """Return the hold that `hold_json` wrote as this mapping."""
    position, at = facts["position"], facts.get("at")
    return Hold(
        facts["code"] or "",
        facts["reason"] or "",
        parse_sequence(position) if position else None,
        facts["part"],
        facts["statement"],
        facts["remedy"] or "",
        parse_sequence(at) if at else None,
    )


def _column_json(column: GoldColumn) -> dict[str, object]:
    return {
        "id": column.id,
        "field_id": column.field_id,
        "name": column.name,
        "gold": column.gold,
        "source_type": column.source_type,
        "type": str(column.type),
        "default": column.default,
    }


def _column(item: dict[str, object]) -> GoldColumn:
    kind = parse_gold_type(str(item["type"]))
    if kind is None:
        raise ValueError(f"the table property retable.columns contains an unknown column type {item['type']!r}")
    source_type, default = item["source_type"], item["default"]
    return GoldColumn(
        str(item["id"]),
        int(str(item["field_id"])),
        str(item["name"]),
        str(item["gold"]),
        None if source_type is None else str(source_type),
        kind,
        None if default is None else str(default),
    )


def _shard_json(shard: ShardState) -> dict[str, object]:
    table, truncated_at = shard.table, None if shard.truncated_at is None else str(shard.truncated_at)
    return {"table": [table.database, table.schema, table.table], "void": truncated_at, "aside": shard.reassigned}


def _shard(facts: dict[str, Any]) -> ShardState:
    truncated_at = facts["void"]
    return ShardState(
        TableName(*facts["table"]), None if truncated_at is None else parse_sequence(truncated_at), facts["aside"]
    )


def _inferred_json(column: InferredColumn, whole: str) -> list[str | None]:
    start = None if column.epoch_start is None else str(column.epoch_start)
    of_shard = [] if column.identity == whole else [column.identity]
    return [start, column.name, column.source_type, str(column.type), *of_shard]


def _inferred(whole: str, item: list[str | None]) -> InferredColumn:
    start, name, source_type, kind, *of_shard = item
    identity = of_shard[0] if of_shard and of_shard[0] else whole
    gold_type = parse_gold_type(kind or "")
    if gold_type is None or name is None:
        raise ValueError(f"the table property retable.implicit contains an unknown column type {kind!r}")
    return InferredColumn(identity, parse_sequence(start) if start else None, name, source_type, gold_type)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
