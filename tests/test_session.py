"""The one builder of Spark sessions."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from lakes import SettingsWriter
from retable.errors import EnvironmentFault
from retable.session import CLASS_ARCHIVE, build_session, stop_session, submit_conf
from retable.settings.load import Settings, jars_folder, load_settings


@pytest.fixture
def other_settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "other"
    folder.mkdir()
    path = folder / "retable.toml"
    path.write_text('[lake]\ncatalog = "sqlite:///catalog.db"\nwarehouse = "files"\n', encoding="utf-8")
    return load_settings(path)


def _lake_folder(settings: Settings) -> Settings:
    settings.lake.catalog_file.parent.mkdir(parents=True, exist_ok=True)
    return settings


def _namespaces(session: SparkSession) -> list[str]:
    return [str(row[0]) for row in session.sql("SHOW NAMESPACES IN lake").collect()]


def test_two_sessions_of_one_spark_stand_on_two_lakes(
    spark: SparkSession, lake_settings: Settings, other_settings: Settings
) -> None:
    here = build_session(_lake_folder(lake_settings), "test")
    there = build_session(_lake_folder(other_settings), "test")
    here.sql("CREATE NAMESPACE lake.only_here")
    assert _namespaces(here) == ["only_here"]
    assert _namespaces(there) == []


def test_a_session_that_joined_leaves_spark_running(spark: SparkSession, lake_settings: Settings) -> None:
    stop_session(build_session(lake_settings, "test"))
    assert spark.range(1).count() == 1


def test_a_session_counts_time_in_utc_and_refuses_what_does_not_fit(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


def test_local_spark_listens_on_loopback_only(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.driver.host") == conf.get("spark.driver.bindAddress") == "127.0.0.1"


def test_local_spark_answers_nobody_without_its_secret(spark: SparkSession) -> None:
    security: Any = spark.sparkContext._jvm.org.apache.spark.SparkEnv.get().securityManager()
    assert security.isAuthenticationEnabled()
    assert len(security.getSecretKey()) >= 32
    assert spark.conf.get("spark.authenticate.secret", None) is None


def test_arrow_keeps_little_memory_that_it_does_not_use(spark: SparkSession) -> None:
    def allocator(_: int) -> str:
        import pyarrow as pa

        return str(pa.default_memory_pool().backend_name)

    assert spark.sparkContext.parallelize([1], 1).map(allocator).collect() == ["jemalloc"]
    # Executors on other machines do not have the environment of this process.
    assert spark.sparkContext.getConf().get("spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL") == "jemalloc"


@pytest.mark.parametrize("chosen", [None, "system"])
def test_a_user_s_choice_of_the_allocator_counts(chosen: str | None) -> None:
    env = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    told = {} if chosen is None else {"ARROW_DEFAULT_MEMORY_POOL": chosen}
    asks = "import retable.job, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    said = subprocess.run([sys.executable, "-c", asks], env=env | told, check=True, capture_output=True, text=True)
    assert said.stdout.split() == [chosen or "jemalloc"]


def test_what_spark_keeps_on_disk_is_open_to_this_user_alone(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    own = Path(jvm.System.getProperty("java.io.tmpdir"))
    assert own.stat().st_mode & 0o777 == 0o700
    blocks = jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager().localDirs()
    assert {Path(folder.getPath()).parent for folder in blocks} == {own}


def test_spark_begins_with_the_classes_that_setup_archived(spark: SparkSession) -> None:
    jvm = psutil.Process(spark.sparkContext._gateway.proc.pid)
    assert str(jars_folder() / CLASS_ARCHIVE) in {mapped.path for mapped in jvm.memory_maps()}


def test_missing_jars_name_the_command_that_gets_them(
    tmp_path: Path, lake_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETABLE_JARS", str(tmp_path))
    with pytest.raises(EnvironmentFault, match="retable get-jars"):
        submit_conf(lake_settings)


def test_a_jar_that_is_not_the_pinned_one_is_refused_by_name(
    tmp_path: Path, lake_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = [Path(each) for each in submit_conf(lake_settings)["spark.jars"].split(",")]
    for jar in right:
        shutil.copy(jar, tmp_path)
    monkeypatch.setenv("RETABLE_JARS", str(tmp_path))
    assert len(submit_conf(lake_settings)["spark.jars"].split(",")) == len(right) == 2
    for jar in right:
        other = tmp_path / jar.name
        other.chmod(0o600)
        other.write_bytes(b"")
        with pytest.raises(EnvironmentFault, match=f"{other} is not a jar that Retable expects"):
            submit_conf(lake_settings)
        shutil.copy(jar, tmp_path)


_BUILD = """
from pathlib import Path
from retable.settings.load import load_settings
from retable.session import build_session
build_session(load_settings(Path({settings!r})), "test")
"""


def test_missing_java_says_how_to_get_it(tmp_path: Path, write_settings: SettingsWriter) -> None:
    write_settings("")
    environment = {**os.environ, "JAVA_HOME": str(tmp_path / "no-java")}
    program = _BUILD.format(settings=str(tmp_path / "retable.toml"))
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    assert "EnvironmentFault" in result.stderr
    assert "openjdk-17" in result.stderr


_PRIVATE = """
import os, sys
from pathlib import Path
from retable.settings.load import load_settings
from retable.session import build_session
os.umask(0o077)
session = build_session(load_settings(Path(sys.argv[1])), "test")
session.sql("CREATE NAMESPACE lake.gold_shop")
session.sql("CREATE TABLE lake.gold_shop.t AS SELECT 1 AS id")
"""


def test_what_spark_writes_is_as_private_as_the_umask_says(tmp_path: Path, lake_settings: Settings) -> None:
    _lake_folder(lake_settings)
    program = [sys.executable, "-c", _PRIVATE, str(tmp_path / "retable.toml")]
    subprocess.run(program, capture_output=True, text=True, check=True)
    written = [path for path in (tmp_path / "lake").rglob("*") if "gold_shop" in str(path)]
    assert any(path.suffix == ".parquet" for path in written)
    assert {path for path in written if path.stat().st_mode & 0o077} == set()


_SAYING = """
import sys
from pathlib import Path
from retable.settings.load import load_settings
from retable.session import build_session
session = build_session(load_settings(Path(sys.argv[1])), "test", *map(Path, sys.argv[2:]))
log = session._jvm.org.slf4j.LoggerFactory.getLogger("org.apache.iceberg.spark.source.BaseSparkScanBuilder")
log.warn("a warning of its own doings")
log.error("an error")
"""


def test_spark_says_errors_on_the_terminal_and_no_warnings(tmp_path: Path, lake_settings: Settings) -> None:
    _lake_folder(lake_settings)
    program = [sys.executable, "-c", _SAYING, str(tmp_path / "retable.toml")]
    said = subprocess.run(program, capture_output=True, text=True, check=True).stderr
    assert "ERROR BaseSparkScanBuilder: an error" in said
    assert " WARN " not in said


def test_the_jvm_prints_into_a_log_if_there_is_one(tmp_path: Path, lake_settings: Settings) -> None:
    _lake_folder(lake_settings)
    log = tmp_path / "spark.log"
    program = [sys.executable, "-c", _SAYING, str(tmp_path / "retable.toml"), str(log)]
    said = subprocess.run(program, capture_output=True, text=True, check=True)
    assert (said.stdout, said.stderr) == ("", "")
    assert "ERROR BaseSparkScanBuilder: an error" in log.read_text()


_AGAIN = """
import sys
from pathlib import Path
import psutil
from retable.settings.load import load_settings
from retable.session import build_session, stop_session
settings = load_settings(Path(sys.argv[1]))
for _ in range(2):
    stop_session(build_session(settings, "test"))
