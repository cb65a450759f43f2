"""`retable check`: prints what a source has, and what a run would do with its tables. It writes nothing."""

from collections.abc import Mapping

import typer

from retable.cli.arguments import Json, SourceName, lake_of
from retable.cli.output import NeedsAttention, print_json, print_table, say
from retable.cli.patterns import warn_of_patterns
from retable.cli.progress import working
from retable.onboard.check import Checked, SampledTable
from retable.onboard.check import check as inspect
from retable.printable import amount, printable

app = typer.Typer()

_SHOWN = 5


@app.command()
def check(ctx: typer.Context, source: SourceName, as_json: Json = False) -> None:
    """Connect to a source, decode some of its messages, and show what each table would become.

    A hold is predicted only from the sampled messages. A run reads all messages and may decide otherwise.

    The exit code is 2 if a message does not decode, a row does not fit its table, two tables would get one name, or a
    table is or would be held.
    """
    lake = lake_of(ctx)
    with working(f"reading messages of {source}"):
        found = inspect(lake, lake.settings.source(source))
    if as_json:
        print_json(_facts(found))
    else:
        _tell(source, found)
        warn_of_patterns(lake, source, (table.name for table in found.tables))
    if found.needs_attention:
        raise NeedsAttention("a run now would hold a table or quarantine a message")


def _facts(found: Checked) -> dict[str, object]:
    return {
        "places": len(found.places),
        "messages": found.messages,
        "statements": found.statements,
        "refused": _refused(found.refused),
        "tables": [_table_facts(table) for table in found.tables],
        "silent": list(map(str, found.silent)),
        "declared_only": list(map(str, found.declared)),
        "all_messages": found.is_whole,
    }


def _refused(refused: Mapping[str, tuple[int, str]]) -> dict[str, dict[str, object]]:
    return {code: {"count": count, "first": first} for code, (count, first) in refused.items()}


def _table_facts(table: SampledTable) -> dict[str, object]:
    return {
        "table": str(table.name),
        "gold": table.gold,
        "taken": table.taken,
        "events": table.events,
        "keys": list(table.keys),
        "key_from": table.key,
        "text_for_want_of_types": list(table.open_types),
        "state": table.state,
        "hold": table.hold,
        "clashes_with": table.clash,
        "former_names": list(map(str, table.former)),
        "would_hold": table.stops,
        "dropped": table.dropped,
        "refused": _refused(table.refused),
    }


def _tell(source: str, found: Checked) -> None:
    size = sum(place.size for place in found.places)
    places = amount(len(found.places), "object or partition", "objects or partitions")
    say(f"{source}: {places}, {size:,} bytes or positions in total")
    statements = amount(found.statements, "statement is", "statements are")
    say(f"{amount(found.messages, 'message was', 'messages were')} read; {statements} among their events")
    if found.hours is not None:
        say(
            "the names of its objects contain their hour, but `hour` is not set, so each belongs to the window of its "
            f"modification time: `hour = '{found.hours.pattern}'` reads the hour; set it before the first run"
        )
    for code, (count, first) in found.refused.items():
        say(f"{amount(count, 'message does', 'messages do')} not decode, {code}: {first}")
    rows = [(_name(t), t.gold, _key(t), _types(t), _outcome(t)) for t in found.tables]
    if rows:
        print_table(("TABLE", "GOLD", "KEY", "TYPES", "A RUN WOULD"), rows)
    for table in found.tables:
        for code, (count, first) in table.refused.items() if table.taken else ():
            say(f"{table.name}: {amount(count, 'row does', 'rows do')} not fit, {code}: {first}")
    if found.silent:
        say(f"{len(found.silent)} imported tables have no message among these")
    if found.declared:
        names = ", ".join(map(str, found.declared[:_SHOWN])) + ", ..." * (len(found.declared) > _SHOWN)
        say(
            f"only the snapshot declares {len(found.declared)} tables, and no row among these is theirs: {names}; "
            'each is created with its first row, or at once with snapshot_tables = "all"'
        )


def _name(table: SampledTable) -> str:
    return f"{table.name} (was {', '.join(map(str, table.former))})" if table.former else str(table.name)


def _key(table: SampledTable) -> str:
    none = "none: rows without a key, unless the settings name one"
    return f"{', '.join(table.keys)} ({table.key})" if table.keys else none


def _types(table: SampledTable) -> str:
    if not table.open_types:
        return "known"
    shown = ", ".join(table.open_types[:_SHOWN])
    return printable(f"unknown, so text: {shown}{', ...' * (len(table.open_types) > _SHOWN)}")


def _outcome(table: SampledTable) -> str:
    if not table.taken:
        return "leave it out, as the settings say"
    if table.clash:
        return f"hold it: {table.clash} has the same gold name"
    if table.hold:
        return f"keep it held: {table.hold}"
    if table.stops:
        return printable(f"hold it: {table.stops}")
    does = "make it" if table.state is None else "continue it"
    does += ", until the source drops it" if table.dropped else ""
    refused = sum(count for count, _ in table.refused.values())
    unfit = amount(refused, "row that does not fit", "rows that do not fit")
    return f"{does} without {unfit}" if refused else does
