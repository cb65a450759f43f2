"""Starts Spark and builds its sessions: on this machine by default, or with the master of spark-submit."""

import atexit
import gc
import logging
import os
import shutil
import sys
import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from threading import Lock
from typing import Any, cast
from zipimport import zipimporter

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from retable.errors import EnvironmentFault
from retable.jars import find_jars
from retable.settings.catalogs import PostgresCatalog
from retable.settings.lake import LakeSettings
from retable.settings.load import CATALOG, Settings, jars_folder, read_variable

_ICEBERG = "org.apache.iceberg.spark"
_CATALOG = f"spark.sql.catalog.{CATALOG}"
_ALWAYS = "iceberg-spark-runtime"
CLASS_ARCHIVE = "classes.jsa"
"""The file name of a class data archive next to Spark's jars. It has the classes that replaying a window loads."""

_CONNECTION_WAS_CLOSED = "08003"
_LONGEST_SAID = 300
_OWNER = "retable.session.owner"
_starting = Lock()
_folders: list[str] = []
"""The folders that the JVM of this process removes when it ends normally."""


def build_session(settings: Settings, app_name: str, log: Path | None = None) -> SparkSession:
    """Return a new session, whose catalog `lake` is the lake of these settings.

    The first call in a process starts Spark. Later calls, from any thread, use the same JVM but their own catalog, so
    two sessions may use two lakes. The caller ends the session with `stop_session`.

    `log` gets what the JVM prints on stderr, if this call starts it. If it is None, the JVM prints on this process's
    stderr.
    """
    with _starting:
        running = SparkContext._active_spark_context
        context = running or _start(app_name, settings, log)
        session = SparkSession(context).newSession()
    conf = _session_conf(settings, local=_is_local(context.getConf()))
    for key, value in (conf if running else conf | {_OWNER: "true"}).items():
        session.conf.set(key, value)
    _open_catalog(session, settings.lake)
    return session


def stop_session(session: SparkSession) -> None:
    """Stop Spark if `build_session` started Spark for this session. Otherwise Spark continues to run.

    If the JVM is already gone, remove the temporary folders that it could not remove at its end.
    """
    if is_gone():
        _sweep()
    elif session.conf.get(_OWNER, None):
        session.stop()


def ready_worker() -> None:
    """Prepare a Python worker of Spark for a task, so that it does less work after each task.

    Without this, the worker lists the zip archives on the Python path again after each task, and searches all objects
    of all modules for reference cycles.
    """
    gc.freeze()
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]


def is_gone(patience: float = 0) -> bool:
    """Return whether the JVM that this process started has ended, or ends within `patience` seconds.

    Return False if this process did not start a JVM.
    """
    jvm = _jvm()
    if jvm is None:
        return False
    with suppress(TimeoutExpired):
        jvm.wait(patience)
    return jvm.poll() is not None


def kill() -> None:
    """Kill the JVM that this process started, so that no thread continues to wait for an answer of the JVM."""
    if (jvm := _jvm()) is not None:
        jvm.kill()
        jvm.wait()


def _jvm() -> "Popen[bytes] | None":
    return getattr(SparkContext._gateway, "proc", None)


def _sweep() -> None:
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


def _find_folders(context: SparkContext) -> list[str]:
    jvm = cast(Any, context._jvm)
    hooks = getattr(getattr(jvm.org.apache.spark.util, "ShutdownHookManager$"), "MODULE$")
    blocks = jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
    paths = _field(hooks, "shutdownDeletePaths").mkString("\n").splitlines()
    return [*paths, *(folder.getPath() for folder in blocks.localDirs())]


def submit_conf(settings: Settings) -> dict[str, str]:
    """Return the Spark settings that must be set before the JVM starts. A session cannot set them later."""
    return {
        "spark.driver.memory": "2g",
        "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": os.environ["ARROW_DEFAULT_MEMORY_POOL"],
        "spark.driver.extraJavaOptions": " ".join(
            [f"-Dlog4j2.configurationFile={_log_settings().as_uri()}", *archived_classes()]
        ),
        "spark.jars": ",".join(map(str, _jars(settings))),
        "spark.sql.extensions": f"{_ICEBERG}.extensions.IcebergSparkSessionExtensions",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # By default Hadoop ignores the umask of this process, and lets all users read the files that it writes.
        "spark.hadoop.fs.permissions.umask-mode": f"{_umask():03o}",
        # Spark creates this folder, by default in the current directory, although it is never used.
        "spark.sql.warehouse.dir": (Path(tempfile.gettempdir()) / "retable-spark-warehouse").as_uri(),
    }


