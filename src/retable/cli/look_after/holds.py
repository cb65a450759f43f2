"""`retable hold`: lists the held tables (stopped at a position), and lets a person continue them."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Annotated

import typer

from retable.cli.arguments import Json, lake_of, lake_to_write
from retable.cli.clock import new_run, user
from retable.cli.output import NeedsAttention, print_facts, print_json, say
from retable.cli.progress import WindowProgress
from retable.cli.run.stages import call_attention_to_rebuilt, running_spark
from retable.errors import NotFound
from retable.gold.damage import with_recorded_hold
from retable.gold.read import find_known, is_retired, known_states
from retable.gold.state import hold_json
from retable.ledger.counts import open_ledger
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_tables
from retable.ledger.rows import ActionRow, StageReport
from retable.ledger.write import append_rows
from retable.replay.inputs.decisions import decision_row
from retable.replay.release import Release, Way, count_waiting, plan_making, plan_rebuild, plan_release, spoken_dialect
from retable.replay.repeats import find_repeats, hint_of, later_ones
from retable.replay.sent_elsewhere import tables_to_rebuild
from retable.schema_history.history import Hold

app = typer.Typer(no_args_is_help=True, help="List tables that are stopped at a position, and let them continue.")

_HOW = "say how the table continues: give one of --retry, --skip, --as 'ALTER ...', --approve, --reject or --rebuild"


@app.command("list")
def list_holds(ctx: typer.Context, as_json: Json = False) -> None:
    """List the held tables, each with its reason, the statement or the row, and the remedy. Retired tables are left
    out.
    """
    lake = lake_of(ctx)
    states, unread = known_states(lake)
    for error in unread:
        if error.facts.get("table") not in states:
            raise error
    held = [
        {"name": name, "source": state.source, **hold_json(state.hold), **_hint(lake, state.source, state.hold)}
        for name, state in states.items()
        if state.hold is not None and not is_retired(lake, state)
    ]
    if as_json:
        print_json(held)
    elif held:
        for facts in held:
            print_facts({**facts, "remedy": str(facts["remedy"]).replace("TABLE", str(facts["name"]))})
    else:
        say("nothing is held")


def _hint(lake: Lake, source: str, hold: Hold) -> dict[str, str]:
    hint = hint_of(find_repeats(lake, source, hold), hold)
    return {} if hint is None else {"hint": hint}


@app.command("release")
def release_hold(
    ctx: typer.Context,
    tables: Annotated[
        list[str], typer.Argument(metavar="TABLE...", help="Gold tables that are held: gold_shop.orders.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="The reason. It is stored with your name.")],
    retry: Annotated[bool, typer.Option("--retry", help="Continue at the hold, with the present settings.")] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Leave out the statement or the row.")] = False,
    statement: Annotated[
        str | None, typer.Option("--as", metavar="STATEMENT", help="The statement to apply instead.")
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Apply the statement that waits for approval.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Leave out the statement that waits for approval.")] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild the table, as `retable rebuild` does.")] = False,
    repeats: Annotated[
        bool,
        typer.Option("--repeats", help="With --skip: also leave out later occurrences of the statement."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Let held tables continue: each one catches up from silver. The command says what it will do and asks."""
    asked: Mapping[Way, bool] = {
        "retry": retry,
        "skip": skip,
        "as": statement is not None,
        "approve": approve,
        "reject": reject,
        "rebuild": rebuild,
    }
    ways = [way for way, wanted in asked.items() if wanted]
    if len(ways) != 1:
        raise typer.BadParameter(_HOW)
    (way,) = ways
    if way == "as" and len(tables) > 1:
        raise typer.BadParameter("--as gives one statement for one table: name only that table")
    if repeats and way != "skip":
        raise typer.BadParameter("--repeats is only valid with --skip")
    go_on(lake_to_write(ctx), tables, way, reason, statement, repeats=repeats, yes=yes)