print(sum("java" in child.name() for child in psutil.Process().children(recursive=True)))
"""


def test_a_process_that_starts_spark_again_keeps_its_jvm(tmp_path: Path, lake_settings: Settings) -> None:
    _lake_folder(lake_settings)
    program = [sys.executable, "-c", _AGAIN, str(tmp_path / "retable.toml")]
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout.strip() == "1"


_SUBMITTED = """
import json, sys
from pathlib import Path
from retable.settings.load import load_settings
from retable.session import build_session
session = build_session(load_settings(Path(sys.argv[1])), "ours")
session.sql("CREATE NAMESPACE lake.submitted")
conf = session.sparkContext.getConf()
print(json.dumps([conf.get("spark.master"), conf.get("spark.app.name")]))
"""


def test_under_spark_submit_its_master_and_name_win(tmp_path: Path, lake_settings: Settings) -> None:
    _lake_folder(lake_settings)
    program = tmp_path / "job.py"
    program.write_text(_SUBMITTED, encoding="utf-8")
    conf = [f"--conf={key}={value}" for key, value in submit_conf(lake_settings).items()]
    spark_submit = Path(sys.executable).with_name("spark-submit")
    result = subprocess.run(
        [spark_submit, "--master", "local[1]", "--name", "theirs", *conf, program, tmp_path / "retable.toml"],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout) == ["local[1]", "theirs"]
