"""`retable init`: a commented settings file for messages that are there already."""

import json
import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from retable.cli.clock import now
from retable.cli.output import say
from retable.cli.sample import Sample, take_sample
from retable.decode.registry import find_format
from retable.errors import EnvironmentFault, InvalidSetting

_LONG_AGO = timedelta(days=2)
_MOST_TABLES = 20


def init(
    ctx: typer.Context,
    from_files: Annotated[Path, typer.Option("--from-files", metavar="FOLDER", help="A folder that holds messages.")],
) -> None:
    """Look at a folder of messages and write a commented settings file for it."""
    target: Path = ctx.obj or Path("retable.toml")
    if target.exists():
        raise _exists(target)
    folder = Path(os.path.abspath(from_files.expanduser()))
    sample = take_sample(folder)
    name = _source_name(folder)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(_settings(name, _from(target, folder), sample))
    except FileExistsError:
        raise _exists(target) from None
    except OSError as error:
        raise EnvironmentFault(f"{target} cannot be written: {error.strerror}; name another with --settings") from error
    found = f"{sample.decoded} of {sample.read} sampled messages are {sample.format}, as {sample.layout}"
    say(f"{found}: {_tables(sample)}")
    say(f"{target} is written. Read in it what the messages cannot tell, then:")
    say(f"    retable {_option(target)}run {name}{_until(sample)}")


def _exists(target: Path) -> InvalidSetting:
    return InvalidSetting(f"{target} is there already; name another file with --settings, or move it away")


def _source_name(folder: Path) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", folder.name.lower()).strip("_")
    return name if re.match("[a-z]", name) else f"files_{name}".rstrip("_")


def _from(target: Path, folder: Path) -> str:
    """The folder as the settings file sees it: relative where it lies beside or below the file."""
    base = Path(os.path.abspath(target)).parent
    return folder.relative_to(base).as_posix() if folder.is_relative_to(base) else str(folder)


def _option(target: Path) -> str:
    return "" if target == Path("retable.toml") else f"--settings {target} "


def _until(sample: Sample) -> str:
    """Messages that end long ago need no windows up to now."""
    if sample.hours is None or now() - sample.hours.end < _LONG_AGO:
        return ""
    return f" --to {sample.hours.end:%Y-%m-%dT%H:%M:%SZ}"


def _tables(sample: Sample) -> str:
    names = [str(table) for table, _ in sample.tables.most_common(_MOST_TABLES)]
    more = len(sample.tables) - len(names)
    return ", ".join(names or ["no row changes yet"]) + (f" and {more} more" if more else "")


def _settings(name: str, path: str, sample: Sample) -> str:
    hours = sample.hours
    hour = f"hour   = '{hours.pattern}'" if hours else "# hour = '(\\d{4}-\\d{2}-\\d{2}T\\d{2})'"
    told = "the name of an object says its hour" if hours else "no name says its hour: the modification time counts"
    lines = [
        "# Settings of Retable. A relative path starts at this file's folder.",
        "",
        "[lake]",
        'catalog   = "sqlite:///var/lake/catalog.db"   # the catalog of all tables',
        'warehouse = "var/lake"                        # where tables keep their files',
        "",
        f"[sources.{name}]",
        'kind   = "files"',
        f"path   = {_quoted(path)}",
        f"layout = {_quoted(sample.layout)}",
        f"format = {_quoted(sample.format)}   # {sample.decoded} of {sample.read} sampled messages decode",
        f"{hour}   # {told}",
        f"every  = {_quoted(hours.every if hours else '1h')}   # the length of a window; fixed with the first one",
        "",
        "# What the messages cannot tell, so please check:",
        f"# - {find_format(sample.format).time_zone}",
        'time_zone = "UTC"',
    ]
    for option, value in sample.options.items():
        lines += [f"# - {find_format(sample.format).options[option]}", f"{option} = {_quoted(value)}"]
    if hours:
        lines.append("# - The hour in the names is taken as UTC; if it is not, take `hour` away.")
    lines.append("# - Which tables you want: globs over database.table.")
    lines.append(f"#   Seen: {_comment(_tables(sample))}")
    lines.append('include = ["*"]')
    if sample.without_system:
        lines += ["# - Which database wrote them: it decides how DDL is read.", '# source_system = "mysql"']
    for table in sorted(sample.without_key, key=str):
        lines += _keyless(table=str(table))
    return "\n".join(lines) + "\n"


def _keyless(table: str) -> list[str]:
    return [
        "",
        f"# - No key came with {_comment(table)}: its rows are a bag, or known by Oracle's rowid. If it has one:",
        f"# [tables.{_quoted(_comment(table))}]",
        '# keys = ["id"]',
    ]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _comment(text: str) -> str:
    """A name of a message inside a comment: it cannot end its line."""
    return "".join(char if char.isprintable() else "?" for char in text)
