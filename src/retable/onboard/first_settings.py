"""Writes the first settings of a source for `retable init`, with comments on what its messages do not contain."""

import textwrap
from collections.abc import Iterable, Mapping

from retable.model.event import TableName
from retable.onboard.first_inspection import FirstInspection
from retable.onboard.recognition import Reading
from retable.printable import toml_string

_MOST_TABLES = 20
_WIDTH = 118

_LAKE = (
    "# Settings of Retable. A relative path starts at this file's folder.",
    "",
    "[lake]",
    'catalog   = "sqlite:///var/lake/catalog.db"   # the catalog of all tables',
    'warehouse = "var/lake"                        # where tables keep their files',
    "",
)


def settings_of_folder(name: str, path: str, inspection: FirstInspection) -> str:
    """Return the TOML text of the settings of a source `name` whose messages are in a folder."""
    hours = inspection.hours
    hour = f"hour   = '{hours.pattern}'" if hours else "# hour = '(\\d{4}-\\d{2}-\\d{2}T\\d{2})'"
    origin = "the name of an object contains its hour" if hours else "no name contains it: the modification time counts"
    source = [
        f"[sources.{name}]",
        'kind   = "files"',
        f"path   = {toml_string(path)}",
        f"layout = {toml_string(inspection.layout or '')}",
        f"format = {toml_string(inspection.reading.format.name)}   # {_share(inspection.reading)}",
        f"{hour}   # {origin}",
        f"every  = {toml_string(hours.every if hours else '1h')}   # the length of a window; fixed by the first one",
    ]
    zone = ["# - The hour in the names is read as UTC; if it is not UTC, remove `hour`."] if hours else []
    return _text([*_LAKE, *source, *_open_questions(inspection.reading, zone)])


def settings_of_topics(
    name: str, bootstrap: str, topics: Iterable[str], access: Mapping[str, str], inspection: FirstInspection
) -> str:
    """Return the TOML text of the settings of a source whose messages are in topics of Kafka.

    `topics` are names or globs. `access` has the keys and values of the setting `kafka`, which says how to authenticate
    to the brokers.
    """
    globs, there = (
        ", ".join(map(toml_string, topics)),
        f"{inspection.count} partitions, {inspection.positions:,} positions now",
    )
    source = [
        f"[sources.{name}]",
        'kind      = "kafka"',
        f"bootstrap = {toml_string(bootstrap)}",
        f"topics    = [{globs}]   # {there}",
        f"format    = {toml_string(inspection.reading.format.name)}   # {_share(inspection.reading)}",
        'start     = "earliest"   # or "latest", or a time with its zone',
        'every     = "1h"         # the length of a window; fixed by the first one',
        'delay     = "2m"         # how long after its end a window is recorded',
    ]
    if access:
        source.append(
            f"kafka     = {{ {', '.join(f'{key} = {toml_string(value)}' for key, value in access.items())} }}"
        )
    return _text([*_LAKE, *source, *_open_questions(inspection.reading, _strangers(inspection.reading))])


def list_tables(reading: Reading) -> str:
    """Return the names of at most 20 sampled tables in one line, ordered by their rows, and how many more there are."""
    names = [str(table) for table, _ in reading.tables.most_common(_MOST_TABLES)]
    more = len(reading.tables) - len(names)
    return ", ".join(names or ["no row changes yet"]) + (f" and {more} more" if more else "")


def _open_questions(reading: Reading, more: Iterable[str]) -> list[str]:
    """Return lines for the settings that the messages do not decide, and for the limits of the format.

    `more` are comment lines that come after the options of the format.
    """
    known = reading.format
    lines = ["", "# Please check what the messages do not contain:", f"# - {known.time_zone}", 'time_zone = "UTC"']
    for option, value in reading.needed.items():
        lines += [f"# - {known.words(option)}", f"{option} = {toml_string(value)}"]
    lines += more
    lines += ["# - Which tables you want: globs over database.table.", f"#   Seen: {_comment(list_tables(reading))}"]
    lines.append('include = ["*"]')
    if not reading.system_told:
        lines += ["# - Which database wrote them: this decides how DDL is read.", '# source_system = "mysql"']
    lines += ["", f"# What no message of {known.name} contains, and no setting corrects:"]
    for sentence in known.cannot_tell:
        lines += textwrap.wrap(sentence, _WIDTH, initial_indent="# - ", subsequent_indent="#   ")
    return [*lines, *_untyped(reading), *_keyless(reading)]


def _untyped(reading: Reading) -> list[str]:
    if reading.typed or not reading.tables:
        return []
    return [
        "",
        "# - Some of the rows came without types: the spelling of its values then decides the type of a column, until",
        "#   `retable schema import` or `types` of [tables] declares it.",
    ]


def _keyless(reading: Reading) -> list[str]:
    named = sorted(reading.without_key, key=str)
    lines = []
    for table in named[:_MOST_TABLES]:
        lines += ["", f"# - No key came with {_comment(str(table))}: {_without_key(reading, table)} If it has a key:"]
        lines += [f"# [tables.{toml_string(_comment(str(table)))}]", '# keys = ["id"]']
    if len(named) > _MOST_TABLES:
        more = len(named) - _MOST_TABLES
        lines += ["", f"# - No key came with {more} more tables: `retable schema import` imports the keys of all."]
    return lines


def _without_key(reading: Reading, table: TableName) -> str:
    if table in reading.without_old:
        return "an update or a delete came without the old row, so it goes to quarantine."
    return "its rows have no key, or Oracle's rowid is the key."


def _strangers(reading: Reading) -> list[str]:
    """Return comment lines about the topics with messages that do not decode."""
    topics = reading.strangers.most_common(_MOST_TABLES)
    return [f"# - {count} sampled messages of the topic {_comment(topic)} do not decode." for topic, count in topics]


def _share(reading: Reading) -> str:
    return f"{reading.decoded} of {reading.read} sampled messages decode"


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """Return a text for use in a TOML comment, without characters that would end the line."""
    return "".join(char if char.isprintable() else "?" for char in text)
