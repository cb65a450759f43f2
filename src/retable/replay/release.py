"""Plan the release of a held table: the kinds of release that its hold allows, their decisions, and their effect."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from retable.ddl.registry import PARSERS, parse_statement
from retable.decode.statements import read_statements
from retable.errors import BehindHorizon, InvalidSetting
from retable.gold.damage import LOST, METADATA
from retable.gold.state import GoldState
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_ledger
from retable.model.event import TableName
from retable.model.schema_change import NoChange, SchemaChange, Unsupported
from retable.model.sequence import LOWEST
from retable.replay.inputs.silver import system_of
from retable.replay.repeats import format_places
from retable.replay.table.hold_rules import MOVED
from retable.schema_history.decisions import BEHIND, NO_OTHER, Decision, DecisionKind, DecisionPlace
from retable.schema_history.history import Hold
from retable.schema_history.shards.parts import shard_of
from retable.settings.sources import SourceSettings

Way = Literal["retry", "skip", "as", "approve", "reject", "rebuild"]
_BUILT_ANEW = (
    "The table will be built again from all of silver up to the last replayed window, apart from its present rows,",
    "and published in one step; readers see the old rows until then.",
)
_MADE_FROM_SILVER = (
    "The table will be built from all of silver up to the last replayed window; until then there is no table to read."
)
_DECISIONS: dict[Way, DecisionKind] = {"skip": "skip", "reject": "skip", "as": "replace", "approve": "approve"}


@dataclass(frozen=True, slots=True)
class Release:
    """A release of one table.

    `decision` is what it decides about the statement or row that holds the table; None if it decides nothing. `words`
    are the lines that describe its effect. `repeats` are equal decisions for other positions of the same statement.
    """

    way: Way
    decision: Decision | None
    words: tuple[str, ...]
    repeats: tuple[Decision, ...] = ()

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return (() if self.decision is None else (self.decision,)) + self.repeats

    def with_repeats(self, places: tuple[DecisionPlace, ...], wanted: bool) -> "Release":
        """Return the release for a statement that is also at other `places`.

        If it is `wanted`, the release also skips the statement there. Otherwise its text mentions this possibility.
        """
        if self.way != "skip" or self.decision is None or not places:
            return self
        if not wanted:
            offer = f"The same statement is also at {format_places(places)}: --repeats skips it there, too."
            return replace(self, words=(*self.words, offer))
        again = tuple(replace(self.decision, position=at) for at, _ in places)
        said = f"The same statement is also skipped at {format_places(places)}."
        return replace(self, words=(*self.words, said), repeats=again)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The numbers of rows of a held table: `rows` wait because of the hold, `of` are in all of its replayed windows.

    `last` is the newest of these windows.
    """

    rows: int
    of: int
    last: str = ""


def count_waiting(lake: Lake, source: str, table: str) -> Waiting:
    """Count the waiting rows and all rows of a gold table in the ledger. The newest record of each window counts."""
    mine = read_ledger(lake, source, stage="replay", tables=[table])
    newest = {row.window: row.counts for row in mine}.values()
    rows, of = (sum(counts.get(name, 0) for counts in newest) for name in ("held", "rows"))
    return Waiting(rows, of, max((row.window for row in mine), default=""))


def spoken_dialect(lake: Lake, source: SourceSettings) -> str:
    """Return the SQL dialect of the statements in a source's messages, such as `mysql`."""
    return system_of(read_statements(lake, source.name), source.source_system)


