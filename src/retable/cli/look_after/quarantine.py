"""`retable quarantine`: lists messages that were not decoded and rows that were not applied.

A person can accept them as lost, or decode their windows again.
"""

import shlex
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import groupby, islice
from operator import itemgetter
from typing import Annotated

import typer
from pyiceberg.expressions import And, EqualTo, Reference
from pyiceberg.expressions.literals import literal

from retable.cli.arguments import Json, lake_of, lake_to_write
from retable.cli.clock import now, user
from retable.cli.look_after.redecode import decode_again
from retable.cli.output import (
    NeedsAttention,
    print_facts,
    print_json,
    print_json_rows,
    print_line,
    print_table,
    say,
    shown_bytes,
)
from retable.cli.progress import working
from retable.cli.run.stages import running_spark
from retable.errors import NotFound
from retable.freshness.catalog import record
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.quarantine import (
    ACCEPT,
    QuarantineRow,
    count_quarantined,
    list_quarantined,
    read_accepted,
    read_quarantined,
)
from retable.ledger.retained import is_dropped, kept_from
from retable.ledger.rows import ActionRow
from retable.ledger.write import append_rows
from retable.model.window import window_start

app = typer.Typer(
    no_args_is_help=True,
    help="List messages that were not decoded and rows that were not applied, and decode them again.",
)

_PLACE = ("window", "topic", "partition", "offset")
_MOST_BYTES = 4096
_MOST_LISTED = 1000
_MOST_SAID = 20

SourceOption = Annotated[str | None, typer.Option("--source", metavar="S", help="Only this source.")]
WindowOption = Annotated[str | None, typer.Option("--window", metavar="W", help="Only this window.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The ID, as `quarantine list` prints it.")]


@app.command("list")
def list_quarantine(
    ctx: typer.Context,
    source: SourceOption = None,
    window: WindowOption = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="How many. Not given: 1,000, or all with --json.")
    ] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="ID", help="Only those listed after this ID.")] = None,
    as_json: Json = False,
) -> None:
    """List what is in quarantine. `retable quarantine show ID` shows one message."""
    lake = lake_of(ctx)
    windows = {
        (name, each): count
        for name in _sources(lake, source, window)
        for each, count in count_quarantined(lake, name, window).items()
    }
    rows = _listed(lake, windows, after)
    if as_json:
        print_json_rows(islice(rows, limit))
        return
    found = list(islice(rows, limit or _MOST_LISTED))
    if found:
        names = ("id", "window", "stage", "code", "state", "table", "reason")
        print_table([name.upper() for name in names], ([facts[name] for name in names] for facts in found))
        if next(rows, None) is not None:
            say(f"{len(found):,} of {sum(windows.values()):,}; the next: --after {shlex.quote(str(found[-1]['id']))}")
    else:
        say("nothing is quarantined" if after is None else "nothing more is quarantined")


@app.command("show")
def show_quarantined(ctx: typer.Context, address: Id, as_json: Json = False) -> None:
    """Show one message in quarantine: the reason, its location, and its bytes.

    With --json its bytes are in base64.
    """
    lake = lake_of(ctx)
    rows = _find(lake, [address])
    accepted = read_accepted(lake, rows[0].source)
    if as_json:
        print_json([{**_facts(row, accepted), **_in_base64(_message(lake, row))} for row in rows])
        return
    for row in rows:
        print_facts(_facts(row, accepted))
        if is_dropped(row.window, kept_from(lake, "bronze", row.source)):
            say("bronze no longer holds its bytes (retention.bronze)")
        for name, value in _message(lake, row).items():
            print_line(f"{name}, {len(value):,} bytes:")
            print_line(shown_bytes(value, _MOST_BYTES))


@app.command("accept")
def accept_quarantined(
    ctx: typer.Context,
    reason: Annotated[str, typer.Option("--reason", help="Why they may be lost. It is stored with your name.")],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="The IDs, as `quarantine list` prints them.")
    ] = None,
    source: SourceOption = None,
    window: Annotated[
        str | None, typer.Option("--window", metavar="W", help="All of this window, instead of IDs.")
    ] = None,
) -> None:
    """Accept messages or rows in quarantine as lost, so that their tables count as complete. They stay listed.

    Name them by ID, or accept all of one window. This is permanent: if a window is decoded again and a message of it
    still fails, the message stays accepted.
    """
    if bool(ids) == (window is not None):
        raise typer.BadParameter("name the IDs, or the window of all of them with --window")
    lake, moment = lake_to_write(ctx), now()
    names = _sources(lake, source, window)
    named = _find(lake, ids) if ids else [row for name in names for row in list_quarantined(lake, name, window)]
    rows = {row.id: row for row in named}
    accepted = {name: read_accepted(lake, name) for name in {row.source for row in named}}
    lost = [row for row in rows.values() if row.id not in accepted[row.source]]
    append_rows(lake, [ActionRow(row.source, ACCEPT, row.id, reason, user(), moment) for row in lost])
    for row in lost[:_MOST_SAID]:
        say(f"accepted as lost: {row.id} of {row.table_name or 'an unknown table'} ({row.code}: {row.reason})")
    if len(lost) > _MOST_SAID:
        say(f"accepted as lost: {len(lost) - _MOST_SAID:,} more; `retable quarantine list` prints them")
    for row in rows.values() if ids else ():
        if known := accepted[row.source].get(row.id):
            say(f"{row.id} was accepted by {known.who}: {known.reason}")
    if window is not None and not lost:
        say(f"nothing of the window {window} is in quarantine and not accepted")
    for name in {row.source for row in lost}:
        record(lake, lake.settings.source(name), moment)


