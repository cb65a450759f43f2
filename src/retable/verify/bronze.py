"""Verify gold against bronze (the table of raw messages): decode and fold the messages again, and compare with gold.

Spark is not used.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from pyiceberg.table import Table

from retable.errors import InvalidSetting
from retable.gold.read import feeds, find_gold
from retable.gold.state import SEQUENCE_COLUMN, GoldState, RetentionFloor
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.read import read_ledger, read_ledger_whole, read_tables, scan
from retable.ledger.retained import is_dropped, kept_from
from retable.ledger.rows import LedgerRow
from retable.ledger.windows.recording import read_windows
from retable.model.schema import parse_gold_type
from retable.model.sequence import LOWEST, Sequence, parse_sequence
from retable.replay.inputs.baselines import read_whole_baselines
from retable.replay.inputs.decisions import decisions_of
from retable.replay.inputs.histories import read_known
from retable.replay.inputs.imports import read_schema_imports
from retable.replay.inputs.rules import SourceRules
from retable.settings.sources import SourceSettings
from retable.verify.decoded import DecodedBronze, Decoder, dropped_statements, read_baseline_rows, read_statements
from retable.verify.findings import Finding, Verification
from retable.verify.rebuild import SourceHistory, names_of
from retable.verify.rows import ComparedColumns, Gold, Share, compare_rows
from retable.verify.spill import Spill

_COUNTED = ("decoded", "refused", "events", "rows")
"""Counts that do not depend on the tables that the settings included.

`refused` is the sum of ignored and quarantined messages: the settings decide which of the two a message is.
"""
_REFUSED = ("quarantined", "ignored")


def against_bronze(lake: Lake, name: str, folder: Path, share: Share) -> Verification:
    """Verify one gold table, or a share of its keys, against bronze, and return the result.

    Rows, columns, and the counts of each window are compared. Temporary files are written to `folder`. They can be
    twice as large as the table and its events. Raise InvalidSetting if the settings exclude the table now.
    """
    source = lake.settings.source(find_gold(lake, name)[1].source)
    # Read the ledger first, so that the state of gold is never older than the windows that count.
    ledger = read_ledger(lake, source.name)
    table, state = find_gold(lake, name)
    if not feeds(lake.settings, source, state):
        raise InvalidSetting(
            f"{name} is retired: the settings of sources.{source.name} exclude {state.table}, so its messages are not "
            f"decoded; change `include` or `exclude` to include the table, or verify it with --against ledger",
            table=name,
        )
    floor = bronze_floor(lake, name, state, ledger)
    rows, events = Spill(folder / "gold.arrow"), Spill(folder / "events.arrow")
    _read_gold(lake, table, rows)
    decoded, source_history = _decode(lake, source, state, ledger, events)
    if floor is not None:
        source_history = replace(source_history, floor=floor, remembered=state.inferred)
    report = compare_rows(source_history, Gold(name, state, published_columns(table), rows), events, share)
    messages = sum(counts[what] for counts in decoded.counts.values() for what in ("decoded", "quarantined", "ignored"))
    checked = {"windows": len(decoded.counts), "messages": messages, **report.checked}
    notes = (*_gaps(decoded, ledger, state), *report.notes)
    return Verification("bronze", checked, (*check_decoding(decoded, ledger), *report.findings), notes, report.rows)


def published_columns(table: Table) -> ComparedColumns:
    """Return the name and the type of each column of a gold table, without Retable's own columns."""
    fields = [field for field in table.schema().fields if field.name != SEQUENCE_COLUMN]
    return tuple((field.name, parse_gold_type(str(field.field_type))) for field in fields)


def check_decoding(decoded: DecodedBronze, ledger: list[LedgerRow]) -> list[Finding]:
    """Return a finding for each count of a window that differs between decoding now (`decoded`) and the ledger."""
    found = []
    for row in ledger:
        if row.stage != "decode" or row.table is not None or row.window not in decoded.counts:
            continue
        then: Counter[str] = Counter()
        for name, count in row.counts.items():
            then["refused" if name.startswith(_REFUSED) else name] += count
        now = decoded.counts[row.window]
        now["refused"] = sum(now[name] for name in _REFUSED)
        found += [
            Finding("DECODED_OTHERWISE", row.window, f"{now[what]} {what} now, but the ledger counted {then[what]}")
            for what in _COUNTED
            if now[what] != then[what]
        ]
    return found


