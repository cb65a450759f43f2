"""The entry points to Spark: each makes the operator that runs a job.

`spark_door` of a source names one, as `module:callable`. A callable of your own takes a `SparkJob` and gives any
operator that ends when the job has ended. The result of the job is read from the ledger, never from the operator.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from airflow.sdk import BaseOperator, Connection, Context
from airflow.sdk.bases.operator import ExecutorSafeguard
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException

from retable.errors import InvalidSetting

CONNECTION = "retable_spark"
"""The Airflow connection that names the Spark master; without it Spark runs on the worker itself."""

_LIFELINE = "RETABLE_LIFELINE"
_LOCAL = '{"conn_type": "spark", "host": "local[*]"}'
_INSTALLED = Path(__file__).resolve().parent / "jobs"


@dataclass(frozen=True, slots=True)
class SparkJob:
    """A Spark application to run: a Python file, its arguments, and the Spark settings needed before its JVM starts.

    `stage` is `land`, `decode`, `replay`, or `window` for all three; or `upkeep` or `command`, which have no window and
    take `more`. Nothing in it is secret.
    """

    stage: str
    source: str
    window: str
    run_id: str
    settings: str
    conf: Mapping[str, str]
    more: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"retable_{self.stage}_{self.source}"

    @property
    def application(self) -> Path:
        """The job's file on this machine."""
        return jobs_folder() / f"{self.stage}.py"

    @property
    def arguments(self) -> list[str]:
        named = {"settings": self.settings, "source": self.source, "window": self.window, "run-id": self.run_id}
        own = [part for name, value in named.items() if value for part in (f"--{name}", value)]
        return [*own, *(("--", *self.more) if self.more else ())]


Door = Callable[[SparkJob], BaseOperator]


def spark_submit(job: SparkJob) -> BaseOperator:
    """Run it through spark-submit: on the worker, or at the master of the connection `retable_spark`."""
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    return SparkSubmitOperator(
        task_id=job.stage,
        application=str(job.application),
        name=job.name,
        conn_id=CONNECTION,
        conf=dict(job.conf),
        application_args=job.arguments,
        env_vars=_local_environment() if runs_here() else None,
    )


def kubernetes(job: SparkJob, *, template: Mapping[str, Any], **operator: Any) -> BaseOperator:
    """Run it as a SparkApplication of Spark's operator for Kubernetes.

    `template` is your own resource, with your image, in which Retable and its jars are installed; its file, arguments
    and Spark settings are filled in. Use it through a callable of your own: `functools.partial(kubernetes, template=…,
    namespace=…)`. The rest goes to SparkKubernetesOperator.
    """
    try:
        module = import_module("airflow.providers.cncf.kubernetes.operators.spark_kubernetes")
    except ImportError as error:
        raise AirflowFailException(
            "this `spark_door` needs apache-airflow-providers-cncf-kubernetes; install it next to Airflow, or use "
            "another one"
        ) from error
    made: BaseOperator = module.SparkKubernetesOperator(
        task_id=job.stage, name=_dns_name(job), template_spec=spark_application(job, template), **operator
    )
    return made


def spark_application(job: SparkJob, template: Mapping[str, Any]) -> dict[str, Any]:
    """Fill a SparkApplication; the template's own file and arguments win, so an image may have its own."""
    spec = dict(template.get("spec", {}))
    conf = {name: value for name, value in job.conf.items() if name.startswith("spark.sql.")}
    filled = {
        "type": "Python",
        "mode": "cluster",
        "mainApplicationFile": f"local:///opt/retable/jobs/{job.stage}.py",
        **spec,
        "arguments": job.arguments,
        "sparkConf": {**conf, **spec.get("sparkConf", {})},
    }
    return {
        "spark": {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", **template, "spec": filled}
    }


def open_door(path: str, job: SparkJob) -> BaseOperator:
    """Give the operator for a job that the callable `module:callable` of the settings makes.

    InvalidSetting says what is missing, or that the result is not an operator.
    """
    made = _load(path)(job)
    if not isinstance(made, BaseOperator):
        raise InvalidSetting(f"spark_door is {path!r}: it returns a {type(made).__name__}, not an operator of Airflow")
    return made


def _load(path: str) -> Door:
    module, _, name = path.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidSetting(
            f"spark_door is {path!r}, and {error}; its module must be importable where tasks run, as in the DAGs folder"
        ) from error
    if not callable(found):
        raise InvalidSetting(f"spark_door is {path!r}, which is not callable")
    door: Door = found
    return door


def run_door(operator: BaseOperator, context: Context) -> None:
    """Run the operator as if it were the task: Airflow warns about an operator that runs inside another one.

    Its templates are not rendered, because its arguments contain texts from a person, a message or a table.
    """
    token = ExecutorSafeguard.tracker.set(operator)
    try:
        operator.execute(context)
    finally:
        ExecutorSafeguard.tracker.reset(token)


def jobs_folder() -> Path:
    """The folder of the job files: in the installed package, or next to the plugins of a checkout."""
    return _INSTALLED if _INSTALLED.is_dir() else Path(__file__).resolve().parents[2] / "jobs"


def runs_here() -> bool:
    """Say whether Spark's driver and executors run on this worker; without a connection, define a local one."""
    try:
        master = Connection.get(CONNECTION).host
    except AirflowNotFoundException:
        os.environ[f"AIRFLOW_CONN_{CONNECTION.upper()}"] = _LOCAL
        return True
    return (master or "").startswith("local")


def _local_environment() -> dict[str, str]:
    """Spark's programs and Python are those next to this one, nothing listens beyond loopback, nothing outlives us."""
    programs = Path(sys.executable).parent
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        _LIFELINE: f"{os.getpid()},{os.getppid()}",
    }


def _dns_name(job: SparkJob) -> str:
    return f"retable-{job.stage}-{job.source}-{job.window}".lower().replace("_", "-")[:60]
