"""What infra/ offers for a cluster: well formed, and equal in settings to what the tests run."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from retable.session import submit_conf
from retable.settings.catalogs import PostgresCatalog
from retable.settings.load import load_settings
from retable.settings.storage import Bucket
from servers.clusters import Cluster
from servers.lake_shop import Place, settings_text

INFRA = Path(__file__).resolve().parents[2] / "infra"
SETTINGS = load_settings(INFRA / "settings" / "cluster.toml")
_INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"}


def _yaml(name: str) -> Any:
    return yaml.safe_load((INFRA / name).read_text(encoding="utf-8"))


def test_the_settings_name_a_catalog_and_a_store_that_all_machines_reach() -> None:
    assert isinstance(SETTINGS.lake.catalog, PostgresCatalog)
    assert isinstance(SETTINGS.lake.warehouse, Bucket)


def test_the_settings_set_what_those_of_the_tests_set(tmp_path: Path) -> None:
    place = Place(
        "postgresql://lake@127.0.0.1:5432/lake", "s3://lake/x", 9000, 'catalog_password_env = "LAKE_PASSWORD"'
    )
    (tmp_path / "retable.toml").write_text(settings_text(place, "s3://landing/shop"), encoding="utf-8")
    tested = load_settings(tmp_path / "retable.toml")
    assert SETTINGS.lake.model_fields_set == tested.lake.model_fields_set
    assert SETTINGS.lake.s3.model_fields_set == tested.lake.s3.model_fields_set
    assert SETTINGS.lake.s3.variables == tested.lake.s3.variables
    assert SETTINGS.lake.jars == tested.lake.jars


def test_every_part_that_the_settings_name_is_a_service() -> None:
    services = _yaml("compose.yaml")["services"]
    lake = SETTINGS.lake
    assert isinstance(lake.catalog, PostgresCatalog)
    named = {lake.catalog.server.partition(":")[0], re.split("[/:]+", str(lake.s3.endpoint))[1]}
    assert named <= services.keys()
    assert {"kafka", "spark-master", "spark-worker", "driver"} <= services.keys()
    for service in services.values():
        assert {"image"} <= service.keys()
        for other in service.get("depends_on", ()):
            assert other in services


BY_TAG = {"retable-job", "postgres:15", "versity/versitygw:v1.8.0"}
"""Images without a digest: our own, and two whose digests nobody here could compare with their registry's."""


def test_images_are_pinned_by_digest() -> None:
    images = {service["image"] for service in _yaml("compose.yaml")["services"].values()}
    assert {image for image in images if not re.search(r":[^@]+@sha256:[0-9a-f]{64}$", image)} == BY_TAG


def test_secrets_are_asked_for_and_only_drivers_have_them() -> None:
    compose = _yaml("compose.yaml")
    variables = {*SETTINGS.lake.s3.variables.values(), SETTINGS.lake.catalog_password_env}
    assert compose["x-secrets"].keys() == variables
    assert all(value == f"${{{name}:?}}" for name, value in compose["x-secrets"].items())
    assert variables <= compose["services"]["driver"]["environment"].keys()
    assert not compose["services"]["spark-worker"].get("environment")
    told = {each["name"] for each in _yaml("spark-application.yaml")["spec"]["driver"]["env"]}
    assert told == variables


def test_the_application_of_kubernetes_is_what_the_tests_submit() -> None:
    spec = _yaml("spark-application.yaml")["spec"]
    submitted = submit_conf(SETTINGS)
    jars = {Path(jar).name for jar in submitted.pop("spark.jars").split(",")}
    assert {Path(jar).name for jar in spec["deps"]["jars"]} == jars
    unstarted = Cluster(None, (), INFRA, Path("/opt/retable/bin/python"))  # type: ignore[arg-type]  # no master runs
    cluster = dict(Cluster.conf(unstarted))
    for key, value in spec["sparkConf"].items():
        told = {**submitted, **cluster, "spark.pyspark.driver.python": "/opt/retable/bin/python"}
        assert told[key] == value, key
    assert spec["driver"]["memory"] == submitted["spark.driver.memory"]
    assert spec["executor"]["memory"] == cluster["spark.executor.memory"]
    arguments = spec["arguments"]
    assert arguments[::2] == ["--settings", "--source", "--window", "--run-id"]
    assert Path(spec["mainApplicationFile"]).name in {job.name for job in INFRA.parent.glob("jobs/*.py")}


def test_the_image_has_what_a_driver_and_a_worker_need() -> None:
    text = (INFRA / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in re.sub(r"\\\n", " ", text).splitlines() if line and not line.startswith("#")]
    assert {line.split()[0] for line in lines} == _INSTRUCTIONS
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for name in source.split():
            assert any(INFRA.parent.glob(name)), name
    assert "--require-hashes" in text
    assert re.search(r"^USER (?!0|root)\S+$", text, re.MULTILINE)


@pytest.mark.parametrize("job", ["land", "decode", "replay"])
def test_every_job_is_in_the_image(job: str) -> None:
    assert (INFRA.parent / "jobs" / f"{job}.py").exists()