def plan_release(
    table: str, state: GoldState, hold: Hold, way: Way, text: str | None, waiting: Waiting, dialect: Callable[[], str]
) -> Release:
    """Plan the release of a held table.

    `way` is the kind of release, `text` the statement of `--as`, and `dialect` returns the SQL dialect of the source.
    Raise InvalidSetting if the hold does not allow this kind of release; the error names the allowed ones.
    """
    fitting = ("rebuild",) if state.is_unread else fitting_ways(hold)
    if way not in fitting:
        raise InvalidSetting(
            f"--{way} does not fit the hold of {table}; valid here: {', '.join(f'--{each}' for each in fitting)}",
            table=table,
        )
    held = (shard.table for shard in state.shards.values() if str(shard.table) == shard_of(hold.part))
    meaning = "" if text is None else _meaning(text, next(held, state.table), dialect())
    kind = _DECISIONS.get(way)
    decision = None
    if kind is not None and hold.place is not None:
        said = hold.statement if kind == "skip" else text
        decision = Decision(state.identity, hold.place, hold.part, kind, said)
    elif kind == "skip":
        decision = Decision(state.identity, LOWEST, None, kind, f"{BEHIND}{waiting.last}")
    where = f"at {hold.place}" if hold.place is not None else "in its present state"
    lines = [f"{table} is held {where}: {hold.words}"]
    lines += [f"  {hold.shown_statement}"] if hold.shown_statement else []
    return Release(way, decision, (*lines, *_deed(way, hold, text, meaning), _cost(way, waiting)))


def plan_rebuild(table: str, waiting: Waiting) -> Release:
    """Plan the rebuild of a table that is not held, for example because one of its files is damaged."""
    return Release("rebuild", None, (f"{table} is not held", *_BUILT_ANEW, _cost("rebuild", waiting)))


def plan_making(table: str) -> Release:
    """Plan the first build of a gold table that does not exist yet, but gets rows of other gold tables now."""
    return Release("rebuild", None, (f"{table} does not exist yet", _MADE_FROM_SILVER, _cost("rebuild", Waiting(0, 0))))


def fitting_ways(hold: Hold) -> tuple[Way, ...]:
    """Return the kinds of release that a hold allows, the likeliest first."""
    if hold.place is None and hold.code == BehindHorizon.code:
        return ("skip", "rebuild")
    if hold.place is None:
        return ("rebuild",) if hold.code in ("LATE_CHANGE", MOVED, METADATA) else ("retry", "rebuild")
    if hold.remedy.endswith(NO_OTHER):
        return ("approve", "reject", "skip", "retry", "rebuild")
    if "--approve" in hold.remedy:
        return ("approve", "reject", "as", "skip", "retry", "rebuild")
    if hold.statement is None:
        return ("retry", "rebuild")
    return ("skip", "retry", "rebuild") if hold.is_of_row else ("as", "skip", "retry", "rebuild")


def _meaning(text: str, table: TableName, dialect: str) -> str:
    if dialect not in PARSERS:
        raise InvalidSetting(f"statements of {dialect!r} are not supported; supported: {', '.join(sorted(PARSERS))}")
    changes = parse_statement(dialect, text, table.database, table.schema, table.table)
    for change in changes:
        if isinstance(change, Unsupported):
            raise InvalidSetting(f"the statement {text!r} is not understood: {change.reason}")
        about = _about(change)
        if about is not None and about != table:
            raise InvalidSetting(f"the statement {text!r} is about {about}, but it replaces a statement about {table}")
    return ", ".join(type(change).__name__ for change in changes)


def _about(change: SchemaChange) -> TableName | None:
    return None if isinstance(change, NoChange) else getattr(change, "table", None)


def _deed(way: Way, hold: Hold, text: str | None, meaning: str) -> list[str]:
    always = "now, and in every later replay, rebuild and verification"
    match way:
        case "retry":
            return ["The replay will be tried again from there, with the present settings."]
        case "skip" | "reject":
            what = (
                "The row will be left out, and counted as excluded"
                if hold.is_of_row
                else "The statement will have no effect"
            )
            if hold.place is None:
                what = "Rows below the horizon that came until now and whose result gold does not show will be left out"
            return [f"{what}: {always}."]
        case "as":
            return [f"This statement is used instead, {always}:", f"  {text}", f"  ({meaning})"]
        case "approve":
            return [f"The statement is applied as it is: {always}."]
        case "rebuild":
            return [_MADE_FROM_SILVER] if hold.code == LOST.code else list(_BUILT_ANEW)


def _cost(way: Way, waiting: Waiting) -> str:
    read = f"{waiting.of:,} rows of its windows are read" if waiting.of else "all rows of its windows are read"
    write = "all are written again" if way == "rebuild" else f"what differs is written ({waiting.rows:,} rows waited)"
    return f"{read}; {write}. If something still stops the table, it will be held again."
