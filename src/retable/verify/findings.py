"""The result of verifying a gold table, and the errors found."""

from dataclasses import dataclass, field
from typing import Literal

from retable.verify.compare import RowDifference

Against = Literal["bronze", "ledger"]


@dataclass(frozen=True, slots=True)
class Finding:
    """An error that a verification found.

    `code` is a stable name of the kind of error. `where` is the window, snapshot, column or position of the error.
    `what` is a description.
    """

    code: str
    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of one verification of one gold table.

    `against` says what gold was compared with. `checked` has the numbers of windows, messages and so on that were
    checked. `findings` are the errors. `notes` say what was not compared, and why. `rows` are the differences between
    gold's rows and rows made from bronze; it is None if rows were not compared.
    """

    against: Against
    checked: dict[str, int]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = field(default=())
    rows: RowDifference | None = None

    @property
    def is_equal(self) -> bool:
        return not self.findings and (self.rows is None or self.rows.is_equal)