@app.command("redecode")
def redecode_quarantined(
    ctx: typer.Context,
    source: SourceOption = None,
    window: WindowOption = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="ID", help="Only the window of this message. May be repeated."),
    ] = None,
) -> None:
    """Decode and replay windows with something in quarantine again, after the settings or Retable changed.

    Without options: all windows with something that was not accepted. A window that was not replayed yet is only
    decoded. If landing cut off the end of a message (`max_message`), its window is first landed again, if the source
    still has the messages.
    """
    lake = lake_to_write(ctx)
    wanted = _find(lake, ids) if ids else []
    chosen = [
        row
        for name in _sources(lake, source, window)
        for row in (wanted if ids else _open(lake, name, window))
        if row.source == name and window in (None, row.window)
    ]
    if not chosen:
        say("nothing to decode again: what you named is accepted or not in quarantine; see `retable quarantine list`")
        return
    words = []
    with ExitStack() as stack:
        with working("starting Spark"):
            spark = stack.enter_context(running_spark(lake.settings))
        for name, rows in groupby(chosen, key=lambda row: row.source):
            words += decode_again(lake, lake.settings.source(name), list(rows), spark)
    if words:
        raise NeedsAttention("; ".join(words))


def _listed(lake: Lake, windows: Iterable[tuple[str, str]], after: str | None) -> Iterator[dict[str, object]]:
    """Yield the facts of what these windows have in quarantine, in order.

    If `after` is not None, begin after the message or row with this ID. Raise NotFound if there is none.
    """
    place = tuple(after.split("/", 2)[:2]) if after else ("", "")
    wanted = [each for each in windows if each >= place]
    if after and place not in wanted:
        raise _no_such(after)
    for source, mine in groupby(wanted, key=itemgetter(0)):
        accepted = read_accepted(lake, source)
        for _, window in mine:
            rows = read_quarantined(lake, source, window)
            if (source, window) == place:
                rows = _behind(rows, after)
            yield from (_facts(row, accepted) for row in rows)


def _behind(rows: Iterator[QuarantineRow], after: str | None) -> Iterator[QuarantineRow]:
    if not any(row.id == after for row in rows):
        raise _no_such(str(after))
    return rows


# --- reading -----------------------------------------------------------------------------------------------------
def _sources(lake: Lake, source: str | None, window: str | None) -> list[str]:
    if window is not None:
        window_start(window)
    return sorted(lake.settings.sources) if source is None else [lake.settings.source(source).name]


def _open(lake: Lake, source: str, window: str | None) -> list[QuarantineRow]:
    accepted = read_accepted(lake, source)
    return [row for row in list_quarantined(lake, source, window) if row.id not in accepted]


def _find(lake: Lake, ids: Iterable[str]) -> list[QuarantineRow]:
    """Return the quarantined messages and rows with these IDs. Raise NotFound for an ID without one."""
    found: list[QuarantineRow] = []
    for wanted in dict.fromkeys(ids):
        source, _, rest = wanted.partition("/")
        known = list_quarantined(lake, source, rest.partition("/")[0]) if source in lake.settings.sources else []
        rows = [row for row in known if row.id == wanted]
        if not rows:
            raise _no_such(wanted)
        found += rows
    return found


def _no_such(wanted: str) -> NotFound:
    return NotFound(f"no quarantined message or row has the ID {wanted!r}; `retable quarantine list` prints the IDs")


def _message(lake: Lake, row: QuarantineRow) -> dict[str, bytes]:
    """Read the key and the value of one message from bronze. Fields that are null are left out."""
    bronze = lake.load(f"bronze.{row.source}")
    place = [EqualTo(term=Reference(name), value=literal(getattr(row, name))) for name in _PLACE]
    with explained(lake.settings.lake):
        found = bronze.scan(row_filter=And(*place), selected_fields=("key", "value")).to_arrow().to_pylist()
    return {name: value for part in found for name, value in part.items() if value is not None}


def _in_base64(message: Mapping[str, bytes]) -> dict[str, str | None]:
    return {
        f"{name}_base64": b64encode(message[name]).decode() if name in message else None for name in ("key", "value")
    }


def _facts(row: QuarantineRow, accepted: Mapping[str, ActionRow]) -> dict[str, object]:
    action = accepted.get(row.id)
    return {
        "id": row.id,
        "source": row.source,
        "window": row.window,
        "stage": row.stage,
        "code": row.code,
        "state": "open" if action is None else "accepted" if action.action == ACCEPT else "landed",
        "reason": row.reason,
        "place": row.place,
        "table": None if row.table_name is None else str(row.table_name),
        "keys": row.keys,
        "decoder_version": row.decoder_version,
        "quarantined_at": row.quarantined_at.isoformat(),
        "accepted_by": None if action is None else action.who,
        "accepted_because": None if action is None else action.reason,
        "hint": _hint(row),
    }


def _hint(row: QuarantineRow) -> str | None:
    """Return a hint how to store a value that does not fit the type of its column, or None for other problems."""
    if row.stage != "replay" or row.code != "BAD_VALUE" or row.table_name is None:
        return None
    return (
        f'if the column should accept such values: [tables."{row.table_name}"] types = {{ COLUMN = "string" }}, then '
        f"`retable quarantine redecode --id {row.id}`"
    )
