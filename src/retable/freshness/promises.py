"""Interprets the watermark records of single tables, as in ops.watermarks. No I/O.

A record is valid until the next record of the same table. If `because` is None, nothing blocked the table. Then the
table is as complete as its source in each later window and gets no further record. So unblocked tables add no rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from retable.freshness.gate import SourceFacts, standing_of
from retable.freshness.watermark import SourceLine, Watermarks
from retable.ledger.rows import WatermarkRow
from retable.model.evidence import GRADES, Grade


class TablePromises:
    """The watermark records of the tables of one source. Records of the source itself in `rows` are ignored."""

    def __init__(self, rows: Iterable[WatermarkRow]) -> None:
        self._rows: dict[str, list[WatermarkRow]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: row.window):
            if row.table is not None:
                self._rows[row.table].append(row)

    def is_free(self, table: str) -> bool:
        """Return whether the last watermark record of the table says that nothing blocks the table."""
        return table in self._rows and self._rows[table][-1].because is None

    def free_until(self, table: str, last: str | None) -> str:
        """Return the last window up to which nothing blocked a table, or "" if there is no such window.

        `last` is the window of the source's last watermark record, None if there is no record. If nothing blocks the
        table, it gets no further records: the records of its source count for it. So the result is then usually `last`.
        """
        if self.is_free(table):
            return max(last or "", self._rows[table][-1].window)
        return max((row.window for row in self._rows.get(table, ()) if row.because is None), default="")

    def free_at(self, table: str, last: datetime | None) -> datetime | None:
        """Return when it was last recorded that nothing blocked a table; None if it never was.

        `last` is the time of the source's last watermark record, None if there is no record.
        """
        times = [row.recorded_at for row in self._rows.get(table, ()) if row.because is None]
        if last is not None and self.is_free(table):
            times.append(last)
        return max(times, default=None)

    def watermarks(self, table: str) -> dict[Grade, datetime]:
        """Return the latest watermark of each grade in the records of a table.

        If nothing blocks the table, the watermark of its source counts, which may be later.
        """
        found: dict[Grade, datetime] = {}
        for row in self._rows.get(table, ()):
            if row.watermark is not None:
                found[row.grade] = max(row.watermark, found.get(row.grade, row.watermark))
        return found

    def first_through(self, table: str, through: datetime, grade: Grade, source: Iterable[str]) -> str | None:
        """Return the first window after which a table is complete through a time by evidence of this grade.

        `source` has, in order, the windows after which the source itself is complete through that time. Return None if
        there is no such window.
        """
        mine, proven = self._rows.get(table, []), list(source)
        for at, row in enumerate(mine):
            if row.grade == grade and row.watermark is not None and row.watermark >= through:
                return row.window
            if row.because is None:
                first = next((name for name in proven if name >= row.window), None)
                later = (each.window for each in mine[at + 1 :] if each.window > row.window or each.because is not None)
                if first is not None and all(first < window for window in later):
                    return first
        return None

    def next_rows(self, facts: SourceFacts, last: SourceLine, now: datetime) -> list[WatermarkRow]:
        """Return the watermark records to write for single tables. `now` is the time of the records.

        `facts` has what is proven and blocked now, after the window of `facts.line`. `last` is how complete the source
        was at its last watermark record. A table gets records for the window of `facts.line`, with these exceptions:

        - Its last record says that nothing blocks it, and this is still true: no record. The source's are valid.
        - Its last record says that nothing blocks it, but now it is blocked: also records for `last`, where it was not.
        - It was already blocked and still is, and no watermark of it is later than before: no record.
        """
        rows: list[WatermarkRow] = []
        for table, blockers in facts.blockers.items():
            because = next((blocker.cause.reason for blocker in blockers), None)
            was_free = self.is_free(table)
            if because is None and was_free:
                continue
            former: Watermarks = self.watermarks(table)
            if was_free and last.window is not None:
                former = {**former, **last.watermarks}
                rows += _rows(facts.source, table, last, former, None, now)
            reached = {grade: standing_of(facts, table, grade).watermark for grade in GRADES}
            changed = {
                grade: at
                for grade, at in reached.items()
                if at is not None and (because is None or grade not in former or at > former[grade])
            }
            if changed or was_free or because is None:
                rows += _rows(facts.source, table, facts.line, changed, because, now)
        return rows


def _rows(
    source: str,
    table: str,
    line: SourceLine,
    watermarks: Watermarks,
    because: str | None,
    now: datetime,
) -> list[WatermarkRow]:
    """Return a record for each grade, or one record without a watermark if nothing is proven."""
    if line.window is None:
        return []
    kept: Mapping[Grade, datetime | None] = watermarks or {GRADES[-1]: None}
    return [
        WatermarkRow(
            source=source,
            table=table,
            grade=grade,
            window=line.window,
            watermark=watermark,
            epoch=line.epoch,
            evidence={},
            because=because,
            recorded_at=now,
        )
        for grade, watermark in kept.items()
    ]
