"""The ledger's equations: nothing enters a stage without a count of where it went.

A reason follows its count after a colon: `ignored:heartbeat`, `notes:DDL`; all of them add up to `ignored`, `notes`.
"""

from collections.abc import Callable, Mapping

from retable.errors import Unbalanced
from retable.ledger.rows import LedgerRow


def check_messages(counts: Mapping[str, int]) -> None:
    """Check that every landed message was decoded, ignored for a reason, quarantined or erased."""
    _check(counts, "landed", ("decoded", "ignored", "quarantined", "erased"))


def check_events(counts: Mapping[str, int]) -> None:
    """Check that every event of the decoded messages is a row, or a note (DDL, TRUNCATE, heartbeat and the like)."""
    _check(counts, "events", ("rows", "notes"))


def check_rows(counts: Mapping[str, int]) -> None:
    """Check that every row was applied, or that a count says why it was not."""
    parts = ("applied", "superseded", "duplicate", "voided", "held", "pending", "rejected", "excluded")
    _check(counts, "rows", parts)


def is_left_out(row: LedgerRow, takes: Callable[[str], bool]) -> bool:
    """Whether a window counted rows of a table and stored none, though the settings take it now."""
    return row.stage == "decode" and row.table is not None and bool(row.counts.get("excluded")) and takes(row.table)


def _check(counts: Mapping[str, int], whole: str, parts: tuple[str, ...]) -> None:
    sums = {part: sum(count for name, count in counts.items() if name.partition(":")[0] == part) for part in parts}
    if counts.get(whole, 0) != sum(sums.values()) or min(counts.values(), default=0) < 0:
        shown = " + ".join(f"{part} {count}" for part, count in sums.items())
        raise Unbalanced(
            f"the ledger does not balance: {whole} {counts.get(whole, 0)} is not {shown}; "
            f"this is a bug of Retable, please report it with these numbers",
            counts=dict(counts),
        )
