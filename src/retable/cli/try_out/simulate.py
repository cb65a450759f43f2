"""`retable simulate`: writes messages of a small shop, settings that read them, and the rows that gold must have."""

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from retable.cli.arguments import instant
from retable.cli.clock import now
from retable.cli.output import say
from retable.errors import EnvironmentFault, InvalidSetting
from retable.gold.names import gold_table
from retable.model.event import TableName
from retable.settings.load import load_settings
from retable.simulate import (
    DDL_KINDS,
    FORMATS,
    ROW_KINDS,
    Clock,
    Delivery,
    History,
    Stream,
    TableSetting,
    canal_json,
    datahub_blob,
    datahub_tuple,
    debezium_json,
    deliver,
    dts_avro,
    hour_cuts,
    lindorm_debezium,
    shareplex_json,
    streamx_json,
    write_objects,
)
from retable.simulate import simulate as play

app = typer.Typer()

SOURCE = "shop"

_HOUR = timedelta(hours=1)
_HOUR_MS = _HOUR // timedelta(milliseconds=1)
_KINDS = ROW_KINDS * 40 + tuple(kind for kind in DDL_KINDS if kind not in ("drop_table", "drop_two_tables"))
"""Few actions are DDL statements, and none of them drops a table, so that all tables have rows to look at."""

_LOADED_ROWS = 25
_DISTURBED = 0.01


class SimulatedFormat(StrEnum):
    """The formats that the simulator writes."""

    STREAMX_JSON = streamx_json.NAME
    CANAL_JSON = canal_json.NAME
    DEBEZIUM_JSON = debezium_json.NAME
    SHAREPLEX_JSON = shareplex_json.NAME
    DATAHUB_BLOB = datahub_blob.NAME
    DATAHUB_TUPLE = datahub_tuple.NAME
    LINDORM_DEBEZIUM = lindorm_debezium.NAME
    DTS_AVRO = dts_avro.NAME


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to write. `start` is the begin of the first hour. `changes` counts the shop's actions in all hours."""

    format: SimulatedFormat
    seed: int
    hours: int
    changes: int
    partitions: int
    start: datetime

    @property
    def end(self) -> datetime:
        return self.start + self.hours * _HOUR


@app.command()
def simulate(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder, or an empty one.")],
    source_format: Annotated[SimulatedFormat, typer.Option("--format", help="The format of the messages.")] = (
        SimulatedFormat.STREAMX_JSON
    ),
    seed: Annotated[int, typer.Option(help="The seed. Equal seeds give equal messages.")] = 1,
    hours: Annotated[int, typer.Option(min=1, max=1000, help="How many hours of messages.")] = 3,
    changes: Annotated[int, typer.Option(min=0, max=1_000_000, help="How many changes in total.")] = 600,
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, help="Partitions of the queue. Not given: 3, or 1 for formats that only offsets order."
        ),
    ] = None,
    start: Annotated[
        datetime | None,
        typer.Option(
            metavar="T", parser=instant, help="The first hour. Not given: so that the last one is the last full hour."
        ),
    ] = None,
) -> None:
    """Write change messages of a small simulated shop, settings that read them, and the rows that gold must have."""
    by_offset = FORMATS[source_format].by_offset
    partitions = partitions or (1 if by_offset else 3)
    if by_offset and partitions > 1:
        raise InvalidSetting(
            f"only offsets order messages of {source_format}, so all messages must be in one partition; leave out "
            f"--partitions"
        )
    first = _full_hour(now()) - hours * _HOUR if start is None else _full_hour(start)
    plan = _Plan(source_format, seed, hours, changes, partitions, first)
    try:
        _check_empty(folder)
        _write(folder, plan)
    except OSError as error:
        raise EnvironmentFault(f"{folder} cannot be written: {error.strerror}; name another folder") from error


