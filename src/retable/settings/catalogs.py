"""The kinds of catalogs that a lake may have: the address of each kind, and the properties for Spark and pyiceberg.

An address contains no password. Other settings name the environment variables that hold passwords.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import SplitResult, parse_qsl, quote, urlencode

from pydantic import PlainValidator, ValidationInfo

from retable.formats.options import nearest
from retable.settings.storage import check_path, check_server, shown, split, web_address
from retable.settings.types import from_folder

BUSY_SECONDS = 30
"""How many seconds a process waits for the lock of another process on a SQLite catalog."""

CONNECT_SECONDS = 10
"""How many seconds a process waits until a catalog on another machine accepts its connection."""

_SQLITE, _POSTGRES, _GLUE = "sqlite:///", "postgresql", "glue"
_WRITTEN = (
    "write it as sqlite:///var/lake/catalog.db, postgresql://user@host/database, rest+https://host/path or "
    "glue://region"
)
_POSTGRES_OPTIONS = ("sslmode", "sslrootcert")
_REST_OPTIONS = ("warehouse", "oauth2-server-uri", "scope")
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")


@dataclass(frozen=True, slots=True)
class SqliteCatalog:
    """The settings of a SQLite file as catalog. Many processes of this machine may use the file at once."""

    file: Path

    def __str__(self) -> str:
        return str(self.file)

    def spark(self) -> dict[str, str]:
        uri = f"jdbc:sqlite:{self.file}?journal_mode=WAL&busy_timeout={BUSY_SECONDS * 1000}"
        return {"type": "jdbc", "uri": uri, "jdbc.schema-version": "V1"}

    def pyiceberg(self) -> dict[str, str]:
        return {"type": "sql", "uri": f"{_SQLITE}{self.file}?timeout={BUSY_SECONDS}"}


@dataclass(frozen=True, slots=True)
class PostgresCatalog:
    """The settings of a PostgreSQL database as catalog.

    `server` is `host` or `host:port`. `options` are connection options that the JDBC and the Python driver support.
    """

    user: str
    server: str
    database: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"postgresql://{self.user}@{self.server}/{self.database}"

    def spark(self) -> dict[str, str]:
        options = [*self.options, ("connectTimeout", CONNECT_SECONDS), ("tcpKeepAlive", "true")]
        uri = f"jdbc:postgresql://{self.server}/{quote(self.database)}?{urlencode(options)}"
        return {"type": "jdbc", "uri": uri, "jdbc.user": self.user, "jdbc.schema-version": "V1"}

    def pyiceberg(self) -> dict[str, str]:
        options = urlencode([*self.options, ("connect_timeout", CONNECT_SECONDS)])
        uri = f"postgresql+psycopg2://{quote(self.user)}@{self.server}/{quote(self.database)}?{options}"
        # Notice a connection that the server closed since its last use, before anything is sent on it.
        return {"type": "sql", "uri": uri, "pool_pre_ping": "true"}


@dataclass(frozen=True, slots=True)
class RestCatalog:
    """The settings of a server with Iceberg's REST protocol as catalog.

    The option `warehouse` in `options` names one catalog if the server has several.
    """

    uri: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.uri

    def spark(self) -> dict[str, str]:
        return {
            "type": "rest",
            "uri": self.uri,
            # The server then sends keys for each table; pyiceberg requests this without a setting.
            "header.X-Iceberg-Access-Delegation": "vended-credentials",
            "rest.client.connection-timeout-ms": str(CONNECT_SECONDS * 1000),
            **dict(self.options),
        }

    def pyiceberg(self) -> dict[str, str]:
        return {"type": "rest", "uri": self.uri, **dict(self.options)}


@dataclass(frozen=True, slots=True)
class GlueCatalog:
    """The settings of AWS Glue in a region as catalog, or of a server with the same protocol at `endpoint`.

    The access keys come from AWS's own settings: environment variables, a profile or a role.
    """

    region: str
    endpoint: str | None = None

    def __str__(self) -> str:
        return f"glue://{self.region}"

    def spark(self) -> dict[str, str]:
        return {"type": "glue", "client.region": self.region} | self._endpoint()

    def pyiceberg(self) -> dict[str, str]:
        return {"type": "glue", "glue.region": self.region} | self._endpoint()

    def _endpoint(self) -> dict[str, str]:
        return {"glue.endpoint": self.endpoint} if self.endpoint else {}


CatalogSettings = SqliteCatalog | PostgresCatalog | RestCatalog | GlueCatalog


def _parse(value: object, info: ValidationInfo) -> CatalogSettings:
    if isinstance(value, CatalogSettings):
        return value
    text = value if isinstance(value, str) else ""
    if text.startswith(_SQLITE) and text != _SQLITE:
        return _sqlite(text, info)
    parts = split(text)
    match parts.scheme if parts else "":
        case "postgresql" if parts:
            return _postgres(parts, text)
        case "rest+http" | "rest+https" if parts:
            return _rest(parts, text)
        case "glue" if parts:
            return _glue(parts, text)
    raise ValueError(f"{shown(text) if text else repr(value)} is not a catalog; {_WRITTEN}")


def _sqlite(text: str, info: ValidationInfo) -> SqliteCatalog:
    file = from_folder(text.removeprefix(_SQLITE), info)
    check_path(file)
    return SqliteCatalog(file)


def _postgres(parts: SplitResult, text: str) -> PostgresCatalog:
    _check_password(parts, "catalog_password_env")
    database = parts.path.removeprefix("/")
    server = parts.netloc.rpartition("@")[2]
    if not parts.username or not re.fullmatch(r"[\w.-]{1,63}", database):
        raise ValueError(f"{text!r} does not name a user and a database; write it as postgresql://user@host/database")
    check_server(server, text)
    return PostgresCatalog(parts.username, server, database, _options(parts, _POSTGRES_OPTIONS))


def _rest(parts: SplitResult, text: str) -> RestCatalog:
    _check_password(parts, "catalog_token_env or catalog_credential_env")
    check_server(parts.netloc, text)
    scheme = parts.scheme.removeprefix("rest+")
    return RestCatalog(f"{scheme}://{parts.netloc}{parts.path}".rstrip("/"), _options(parts, _REST_OPTIONS))


def _glue(parts: SplitResult, text: str) -> GlueCatalog:
    if not _REGION.fullmatch(parts.netloc) or parts.path.strip("/"):
        raise ValueError(f"{text!r} does not name a region; write it as glue://eu-central-1")
    endpoint = dict(_options(parts, ("endpoint",))).get("endpoint")
    return GlueCatalog(parts.netloc, endpoint and web_address(endpoint))


def _check_password(parts: SplitResult, setting: str) -> None:
    if parts.password is not None:
        raise ValueError(
            f"an address must not contain a password; put it into an environment variable, and write the name of that "
            f"variable as `{setting}`"
        )


def _options(parts: SplitResult, known: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    options = parse_qsl(parts.query, keep_blank_values=True)
    for name, _ in options:
        if name not in known:
            hint = nearest(name, known) or f"; the options are {', '.join(known)}"
            raise ValueError(f"{name!r} in the address is not an option of this kind of catalog{hint}")
    return tuple(options)


CatalogAddress = Annotated[CatalogSettings, PlainValidator(_parse)]
"""an address of a catalog: [catalogs and storage](docs/how-to/catalogs.md)"""
