"""The state of a gold table, in the properties that are committed together with its rows."""

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
"""The snapshot that main was at when rows were written last, and its sequence number."""
SEQUENCE_COLUMN = "_retable_sequence"
KEEP_APPLIED = 400


@dataclass(frozen=True, slots=True)
class GoldColumn:
    """A column of gold: `id` is its identity in the history, `field_id` Iceberg's, `gold` its name in the table."""

    id: str
    field_id: int
    name: str
    gold: str
    source_type: str | None
    type: GoldType
    default: str | None


@dataclass(frozen=True, slots=True)
class RetentionFloor:
    """The rows of a table that retention dropped from silver: up to which sequence, by partition.

    Silver has all rows above it. `through`: gold has what arrived up to the window of this number. `partial`: some of
    the dropped rows had only a part of their columns.
    """

    dropped: dict[str, Sequence]
    through: int
    partial: bool = False

    def covers(self, part: str | None, sequence: Sequence) -> bool:
        """Whether retention may have dropped rows that are newer than this sequence."""
        last = self.dropped.get(part or "")
        return last is not None and sequence < last

    def reaches(self, part: str | None, sequence: Sequence) -> bool:
        """Whether retention may have dropped a row of this sequence."""
        last = self.dropped.get(part or "")
        return last is not None and sequence <= last

    def above(self, truncated_at: Sequence | None) -> "RetentionFloor | None":
        """The floor without rows below a truncation, which do not count; None: no row that counts was dropped."""
        dropped = {part: last for part, last in self.dropped.items() if truncated_at is None or last >= truncated_at}
        return replace(self, dropped=dropped) if dropped else None


@dataclass(frozen=True, slots=True)
class ShardState:
    """One of several source tables that go into a gold table: its name and its truncation point.

    `reassigned` maps those of its columns that are stored as another gold column than the one of their name
    (`retable.schema_history.history.Shard`).
    """

    table: TableName
    truncated_at: Sequence | None
    reassigned: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldState:
    """The state of one gold table. `applied` gives, by window, the identity of what was replayed.

    `changes` are the positions of the statements that its schema is based on; `horizon` is the highest window whose
    statements were read; `high_water` is the greatest sequence, by partition. `pending` are the halves of updates whose
    other half has not come, by sequence, each with its window. `floor` is what silver no longer has of it; None: silver
    has all. `inferred` are the undeclared columns, and `typing` the settings (`Settings.typing`) that gave them their
    types. `keys_are_set`: the settings name the `keys`. If several source tables go into it, `shards` are these tables
    by identity, and `clashes` counts the keys that rows of more than one of them have, if readers do not see which row
    is whose. For a table without a key, `debts` is how many rows were deleted that were not inserted (None: not
    counted). `gathered` are the gold tables that had rows of it, by identity, with what was replayed into them by then
    (`replay.inputs.moved_rows`). Two fields are not stored as properties. `is_set_back`: main lacks rows that were
    written to it, because it was rolled back. `is_unread`: the metadata is lost or cannot be read, and only its row of
    ops.tables is known.
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
        """Its own name, and those of the source tables that go into it."""
        return {self.table, *(shard.table for shard in self.shards.values())}

    def has_shards_of(self, history: TableHistory) -> bool:
        """Whether all its shards still go into it, with the same names and the same reassigned columns."""
        now = {each.history.identity: (each.history.name, each.reassigned) for each in history.shards}
        return all(now.get(identity) == (shard.table, shard.reassigned) for identity, shard in self.shards.items())

    @property
    def undeclared_shards(self) -> list[TableName]:
        """The shards that no statement created."""
        return [shard.table for identity, shard in self.shards.items() if identity == f"{shard.table}@base"]

    def of_shard(self, table: TableName) -> "GoldState":
        """The state for one of the source tables that go into it."""
        marks = {
            source_part(part) or "": high_water
            for part, high_water in self.high_water.items()
            if shard_of(part) == str(table)
        }
        own = {column.name for column in self.columns if column.id == SHARD_ID}
        return replace(self, table=table, high_water=marks, keys=tuple(key for key in self.keys if key not in own))

    @property
    def missing(self) -> RetentionFloor | None:
        """What silver no longer has of the rows that count; None: the table can be built again from silver."""
        return None if self.floor is None else self.floor.above(self.truncated_at)

    def with_applied(self, window: str, identity: str) -> "GoldState":
        """Record a window as replayed; beyond a limit, the oldest windows are dropped and would be replayed as new."""
        applied = {**self.applied, window: identity}
        kept = sorted(applied)[-KEEP_APPLIED:]
        return replace(self, applied={name: applied[name] for name in kept})

    def with_high_water(self, part: str | None, sequence: Sequence) -> "GoldState":
        """Raise the high-water mark of a partition; it never goes back."""
        high_water = self.high_water.get(part or "")
        if high_water is not None and sequence <= high_water:
            return self
        return replace(self, high_water={**self.high_water, part or "": sequence})


def first_schema_json(with_part: bool) -> str:
    """The first schema has only the sequence; columns are added in the same way as later ones."""
    members = [("epoch", "int"), ("hi", "decimal(38,0)"), ("lo", "long")] + ([("part", "string")] if with_part else [])
    fields = [
        {"id": number, "name": name, "required": False, "type": kind}
        for number, (name, kind) in enumerate(members, start=2)
    ]
    struct = {"type": "struct", "fields": fields}
    column = {"id": 1, "name": SEQUENCE_COLUMN, "required": False, "type": struct}
    return json.dumps({"type": "struct", "schema-id": 0, "fields": [column]})


def to_properties(state: GoldState) -> dict[str, str]:
    """Render a state as table properties; a property that is absent there must be removed from the table."""
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
    """Read a state from properties; None if the table is not one of Retable's."""
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
    """A hold as a mapping: what `hold list` shows."""
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
    """A floor as the value of its property."""
    dropped = {part: str(sequence) for part, sequence in floor.dropped.items()}
    return _json({"dropped": dropped, "through": floor.through, "partial": floor.partial})


def _floor(facts: dict[str, Any]) -> RetentionFloor:
    dropped = {part: parse_sequence(text) for part, text in facts["dropped"].items()}
    return RetentionFloor(dropped, facts["through"], facts["partial"])


def parse_hold(facts: dict[str, str | None]) -> Hold:
    """Read a hold from its facts (`hold_json`)."""
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
        raise ValueError(f"the property retable.columns has an unknown type {item['type']!r}")
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
        raise ValueError(f"the property retable.implicit has an unknown type {kind!r}")
    return InferredColumn(identity, parse_sequence(start) if start else None, name, source_type, gold_type)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
