"""Plan the release of a held table (`retable hold release`): which kinds of release a hold allows, and their effect."""

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
    """The plan to release one held table, shown to the user before it is carried out.

    `way` is the kind of release: the name of the option of `hold release`, such as `skip`. `decision` is the decision
    to record about the statement or row that holds the table, or None if the release only tries again or rebuilds.
    `words` are the lines that describe the effect. If the log has the same statement at other positions, `repeats` are
    the decisions for these positions.
    """

    way: Way
    decision: Decision | None
    words: tuple[str, ...]
    repeats: tuple[Decision, ...] = ()

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All decisions to record: `decision` and `repeats`."""
        return (() if self.decision is None else (self.decision,)) + self.repeats

    def with_repeats(self, places: tuple[DecisionPlace, ...], wanted: bool) -> "Release":
        """Return this release, extended for a statement that the source's log contains several times.

        `places` are the other positions of the statement that holds the table. If `wanted` is True (option --repeats),
        the release skips the statement at these positions, too. If it is False, only the text of the release changes:
        it mentions the option.
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
    """How many rows of a held table wait.

    `rows` is the number of rows that wait because of the hold. `of` is the number of all rows of the table in the
    replayed windows, and `last` is the newest of these windows.
    """

    rows: int
    of: int
    last: str = ""


def count_waiting(lake: Lake, source: str, table: str) -> Waiting:
    """Count the waiting rows and all rows of a gold table, from the newest ledger record of each window."""
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

    `state` is the state of the gold table, and `hold` its hold. `way` is the kind of release, `text` the statement that
    the user gave with `--as` (otherwise None), and `waiting` the rows that wait. `dialect` returns the SQL dialect of
    the source, such as `mysql`. Raise InvalidSetting if the hold does not allow this kind of release, or if the
    statement of `--as` is not understood.
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
    """Plan the first build of a gold table that does not exist yet, but gets rows now that other gold tables had."""
    return Release("rebuild", None, (f"{table} does not exist yet", _MADE_FROM_SILVER, _cost("rebuild", Waiting(0, 0))))


def fitting_ways(hold: Hold) -> tuple[Way, ...]:
    """Return the kinds of release (options of `hold release`) that a hold allows, the most likely one first."""
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
        raise InvalidSetting(
            f"--as is not possible, because Retable cannot read statements of {dialect!r}, the database of the source; "
            f"it can read those of {', '.join(sorted(PARSERS))}"
        )
    changes = parse_statement(dialect, text, table.database, table.schema, table.table)
    for change in changes:
        if isinstance(change, Unsupported):
            raise InvalidSetting(f"the statement of --as, {text!r}, is not understood: {change.reason}")
        about = _about(change)
        if about is not None and about != table:
            raise InvalidSetting(
                f"the statement of --as, {text!r}, is about {about}, but it must be about {table}, as the "
                f"statement that it replaces"
            )
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
                what = "Late rows that came until now, and whose result gold does not show, will be left out"
            return [f"{what}: {always}."]
        case "as":
            return [f"This statement is used instead, {always}:", f"  {text}", f"  ({meaning})"]
        case "approve":
            return [f"The statement is applied as it is: {always}."]
        case "rebuild":
            return [_MADE_FROM_SILVER] if hold.code == LOST.code else list(_BUILT_ANEW)


def _cost(way: Way, waiting: Waiting) -> str:
    read = f"{waiting.of:,} rows of the table are read" if waiting.of else "all rows of the table are read"
    write = "all are written again" if way == "rebuild" else f"what differs is written ({waiting.rows:,} rows waited)"
    return f"{read}; {write}. If something still stops the table, it will be held again."
