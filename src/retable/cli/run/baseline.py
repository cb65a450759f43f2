"""`retable baseline`: starts a table from a full copy that was taken at a position of the source's log."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from retable.cli.arguments import TableArgument, lake_to_write
from retable.cli.clock import new_run, user
from retable.cli.output import NeedsAttention, say
from retable.cli.progress import WindowProgress
from retable.cli.run.schema_import import PasswordEnv
from retable.cli.run.stages import running_spark
from retable.errors import InvalidSetting, NotFound
from retable.gold.names import gold_table
from retable.gold.read import find_lost, gold_states
from retable.gold.state import GoldState
from retable.ledger.baselines import format_start
from retable.ledger.lake.catalog import Lake
from retable.ledger.rows import ActionRow, BaselineRow, StageReport
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.onboard.baseline.copies import Copy, CsvForm, open_copy
from retable.onboard.baseline.database_copies import open_table
from retable.onboard.baseline.key_spelling import spellings
from retable.onboard.baseline.pieces import Target, begun_at, land_baseline
from retable.onboard.ordering import scope_of
from retable.onboard.schema.databases import is_address
from retable.onboard.schema.imports import START, position_of, read_start
from retable.onboard.schema.tables import Schema
from retable.replay.inputs.imports import read_schema_imports
from retable.schema_history.shards.parts import is_of_late_object
from retable.settings.load import read_variable
from retable.settings.sources import SourceSettings

app = typer.Typer()

_SHOWN = 3


@app.command()
def baseline(
    ctx: typer.Context,
    table: TableArgument,
    origin: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="COPY",
            help="Parquet or CSV files, the .metadata.json of an Iceberg table, or a database, as jdbc:mysql://host/shop.",
        ),
    ],
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="P",
            help="The position of the copy: start, or epoch:hi. Not given: as the database says, if it can.",
        ),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            "--partition", metavar="TOPIC/N", help="The partition of the table's rows, if only offsets order them."
        ),
    ] = None,
    null: Annotated[str, typer.Option("--null", help="CSV: the text that means null, without quotes.")] = "",
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="CSV: the delimiter. Not given: a comma, in .tsv a tab.")
    ] = None,
    encoding: Annotated[str, typer.Option("--encoding", help="CSV: the encoding of the text.")] = "utf8",
    password_env: PasswordEnv = None,
) -> None:
    """Start a table from a full copy that was taken at a position. Only later changes are applied to it.

    The rows go to silver in pieces. If the command is interrupted, run it again: it continues. To run it again after
    its end changes nothing. Other tables and runs continue in the meantime. A database is read by ranges of the key
    while others write to it, so P must be a position that the database had reached before the command starts.
    """
    lake = lake_to_write(ctx)
    known = find_table(lake, table)
    if is_address(origin):
        password = read_variable(password_env) if password_env else None
        copy, schema, keys = open_table(origin, password, known.name)
        position = read_start(at) if at is not None else _position_now(lake, known, copy, schema)
    else:
        copy, keys = open_copy(origin, CsvForm(delimiter, null=null, encoding=encoding)), ()
        position = read_start(_asked(at))
    target = target_of(lake, known, position, part_of(lake, known, partition), keys)
    this = new_run()
    pieces = land_baseline(lake, target, copy, this.now, say)
    rows = sum(piece.rows for piece in pieces)
    what = f"baseline of {rows} rows at {format_start(str(target.position))} from {origin}"
    append_rows(lake, [ActionRow(target.source, what, table, "", user(), this.now)])
    reports = replay_pieces(lake, known.source, pieces)
    rejected = sum(report.counts.get("rejected", 0) for report in reports)
    say(f"{table}: {rows:,} rows in {len(pieces)} pieces, {rejected:,} of them do not fit")
    if rejected or any(known.gold in report.held for report in reports):
        raise NeedsAttention(f"done, but see `retable quarantine list` and `retable hold list` for {known.gold}")


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A source table that a baseline or resync can start again. `find_table` makes it.

    `name` is its name in the source, and `gold` the name of its gold table. `state` is what the gold table stores about
    it, such as its columns, key and positions. It is None if the gold table does not exist or is lost.
    """

    source: SourceSettings
    name: TableName
    state: GoldState | None
    gold: str


