"""What is recorded about open suspects, for people: which tables have some, why, and what to do.

`retable status` and the freshness gate call it, so it imports nothing of the replay.
"""

from collections.abc import Sequence

from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_suspects, read_tables
from retable.ledger.rows import SuspectRow
from retable.settings.sources import SourceSettings


def open_suspects(lake: Lake, source: SourceSettings) -> dict[str, list[SuspectRow]]:
    """Return the open suspects of a source, by table identity. Open means neither settled nor accepted by a person.

    Suspects of a table are left out if the setting `on.cascade` of the table is now `ignore`.
    """
    found: dict[str, list[SuspectRow]] = {}
    names = {row.identity: row.name for row in read_tables(lake, source.name)} if lake.find("ops.suspects") else {}
    for row in read_suspects(lake, source.name) if names else ():
        if row.state == "open" and lake.settings.rules(names[row.identity]).on.cascade == "suspect":
            found.setdefault(row.identity, []).append(row)
    return found


def words_of(rows: Sequence[SuspectRow]) -> str:
    """Return a text for people that says how many rows of a table are suspect, and why. `rows` are its suspects."""
    first = min(rows, key=lambda row: row.window)
    more = "" if len(rows) == 1 else f", and to rows of {len(rows) - 1} later deletes or changes"
    return (
        f"{sum(row.rows for row in rows):,} rows refer to rows that the source deleted or changed at {first.position} "
        f"in the window {first.window}{more}; the source then also deletes or changes the referring rows, but without "
        f"a message, because of the constraint {first.constraint}"
    )


def remedy_of(gold: str) -> str:
    """Return a text that says what a person can do about the suspect rows of a table."""
    return (
        f"messages that have not arrived yet may delete or change these rows; if not, `retable baseline {gold}` or "
        f"`retable resync {gold}` loads the rows as the source has them; if gold's rows are right, "
        f"`retable accept-rows {gold} --reason ...` records this"
    )
