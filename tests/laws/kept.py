"""Stories that once broke a law: smallest examples, kept as the search left them."""

from laws.story import SUPPORTED, Story, tell
from retable.simulate import HELD_KINDS, ROW_KINDS, Delivery, debezium_json, streamx_json

_ALL = (*SUPPORTED, *HELD_KINDS)
_COLUMNS = tuple(kind for kind in SUPPORTED if kind in ROW_KINDS or "column" in kind)

KEPT: dict[str, tuple[Story, list[int]]] = {
    "an added binary column that is NOT NULL shows empty bytes in old rows": (
        tell(80, "canal_json", Delivery(windows=6), 40),
        [0, 1, 2, 3, 4, 5],
    ),
    "two columns that only images told swap their names in one statement": (
        tell(101, "canal_json", Delivery(windows=6), 60),
        [0, 1, 2, 3, 4, 5],
    ),
    "a table dropped and made again LIKE one without a key has none either": (
        tell(14, "streamx_json", Delivery(windows=4), 60),
        [0, 1, 2, 3],
    ),
    "a column that only images told is renamed by a statement that is replayed before its images": (
        tell(617, "canal_json", Delivery(windows=6), 60),
        [5, 4, 3, 2, 1, 0],
    ),
    "a table made LIKE one that is held does not take the columns at the hold": (
        tell(213975, "canal_json", Delivery(), 11, _ALL),
        [0, 1, 2],
    ),
    "rows above a hold do not tell the key": (
        tell(9216, "streamx_json", Delivery(windows=2), 6, _ALL, streamx_json.Options(row_ids=True)),
        [0, 1],
    ),
    "a value whose message tells no type has the type that its column had then, not the one it was given later": (
        tell(
            1,
            "debezium_json",
            Delivery(windows=1, repeated=0.1),
            36,
            options=debezium_json.Options(schemas=False, transactions=False),
        ),
        [0],
    ),
}
"""By what was wrong: the story, and the order in which its windows are replayed."""
