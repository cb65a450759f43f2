"""Reads the schema of a running database from its system catalog. Retable writes nothing to the database."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

from retable.ddl.registry import parse_statement
from retable.errors import ConflictError, EnvironmentFault, InvalidSetting
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import DeclareTable
from retable.onboard.schema.dumps import read_oracle
from retable.onboard.schema.tables import DeclaredTable, Schema
from retable.onboard.schema.tls import tls_of
from retable.printable import without_passwords

_DRIVERS = {
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
    "postgresql": "postgresql+psycopg2",
    "oracle": "oracle+oracledb",
}
_MYSQL_OWN = ("mysql", "information_schema", "performance_schema", "sys")
_ORACLE = re.compile(r"oracle:thin:@(?://)?(?P<host>[^:/]+)(?::(?P<port>\d+))?[:/](?P<service>\w[\w.$#-]*)\Z")
_PASSWORD = re.compile(r"password|passwd|\Apwd\Z", re.IGNORECASE)
_LITERAL = re.compile(r"'((?:[^']|'')*)'(?:::.*)?\Z|(-?\d+(?:\.\d+)?)\Z", re.DOTALL)
_ORACLE_OWN = "'SYS', 'SYSTEM', 'XDB', 'MDSYS', 'CTXSYS', 'OUTLN', 'DBSNMP', 'GSMADMIN_INTERNAL', 'APPQOSSYS', 'AUDSYS'"


def is_address(text: str) -> bool:
    """Return whether a command-line argument is the address of a database. If not, it is the name of a file."""
    return text.startswith("jdbc:") or "://" in text


def read_database(address: str, password: str | None, database: str | None = None) -> Schema:
    """Return the tables that a running MySQL, MariaDB, PostgreSQL or Oracle database declares.

    `address` is a JDBC address, or `mysql://user@host:3306/shop`, without a password. TLS options in the address are
    used; an unsupported TLS option raises InvalidSetting (`retable.onboard.schema.tls`). `database` is only for Oracle:
    if it is given, table names are `database.owner.table`, else `owner.table`. ConflictError if the database cannot be
    reached.
    """
    url = read_address(address, password)
    with connected(url, address) as connection:
        match url.get_backend_name():
            case "mysql":
                return _read_mysql(connection, url.database or None)
            case "postgresql":
                return _read_postgresql(connection)
            case _:
                return _read_oracle(connection, database)


def read_address(address: str, password: str | None) -> sa.URL:
    """Parse the address of a database, and return it as SQLAlchemy's URL with the password in it.

    InvalidSetting if the address cannot be parsed, contains a password, or is of an unsupported database.
    """
    text = address.removeprefix("jdbc:")
    if found := _ORACLE.match(text):
        port = int(found["port"] or 1521)
        url = sa.URL.create("oracle", host=found["host"], port=port, query={"service_name": found["service"]})
    else:
        try:
            url = sa.make_url(text)
        except (sa.exc.ArgumentError, ValueError):
            shown = without_passwords(address)
            raise InvalidSetting(
                f"{shown!r} is not an address of a database; write it as jdbc:mysql://host:3306/shop"
            ) from None
    if url.password is not None or any(_PASSWORD.search(name) for name in url.query):
        raise InvalidSetting("an address must not contain a password; name an environment variable with --password-env")
    backend = url.get_backend_name()
    if backend not in _DRIVERS:
        raise InvalidSetting(
            f"databases of {backend!r} cannot be read; the supported databases are {', '.join(_DRIVERS)}"
        )
    user = url.username or url.query.get("user")
    options = {name: value for name, value in url.query.items() if isinstance(value, str)}
    if twice := sorted(url.query.keys() - options.keys()):
        raise InvalidSetting(f"the address has the option {twice[0]} more than once; keep one of them")
    service = {name: value for name, value in options.items() if name == "service_name"}
    query = {**service, **tls_of(backend, options)}
    named_user = user if isinstance(user, str) else None
    return url.set(drivername=_DRIVERS[backend], username=named_user, password=password, query=query)


@contextmanager
def connected(url: sa.URL, shown: str) -> Iterator[sa.Connection]:
    """Connect to a database for the `with` block. ConflictError if the database reports an error in it.

    `shown` is the address without a password, for the error text. EnvironmentFault if the driver is not installed.
    """
    try:
        engine = sa.create_engine(url)
    except (NoSuchModuleError, ImportError) as error:
        raise EnvironmentFault(
            f"the Python driver for {url.drivername} is not installed: {error}; install retable[databases]"
        ) from error
    try:
        with engine.connect() as connection:
            yield connection
    except SQLAlchemyError as error:
        what = str(getattr(error, "orig", error)).splitlines()[0]
        raise ConflictError(
            f"{shown}: the database reports: {what}; check address, user and password, or try again"
        ) from error
    finally:
        engine.dispose()


# --- MySQL -----------------------------------------------------------------------------------------------------------
def _read_mysql(connection: sa.Connection, database: str | None) -> Schema:
    schema = Schema("mysql")
    _set_session(connection, ("SET SESSION TRANSACTION READ ONLY", "SET SESSION sql_quote_show_create = 1"))
    wanted = sa.text(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' "
        "AND (table_schema = :one OR (:one IS NULL AND table_schema NOT IN :own)) ORDER BY 1, 2"
    ).bindparams(sa.bindparam("own", expanding=True))
    found = connection.execute(wanted, {"one": database, "own": _MYSQL_OWN}).all()
    schema.place = _binlog(connection)
    quote = connection.dialect.identifier_preparer.quote_identifier
    for home, table in found:
        statement = connection.exec_driver_sql(f"SHOW CREATE TABLE {quote(home)}.{quote(table)}".replace("%", "%%"))
        text = str(statement.one()[1])
        schema.take(parse_statement("mysql", text, home, None, table), text, 0)
    return schema


def _binlog(connection: sa.Connection) -> tuple[str, int] | None:
    """Return the server's current binlog position; None if it writes no binlog or the user has no right to read it."""
    for question in ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"):
        with suppress(SQLAlchemyError):
            row = connection.exec_driver_sql(question).first()
            return (str(row[0]), int(row[1])) if row is not None else None
    return None


