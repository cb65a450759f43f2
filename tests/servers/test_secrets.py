"""Secrets of settings are in nothing that people or other programs can look at."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from retable.session import submit_conf
from servers.lake_shop import Place, shop_at
from servers.stores import PASSWORD, SECRET

ROOT = Path(__file__).resolve().parents[2]

_PROGRAM = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from retable.settings.load import load_settings
from retable.decode.spark import decode
from retable.replay.spark import replay
from retable.land.spark import land_window
from retable.ledger.lake.catalog import open_lake
from retable.session import build_session
settings = load_settings(Path(sys.argv[1]))
lake, source, now = open_lake(settings), settings.source("shop"), datetime.now(UTC)
spark = build_session(settings, "secrets")
for stage in (land_window, decode, replay):
    stage(spark, lake, source, sys.argv[2], "run", now)
spark.sql("SET").show(1000, False)
spark.table("lake.bronze.shop").explain("extended")
print(spark.sparkContext.getConf().getAll())
print("arguments:", [Path("/proc", str(pid), "cmdline").read_bytes() for pid in family()])
"""
_FAMILY = """
import os
def family():
    mine = os.getppid()
    return [mine, os.getpid()]
"""


def test_no_secret_is_in_event_log_plan_settings_processes_or_words(tmp_path: Path, place: Callable[[str], Place]):
    shop = shop_at(tmp_path, place("postgresql s3"))
    program, events = tmp_path / "job.py", tmp_path / "events"
    program.write_text(_FAMILY + _PROGRAM, encoding="utf-8")
    events.mkdir()
    conf = {
        **submit_conf(shop.settings),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
        # Without it Spark hides what it knows to be secret: nothing is to depend on that.
        "spark.redaction.regex": "nothing-is-hidden",
        "spark.sql.redaction.options.regex": "nothing-is-hidden",
    }
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("spark-submit"), "--master", "local[2]"),
            *(f"--conf={key}={value}" for key, value in conf.items()),
            *(program, shop.file, shop.windows()[0]),
        ],
        env={**_environment(), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    seen = {path.name: path.read_bytes() for path in events.rglob("*") if path.is_file()}
    assert any(b"SparkListenerJobStart" in text for text in seen.values())
    assert b"org.apache.spark.deploy.SparkSubmit" in done.stdout
    for name, text in {**seen, "stdout": done.stdout, "stderr": done.stderr}.items():
        found = [secret for secret in (SECRET, PASSWORD) if secret.encode() in text]
        assert not found, f"{name} shows {found}"


def _environment() -> dict[str, str]:
    """This process's environment without AWS's own variables, which Spark by itself puts into its configuration."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
