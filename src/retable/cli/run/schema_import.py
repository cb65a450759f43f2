"""`retable schema import`: imports types, keys and column order of all tables, from a dump or a database."""

from pathlib import Path
from typing import Annotated

import typer

from retable.cli.arguments import Json, SourceName, lake_to_write
from retable.cli.clock import new_run, user
from retable.cli.output import NeedsAttention, print_json, print_line, say
from retable.errors import NotFound
from retable.formats.options import database_of
from retable.ledger.rows import ActionRow
from retable.ledger.write import append_rows
from retable.model.sequence import Sequence
from retable.onboard.schema.databases import is_address, read_database
from retable.onboard.schema.dumps import read_dump
from retable.onboard.schema.imports import ImportPlan, format_position, plan_import, position_of
from retable.onboard.schema.tables import Schema, UnreadStatement
from retable.printable import printable
from retable.settings.load import read_variable

app = typer.Typer()

_SHOWN = 50

PasswordEnv = Annotated[
    str | None,
    typer.Option("--password-env", metavar="NAME", help="The environment variable that holds the database's password."),
]


@app.command("schema import")
def import_schema(
    ctx: typer.Context,
    source: SourceName,
    origin: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="DUMP|ADDRESS",
            help="A file from mysqldump or DBMS_METADATA, or a database, as jdbc:mysql://host/shop.",
        ),
    ],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="P", help="The position: start, or epoch:hi[:lo]. Not given: as the dump says."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option("--database", metavar="NAME", help="The database of table names that do not include one."),
    ] = None,
    password_env: PasswordEnv = None,
    apply: Annotated[bool, typer.Option("--apply", help="Store the difference to the import before.")] = False,
    as_json: Json = False,
) -> None:
    """Import types, keys, column order, defaults and comments of a source's tables, valid from a position.

    Statements of the source and the settings take precedence over an import. A second import first shows the
    difference.
    """
    lake = lake_to_write(ctx)
    found = lake.settings.source(source)
    schema = _read(origin, database or database_of(found.options), password_env)
    this = new_run()
    position = position_of(schema, found, at)
    plan = plan_import(lake, found, schema, position, _shown_origin(origin), this.now)
    keeps = bool(plan.rows) and (apply or plan.is_first)
    if keeps:
        what = f"schema import of {len(plan.rows)} tables at {format_position(position)} from {_shown_origin(origin)}"
        append_rows(lake, [*plan.rows, ActionRow(source, what, source, "", user(), this.now)])
    if as_json:
        print_json(_facts(plan, position, keeps))
    else:
        _tell(plan, position, keeps)
    if plan.unread:
        raise NeedsAttention(f"{len(plan.unread)} statements are not understood; what they declare is not known")


def _read(origin: str, database: str | None, password_env: str | None) -> Schema:
    if is_address(origin):
        return read_database(origin, read_variable(password_env) if password_env else None, database)
    path = Path(origin).expanduser()
    if not path.is_file():
        raise NotFound(
            f"{origin} is neither a file nor an address of a database; give the file of a dump, or an address such as "
            f"jdbc:mysql://host:3306/shop",
            path=origin,
        )
    return read_dump(path, database)


def _shown_origin(origin: str) -> str:
    return origin if is_address(origin) else Path(origin).name


def _facts(plan: ImportPlan, position: Sequence, keeps: bool) -> dict[str, object]:
    return {
        "position": format_position(position),
        "added": list(map(str, plan.added)),
        "changed": {str(name): list(words) for name, words in plan.changed.items()},
        "gone": list(map(str, plan.gone)),
        "same": plan.same,
        "left_out": plan.left_out,
        "unread": [_unread(each) for each in plan.unread],
        "kept": keeps,
    }


def _unread(each: UnreadStatement) -> dict[str, object]:
    table = None if each.table is None else str(each.table)
    return {"table": table, "line": each.line, "reason": each.reason, "statement": each.statement}


def _tell(plan: ImportPlan, position: Sequence, keeps: bool) -> None:
    for name in plan.added[:_SHOWN]:
        print_line(f"+ {printable(str(name))}")
    if len(plan.added) > _SHOWN:
        print_line(f"+ {len(plan.added) - _SHOWN} more")
    for name, words in plan.changed.items():
        for line in words:
            print_line(printable(f"~ {name}: {line}"))
    for name in plan.gone:
        print_line(f"- {printable(str(name))}: an earlier import declared it; it stays as it is")
    for each in plan.unread:
        where = f"line {each.line}: " if each.line else ""
        print_line(printable(f"? {where}{each.table or 'no table'}: {each.reason}"))
    counts = f"{len(plan.added)} tables added, {len(plan.changed)} changed, {plan.same} the same"
    left_out = f", {plan.left_out} left out by the settings" if plan.left_out else ""
    say(f"as of {format_position(position)}: {counts}{left_out}")
    if keeps:
        say("stored; tables that have rows already use it after another run (see `retable plan`) or a rebuild")
    elif plan.rows:
        say("nothing is stored yet: add --apply to store this")