def find_table(lake: Lake, table: str) -> KnownTable:
    """Find a source table by the name of its gold table, `table`. Raise NotFound if there is no such table.

    The gold table may be lost. It need not exist yet if a schema import declares the source table. If several source
    tables share a gold table, `table` must be the gold name that one of them would have without the sharing. For
    example, `gold_shop.orders_1` means the source table `shop.orders_1`, although its rows go into `gold_shop.orders`.
    Raise InvalidSetting if `table` is the name of the shared gold table.
    """
    states, called = gold_states(lake), partial(gold_table, lake.settings.lake)
    for gold, whole in states.items():
        for shard in whole.shards.values():
            if called(shard.table) == table:
                return KnownTable(lake.settings.source(whole.source), shard.table, whole.of_shard(shard.table), gold)
    state = states.get(table)
    if state is not None and state.shards:
        names = ", ".join(sorted(called(shard.table) for shard in state.shards.values())[:_SHOWN])
        raise InvalidSetting(f"several source tables go into {table}; name one of these: {names}", table=table)
    if state is not None:
        return KnownTable(lake.settings.source(state.source), state.table, state, table)
    if (lost := find_lost(lake, table)) is not None:
        return KnownTable(lake.settings.source(lost.source), lost.table, None, table)
    for source in lake.settings.sources.values():
        for each in read_schema_imports(lake, source.name).each:
            name = each.table.table
            if called(name) == table:
                return KnownTable(source, name, None, called(lake.settings.target(name) or name))
    raise NotFound(
        f"there is no table {table}; if it had no change yet, `retable schema import SOURCE` declares it", table=table
    )


def _position_now(lake: Lake, known: KnownTable, copy: Copy, schema: Schema) -> Sequence:
    """Return the log position of a database now. If this continues a baseline, return the position at that begin."""
    begun = begun_at(lake, known.source, known.name, copy)
    return begun or position_of(schema, known.source, None)


def _asked(at: str | None) -> str:
    if at is None:
        raise InvalidSetting(f"files do not contain the position of a copy; give it with --at epoch:hi or --at {START}")
    return at


def target_of(
    lake: Lake,
    known: KnownTable,
    position: Sequence,
    part: tuple[str, int] | None,
    named: tuple[str, ...] = (),
) -> Target:
    """Return a table, its key, and the `position` of the source's log at which it starts again.

    `part` is the Kafka partition (topic and number) in which positions compare, or None if they compare in the whole
    source. The key is that of the settings, else of the newest schema import, else of the gold table, else `named`.
    `named` has the key columns that the database of the copy declares.
    """
    name, source = known.name, known.source
    imports, rules = read_schema_imports(lake, source.name), lake.settings.rules(name)
    imported = imports.newest(name)
    given = rules.keys or (imported.table.keys if imported else ())
    keys = given or (known.state.keys if known.state else ()) or named
    system = source.source_system or imports.dialect or ""
    written = spellings(keys, rules.types, known.state, imported, system)
    return Target(
        source=source.name,
        source_format=source.format,
        table=name,
        position=position,
        part=part,
        keys=keys,
        spellings=written,
    )


def part_of(lake: Lake, known: KnownTable, given: str | None) -> tuple[str, int] | None:
    """Return the Kafka partition (topic and number) in which positions of a table compare.

    `given` is the option `--partition`, as TOPIC/N. If it is None, use the partition of the rows that gold already
    has. Return None if positions compare in the whole source. Raise InvalidSetting if `given` is not TOPIC/N. Raise it
    also if `given` is None and the partition is needed but not known, or the table's rows come from several partitions.
    """
    marks = known.state.high_water if known.state else {}
    parts = {part for part in marks if part and not is_of_late_object(part)}
    if given is None and len(parts) > 1:
        raise InvalidSetting(
            f"changes of {known.name} came in partitions without a common order ({', '.join(sorted(parts))}), so a "
            f"baseline has no position among them; if one of them has all later changes, give it with --partition "
            f"TOPIC/N; otherwise let the source send all rows of the table again"
        )
    text = given or next(iter(parts), None)
    if text is None:
        if scope_of(lake, known.source) == "partition":
            raise InvalidSetting(
                f"changes of {known.source.name} are only ordered inside a partition of the queue, and the "
                f"partition of {known.name} is not known yet; give it with --partition TOPIC/N: "
                f"`retable check {known.source.name}` lists the partitions"
            )
        return None
    topic, _, number = text.rpartition("/")
    if not topic or not number.isdecimal():
        raise InvalidSetting(f"{text!r} is not a partition of a queue; write it as topic/0")
    return topic, int(number)


def replay_pieces(lake: Lake, source: SourceSettings, pieces: list[BaselineRow]) -> list[StageReport]:
    """Replay the pieces of a baseline (full copy) into gold, one by one. Return the report of each replay."""
    reports = []
    with WindowProgress(len(pieces)) as progress, running_spark(lake.settings) as spark:
        entry_point = _entry_point()
        for number, piece in enumerate(pieces, start=1):
            progress.begin(number, piece.window, "replay")
            this = new_run()
            reports.append(entry_point(spark, lake, source, piece.window, this.id, this.now, progress.step))
            progress.done(reports[-1])
    return reports


def _entry_point() -> Any:
    # Loading Spark's entry point loads PySpark, which takes longer than most commands that do not need it.
    from retable.replay.spark import replay_piece

    return replay_piece
