"""Find other positions of the statement that holds (stops) a table, for example if a daily job runs it."""

from typing import cast

from pyiceberg.expressions import And, EqualTo, Reference
from pyiceberg.expressions.literals import literal

from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.replay.batch.silver_rows import sequence_of
from retable.replay.inputs.silver import of_kind
from retable.schema_history.decisions import DecisionPlace
from retable.schema_history.history import Hold
from retable.schema_history.shards.parts import source_part

_SHOWN = 3
_NAMES = ("database", "schema", "table")
_COLUMNS = (*_NAMES, "sequence", "part")


def find_repeats(lake: Lake, source: str, hold: Hold) -> tuple[DecisionPlace, ...]:
    """Return the other positions in silver at which the statement of `hold` is, with the same text and the same table.

    Return an empty tuple if a row holds the table, or if the hold has no position.
    """
    table = lake.find(f"silver.{source}")
    if table is None or hold.place is None or hold.shown_statement is None:
        return ()
    same = And(of_kind("schema"), EqualTo(term=Reference("ddl_text"), value=literal(hold.shown_statement)))
    with explained(lake.settings.lake):
        rows = table.scan(row_filter=same, selected_fields=_COLUMNS).to_arrow().to_pylist()
    held = (hold.place, source_part(hold.part))
    places = {(sequence_of(row), cast(str | None, row["part"])): tuple(row[name] for name in _NAMES) for row in rows}
    about = places.pop(held, None)
    same_table = (place for place, names in places.items() if names == about)
    return tuple(sorted(same_table, key=lambda place: (place[1] or "", place[0])))


def later_ones(places: tuple[DecisionPlace, ...], hold: Hold) -> tuple[DecisionPlace, ...]:
    """Return those of `places` that are after the hold, in the same Kafka partition.

    The statement at these positions would hold the table again.
    """
    part = source_part(hold.part)
    return tuple(place for place in places if hold.place is not None and place[1] == part and place[0] > hold.place)


def format_places(places: tuple[DecisionPlace, ...]) -> str:
    """Return the positions as text: the first few positions, and how many more there are."""
    return ", ".join(str(at) for at, _ in places[:_SHOWN]) + (
        f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    )


def hint_of(places: tuple[DecisionPlace, ...], hold: Hold) -> str | None:
    """Return a hint for `retable hold list` that shows other positions (`places`) of the hold's statement.

    Return None if `places` is empty.
    """
    if not places:
        return None
    later = later_ones(places, hold)
    ways = "; `hold release --skip --repeats` skips it after the hold, too" if later else ""
    return f"the same statement is also at {format_places(places)}{ways}"