def go_on(
    lake: Lake,
    tables: Iterable[str],
    way: Way,
    reason: str,
    statement: str | None = None,
    *,
    repeats: bool = False,
    yes: bool = False,
) -> None:
    """Let held tables continue, or rebuild tables: print what will happen, ask, then replay each table from silver.

    `way` is what a person chose for all of these tables, as `retry` or `rebuild`. `reason` is stored with the person's
    name. `statement` is the SQL text to apply instead of the one that held the table (option `--as`). If `repeats` is
    True, later occurrences of a skipped statement are skipped too. If `yes` is True, do not ask. Raise NotFound if a
    table is not held and `way` is not `rebuild`.
    """
    releases = {table: _plan(lake, table, way, statement, repeats=repeats) for table in tables}
    for release in releases.values():
        for line in release.words:
            say(line)
    if not yes:
        typer.confirm("Continue?", abort=True, err=True)
    _act(lake, releases, reason)


def _plan(lake: Lake, table: str, way: Way, statement: str | None, *, repeats: bool) -> Release:
    if way == "rebuild" and _to_make(lake, table) is not None:
        return plan_making(table)
    state = find_known(lake, table)
    row = next((row for row in read_tables(lake, state.source) if row.identity == state.identity), None)
    state = with_recorded_hold(state, row)
    source = lake.settings.source(state.source)
    waiting = count_waiting(lake, source.name, table)
    if state.hold is None and way == "rebuild":
        return plan_rebuild(table, waiting)
    if state.hold is None:
        raise NotFound(
            f"{table} is not held; `retable rebuild` builds it again, and `retable hold list` shows what is held",
            table=table,
        )
    release = plan_release(table, state, state.hold, way, statement, waiting, lambda: spoken_dialect(lake, source))
    if way != "skip":
        return release
    return release.with_repeats(later_ones(find_repeats(lake, source.name, state.hold), state.hold), repeats)


def _to_make(lake: Lake, table: str) -> str | None:
    """Return the source of a table to which the settings send rows, but which no run has made yet. Else return None."""
    states, unread = known_states(lake)
    if table in states or any(error.facts.get("table") == table for error in unread):
        return None
    for source in lake.settings.sources.values():
        mine = {name: state for name, state in states.items() if state.source == source.name}
        if table in tables_to_rebuild(lake.settings, source, mine, open_ledger(lake, source.name).applied):
            return source.name
    return None


def _act(lake: Lake, releases: Mapping[str, Release], reason: str) -> None:
    """Record for each table who decided what, then replay the table from silver. All tables use one Spark session."""
    this, reports = new_run(), dict[str, StageReport]()
    with WindowProgress(len(releases)) as progress, running_spark(lake.settings) as spark:
        for number, (table, release) in enumerate(releases.items(), 1):
            source = lake.settings.source(_to_make(lake, table) or find_known(lake, table).source)
            _record(lake, source.name, table, release, reason, this.now)
            progress.begin(number, table, release.way)
            resumes = release.way != "rebuild"
            reports[table] = _rebuild_entry_point()(
                spark, lake, source, table, this.id, this.now, progress.step, resumes
            )
            progress.done(reports[table])
    again = [table for table, report in reports.items() if table in report.held]
    if again:
        raise NeedsAttention(
            f"{', '.join(again)} {'is' if len(again) == 1 else 'are'} held again: `retable hold list` says why"
        )
    for name in sorted({report.source for report in reports.values()}):
        mine = [report for report in reports.values() if report.source == name]
        call_attention_to_rebuilt(lake, lake.settings.source(name), mine, ())


def _record(lake: Lake, source: str, table: str, release: Release, reason: str, now: datetime) -> None:
    what = f"release --{release.way}"
    if release.decision is not None:
        append_rows(lake, [decision_row(source, decision, now) for decision in release.decisions])
        what += f" {release.decision.statement}" if release.decision.statement else ""
        what += f" at {', '.join(str(decision.position) for decision in release.decisions)}"
    append_rows(lake, [ActionRow(source, what, table, reason, user(), now)])


def _rebuild_entry_point() -> Callable[..., StageReport]:
    # Loading Spark's entry point loads PySpark, which takes longer than most commands that do not need it.
    from retable.replay.spark import rebuild

    return rebuild
