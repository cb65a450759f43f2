"""The results of a verification."""

from dataclasses import dataclass, field
from typing import Literal

from retable.verify.compare import RowDifference

Against = Literal["bronze", "ledger"]


@dataclass(frozen=True, slots=True)
class Finding:
    """An error that was found: a stable `code`, `where` (a window, a snapshot, a column), and a description."""

    code: str
    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Verification:
    """One verification of one table: what was checked, what limits the result, and what is wrong.

    `rows` compares gold's rows with the rebuilt ones; None: rows were not compared.
    """

    against: Against
    checked: dict[str, int]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = field(default=())
    rows: RowDifference | None = None

    @property
    def is_equal(self) -> bool:
        return not self.findings and (self.rows is None or self.rows.is_equal)
