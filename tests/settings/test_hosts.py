"""Addresses at which every machine of a cloud gets its own keys are refused, wherever they stand."""

from pathlib import Path

import pytest

from retable.errors import InvalidSetting
from retable.settings.load import load_settings
from retable.settings.storage import check_host

LAKE = '[lake]\ncatalog = "sqlite:////lake/catalog.db"\nwarehouse = "/lake"\n'
KAFKA = '[sources.erp]\nkind = "kafka"\nformat = "canal_json"\ntopics = ["shop"]\nbootstrap = "h:9092"\n'
OAUTH = "oauth2-server-uri=http%3A%2F%2FHOST%2Ftokens"
GLUE = '[lake]\ncatalog = "glue://eu-central-1?endpoint=http://HOST"\nwarehouse = "s3://lake-of-ours/x"\n'
REFUSED = [
    "169.254.169.254",
    "[fe80::1]",
    "[fe80::1%eth0]",
    "[::ffff:169.254.169.254]",
    "2852039166",
    "0xA9FEA9FE",
    "0251.0376.0251.0376",
    "169.254.43518",
    "100.100.100.200",
    "[fd00:ec2::254]",
    "metadata.google.internal",
    "METADATA.google.internal.",
]


@pytest.mark.parametrize("host", REFUSED)
def test_a_metadata_service_is_refused_however_it_is_written(host: str) -> None:
    with pytest.raises(ValueError, match="allow_link_local"):
        check_host(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "10.0.0.7", "minio", "s3.eu-central-1.amazonaws.com", "1"])
def test_any_other_host_is_let_through(host: str) -> None:
    check_host(host)


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        (LAKE.replace("sqlite:////lake/catalog.db", "postgresql://u@HOST/db"), "lake.catalog"),
        (LAKE.replace("sqlite:////lake/catalog.db", "rest+http://HOST:8181/x"), "lake.catalog"),
        (LAKE.replace("sqlite:////lake/catalog.db", f"rest+https://h/x?{OAUTH}"), "lake.catalog"),
        (GLUE, "lake.catalog"),
        (LAKE + '[lake.s3]\nendpoint = "http://HOST/"', "lake.s3.endpoint"),
        (LAKE + KAFKA.replace("h:9092", "HOST:9092"), "sources.erp.bootstrap"),
        (LAKE + KAFKA.replace("h:9092", "h:9092,HOST:9092"), "sources.erp.bootstrap"),
        (LAKE + KAFKA + 'notify = [{ notifier = "a.B", hook = "http://HOST" }]', "sources.erp.notify.hook"),
    ],
)
def test_settings_that_name_one_are_refused_unless_they_allow_it(text: str, setting: str, tmp_path: Path) -> None:
    path = tmp_path / "retable.toml"
    for host in ("169.254.169.254", "[fe80::1]"):
        told = text.replace("HOST", host)
        path.write_text(told)
        with pytest.raises(InvalidSetting, match=f"{setting}: .*link-local"):
            load_settings(path)
        path.write_text(told.replace("[lake]", "[lake]\nallow_link_local = true"))
        load_settings(path)
