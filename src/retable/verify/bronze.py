"""Gold against bronze: its messages decoded anew, folded by the pure core, and compared with gold's rows."""

from collections import Counter
from pathlib import Path

from pyiceberg.table import Table

from retable.gold.baselines import read_whole_baselines
from retable.gold.imports import read_schema_imports
from retable.gold.plan import Rules
from retable.gold.read import find_gold
from retable.gold.rulings import read_rulings
from retable.gold.state import SEQUENCE_COLUMN, GoldState
from retable.ledger.catalog import Lake
from retable.ledger.faults import explained
from retable.ledger.read import read_ledger, read_ledger_whole, read_tables
from retable.ledger.rows import LedgerRow
from retable.ledger.windows import read_windows
from retable.model.event import TableName
from retable.model.schema import parse_gold_type
from retable.source_settings import SourceSettings
from retable.verify.decoded import Decoded, Decoder, read_baseline_rows, read_statements
from retable.verify.findings import Finding, Report
from retable.verify.rebuild import Told, names_of
from retable.verify.rows import Columns, Gold, Share, compare_rows
from retable.verify.spill import Spill

_COUNTED = ("decoded", "quarantined", "ignored", "events", "rows", "excluded")


def against_bronze(lake: Lake, name: str, folder: Path, share: Share) -> Report:
    """Verify a share of one gold table; rows wait in `folder`, which may become as big as the table and its events.

    The decoding is held against what the ledger counted, window by window.
    """
    source = lake.settings.source(find_gold(lake, name)[1].source)
    # The ledger comes first: what gold says of itself is then never older than the windows that count.
    ledger = read_ledger(lake, source.name)
    table, state = find_gold(lake, name)
    rows, events = Spill(folder / "gold.arrow"), Spill(folder / "events.arrow")
    _read_gold(lake, table, rows)
    decoded, told = _decode(lake, source, state, ledger, events)
    report = compare_rows(told, Gold(name, state, published_columns(table), rows), events, share)
    messages = sum(counts[what] for counts in decoded.counts.values() for what in ("decoded", "quarantined", "ignored"))
    checked = {"windows": len(decoded.counts), "messages": messages, **report.checked}
    notes = (*_gaps(decoded, ledger, state), *report.notes)
    return Report("bronze", checked, (*check_decoding(decoded, ledger), *report.findings), notes, report.rows)


def published_columns(table: Table) -> Columns:
    """The columns of a gold table, without Retable's own."""
    fields = [field for field in table.schema().fields if field.name != SEQUENCE_COLUMN]
    return tuple((field.name, parse_gold_type(str(field.field_type))) for field in fields)


def check_decoding(decoded: Decoded, ledger: list[LedgerRow]) -> list[Finding]:
    """What bronze gives now of each window, where the ledger counted otherwise."""
    found = []
    for row in ledger:
        if row.stage != "decode" or row.table is not None or row.window not in decoded.counts:
            continue
        then: Counter[str] = Counter()
        for name, count in row.counts.items():
            then[name.partition(":")[0]] += count
        now = decoded.counts[row.window]
        found += [
            Finding("DECODED_OTHERWISE", row.window, f"{now[what]} {what} now, and the ledger counted {then[what]}")
            for what in _COUNTED
            if now[what] != then[what]
        ]
    return found


def _decode(
    lake: Lake, source: SourceSettings, state: GoldState, ledger: list[LedgerRow], events: Spill
) -> tuple[Decoded, Told]:
    """Decode all; where the statements show that the table had other names too, the rows of those in a second pass."""
    replayed = _replayed(ledger, state)
    decoded = {row.window for row in ledger if row.stage == "decode"} | replayed
    visible = [w for w in read_windows(lake, source.name) if w.name in decoded and w.name <= max(replayed, default="")]
    held = _held_windows(lake, source.name, state)
    whole = [window for window in visible if window.name in replayed - held]
    stored = frozenset(window.name for window in whole)
    decoder = Decoder(lake, source)
    found = decoder.decode(visible, {state.table}, stored, events)
    imports = read_schema_imports(lake, source.name)
    statements, system = read_statements(found.statements, source, imports.dialect)
    baselines = read_whole_baselines(lake, source.name)
    ordinals = {window.name: window.ordinal for window in (*baselines.windows, *visible)}
    rules = Rules(lake.settings, source, system, read_rulings(lake, source.name), imports, baselines)
    told = Told(rules, statements, ordinals, stored, _known(lake, source.name))
    read_baseline_rows(lake, source.name, baselines.names & replayed, names_of(told, state) | {state.table}, events)
    if others := names_of(told, state) - {state.table}:
        decoder.decode(whole, others, stored, events)
    return found, told


def _replayed(ledger: list[LedgerRow], state: GoldState) -> set[str]:
    """The windows that the ledger, or the table itself, knows as replayed."""
    return {row.window for row in ledger if row.stage == "replay" and row.table is None} | set(state.applied)


def _gaps(decoded: Decoded, ledger: list[LedgerRow], state: GoldState) -> list[str]:
    """What to know where later windows are replayed already: a late row is folded over all that is decoded."""
    missing = sorted(decoded.counts.keys() - _replayed(ledger, state))
    if not missing:
        return []
    return [
        f"{len(missing)} windows from {missing[0]} on wait to be replayed: a row that came late may hold their events"
    ]


def _held_windows(lake: Lake, source: str, state: GoldState) -> set[str]:
    """The windows of which a table that is held as it stands took no row; of any other table none is left out."""
    if state.hold is None or state.hold.position is not None:
        return set()
    names = {row.gold for row in read_tables(lake, source) if row.identity == state.identity}
    rows = [row for row in read_ledger_whole(lake, source) if row.stage == "replay" and row.table in names]
    some = {row.window for row in rows if row.counts.get("held", 0) < row.counts.get("rows", 0)}
    return {row.window for row in rows} - some


def _known(lake: Lake, source: str) -> tuple[TableName, ...]:
    """The tables that gold has though no statement made them."""
    names = {row.identity: TableName(row.database, row.schema, row.table) for row in read_tables(lake, source)}
    return tuple(name for identity, name in names.items() if identity == f"{name}@base")


def _read_gold(lake: Lake, table: Table, rows: Spill) -> None:
    with explained(lake.settings.lake):
        for batch in table.scan().to_arrow_batch_reader():
            rows.write(batch)
