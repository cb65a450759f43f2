"""Translate errors of the catalog, the warehouse and Spark into Retable's errors, which say what to do."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    OAuthError,
    RESTError,
    UnauthorizedError,
    ValidationException,
)

from retable import errors
from retable.errors import ConflictError, DamagedFile, EnvironmentFault, RetableError, SparkDied, Unavailable
from retable.ledger.lake.damage import RESTORE, damaged_file, missing_file
from retable.settings.catalogs import BUSY_SECONDS, GlueCatalog, PostgresCatalog, RestCatalog, SqliteCatalog
from retable.settings.lake import LakeSettings
from retable.settings.storage import Bucket

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError

_SQLITE = {
    "SQLITE_FULL": "its disk is full; free some space and run again",
    "SQLITE_READONLY": "it cannot be written; check who owns it and its folder, and that the disk is not read-only",
    "SQLITE_CANTOPEN": "it cannot be opened; check that its folder exists and that this user may read and write there",
    "SQLITE_IOERR": "its disk reports an error; check the disk, then run again",
    "SQLITE_CORRUPT": "it is damaged; `retable recover` makes it again from the warehouse",
    "SQLITE_NOTADB": "it is not a SQLite file; correct `[lake] catalog`, or `retable recover` makes it again",
}
_POSTGRES = {
    r"password authentication failed|no password supplied|no password was provided": (
        "it refuses the user or the password; check `[lake] catalog_password_env` and the variable that it names"
    ),
    r'database "[^"]*" does not exist': "it has no such database; make it with `createdb`, or correct `[lake] catalog`",
    r'role "[^"]*" does not exist': "it has no such user; make it with `createuser`, or correct `[lake] catalog`",
    r"no pg_hba.conf entry|not permitted to log in": "it refuses this user on this machine; see its pg_hba.conf",
    r"permission denied for": "the user may not make or change tables there; GRANT the user these rights",
    r"does not support SSL|SSL error|certificate verify failed": (
        "the TLS connection failed; check `sslmode` and `sslrootcert`"
    ),
    r"could not translate host name|UnknownHostException": "its host name is not known; correct `[lake] catalog`",
}
_REST = {
    r"Unauthorized|NotAuthorizedException|OAuthError|invalid_client": (
        "it refuses the credentials; check `catalog_token_env` or `catalog_credential_env`, and the variable it names"
    ),
    r"Forbidden(Error|Exception)": "it refuses access; give the user of this token the rights on the tables",
    r"Name or service not known|NameResolutionError|UnknownHostException": (
        "its host name is not known; correct `[lake] catalog`"
    ),
}
_STORE = {
    r"NoSuchBucket|NO_SUCH_BUCKET|[Bb]ucket does not exist": "there is no such bucket; make it, or correct `warehouse`",
    r"InvalidAccessKeyId|SignatureDoesNotMatch|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH": (
        "it refuses the keys; check `access_key_env` and `secret_key_env` of `[lake.s3]`, and the variables they name"
    ),
    r"RequestTimeTooSkewed|REQUEST_TIME_TOO_SKEWED": (
        "its clock and the clock of this machine differ too much; correct the wrong clock"
    ),
    r"ExpiredToken": "the session token has expired; renew it",
    r"Unable to load credentials|NoCredentials|Unable to locate credentials": (
        "no access keys are set; set `access_key_env` and `secret_key_env` of `[lake.s3]`, or AWS's own variables"
    ),
    r"Unable to load region|must specify a region": "the region is not known; set `region` of `[lake.s3]`",
    r"ACCESS_DENIED|AccessDenied|Access Denied|HTTP status code: 403|Status Code: 403|Forbidden": (
        "it refuses access (403); the keys need the rights to list, read, write and delete under that prefix"
    ),
}
_CONFLICTS = {
    "CommitFailedException|ValidationException": "another run committed first",
    "CommitStateUnknownException|UncheckedSQLException": "the catalog did not answer",
}
_AWAY = re.compile(
    r"[Cc]onnection (to server .* failed: .*)?(was )?(refused|reset|timed out|aborted)|Connection attempt failed"
    r"|server closed the connection|terminating connection"
    r"|the database system is (starting|shutting|in recovery|not (yet )?accepting)"
    r"|SSL SYSCALL error|could not receive data|could not connect to server|timeout expired"
    r"|too many (clients|connections)"
    r"|ConnectException|NoHttpResponseException|SocketException|SocketTimeoutException|HttpHostConnectException"
    r"|Connection pool shut down|Premature end of|ConnectionClosedException|RemoteDisconnected|Read timed out"
    r"|I/O error occurred while sending|This connection has been closed|ServiceUnavailable|InternalError|SlowDown"
    r"|NETWORK_CONNECTION|CURLE_|curlCode|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|SLOW_DOWN|HTTP response code (500|503)"
    r"|HTTP status (code: )?(500|502|503|504)|Status Code: (500|502|503|504)|(Internal )?Server ?Error|Bad Gateway"
    r"|Unable to execute HTTP request|EndpointConnectionError|ConnectTimeoutError|RESTException: Error occurred while"
)
_MISSING_JAR = re.compile(
    r"No suitable driver.*"
    r"|(ClassNotFoundException|NoClassDefFoundError): (software.amazon|org.(sqlite|postgres|apache.iceberg)).*"
)
_JARS = "add it with `spark-submit --jars` (src/retable/jars.sha256 lists all needed jars)"
_GONE = re.compile(r"An error occurred while calling \S+$")
"""Py4J's whole message if the JVM did not answer. For an error inside the JVM, the message is longer."""

