"""A difference of two sets of rows, as counts: what Airflow stores and logs contains no value of a row.

In the Markdown, table names are always plain text.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from retable.printable import printable

_MOST = 400
"""The maximum length of one value in the text."""


def without_values(found: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of `retable shadow diff --json` without values of rows; only that command shows them."""
    rows = {name: count for name, count in found["rows"].items() if name != "samples"}
    rejected = [{name: each[name] for name in ("code", "changes")} for each in found["rejected"]]
    return {**found, "rows": rows, "rejected": rejected, "held": found["held"] is not None}


def to_markdown(tables: Iterable[Mapping[str, Any]], source: str) -> str:
    """What differs in each table: columns and counts, and the command that shows the rows."""
    return "\n\n".join([*map(_table, tables), f"`retable shadow diff {source}` shows the rows."])


def code(text: str) -> str:
    """Text as a block of code, whatever it contains."""
    fence = "`" * max(3, 1 + max((len(run) for run in _ticks(text)), default=0))
    shown = "\n".join(map(printable, text.split("\n")))
    return f"{fence}text\n{shown}\n{fence}"


def inline(value: object) -> str:
    """A value in a line of text or a cell: no character acts as Markdown, HTML or an end of line."""
    text = printable(str(value)[:_MOST])
    return "".join(char if char.isalnum() or char in " _-.:,+" else f"&#{ord(char)};" for char in text)


def _table(found: Mapping[str, Any]) -> str:
    rows = found["rows"]
    by = ", ".join(map(inline, found["key"])) or "whole rows"
    lines = [f"### {inline(found['table'])}: {'equal' if found['equal'] else 'different'}"]
    if found["held"]:
        lines.append("**The shadow is held**.")
    if found["moved"]:
        lines.append("Gold has changed since the shadow was built: the newer changes are only in gold.")
    lines.append(
        f"{rows['gold']:,} rows in gold, {rows['shadow']:,} in the shadow, compared by {by}: "
        f"**{rows['only_in_gold']:,}** only in gold, **{rows['only_in_shadow']:,}** only in the shadow, "
        f"**{rows['different']:,}** different."
    )
    lines += [
        f"**{each['changes']:,} changes do not fit the shadow**: {inline(each['code'])}" for each in found["rejected"]
    ]
    lines += _columns(found["columns"])
    if rows["columns"]:
        each = (f"{inline(name)} in {count:,}" for name, count in rows["columns"].items())
        lines.append(f"Different: {', '.join(each)}.")
    return "\n\n".join(lines)


def _columns(changes: Iterable[Mapping[str, Any]]) -> list[str]:
    shown = [f"| {_side(each['gold'])} | {_side(each['shadow'])} |" for each in changes]
    return ["\n".join(["| Column in gold | In the shadow |", "| --- | --- |", *shown])] if shown else []


def _side(column: Mapping[str, str] | None) -> str:
    return "" if column is None else inline(f"{column['name']} {column['type']}")


def _ticks(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split(" ") if run]
