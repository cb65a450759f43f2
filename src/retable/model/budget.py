"""The setting that limits how much may be in quarantine (refused messages and rows) before a table is incomplete."""

import re
from dataclasses import dataclass
from decimal import Decimal

_COUNT = re.compile(r"([0-9]{1,9})(?:/window)?\Z")
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)%\Z")


@dataclass(frozen=True, slots=True)
class QuarantineBudget:
    """The limit on the messages and rows of one window that may be in quarantine.

    The limit is the number `count`, or the fraction `share` (0 to 1) of the window's messages in bronze. The larger
    one of the two applies.
    """

    count: int = 0
    share: Decimal = Decimal(0)

    def allows(self, quarantined: int, landed: int) -> bool:
        """Return whether a window is within the limit.

        `quarantined` is its number of messages and rows in quarantine, `landed` its number of messages in bronze.
        """
        return quarantined <= max(Decimal(self.count), self.share * landed)

    def __str__(self) -> str:
        return f"{(self.share * 100).normalize():f}%" if self.share else f"{self.count}/window"


def parse_budget(text: str) -> QuarantineBudget | None:
    """Read a budget such as `0`, `10/window` or `0.01%`. Return None if the text is not a valid budget."""
    if found := _COUNT.match(text):
        return QuarantineBudget(count=int(found[1])) if int(found[1]) == 0 or text.endswith("/window") else None
    found = _SHARE.match(text)
    share = Decimal(found[1]) / 100 if found else None
    return QuarantineBudget(share=share) if share is not None and share <= 1 else None