_NO_HEAP = re.compile(r"java\.lang\.OutOfMemoryError.*")
_MEMORY = '`PYSPARK_SUBMIT_ARGS="--driver-memory 4g pyspark-shell"`, or `spark.driver.memory` if spark-submit starts it'
_OURS = re.compile(r"retable\.errors\.(\w+): (.*)")
_FILE = re.compile(r"the file (.+?) is (?:damaged|missing)")
_NOT_THERE = re.compile(r"NotFoundException: (?:Failed to open input stream for file|Location does not exist): (.+)")
_SHORT = re.compile(r"RuntimeIOException: Failed to fetch file: (.+)")
_UNOPENED = re.compile(r"RuntimeIOException: Failed to open file: (.+)")
_AVRO = re.compile(r"iceberg\.(?:shaded\.org\.apache\.)?avro\.")
"""The Java package that reads manifests and manifest lists. It can raise any error if their bytes are damaged."""

_DAMAGED = re.compile(
    r"ParquetDecodingException: .*|can not read class \S+(?:PageHeader|FileMetaData).*"
    r"|ZstdIOException: .*|.* is not a Parquet file.*"
)
_READING = re.compile(r"iceberg\.spark\.source\.BaseReader\.next|parquet\.hadoop\.ParquetFileReader\.")
"""The Java classes that read data files. They can raise any error if a footer is damaged."""
_CAUSE = "Caused by: "
_DISK = re.compile(
    r"No space left on device|Read-only file system|Permission denied|Mkdirs failed|Input/output error"
    r"|Too many open files|Disk quota exceeded|[Nn]ot a directory|FileNotFoundException|NotFoundException: File"
)


@contextmanager
def explained(lake: LakeSettings) -> Iterator[None]:
    """Turn an error of pyiceberg, the catalog's database or the storage in the `with` block into a Retable error.

    Its text says what to do; it may name the catalog or warehouse of `lake`. Other errors are raised as they are.
    """
    try:
        yield
    except RetableError:
        raise
    except (CommitFailedException, ValidationException) as error:
        raise ConflictError(f"another run committed first: {error}; try again") from error
    except CommitStateUnknownException as error:
        raise _away(lake, str(error)) from error
    except _database_error() as error:
        raise _database_fault(lake, getattr(error.orig, "sqlite_errorname", ""), str(error.orig)) from error
    except sqlite3.Error as error:
        raise _database_fault(lake, error.sqlite_errorname, str(error)) from error
    except (UnauthorizedError, OAuthError) as error:
        raise EnvironmentFault(f"the catalog {lake.catalog}: {_REST[next(iter(_REST))]} ({error})") from error
    except RESTError as error:
        raise _rest_fault(lake, f"{type(error).__name__}: {error}") from error
    except OSError as error:
        # Compare the name: importing requests is slow, and only a catalog behind a server needs it.
        if type(error).__module__ == "requests.exceptions":
            raise _rest_fault(lake, f"{type(error).__name__}: {error}") from error
        raise _file_fault(lake, str(error)) from error
    except Exception as failure:  # boto3 and botocore make their classes at run time; it is raised again
        translated = _translate_aws(lake, failure)
        if translated is None:
            raise
        raise translated from failure