def _decode(
    lake: Lake, source: SourceSettings, state: GoldState, ledger: list[LedgerRow], events: Spill
) -> tuple[DecodedBronze, SourceHistory]:
    """Decode all windows of bronze that gold may have. Row events of the table are written to `events`.

    If the statements show that the table had other names, the windows are decoded again for the rows of these names.
    """
    replayed = _replayed(ledger, state)
    decoded = {row.window for row in ledger if row.stage == "decode"} | replayed
    visible = [w for w in read_windows(lake, source.name) if w.name in decoded and w.name <= max(replayed, default="")]
    kept = kept_from(lake, "bronze", source.name)
    visible = [window for window in visible if not is_dropped(window.name, kept)]
    held = _held_windows(lake, source.name, state)
    whole = [window for window in visible if window.name in replayed - held]
    stored = frozenset(window.name for window in whole)
    decoder = Decoder(lake, source)
    found = decoder.decode(visible, state.names, stored, events)
    imports = read_schema_imports(lake, source.name)
    older = dropped_statements(lake, source.name, kept)
    statements, system = read_statements([*older, *found.statements], source, imports.dialect)
    baselines = read_whole_baselines(lake, source.name)
    ordinals = {window.name: window.ordinal for window in (*baselines.windows, *visible)}
    rules = SourceRules(lake.settings, source, system, decisions_of(lake, source.name), imports, baselines)
    source_history = SourceHistory(rules, statements, ordinals, stored, read_known(lake, source.name))
    read_baseline_rows(
        lake, source.name, baselines.names & replayed, names_of(source_history, state) | state.names, events
    )
    if others := names_of(source_history, state) - state.names:
        decoder.decode(whole, others, stored, events)
    return found, source_history


def _replayed(ledger: list[LedgerRow], state: GoldState) -> set[str]:
    """Return the windows that are replayed according to the ledger or the state of the table."""
    return {row.window for row in ledger if row.stage == "replay" and row.table is None} | set(state.applied)


def bronze_floor(lake: Lake, name: str, state: GoldState, ledger: list[LedgerRow]) -> RetentionFloor | None:
    """Return up to which sequences retention dropped messages of a gold table from bronze, as the ledger shows.

    Return None if retention dropped no messages of the table, or only messages from before its last truncation.
    """
    kept = kept_from(lake, "bronze", state.source)
    named = {row["gold"] for row in _rows_of_table(lake, state)} | {name}
    mine = [row for row in ledger if row.stage == "replay" and row.table in named and is_dropped(row.window, kept)]
    dropped: dict[str, Sequence] = {}
    for part, text in (place for row in mine for place in row.highest.items()):
        dropped[part] = max(parse_sequence(text), dropped.get(part, LOWEST))
    return RetentionFloor(dropped, -1).above(state.truncated_at)


def _rows_of_table(lake: Lake, state: GoldState) -> list[dict[str, object]]:
    """Return all rows of ops.tables for a table. The rows may have different gold names."""
    rows = scan(lake, lake.find("ops.tables"), source=state.source).to_pylist()
    return [row for row in rows if row["identity"] == state.identity]


def _gaps(decoded: DecodedBronze, ledger: list[LedgerRow], state: GoldState) -> list[str]:
    """Return a note on windows that are not replayed yet, although later windows are. Otherwise return no note."""
    missing = sorted(decoded.counts.keys() - _replayed(ledger, state))
    if not missing:
        return []
    return [f"{len(missing)} windows from {missing[0]} on are not replayed yet: gold does not have their rows"]


def _held_windows(lake: Lake, source: str, state: GoldState) -> set[str]:
    """Return the windows whose rows a table did not accept because the whole table is held."""
    if state.hold is None or state.hold.position is not None:
        return set()
    names = {row.gold for row in read_tables(lake, source) if row.identity == state.identity}
    rows = [row for row in read_ledger_whole(lake, source) if row.stage == "replay" and row.table in names]
    some = {row.window for row in rows if row.counts.get("held", 0) < row.counts.get("rows", 0)}
    return {row.window for row in rows} - some


def _read_gold(lake: Lake, table: Table, rows: Spill) -> None:
    with explained(lake.settings.lake):
        for batch in table.scan().to_arrow_batch_reader():
            rows.write(batch)
