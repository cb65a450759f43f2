"""`retable init`: inspects the messages of a folder or of topics, and writes a first settings file with comments."""

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from retable.cli.clock import now
from retable.cli.output import say
from retable.errors import EnvironmentFault, InvalidSetting
from retable.formats.options import nearest
from retable.onboard.first_inspection import FirstInspection, inspect_folder, inspect_topics
from retable.onboard.first_settings import list_tables, settings_of_folder, settings_of_topics
from retable.printable import amount
from retable.settings.sources import KafkaAccess
from retable.settings.types import SOURCE_NAME

app = typer.Typer()

_LONG_AGO = timedelta(days=2)


@app.command()
def init(
    ctx: typer.Context,
    from_files: Annotated[
        Path | None, typer.Option("--from-files", metavar="FOLDER", help="A folder that holds messages.")
    ] = None,
    from_kafka: Annotated[
        str | None, typer.Option("--from-kafka", metavar="BOOTSTRAP", help="The brokers to ask first, as kafka-1:9092.")
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topics", metavar="GLOB", help="With --from-kafka: the topics. May be repeated."),
    ] = None,
    kafka: Annotated[
        list[str] | None,
        typer.Option(
            "--kafka",
            metavar="NAME=VALUE",
            help="With --from-kafka: a setting for the connection, as password_env=ERP_PASSWORD. May be repeated.",
        ),
    ] = None,
    called: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The name of the source. Not given: from the folder or the topic."),
    ] = None,
) -> None:
    """Read some messages of a folder or of topics of Kafka, and write a settings file with comments.

    --kafka takes the settings of `[sources.<name>.kafka]`: security_protocol, mechanism, username_env, … At most some
    thousand messages are read. No offset is committed.
    """
    if (from_files is None) == (from_kafka is None):
        raise typer.BadParameter("say where the messages are: --from-files FOLDER, or --from-kafka BOOTSTRAP")
    if from_kafka is None and (topics or kafka):
        raise typer.BadParameter("--topics and --kafka are only valid with --from-kafka")
    if called is not None and not SOURCE_NAME.fullmatch(called):
        raise typer.BadParameter("--name takes a lower-case letter, then letters, digits or `_`: erp_orders")
    target: Path = ctx.obj or Path("retable.toml")
    if target.exists():
        raise _exists(target)
    if from_kafka is None:
        assert from_files is not None
        folder = Path(os.path.abspath(from_files.expanduser()))
        name = called or _source_name(folder.name)
        inspection = inspect_folder(folder)
        text = settings_of_folder(name, _from(target, folder), inspection)
        what = f"as {inspection.layout}"
    else:
        access = _access(kafka or [])
        globs = topics or []
        name = called or _source_name(globs[0] if globs else "", "topics")
        inspection = _inspect(name, from_kafka, globs, access)
        text = settings_of_topics(name, from_kafka, globs, access, inspection)
        what = f"of {amount(inspection.count, 'partition', 'partitions')}"
    _write(target, text)
    reading = inspection.reading
    found = f"{reading.decoded} of {reading.read} sampled messages are {reading.format.name}, {what}"
    say(f"{found}: {list_tables(reading)}")
    say(f"{target} is written. Check in it what the messages do not contain, then:")
    say(f"    retable {_option(target)}check {name}")
    say(f"    retable {_option(target)}run {name}{_until(inspection)}")


def _access(given: list[str]) -> dict[str, str]:
    """Read the values of `--kafka`. Raise InvalidSetting for an unknown setting; the error names a similar one."""
    access: dict[str, str] = {}
    for each in given:
        name, is_given, value = each.partition("=")
        if not is_given:
            # The value is not shown: it may be a secret given instead of the name of its variable.
            raise InvalidSetting("--kafka takes NAME=VALUE; write it as --kafka username_env=ERP_USER")
        if name not in KafkaAccess.model_fields:
            known = nearest(name, KafkaAccess.model_fields) or f"; known are {', '.join(KafkaAccess.model_fields)}"
            raise InvalidSetting(f"--kafka {name} is not a setting of `[sources.<name>.kafka]`{known}")
        access[name] = os.path.abspath(Path(value).expanduser()) if name.endswith("_file") else value
    return access


def _inspect(name: str, bootstrap: str, topics: list[str], access: Mapping[str, str]) -> FirstInspection:
    facts = {"name": name, "kind": "kafka", "bootstrap": bootstrap, "topics": topics, "kafka": dict(access)}
    try:
        return inspect_topics(facts)
    except ValidationError as error:
        found = error.errors()[0]
        where = ".".join(str(part) for part in found["loc"])
        words = "name a topic, or a glob, with --topics" if found["type"] == "too_short" else found["msg"]
        raise InvalidSetting(f"{where}: {words.removeprefix('Value error, ')}") from None


def _write(target: Path, text: str) -> None:
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _exists(target) from None
    except OSError as error:
        raise EnvironmentFault(f"{target} cannot be written: {error.strerror}; name another with --settings") from error


def _exists(target: Path) -> InvalidSetting:
    return InvalidSetting(f"{target} exists already; name another file with --settings, or move it away")


def _source_name(text: str, other: str = "files") -> str:
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return name if re.match("[a-z]", name) else f"{other}_{name}".rstrip("_")


def _from(target: Path, folder: Path) -> str:
    """Return the path of the folder for the settings file: relative if the folder is below the folder of the file."""
    base = Path(os.path.abspath(target)).parent
    return folder.relative_to(base).as_posix() if folder.is_relative_to(base) else str(folder)


def _option(target: Path) -> str:
    return "" if target == Path("retable.toml") else f"--settings {target} "


def _until(inspection: FirstInspection) -> str:
    """Return an option `--to` for `run` if the messages end long ago, so that it makes no windows up to now."""
    if inspection.hours is None or now() - inspection.hours.end < _LONG_AGO:
        return ""
    return f" --to {inspection.hours.end:%Y-%m-%dT%H:%M:%SZ}"