@contextmanager
def spark_explained(lake: LakeSettings) -> Iterator[None]:
    """Turn an error of Spark, the catalog or the storage in the `with` block into a Retable error.

    Its text says what to do; it may name the catalog or warehouse of `lake`. Spark's errors are recognized by their
    text. Other errors are raised as they are.
    """
    try:
        with explained(lake), _alive():
            yield
    except RetableError:
        raise
    except Exception as failure:  # Py4J, Spark and pyarrow have no class in common; it is raised again
        translated = _translate_text(lake, str(failure))
        if translated is None:
            raise
        raise translated from failure


@contextmanager
def _alive() -> Iterator[None]:
    """Turn the errors that a dead JVM causes into SparkDied. Python sees these errors as network errors."""
    try:
        yield
    except Exception as failure:  # Py4J's errors have no class in common with sockets; any other is raised again
        if not _is_gone(failure):
            raise
        raise spark_died() from failure


def spark_died() -> SparkDied:
    """Return the error for a Spark process that has ended unexpectedly."""
    return SparkDied(
        "Spark died (`dmesg` shows if it ran out of memory); nothing is lost: run the same command again. If it dies "
        f"again, free memory on the machine, or set how much memory Spark takes: {_MEMORY}"
    )


def _is_gone(failure: Exception) -> bool:
    kind = type(failure)
    if kind.__module__ == "py4j.protocol":
        return kind.__name__ == "Py4JNetworkError" or _GONE.fullmatch(str(failure).strip()) is not None
    return isinstance(failure, ConnectionRefusedError | ConnectionResetError | BrokenPipeError)


def _translate_text(lake: LakeSettings, text: str) -> RetableError | None:
    if ours := _OURS.search(text):
        return _worker_said(ours[1], ours[2])
    if heap := _NO_HEAP.search(text):
        return SparkDied(f"Spark ran out of memory ({heap[0]}); give it more and run again: {_MEMORY}")
    if sqlite := re.search(r"SQLITE_[A-Z]+", text):
        return _database_fault(lake, sqlite[0], _line_with(sqlite[0], text))
    if missing := _MISSING_JAR.search(text):
        return EnvironmentFault(f"Spark runs without a jar that this lake needs: {missing[0]}; {_JARS}")
    for what, place, remedies in _places(lake):
        if remedy := _remedy(remedies, text):
            return EnvironmentFault(f"the {what} {place}: {remedy}")
    for pattern, why in _CONFLICTS.items():
        if re.search(pattern, text):
            return ConflictError(f"{why}: {_line_with(pattern, text)}; try again")
    if _is_remote(lake) and _AWAY.search(text):
        return _away(lake, _line_with(_AWAY.pattern, text))
    if damaged := _damaged(text):
        return damaged
    return _disk_fault(lake, _line_with(_DISK.pattern, text)) if _DISK.search(text) else None


def _damaged(text: str) -> DamagedFile | None:
    """Return the error for a file that Spark could not read because it is damaged or missing; else None.

    If a page of a data file is damaged, only Spark's log names the file.
    """
    # Java also reports problems of the disk as a file "not found" or as a failed read.
    if "does not exist" in text and (gone := _NOT_THERE.search(text)):
        return missing_file(gone[1].strip())
    if "EOFException" in text and (short := _SHORT.search(text)):
        return damaged_file(short[1].strip(), "it is too short")
    if _AVRO.search(text) and not _DISK.search(text):
        if unopened := _UNOPENED.search(text):
            return damaged_file(unopened[1].strip(), "it is not a manifest or manifest list")
        return DamagedFile(f"a manifest or manifest list of the lake is damaged: {text.splitlines()[0]}; {RESTORE}")
    damaged = _DAMAGED.search(text)
    if damaged or (_READING.search(text) and not _DISK.search(text)):
        lines = text.splitlines()
        causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
        why = damaged[0].strip() if damaged else [lines[0], *causes][-1]
        return DamagedFile(
            f"a file of the lake is damaged: {why}; Spark's log above names the file after "
            f'"Error reading file(s)"; {RESTORE}'
        )
    return None