def _full_hour(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


def _check_empty(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InvalidSetting(f"{folder} is a file; name a new folder")
    if folder.exists() and any(folder.iterdir()):
        raise InvalidSetting(f"{folder} is not empty; name a new folder, so that no message of another run is read too")


def _write(folder: Path, plan: _Plan) -> None:
    chance = random.Random(plan.seed)
    start_ms = int(plan.start.timestamp()) * 1000
    clock = Clock(start_ms, plan.hours * _HOUR_MS // (plan.changes + 1), start_ms + plan.hours * _HOUR_MS)
    known = FORMATS[plan.format]
    kinds = [kind for kind in _KINDS if kind in known.kinds]
    history = known.as_source(
        play(chance, plan.changes, kinds=kinds, loaded=known.loaded, rows=_LOADED_ROWS, clock=clock)
    )
    stream, delivery = _stream(history, plan)
    windows = deliver(stream, chance, delivery, cuts=hour_cuts(stream, start_ms, plan.hours), topic=SOURCE)
    write_objects(windows, folder / "landing", plan.start, SOURCE)
    (folder / "retable.toml").write_text(_settings(history, plan), encoding="utf-8", newline="\n")
    tables = _write_truth(folder, history)
    _tell(folder, plan, sum(map(len, windows)), tables)


def _stream(history: History, plan: _Plan) -> tuple[Stream, Delivery]:
    """Return the messages of the history, and how they are delivered.

    Tables without a key get no hidden row id, because the source does not show it. No message is late if the format has
    partial updates: these can only be applied to an existing row.
    """
    known = FORMATS[plan.format]
    has_row_ids = plan.format in (SimulatedFormat.STREAMX_JSON, SimulatedFormat.DATAHUB_BLOB)
    stream = known.write(history, streamx_json.Options(row_ids=False)) if has_row_ids else known.write(history)
    if known.by_offset:
        return stream, Delivery()
    late = 0.0 if known.partial else _DISTURBED
    return stream, Delivery(plan.partitions, spread="key", late=late, repeated=_DISTURBED)


def _write_truth(folder: Path, history: History) -> list[str]:
    """Write each table's rows under the name of its gold table. Return these names, the table with most rows first."""
    settings, truth = load_settings(folder / "retable.toml"), history.truth()
    lake, schema = settings.lake, FORMATS[settings.source(SOURCE).format].schema
    target = folder / "truth"
    target.mkdir()
    names = []
    for table in sorted(truth.tables, key=lambda name: (-len(truth.tables[name].rows), name)):
        names.append(gold_table(lake, TableName(history.database, schema, table)))
        text = "".join(f"{line}\n" for line in truth.lines(table))
        (target / f"{names[-1]}.jsonl").write_text(text, encoding="utf-8", newline="\n")
    return names


def _settings(history: History, plan: _Plan) -> str:
    lines = [
        f"# Settings of Retable for a simulated shop, seed {plan.seed}. A relative path starts at this file's folder.",
        "",
        "[lake]",
        'catalog   = "sqlite:///var/lake/catalog.db"   # the catalog of all tables',
        'warehouse = "var/lake"                        # where tables keep their files',
        "",
        f"[sources.{SOURCE}]",
        'kind   = "files"',
        'path   = "landing"',
        'layout = "kafka_dump"                # a line is a Kafka record with its address',
        f'format = "{plan.format}"',
        "hour   = '(\\d{4}-\\d{2}-\\d{2}T\\d{2})'   # the name of an object contains its hour",
        'every  = "1h"                        # the length of a window; fixed by the first one',
        f'start  = "{plan.start.isoformat()}"',
        'time_zone = "UTC"                    # the time zone of the source\'s clock',
    ]
    known = FORMATS[plan.format]
    lines += [f"{name} = {json.dumps(setting)}" for name, setting in known.source.items()]
    for table, setting in known.tables(history).items():
        lines += _table(table, setting)
    return "\n".join(lines) + "\n"


def _table(table: str, setting: TableSetting) -> list[str]:
    types = ", ".join(
        f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(kind)}" for name, kind in setting.types.items()
    )
    return [
        "",
        "# The table existed before the log began, and messages of this format do not contain all of this.",
        f"[tables.{json.dumps(table, ensure_ascii=False)}]",
        *([f"keys = {json.dumps(setting.keys, ensure_ascii=False)}"] if setting.keys else []),
        f"types = {{ {types} }}",
    ]


def _tell(folder: Path, plan: _Plan, messages: int, tables: list[str]) -> None:
    say(f"{messages} {plan.format} messages of {plan.hours} hours are in {folder / 'landing'}.")
    say(f"The settings that read them are in {folder / 'retable.toml'}.")
    say(f"The rows that gold must have are in {folder / 'truth'}: {', '.join(sorted(tables))}.")
    say("Now:")
    say(f"    cd {folder}")
    say(f"    retable run {SOURCE} --to {plan.end:%Y-%m-%dT%H:%M:%SZ}")
    if tables:
        say(f"    retable rows {tables[0]} | LC_ALL=C sort | diff - truth/{tables[0]}.jsonl && echo equal")
