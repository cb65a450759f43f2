"""`retable check`: what a source has, and what a run would make of it; nothing is written."""

import typer

from retable.cli.arguments import Json, SourceName, lake_of
from retable.cli.output import NeedsAttention, print_json, print_table, say
from retable.cli.patterns import warn_of_patterns
from retable.onboard.check import Checked, FoundTable
from retable.onboard.check import check as look
from retable.printable import printable

_SHOWN = 5


def check(ctx: typer.Context, source: SourceName, as_json: Json = False) -> None:
    """Connect to a source, list it, decode some messages, and say what each of its tables would become.

    Ends with 2 where a message does not decode, two tables would have one name, or one is held.
    """
    lake = lake_of(ctx)
    found = look(lake, lake.settings.source(source))
    if as_json:
        print_json(_facts(found))
    else:
        _tell(source, found)
        warn_of_patterns(lake, source, (table.name for table in found.tables))
    if found.needs_attention:
        raise NeedsAttention("a run as things are would hold a table or quarantine a message")


def _facts(found: Checked) -> dict[str, object]:
    return {
        "places": len(found.places),
        "messages": found.messages,
        "statements": found.statements,
        "refused": {code: {"count": count, "first": first} for code, (count, first) in found.refused.items()},
        "tables": [_table_facts(table) for table in found.tables],
        "silent": list(map(str, found.silent)),
    }


def _table_facts(table: FoundTable) -> dict[str, object]:
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
    }


def _tell(source: str, found: Checked) -> None:
    size = sum(place.size for place in found.places)
    say(f"{source}: {len(found.places)} objects or partitions, {size:,} bytes or positions in all")
    say(f"{found.messages:,} messages were looked at; {found.statements:,} statements are among their events")
    if found.hours is not None:
        say(
            "the names of its objects tell their hour, and `hour` is not set, so each belongs to the window of its "
            f"modification time: `hour = '{found.hours.pattern}'` reads it; set it before the first run"
        )
    for code, (count, first) in found.refused.items():
        say(f"{count:,} do not decode, {code}: {first}")
    rows = [(str(t.name), t.gold, _key(t), _types(t), _outcome(t)) for t in found.tables]
    if rows:
        print_table(("TABLE", "GOLD", "KEY", "TYPES", "A RUN WOULD"), rows)
    if found.silent:
        say(f"{len(found.silent)} imported tables have no message among these")


def _key(table: FoundTable) -> str:
    return f"{', '.join(table.keys)} ({table.key})" if table.keys else "none: a bag of rows, unless settings name one"


def _types(table: FoundTable) -> str:
    if not table.open_types:
        return "known"
    shown = ", ".join(table.open_types[:_SHOWN])
    return printable(f"text for want of a type: {shown}{', ...' * (len(table.open_types) > _SHOWN)}")


def _outcome(table: FoundTable) -> str:
    if not table.taken:
        return "leave it out, as the settings say"
    if table.clash:
        return f"hold it: {table.clash} has the name too"
    if table.hold:
        return f"keep it held: {table.hold}"
    return "make it" if table.state is None else "go on with it"