def _worker_said(name: str, message: str) -> RetableError | None:
    """Return the Retable error that a worker of Spark raised, made again from its class name and its message.

    Return None if `name` is not a Retable error.
    """
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, RetableError)):
        return None
    file = _FILE.match(message) if kind is DamagedFile else None
    return kind(message, path=file[1]) if file else kind(message)


def _places(lake: LakeSettings) -> Iterator[tuple[str, object, dict[str, str]]]:
    """Yield the remote components of a lake: `catalog` or `warehouse`, its address, and its remedies by pattern."""
    match lake.catalog:
        case PostgresCatalog():
            yield "catalog", lake.catalog, _POSTGRES
        case RestCatalog():
            yield "catalog", lake.catalog, _REST
        case GlueCatalog():
            yield "catalog", lake.catalog, _STORE
    if isinstance(lake.warehouse, Bucket):
        yield "warehouse", lake.warehouse, _STORE


def _is_remote(lake: LakeSettings) -> bool:
    return not isinstance(lake.catalog, SqliteCatalog) or isinstance(lake.warehouse, Bucket)


def _translate_aws(lake: LakeSettings, failure: Exception) -> RetableError | None:
    """Translate an error of boto3, with which pyiceberg calls the Glue catalog. Return None for any other error."""
    if not type(failure).__module__.startswith(("botocore", "boto3")):
        return None
    text = f"{type(failure).__name__}: {failure}"
    if remedy := _remedy(_STORE, text):
        return EnvironmentFault(f"the catalog {lake.catalog}: {remedy}")
    return _away(lake, text) if _AWAY.search(text) else EnvironmentFault(f"the catalog {lake.catalog} reports: {text}")


def _remedy(remedies: dict[str, str], text: str) -> str | None:
    return next((remedy for pattern, remedy in remedies.items() if re.search(pattern, text)), None)


def _line_with(pattern: str, text: str) -> str:
    return next((line.strip() for line in text.splitlines() if re.search(pattern, line)), text.splitlines()[0])


def _away(lake: LakeSettings, what: str) -> Unavailable:
    return Unavailable(
        f"the catalog {lake.catalog} or the warehouse {lake.warehouse} did not answer: {what}; nothing is lost; run "
        f"the command again when both answer"
    )


def _rest_fault(lake: LakeSettings, what: str) -> RetableError:
    if remedy := _remedy(_REST, what):
        return EnvironmentFault(f"the catalog {lake.catalog}: {remedy}")
    if _AWAY.search(what) or "ConnectionError" in what or "Timeout" in what:
        return _away(lake, what)
    return EnvironmentFault(f"the catalog {lake.catalog} reports an error: {what}; see the log of its server")


def _file_fault(lake: LakeSettings, what: str) -> RetableError:
    if not isinstance(lake.warehouse, Bucket):
        return _disk_fault(lake, what)
    if remedy := _remedy(_STORE, what):
        return EnvironmentFault(f"the warehouse {lake.warehouse}: {remedy}")
    return _away(lake, what) if _AWAY.search(what) else _disk_fault(lake, what)


def _disk_fault(lake: LakeSettings, what: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"the lake at {lake.warehouse} cannot be read or written: {what}; check that its disk has space and is not "
        f"read-only, that this user may write there, and that no file was removed; then run again"
    )


def _database_error() -> "type[DBAPIError]":
    """Return SQLAlchemy's class of errors. Python asks for it only if there is an error."""
    from sqlalchemy.exc import DBAPIError

    return DBAPIError


def _database_fault(lake: LakeSettings, name: str, what: str) -> RetableError:
    if not isinstance(lake.catalog, SqliteCatalog):
        return _postgres_fault(lake, what)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Unavailable(
            f"the catalog {lake.catalog} is busy: another process kept it locked for {BUSY_SECONDS} s; try again"
        )
    remedy = next((text for code, text in _SQLITE.items() if name.startswith(code)), f"SQLite reports: {what}")
    return EnvironmentFault(f"the catalog {lake.catalog}: {remedy}", sqlite=name)


def _postgres_fault(lake: LakeSettings, what: str) -> RetableError:
    if remedy := _remedy(_POSTGRES, what):
        return EnvironmentFault(f"the catalog {lake.catalog}: {remedy}")
    if _AWAY.search(what):
        return _away(lake, what.strip())
    return EnvironmentFault(f"the catalog {lake.catalog}: PostgreSQL reports: {what.strip()}; see its log")
