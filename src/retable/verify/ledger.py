"""Verify gold against the ledger (what each stage did with each window): windows, counts of messages, and snapshots.

Only the metadata of tables and the addresses of messages are read.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from pyiceberg.expressions import And, BooleanExpression, EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from retable.gold.read import find_gold
from retable.gold.state import GoldState
from retable.ledger.cuts import read_cuts
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.read import read_ledger, read_ledger_whole
from retable.ledger.retained import KEPT_LAYERS, is_dropped, kept_from, kept_from_of
from retable.ledger.rows import LedgerRow
from retable.ledger.windows.contents import NO_FILES, silver_files
from retable.ledger.windows.recording import read_windows
from retable.model.window import Window
from retable.verify.chain import Chain, Made, RecordedSnapshots, check_chain
from retable.verify.findings import Finding, Verification
from retable.verify.windows import Accounts, MessageAddress, as_counted, check_accounts, check_tiling

_ADDRESS = ("topic", "partition", "offset")


def against_ledger(lake: Lake, name: str) -> Verification:
    """Verify a gold table, and all windows of its source, against the ledger (the record of what each stage did)."""
    source = find_gold(lake, name)[1].source
    windows, ledger = read_windows(lake, source), read_ledger(lake, source)
    table, state = find_gold(lake, name)
    findings = check_tiling(windows)
    messages = 0
    for accounts in _accounts(lake, source, windows, ledger):
        messages += accounts.bronze
        findings += check_accounts(accounts)
    chain = _chain(table)
    findings += check_chain(chain, _named(lake, name, state))
    findings += check_applied(state, [row for row in ledger if row.stage == "replay" and row.table == name])
    checked = {"windows": len(windows), "messages": messages, "snapshots": len(chain.snapshots)}
    return Verification("ledger", checked, tuple(findings), tuple(_dropped_notes(lake, source)))


def check_applied(state: GoldState, replayed: Sequence[LedgerRow]) -> list[Finding]:
    """Return a finding for each window for which the gold table and the ledger record different contents.

    Both record a digest of the window's content in silver. `replayed` are the ledger's replay rows of the table. Gold
    records only the newest windows, so older windows are not checked.
    """
    oldest = min(state.applied, default="")
    found = []
    for row in replayed:
        held = state.applied.get(row.window)
        if row.window >= oldest and row.counts.get("rows") and row.identity != held:
            what = f"for the window, gold recorded the content {held or '(none)'}, and the ledger {row.identity}"
            found.append(Finding("APPLIED_OTHERWISE", row.window, what))
    return found


def _accounts(lake: Lake, source: str, windows: Sequence[Window], ledger: Sequence[LedgerRow]) -> Iterator[Accounts]:
    """Return the accounts of each window for which at least one stage has run."""
    counted: dict[str, dict[str, LedgerRow]] = {}
    for row in ledger:
        if row.table is None:
            counted.setdefault(row.window, {})[row.stage] = row
    tables = {layer: lake.find(f"{layer}.{source}") for layer in ("bronze", "silver", "quarantine")}
    files = silver_files(lake, source)
    for window in windows:
        stages = counted.get(window.name)
        if stages:
            gone = frozenset(layer for layer, table in tables.items() if is_dropped(window.name, kept_from_of(table)))
            with explained(lake.settings.lake):
                found = _accounts_of(tables, window.name, stages, files.get(window.name, NO_FILES))
            yield as_counted(found, gone) if gone else found


def _dropped_notes(lake: Lake, source: str) -> Iterator[str]:
    for layer in KEPT_LAYERS:
        if kept := kept_from(lake, layer, source):
            yield (
                f"retention dropped the windows before {kept} from {layer}: for these windows, only the counts of the "
                f"ledger were checked"
            )


def _accounts_of(
    tables: Mapping[str, Table | None], window: str, stages: Mapping[str, LedgerRow], silver: str
) -> Accounts:
    bronze = _addresses(tables["bronze"], window=window)
    events, refused = (
        _addresses(tables["silver"], window=window),
        _addresses(tables["quarantine"], window=window, stage="decode"),
    )
    here, known = set(bronze), {*events, *refused}
    replay = stages.get("replay")
    is_decoded = "decode" in stages
    return Accounts(
        window=window,
        bronze=len(bronze),
        silver=len(events),
        silver_rows=len(_addresses(tables["silver"], window=window, kind="row")),
        quarantine=len(refused),
        unseen=tuple(sorted(here - known)) if is_decoded else (),
        unknown=tuple(sorted(known - here)),
        fresh=replay is None or (replay.identity or NO_FILES) == silver,
        counted={stage: row.counts for stage, row in stages.items()},
    )


def _addresses(table: Table | None, **partition: str) -> list[MessageAddress]:
    """Return the message address of each row in one Iceberg partition of bronze, silver or quarantine."""
    if table is None:
        return []
    condition: BooleanExpression | None = None
    for column, value in partition.items():
        equal = EqualTo(term=Reference(column), value=literal(value))
        condition = equal if condition is None else And(condition, equal)
    assert condition is not None
    rows = table.scan(row_filter=condition, selected_fields=_ADDRESS).to_arrow()
    return list(zip(*(rows.column(name).to_pylist() for name in _ADDRESS), strict=True))


def _chain(table: Table) -> Chain:
    snapshots = {snapshot.snapshot_id: _made(snapshot) for snapshot in table.snapshots()}
    return Chain(snapshots, [(entry.snapshot_id, entry.timestamp_ms) for entry in table.history()])


def _made(snapshot: Snapshot) -> Made:
    summary = snapshot.summary
    properties = {} if summary is None else {str(k): str(v) for k, v in summary.additional_properties.items()}
    operation = "unknown" if summary is None else summary.operation.value
    return Made(snapshot.snapshot_id, snapshot.parent_snapshot_id, snapshot.timestamp_ms, operation, properties)


def _named(lake: Lake, name: str, state: GoldState) -> RecordedSnapshots:
    cuts: dict[int, datetime] = {}
    names = {name}
    for cut in read_cuts(lake, state.source).rows:
        if cut.identity == state.identity:
            names.add(cut.table)
            if cut.snapshot_id is not None:
                cuts[cut.snapshot_id] = min(cut.recorded_at, cuts.get(cut.snapshot_id, cut.recorded_at))
    rows = [row for row in read_ledger_whole(lake, state.source) if row.stage == "replay"]
    left = {row.snapshot_id for row in rows if row.table in names and row.snapshot_id is not None}
    return RecordedSnapshots(cuts, left, {row.run_id for row in rows})
