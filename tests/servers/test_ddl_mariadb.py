"""What a real MariaDB made of a thousand drawn statements, and what Retable reads in them: the same, or held."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from random import Random

import pymysql

from retable.ddl.registry import gold_type, parse_statement
from retable.errors import RetableError
from retable.fold.cells import default_of
from retable.formats.reading import ValueRules
from retable.model.event import TableName
from retable.model.schema_change import AddColumn, ChangeColumn
from retable.model.sequence import Sequence
from retable.replay.inputs.rules import SourceRules
from retable.schema_history.history import TableHistory
from retable.schema_history.statement import Statement
from retable.schema_history.trace import trace
from retable.settings.load import Settings
from servers.drawn_ddl import Drawn
from servers.processes import Process
from servers.test_schemas_of_databases import certificates, mariadb  # noqa: F401  # fixtures are found by name

SETTINGS = '\n[sources.erp]\nkind = "files"\nformat = "canal_json"\npath = "in"\nlayout = "lines"\n'
STATEMENTS = 1000
SEED = int(os.environ.get("RETABLE_DDL_SEED", "1"))
"""Another one draws a thousand others."""

MOST_HELD = 100
SETTLED = {
    "json": "'' on MariaDB, where JSON is text, and 'null' on MySQL: null, as nothing tells which",
    "date": "0000-00-00, which is no date: null (docs/formats.md)",
}
"""What old rows show in a column that is added NOT NULL: the server's, and why Retable's is another."""
EPOCH = datetime.fromisoformat("1970-01-01")


@dataclass(slots=True)
class Server:
    """One table of a server, as it is after each statement."""

    cursor: pymysql.cursors.Cursor

    def takes(self, statement: str) -> bool:
        try:
            self.cursor.execute(statement.replace("%", "%%"), ())
        except pymysql.Error:
            return False
        return True

    def columns(self) -> list[tuple[str, str]]:
        self.cursor.execute(
            "SELECT column_name, column_type FROM information_schema.columns "
            "WHERE table_schema = 'drawn' AND table_name = 't' ORDER BY ordinal_position"
        )
        return [(str(name), str(kind)) for name, kind in self.cursor.fetchall()]

    def key(self) -> tuple[str, ...]:
        self.cursor.execute("SHOW INDEX FROM t WHERE Key_name = 'PRIMARY'")
        return tuple(str(row[4]) for row in sorted(self.cursor.fetchall(), key=lambda row: row[3]))

    def has_row(self) -> bool:
        self.cursor.execute("SELECT 1 FROM t")
        return self.cursor.fetchone() is not None

    def value(self, column: str, declared: str) -> object:
        """What the row shows that was there before."""
        read = "{} + 0" if declared.lower().startswith("bit") else "{}"
        self.cursor.execute(f"SELECT {read.format('`' + column.replace('`', '``') + '`')} FROM t")
        (found,) = self.cursor.fetchone() or (None,)
        return _comparable(found)


@dataclass(slots=True)
class Read:
    """The same table as Retable reads it."""

    rules: SourceRules
    statements: list[Statement] = field(default_factory=list)
    computed: set[str] = field(default_factory=set)

    def take(self, text: str) -> TableHistory:
        name = TableName("drawn", None, "t")
        changes = parse_statement("mariadb", text, "drawn", None, "t")
        specs = [each.column for each in changes if isinstance(each, AddColumn | ChangeColumn)]
        self.computed |= {spec.name for spec in specs if spec.computed}
        at = Sequence(0, len(self.statements), 0)
        self.statements.append(Statement(position=at, part=None, table=name, text=text, changes=changes))
        (found,) = (each for each in trace(self.statements, self.rules.dialect()).histories() if each.name == name)
        return found


def _comparable(value: object) -> object:
    match value:
        case datetime():
            return (value - EPOCH).total_seconds()
        case date():
            return (value - EPOCH.date()).days
        case Decimal() | int() | float():
            return float(value)
        case bytes():
            return value.decode("latin-1")
    return value if isinstance(value, str) else None


def differences(server: Server, history: TableHistory, before: TableHistory | None, computed: set[str]) -> list[str]:
    """How a table that is not held differs from the server's; `computed` are columns whose default is no constant."""
    mine = [column for column in history.final.columns if column.retained is None]
    theirs = server.columns()
    told = [f"columns {[c.name for c in mine]}, not {[n for n, _ in theirs]}"]
    if [column.name for column in mine] != [name for name, _ in theirs]:
        return told
    found = [
        f"column {name!r} is {column.type}, and {declared!r} would be {gold_type('mariadb', declared)}"
        for column, (name, declared) in zip(mine, theirs, strict=True)
        if column.type != gold_type("mariadb", declared) and column.text_since is None
    ]
    if (key := server.key()) != (history.final.keys or ()):
        found.append(f"the key is {history.final.keys}, not {key}")
    if not server.has_row():
        return found
    there = {column.id for column in before.final.columns} if before else {column.id for column in mine}
    for column in (column for column in mine if column.id not in there and column.fill is None):
        if column.type.kind in ("binary", "boolean") or column.source_type is None:
            continue
        if column.source_type.lower() in SETTLED and column.default is None:
            continue
        if "time" in column.source_type.lower() or "year" in column.source_type.lower() or column.name in computed:
            continue
        shown, real = (
            _comparable(default_of(column, ValueRules(system="mariadb"))),
            server.value(column.name, column.source_type),
        )
        if shown != real:
            found.append(f"old rows show {shown!r} in {column.name!r} ({column.source_type}), not {real!r}")
    return found


def test_a_thousand_statements_mean_what_mariadb_makes_of_them(
    mariadb: Process,  # noqa: F811  # pytest finds a fixture by its name
    write_settings: Callable[[str], Settings],
) -> None:
    settings = write_settings(SETTINGS)
    rules = SourceRules(settings, settings.source("erp"), "mariadb")
    rng, taken, held, wrong = Random(SEED), 0, 0, []
    connection = pymysql.connect(host="127.0.0.1", port=mariadb.port, user="root", autocommit=True, charset="utf8mb4")
    server = Server(connection.cursor())
    for statement in ("CREATE DATABASE drawn", "USE drawn"):
        assert server.takes(statement)
    while taken < STATEMENTS:
        server.takes("DROP TABLE IF EXISTS t")
        drawn, read = Drawn(rng), Read(rules)
        if not server.takes(text := drawn.create()):
            continue
        server.takes("INSERT INTO t () VALUES ()")
        history, before, steps = read.take(text), None, [text]
        for _ in range(8):
            taken += 1
            try:
                found = ["held"] if history.hold else differences(server, history, before, read.computed)
            except RetableError as error:
                found = [] if error.code != "BUG" else [str(error)]
            if history.hold:
                held += 1
                break
            if found:
                wrong.append("\n  ".join([*found, *steps]))
                break
            drawn.columns = [name for name, _ in server.columns()]
            while not server.takes(text := drawn.alter()):
                pass
            before, history = history, read.take(text)
            steps.append(text)
    connection.close()
    print(f"{taken} statements, {held} held, {len(wrong)} wrong")
    assert not wrong, f"seed {SEED}, {len(wrong)} of {taken}:\n" + "\n".join(wrong[:20])
    assert held <= MOST_HELD