def _set_session(connection: sa.Connection, statements: tuple[str, ...]) -> None:
    for statement in statements:
        connection.exec_driver_sql(statement)


# --- PostgreSQL ------------------------------------------------------------------------------------------------------
_COLUMNS = """
SELECT current_database(), n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg_toast%' AND n.nspname NOT LIKE 'pg_temp%' AND c.relpersistence <> 't'
ORDER BY 2, 3, a.attnum"""

_KEYS = """
SELECT n.nspname, c.relname, a.attname
FROM pg_constraint p JOIN pg_class c ON c.oid = p.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL unnest(p.conkey) WITH ORDINALITY AS k(attnum, at)
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
WHERE p.contype = 'p' ORDER BY 1, 2, k.at"""
"""The columns of each primary key. Columns that the index only has as INCLUDE columns are not part of the key."""


def _read_postgresql(connection: sa.Connection) -> Schema:
    """Return the tables. PostgreSQL gives no CREATE TABLE statements, so columns come from its catalog."""
    schema = Schema("postgresql")
    keys: dict[tuple[str, str], list[str]] = {}
    for home, table, column in connection.exec_driver_sql(_KEYS.replace("%", "%%")):
        keys.setdefault((home, table), []).append(column)
    columns: dict[TableName, list[ColumnSpec]] = {}
    for database, home, table, *facts in connection.exec_driver_sql(_COLUMNS.replace("%", "%%")):
        columns.setdefault(TableName(database, home, table), []).append(_postgresql_column(*facts))
    for name, specs in columns.items():
        key = tuple(keys.get((name.schema or "", name.table), ()))
        schema.tables[name] = DeclaredTable(DeclareTable(name, tuple(specs), key), _written(name, specs, key))
    return schema


def _postgresql_column(name: str, kind: str, not_null: bool, default: str | None, comment: str | None) -> ColumnSpec:
    found = _LITERAL.match(default) if default is not None else None
    value = None if found is None else found[2] or (found[1] or "").replace("''", "'")
    has = default is None or found is not None
    return ColumnSpec(name, kind, not_null, default is not None and has, value, comment, not has)


def _written(name: TableName, columns: list[ColumnSpec], key: tuple[str, ...]) -> str:
    lines = [f'  "{c.name}" {c.source_type}{" NOT NULL" if c.not_null else ""}' for c in columns]
    quoted = ", ".join(f'"{part}"' for part in key)
    lines += [f"  PRIMARY KEY ({quoted})"] if key else []
    return f'CREATE TABLE "{name.schema}"."{name.table}" (\n' + ",\n".join(lines) + "\n)"


# --- Oracle ----------------------------------------------------------------------------------------------------------
def _read_oracle(connection: sa.Connection, database: str | None) -> Schema:
    """Return all tables that the user may see, from the DDL of DBMS_METADATA without storage clauses."""
    settings = "".join(
        f"DBMS_METADATA.SET_TRANSFORM_PARAM(DBMS_METADATA.SESSION_TRANSFORM, '{name}', {value});"
        for name, value in (("STORAGE", "FALSE"), ("SEGMENT_ATTRIBUTES", "FALSE"), ("SQLTERMINATOR", "TRUE"))
    )
    connection.exec_driver_sql(f"BEGIN {settings} END;")
    tables = connection.exec_driver_sql(
        "SELECT owner, table_name FROM all_tables WHERE nested = 'NO' AND secondary = 'N' AND temporary = 'N' "
        f"AND owner NOT IN ({_ORACLE_OWN}) ORDER BY 1, 2"
    ).all()
    ddl = "SELECT DBMS_METADATA.GET_DDL('TABLE', :name, :owner) FROM dual"
    scripts = (str(_text(connection, ddl, name=name, owner=owner)) for owner, name in tables)
    schema = read_oracle((line for script in scripts for line in script.splitlines(keepends=True)), database)
    comments = connection.exec_driver_sql(
        "SELECT owner, table_name, column_name, comments FROM all_col_comments WHERE comments IS NOT NULL"
    )
    for owner, table, column, text in comments:
        name = TableName(owner, None, table) if database is None else TableName(database, owner, table)
        schema.comment(name, column, text)
    return schema


def _text(connection: sa.Connection, question: str, **values: Any) -> object:
    return connection.execute(sa.text(question), values).scalar_one()
