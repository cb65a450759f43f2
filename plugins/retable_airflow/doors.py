"""Callables that make the Airflow operator for a Spark job. The setting `spark_door` of a source names a callable.

Your own callable takes a `SparkJob`, and returns an operator that ends when the job has ended. Retable reads the result
of the job from the ledger, not from the operator.
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
"""The Airflow connection that names the Spark master. If it does not exist, Spark runs on the Airflow worker."""

_LIFELINE = "RETABLE_LIFELINE"
_LOCAL = '{"conn_type": "spark", "host": "local[*]"}'
_INSTALLED = Path(__file__).resolve().parent / "jobs"


@dataclass(frozen=True, slots=True)
class SparkJob:
    """A Spark application to run: a Python file, its arguments, and its Spark settings. No field contains a secret.

    - `stage`: `land`, `decode`, `replay`, or `window` for all three stages. It may also be `upkeep` or `command`; then
      `window` is empty, and `more` has the arguments.
    - `settings`: the address of Retable's settings.
    - `conf`: the Spark settings that must be set before the JVM starts.
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
        """The name of the application in Spark."""
        return f"retable_{self.stage}_{self.source}"

    @property
    def application(self) -> Path:
        """The path of the job's Python file on this machine."""
        return jobs_folder() / f"{self.stage}.py"

    @property
    def arguments(self) -> list[str]:
        """The command-line arguments of the job's Python file."""
        named = {"settings": self.settings, "source": self.source, "window": self.window, "run-id": self.run_id}
        own = [part for name, value in named.items() if value for part in (f"--{name}", value)]
        return [*own, *(("--", *self.more) if self.more else ())]


Door = Callable[[SparkJob], BaseOperator]


def spark_submit(job: SparkJob) -> BaseOperator:
    """Return an operator that runs the job through spark-submit.

    Spark runs at the master that the Airflow connection `retable_spark` names, or else on the worker.
    """
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
    """Return an operator that runs the job as a SparkApplication of the Spark operator for Kubernetes.

    `template` is your own SparkApplication resource. Retable and its jars must be installed in its image. Retable adds
    the job's file, its arguments and its settings of Spark SQL. All other arguments go to
    SparkKubernetesOperator. To use this function, let `spark_door` name your own callable:
    `functools.partial(kubernetes, template=…, namespace=…)`. AirflowFailException if the provider package for
    Kubernetes is not installed.
    """
    try:
        module = import_module("airflow.providers.cncf.kubernetes.operators.spark_kubernetes")
    except ImportError as error:
        raise AirflowFailException(
            "this `spark_door` needs apache-airflow-providers-cncf-kubernetes; install this package next to Airflow, "
            "or set another `spark_door`"
        ) from error
    made: BaseOperator = module.SparkKubernetesOperator(
        task_id=job.stage, name=_dns_name(job), template_spec=spark_application(job, template), **operator
    )
    return made


def spark_application(job: SparkJob, template: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dict with one key, `spark`: the SparkApplication resource for a job.

    The resource is the template with the job's arguments, its file and its settings `spark.sql.…`. If the template has
    a file or one of these settings, the template's value is used.
    """
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
    """Call the callable `module:callable` for a job, and return the operator that it makes.

    InvalidSetting if the callable cannot be imported, or if its result is not an operator.
    """
    made = _load(path)(job)
    if not isinstance(made, BaseOperator):
        raise InvalidSetting(
            f"spark_door is {path!r}, which returns a {type(made).__name__} and not an operator of Airflow; let it "
            f"return the operator that runs the job"
        )
    return made


def _load(path: str) -> Door:
    module, _, name = path.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidSetting(
            f"spark_door is {path!r}, which cannot be imported: {error}; put its module where "
            f"tasks run, for example into the DAGs folder"
        ) from error
    if not callable(found):
        raise InvalidSetting(f"spark_door is {path!r}, which is not callable; name a function that takes a SparkJob")
    door: Door = found
    return door


def run_door(operator: BaseOperator, context: Context) -> None:
    """Run an operator inside a task of another operator, without Airflow's warning about this.

    `context` is that of the running task. The operator's templates are not rendered, because its arguments contain
    texts of persons, messages and tables.
    """
    token = ExecutorSafeguard.tracker.set(operator)
    try:
        operator.execute(context)
    finally:
        ExecutorSafeguard.tracker.reset(token)


def jobs_folder() -> Path:
    """Return the folder of the Python files of Spark jobs: in the installed package, or in a checkout of the
    repository."""
    return _INSTALLED if _INSTALLED.is_dir() else Path(__file__).resolve().parents[2] / "jobs"


def runs_here() -> bool:
    """Return whether Spark's driver and all executors run on this Airflow worker.

    The master of the Airflow connection `retable_spark` decides. If this connection does not exist, define it
    for this process with the master `local[*]`, so that spark-submit uses it, and return True.
    """
    try:
        master = Connection.get(CONNECTION).host
    except AirflowNotFoundException:
        os.environ[f"AIRFLOW_CONN_{CONNECTION.upper()}"] = _LOCAL
        return True
    return (master or "").startswith("local")


def _local_environment() -> dict[str, str]:
    """Return environment variables for spark-submit on this worker.

    Spark uses the programs and the Python of this environment, listens only on loopback, and ends with this task.
    """
    programs = Path(sys.executable).parent
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        _LIFELINE: f"{os.getpid()},{os.getppid()}",
    }


def _dns_name(job: SparkJob) -> str:
    return f"retable-{job.stage}-{job.source}-{job.window}".lower().replace("_", "-")[:60]
