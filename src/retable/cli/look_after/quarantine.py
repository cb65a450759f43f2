"""What could not be decoded or applied: which messages and rows, why, their bytes, and how they leave quarantine."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Annotated, Any

import typer
from pyiceberg.expressions import And, EqualTo, NotNull, Reference
from pyiceberg.expressions.literals import literal

from retable.cli.arguments import Json, lake_of, lake_to_write
from retable.cli.clock import new_run, now, user
from retable.cli.output import (
    NeedsAttention,
    print_facts,
    print_json_rows,
    print_line,
    print_table,
    say,
    shown_bytes,
)
from retable.cli.progress import WindowProgress
from retable.cli.run.stages import call_attention, run_window, running_spark
from retable.errors import NotFound, PositionsLost
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
from retable.ledger.read import read_ledger
from retable.ledger.retained import is_dropped, kept_from
from retable.ledger.rows import ActionRow, Stage, StageReport
from retable.ledger.write import append_rows
from retable.model.window import window_start
from retable.settings.sources import Source

app = typer.Typer(
    no_args_is_help=True,
    help="List messages that were not decoded and rows that were not applied, and decode them again.",
)

_PLACE = ("window", "topic", "partition", "offset")
_MOST_BYTES = 4096
_MOST_LISTED = 1000

SourceOption = Annotated[str | None, typer.Option("--source", metavar="S", help="Only this source.")]
WindowOption = Annotated[str | None, typer.Option("--window", metavar="W", help="Only this window.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The ID, as `quarantine list` prints it.")]

_VERDICTS = ("applied", "superseded", "duplicate", "voided", "held", "pending", "rejected", "excluded")
"""The possible outcomes of a row, in the order of the ledger's equation (docs/concepts/flow.md)."""


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
def show_quarantined(ctx: typer.Context, address: Id) -> None:
    """Show one message in quarantine: the reason, its location, and its bytes."""
    lake = lake_of(ctx)
    rows = _find(lake, [address])
    accepted = read_accepted(lake, rows[0].source)
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
    address: Id,
    reason: Annotated[str, typer.Option("--reason", help="Why it may be lost. It is stored with your name.")],
) -> None:
    """Accept one message or row in quarantine as lost, so that its table counts as complete. It stays listed.

    This is permanent: if its window is decoded again and the message still fails, it stays accepted.
    """
    lake = lake_to_write(ctx)
    row = _find(lake, [address])[0]
    known = read_accepted(lake, row.source).get(row.id)
    if known is not None:
        say(f"{row.id} was accepted by {known.who}: {known.reason}")
        return
    moment = now()
    append_rows(lake, [ActionRow(row.source, ACCEPT, row.id, reason, user(), moment)])
    say(f"accepted as lost: {row.id} of {row.table_name or 'an unknown table'} ({row.code}: {row.reason})")
    record(lake, lake.settings.source(row.source), moment)


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
    decoded. If landing cut off a line, its object is read again, if the source still has it.
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
        say("nothing to decode again: all of that is accepted or not in quarantine; see `retable quarantine list`")
        return
    words = []
    with running_spark(lake.settings) as spark:
        for name, rows in groupby(chosen, key=lambda row: row.source):
            words += _redecode(lake, lake.settings.source(name), list(rows), spark)
    if words:
        raise NeedsAttention("; ".join(words))


def _listed(lake: Lake, windows: Iterable[tuple[str, str]], after: str | None) -> Iterator[dict[str, object]]:
    """Give the facts of what these windows have, or of what follows this ID; NotFound if there is no such ID."""
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


