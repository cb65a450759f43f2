"""Prints how two sets of rows differ, for a person or as JSON. `verify`, `diff` and `shadow diff` use it."""

import json

from retable.cli.output import print_table
from retable.verify.compare import RowDifference, Sample


def print_rows(rows: RowDifference, left: str, right: str) -> None:
    """Print how many rows differ, in which columns, and samples of rows.

    `left` and `right` are the names of the two sets of rows in the output, as `gold` and `bronze`.
    """
    counts = [(f"only in {left}", rows.only_left), (f"only in {right}", rows.only_right), ("different", rows.different)]
    columns = [(f"different in {name}", count) for name, count in rows.columns.most_common()]
    print_table(["ROWS", "COUNT"], [*counts, *columns])
    if rows.samples:
        print_table(
            ["KEY", left.upper(), right.upper()],
            ([_text(sample.key), _text(sample.left), _text(sample.right)] for sample in rows.samples),
        )


def rows_json(rows: RowDifference, left: str, right: str) -> dict[str, object]:
    """Return how many rows differ, in which columns, and samples of rows, as a dictionary for JSON.

    `left` and `right` are the names of the two sets of rows in the output, as `gold` and `bronze`.
    """
    return {
        left: rows.left,
        right: rows.right,
        f"only_in_{left}": rows.only_left,
        f"only_in_{right}": rows.only_right,
        "different": rows.different,
        "columns": dict(rows.columns.most_common()),
        "samples": [_sample_json(sample, left, right) for sample in rows.samples],
    }


def _sample_json(sample: Sample, left: str, right: str) -> dict[str, object]:
    return {"key": sample.key, left: sample.left, right: sample.right}


def _text(side: dict[str, object] | None) -> str:
    return "" if not side else json.dumps(side, ensure_ascii=False)
