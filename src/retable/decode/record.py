"""Record a decoded window: its evidence in `ops.evidence`, and its counts in `ops.ledger`."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from retable.decode.tally import TableTally
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_evidence
from retable.ledger.rows import EvidenceRow, LedgerRow
from retable.ledger.write import append_rows


def record_evidence(lake: Lake, rows: list[EvidenceRow]) -> None:
    """Append the evidence of one window to `ops.evidence`, unless the table already has the same evidence."""
    known = {} if not rows else {_place(row): row for row in read_evidence(lake, rows[0].source, rows[0].window)}
    if any(_proves(row) != _proves(known.get(_place(row))) for row in rows):
        append_rows(lake, rows)


def _place(row: EvidenceRow) -> tuple[str, int]:
    return row.topic, row.partition


def _proves(row: EvidenceRow | None) -> tuple[object, ...] | None:
    return None if row is None else (row.epoch, row.heartbeat, row.canary, row.row, row.ahead)


def record_decode(
    lake: Lake,
    recorded: list[LedgerRow],
    landed: LedgerRow,
    counts: dict[str, int],
    tables: Mapping[str, TableTally],
    decoder: str,
    run_id: str,
    seconds: float,
    now: datetime,
) -> None:
    """Append the ledger rows of a decoded window in one commit, unless the ledger has equal rows.

    There is one row for the whole window, with `counts`, and one for each table in `tables` (by name in the source).
    `recorded` are the ledger rows that the window already has. If they have a table that is not in `tables`, because
    the window is decoded again with another result, this table gets a row without counts. `landed` is the row of the
    stage land. `decoder` is the version of the format's decoder; if only this is new, rows are appended, too. `run_id`
    and `seconds` are the name of the run and its duration.
    """
    snapshot = _snapshot(lake, landed.source, landed.window)
    known = {row.table: row for row in recorded if row.stage == "decode"}
    gone = {name: TableTally() for name in known if name is not None and name not in tables}

    def row(table: str | None, tally: TableTally) -> LedgerRow:
        return LedgerRow(
            source=landed.source,
            window=landed.window,
            stage="decode",
            table=table,
            counts=dict(tally.counts),
            lowest={part: str(sequence) for part, sequence in tally.lowest.items()},
            highest={part: str(sequence) for part, sequence in tally.highest.items()},
            snapshot_id=snapshot,
            identity=decoder if table is None else None,
            run_id=run_id,
            seconds=seconds,
            bytes=landed.bytes if table is None else 0,
            recorded_at=now,
        )

    rows = [row(None, TableTally(Counter(counts))), *(row(name, each) for name, each in {**gone, **tables}.items())]
    if any(_facts(each) != _facts(known.get(each.table)) for each in rows):
        append_rows(lake, rows)


def _facts(row: LedgerRow | None) -> tuple[object, ...] | None:
    return None if row is None else (row.counts, row.lowest, row.highest, row.snapshot_id, row.identity)


def _snapshot(lake: Lake, source: str, window: str) -> int | None:
    """Return the last snapshot of silver that wrote this window, None if no snapshot did."""
    for snapshot in reversed(lake.load(f"silver.{source}").snapshots()):
        if snapshot.summary and snapshot.summary.additional_properties.get("retable.window") == window:
            return snapshot.snapshot_id
    return None