# --- redecode ----------------------------------------------------------------------------------------------------
def _redecode(lake: Lake, source: Source, rows: Sequence[QuarantineRow], spark: Any) -> list[str]:
    """Run the windows of these rows again, in order; give what still needs a person after that."""
    windows = sorted({row.window for row in rows})
    before = _replayed(lake, source, windows)
    reports: list[StageReport] = []
    with WindowProgress(len(windows)) as progress:
        for number, window in enumerate(windows, start=1):
            if _has_cut_lines(lake, source, window):
                reports += _land_again(lake, source, window, spark)
            stages = _stages(lake, source, window)
            reports += run_window(lake, source, number, window, stages, spark, progress)
    left = [row for window in windows for row in list_quarantined(lake, source.name, window)]
    ids, places = {row.id for row in left}, {(row.window, *_place(row)) for row in left}
    gone = sum((row.window, *_place(row)) not in places for row in rows)
    moved = sum(row.id not in ids for row in rows) - gone
    words = [f"{gone:,} of {len(rows):,} left quarantine"]
    words.append(f"{moved:,} are refused at another stage or row now" if moved else "")
    words.append(f"{len(left):,} are in quarantine in these windows")
    say(f"{source.name}: {'; '.join(filter(None, words))}")
    became = _replayed(lake, source, windows)
    became.subtract(before)
    more = [f"{became[what]:+,} {what}" for what in _VERDICTS if became[what]]
    say(f"{source.name}: changes in the outcomes of rows in these windows: {', '.join(more) or 'none'}")
    try:
        call_attention(lake, source, reports)
    except NeedsAttention as attention:
        return [f"{source.name}: {attention}"]
    return []


def _replayed(lake: Lake, source: Source, windows: Sequence[str]) -> Counter[str]:
    """The outcome of the last replay of the rows of these windows."""
    found: Counter[str] = Counter()
    for window in windows:
        for row in read_ledger(lake, source.name, window):
            if row.stage == "replay" and row.table is None:
                found.update(row.counts)
    return found


def _place(row: QuarantineRow) -> tuple[str, int, int]:
    return row.topic, row.partition, row.offset


def _stages(lake: Lake, source: Source, window: str) -> tuple[Stage, ...]:
    done = {row.stage for row in read_ledger(lake, source.name, window) if row.table is None}
    return ("decode", "replay") if "replay" in done else ("decode",)


def _has_cut_lines(lake: Lake, source: Source, window: str) -> bool:
    """Say whether landing cut a message of a window; one with an erased message is left as it is."""
    if any(row.counts.get("erased") for row in read_ledger(lake, source.name, window) if row.table is None):
        return False
    cut = And(EqualTo(term=Reference("window"), value=literal(window)), NotNull(term=Reference("problem")))
    with explained(lake.settings.lake):
        scan = lake.load(f"bronze.{source.name}").scan(row_filter=cut, selected_fields=("offset",), limit=1)
        return len(scan.to_arrow()) > 0


def _land_again(lake: Lake, source: Source, window: str, spark: Any) -> list[StageReport]:
    # Loading Spark's entry point loads PySpark, which takes longer than most commands that do not need it.
    from retable.land.spark import land_window

    this = new_run()
    try:
        return [land_window(spark, lake, source, window, this.id, this.now, again=True)]
    except PositionsLost as lost:
        say(f"the lines that landing cut stay as they are: {lost.message}")
        return []


# --- reading -----------------------------------------------------------------------------------------------------
def _sources(lake: Lake, source: str | None, window: str | None) -> list[str]:
    if window is not None:
        window_start(window)
    return sorted(lake.settings.sources) if source is None else [lake.settings.source(source).name]


def _open(lake: Lake, source: str, window: str | None) -> list[QuarantineRow]:
    accepted = read_accepted(lake, source)
    return [row for row in list_quarantined(lake, source, window) if row.id not in accepted]


def _find(lake: Lake, ids: Iterable[str]) -> list[QuarantineRow]:
    """Give the rows of these IDs; NotFound names an ID without a row."""
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
    """Read the message's fields from bronze; of its window only the message at its position."""
    bronze = lake.load(f"bronze.{row.source}")
    place = [EqualTo(term=Reference(name), value=literal(getattr(row, name))) for name in _PLACE]
    with explained(lake.settings.lake):
        found = bronze.scan(row_filter=And(*place), selected_fields=("key", "value")).to_arrow().to_pylist()
    return {name: value for part in found for name, value in part.items() if value is not None}


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
    """A hint how to accept a row with a value that its column does not hold; None if no way is known."""
    if row.stage != "replay" or row.code != "BAD_VALUE" or row.table_name is None:
        return None
    return (
        f'if the column should accept such values: [tables."{row.table_name}"] types = {{ COLUMN = "string" }}, then '
        f"`retable quarantine redecode --id {row.id}`"
    )
