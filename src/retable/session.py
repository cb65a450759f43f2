"""The only builder of a SparkSession: local by default, or as spark-submit decided."""

import os
import sys
import tempfile
from pathlib import Path
from threading import Lock

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from retable.config import CATALOG, Settings, jars_folder
from retable.errors import EnvironmentFault

_ICEBERG = "org.apache.iceberg.spark"
_OWNER = "retable.session.owner"
_starting = Lock()


def build_session(settings: Settings, app_name: str) -> SparkSession:
    """Give a session of its own, whose catalog `lake` is the lake of these settings.

    The first call of a process starts Spark. Every later one, from any thread, shares its JVM but not its
    catalog, so two sessions may stand on two lakes. Whoever builds a session ends it with `stop_session`.
    """
    with _starting:
        running = SparkContext._active_spark_context
        context = running or _start(app_name)
        session = SparkSession(context).newSession()
    conf = _session_conf(settings, local=_is_local(context.getConf()))
    for key, value in (conf if running else conf | {_OWNER: "true"}).items():
        session.conf.set(key, value)
    return session


def stop_session(session: SparkSession) -> None:
    """Stop Spark if building this session started it; one that only joined leaves the others running."""
    if session.conf.get(_OWNER, None):
        session.stop()


def submit_conf() -> dict[str, str]:
    """Tell what Spark must know before its JVM starts: no session can add it afterwards."""
    return {
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_log_settings().as_uri()}",
        "spark.jars": ",".join(map(str, _jars())),
        "spark.sql.extensions": f"{_ICEBERG}.extensions.IcebergSparkSessionExtensions",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Nothing is ever in it, but Spark makes this folder, by default wherever a program was started.
        "spark.sql.warehouse.dir": (Path(tempfile.gettempdir()) / "retable-spark-warehouse").as_uri(),
    }


def _session_conf(settings: Settings, local: bool) -> dict[str, str]:
    catalog = f"spark.sql.catalog.{CATALOG}"
    conf = {
        catalog: f"{_ICEBERG}.SparkCatalog",
        f"{catalog}.type": "jdbc",
        f"{catalog}.uri": settings.lake.jdbc_uri,
        f"{catalog}.jdbc.schema-version": "V1",
        f"{catalog}.warehouse": str(settings.lake.warehouse),
        # A cached table hides what other sessions have committed since.
        f"{catalog}.cache-enabled": "false",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    return conf | {"spark.sql.shuffle.partitions": "8"} if local else conf


def _start(app_name: str) -> SparkContext:
    """Start Spark, or join the JVM of spark-submit, whose master and conf stand above ours."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
    else:
        _launch(SparkConf(loadDefaults=False).setAll(list(submit_conf().items())))
    conf = SparkConf().setIfMissing("spark.master", "local[*]").setIfMissing("spark.app.name", app_name)
    if _is_local(conf):
        conf.setIfMissing("spark.driver.host", "127.0.0.1").setIfMissing("spark.driver.bindAddress", "127.0.0.1")
    return SparkContext(conf=conf)


def _launch(conf: SparkConf) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    try:
        SparkContext._ensure_initialized(conf=conf)
    except PySparkRuntimeError as error:
        raise EnvironmentFault(
            "Java did not start; what it said stands above. Retable needs Java 17 or 21: "
            "`apt install openjdk-17-jre-headless` (Debian, Ubuntu; 21 where 17 is gone), "
            "`dnf install java-21-openjdk-headless` (Fedora), `brew install openjdk@21` (macOS); "
            "where several are installed, set JAVA_HOME to the right one"
        ) from error


def _is_local(conf: SparkConf) -> bool:
    return (conf.get("spark.master") or "").startswith("local")


def _jars() -> list[Path]:
    folder = jars_folder()
    if jars := sorted(folder.glob("*.jar")):
        return jars
    raise EnvironmentFault(f"Iceberg's jars are not in {folder}: run `make setup`", folder=str(folder))


def _log_settings() -> Path:
    return Path(__file__).with_name("log4j2.properties")
