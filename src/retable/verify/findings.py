"""The results of a verification."""

from dataclasses import dataclass, field
from typing import Literal

from retable.verify.compare import RowDifference

Against = Literal["bronze", "ledger"]


@dataclass(frozen=True, slots=True)
class Finding:
    """An error that a verification found.

    `code` is a stable name of the kind of error. `where` is a window, a snapshot or a column. `what` is a description.
    """

    code: str
    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of one verification of one gold table.

    `checked` are numbers of what was checked, by name. `findings` are the errors. `notes` say what limits the result.
    `rows` are the differences between gold's rows and rows made from bronze. It is None if rows were not compared.
    """

    against: Against
    checked: dict[str, int]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = field(default=())
    rows: RowDifference | None = None

    @property
    def is_equal(self) -> bool:
        return not self.findings and (self.rows is None or self.rows.is_equal)