def _umask() -> int:
    """Return the umask of this process. Python can read it only by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def archived_classes() -> list[str]:
    """Return the JVM options for the class archive that `make setup` makes; [] if there is no such archive.

    The archive saves a third of the time to a first result. The JVM ignores an archive of another Java version or of
    other jars, without a message.
    """
    archive = jars_folder() / CLASS_ARCHIVE
    return [f'"-XX:SharedArchiveFile={archive}"', "-Xlog:cds=off", "-Xlog:cds+dynamic=off"] if archive.exists() else []


def _session_conf(settings: Settings, local: bool) -> dict[str, str]:
    catalog_conf = {f"{_CATALOG}.{name}": value for name, value in settings.lake.spark().items()}
    conf = {
        _CATALOG: f"{_ICEBERG}.SparkCatalog",
        **catalog_conf,
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    return conf | {"spark.sql.shuffle.partitions": "8"} if local else conf


def _open_catalog(session: SparkSession, lake: LakeSettings) -> None:
    """Open the catalog with this lake's secrets, then remove the secrets from the session.

    Spark writes a session's conf into the event log with every job, and `SET` shows it. The catalog reads the conf
    only when it is opened.
    """
    secrets = {f"{_CATALOG}.{name}": value for name, value in lake.spark_secrets(read_variable).items()}
    if not secrets and not isinstance(lake.catalog, PostgresCatalog):
        return
    java: Any = session._jsparkSession
    jvm = cast(Any, session._jvm)
    for key, value in secrets.items():
        session.conf.set(key, value)
    try:
        # Spark loads a catalog with the conf of the thread's active session.
        SparkSession._get_j_spark_session_class(jvm).setActiveSession(java)
        catalog = java.sessionState().catalogManager().catalog(CATALOG).icebergCatalog()
    finally:
        for key in secrets:
            session.conf.unset(key)
    if isinstance(lake.catalog, PostgresCatalog):
        _commit_once(catalog)


def _commit_once(catalog: Any) -> None:
    """Prevent Iceberg from repeating a commit whose answer was lost.

    A repeated commit would find that its own first try changed the table. Iceberg would treat the commit as refused,
    and delete files that the table needs (docs/decisions). Iceberg still repeats a commit that was never sent, because
    the connection was already closed.
    """
    pool = _field(catalog, "connections")
    codes = _field(pool, "retryableStatusCodes")
    codes.clear()
    codes.add(_CONNECTION_WAS_CLOSED)


def _field(of: Any, name: str) -> Any:
    field = of.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(of)


def _start(app_name: str, settings: Settings, log: Path | None) -> SparkContext:
    """Start Spark, or connect to the JVM of spark-submit. Its master and conf take precedence over Retable's."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
    else:
        _launch(SparkConf(loadDefaults=False).setAll(list(submit_conf(settings).items())), log)
    _silence_py4j()
    conf = SparkConf().setIfMissing("spark.master", "local[*]").setIfMissing("spark.app.name", app_name)
    if _is_local(conf):
        conf.setIfMissing("spark.driver.host", "127.0.0.1").setIfMissing("spark.driver.bindAddress", "127.0.0.1")
        # Other users of this machine can reach loopback too, but they do not have the secret that Spark generates.
        conf.setIfMissing("spark.authenticate", "true")
    context = SparkContext(conf=conf)
    context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    if _jvm() is not None:
        _folders[:] = _find_folders(context)
    return context


def _silence_py4j() -> None:
    """Suppress Py4J's log lines, also at the root logger. The caller reports a JVM that is gone."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_py4j)


def _is_not_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def _launch(conf: SparkConf, log: Path | None) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Spark writes rows to temporary files; mkdtemp makes a folder that only this user can open.
    own = tempfile.mkdtemp(prefix="retable-spark-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    os.environ.setdefault("SPARK_LOCAL_DIRS", own)
    options = "spark.driver.extraJavaOptions"
    conf.set(options, f'{conf.get(options)} "-Djava.io.tmpdir={own}"')
    try:
        if SparkContext._gateway is None:
            with nullcontext() if log is None else log.open("ab") as errors:
                gateway = launch_gateway(conf, {"stderr": errors})  # type: ignore[no-untyped-call]  # untyped in PySpark
            SparkContext._ensure_initialized(gateway=gateway)
    except PySparkRuntimeError as error:
        said = "" if log is None else log.read_text(errors="replace").strip().replace("\n", " ")[-_LONGEST_SAID:]
        raise EnvironmentFault(
            f"Java did not start{said and f' ({said})'}; Retable needs Java 17 or 21: "
            "`apt install openjdk-17-jre-headless` (Debian, Ubuntu; 21 if 17 is not available), "
            "`dnf install java-21-openjdk-headless` (Fedora), `brew install openjdk@21` (macOS); "
            "if several are installed, set JAVA_HOME to the right one"
        ) from error


def _is_local(conf: SparkConf) -> bool:
    return (conf.get("spark.master") or "").startswith("local")


def _jars(settings: Settings) -> list[Path]:
    """Return the jars that these settings need: Iceberg, the driver of the catalog, the client of object storage."""
    return find_jars(jars_folder(), (_ALWAYS, *settings.lake.jars))


def resolve_jars(folder: str, *coordinates: str) -> None:
    """Download jars by their Maven coordinates with Spark's own resolver, into the folder `jars` inside `folder`.

    This starts a JVM that ends only with this process, so call it in a separate process.
    """
    conf = SparkConf(loadDefaults=False).set("spark.jars.ivy", folder).set("spark.jars.packages", ",".join(coordinates))
    # spark-submit downloads the jars before it starts the gateway.
    launch_gateway(conf)  # type: ignore[no-untyped-call]  # PySpark leaves it untyped


def _log_settings() -> Path:
    return Path(__file__).with_name("log4j2.properties")
