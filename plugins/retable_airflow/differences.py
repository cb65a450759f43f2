"""A difference of two sets of rows as Markdown, in which nothing that a table holds is more than text."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

_MOST = 400
"""So much of one value is shown."""


def to_markdown(tables: Iterable[Mapping[str, Any]]) -> str:
    """What differs in each table: columns, counts, samples. The facts are those of `retable shadow diff --json`."""
    return "\n\n".join(map(_table, tables))


def code(text: str) -> str:
    """Text as a block of code, whatever stands in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in _ticks(text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def inline(value: object) -> str:
    """A value in a line of text or a cell: no sign of it is Markdown's, HTML's or a line's end."""
    text = str(value)[:_MOST]
    return "".join(char if char.isalnum() or char in " _-.:,+" else f"&#{ord(char)};" for char in text)


def _table(found: Mapping[str, Any]) -> str:
    rows = found["rows"]
    by = ", ".join(map(inline, found["key"])) or "whole rows"
    lines = [f"### {inline(found['table'])}: {'equal' if found['equal'] else 'different'}"]
    if found["held"]:
        lines.append(f"**The shadow is held**: {inline(found['held'])}")
    if found["moved"]:
        lines.append("Gold has changed since the shadow was built: what came since is only in gold here.")
    lines.append(
        f"{rows['gold']:,} rows in gold, {rows['shadow']:,} in the shadow, compared by {by}: "
        f"**{rows['only_in_gold']:,}** only in gold, **{rows['only_in_shadow']:,}** only in the shadow, "
        f"**{rows['different']:,}** different."
    )
    lines += [
        f"**{each['changes']:,} changes do not fit the shadow**: {inline(each['code'])}, {inline(each['reason'])}"
        for each in found["rejected"]
    ]
    lines += _columns(found["columns"])
    if rows["columns"]:
        each = (f"{inline(name)} in {count:,}" for name, count in rows["columns"].items())
        lines.append(f"Different: {', '.join(each)}.")
    if rows["samples"]:
        lines.append(code("\n".join(map(_sample, rows["samples"]))))
    return "\n\n".join(lines)


def _columns(changes: Iterable[Mapping[str, Any]]) -> list[str]:
    shown = [f"| {_side(each['gold'])} | {_side(each['shadow'])} |" for each in changes]
    return ["\n".join(["| Column in gold | In the shadow |", "| --- | --- |", *shown])] if shown else []


def _side(column: Mapping[str, str] | None) -> str:
    return "" if column is None else inline(f"{column['name']} {column['type']}")


def _sample(sample: Mapping[str, Any]) -> str:
    key, gold, shadow = (json.dumps(sample[name], ensure_ascii=True)[:_MOST] for name in ("key", "gold", "shadow"))
    return f"{key}\n    gold    {gold}\n    shadow  {shadow}"


def _ticks(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split(" ") if run]
