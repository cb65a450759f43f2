"""Formats the differences between a shadow and gold for Airflow, as counts without values of rows.

So Airflow does not store or log data of the tables. Names and texts never act as Markdown or HTML.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from retable.printable import printable

_MOST = 400
"""The maximum number of characters of one value in the text."""


def without_values(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of `retable shadow diff --json` without the values of rows: only counts and columns."""
    rows = {name: count for name, count in found["rows"].items() if name != "samples"}
    rejected = [{name: each[name] for name in ("code", "changes")} for each in found["rejected"]]
    return {**found, "rows": rows, "rejected": rejected, "held": found["held"] is not None}


def to_markdown(tables: Iterable[Mapping[str, Any]], source: str) -> str:
    """Return Markdown with the differing columns and the counts of each table, and the command that shows the rows.

    `tables` are results of `without_values`, and `source` is the name of their source.
    """
    return "\n\n".join([*map(_table, tables), f"`retable shadow diff {source}` shows the rows."])


def code(text: str) -> str:
    """Return a text as a Markdown code block, which nothing in the text can end."""
    fence = "`" * max(3, 1 + max((len(run) for run in _ticks(text)), default=0))
    shown = "\n".join(map(printable, text.split("\n")))
    return f"{fence}text\n{shown}\n{fence}"


def inline(value: object) -> str:
    """Return a value for a line or table cell of Markdown. It is cut after 400 characters.

    Characters that would act as Markdown, HTML or a line end are escaped.
    """
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
