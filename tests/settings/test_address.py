"""Where settings are: in files, in a bucket, in their own address."""

import os
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto.server import ThreadedMotoServer

from retable.errors import EnvironmentFault, InvalidSetting, NotFound
from retable.settings.address import read_texts, to_address
from retable.settings.load import load_settings

LAKE = '[lake]\ncatalog = "sqlite:////lake/catalog.db"\nwarehouse = "/lake"\n'


@given(st.text())
def test_what_an_address_holds_is_what_was_put_into_it(text: str) -> None:
    assert read_texts(to_address(text))[0][0][1] == text


def test_settings_of_a_thousand_tables_fit_into_one_argument_of_a_process() -> None:
    text = LAKE + "".join(f'[tables."shop.table_{number}"]\nkeys = ["id_{number}"]\n' for number in range(1000))
    assert len(to_address(text)) < 131_072
    assert len(load_settings(to_address(text)).tables) == 1000


def test_settings_in_no_folder_have_whole_paths() -> None:
    with pytest.raises(InvalidSetting, match=r"lake\.warehouse: .*'lake' is relative.*write an absolute path"):
        load_settings(to_address(LAKE.replace('"/lake"', '"lake"')))


@pytest.mark.parametrize("cut", [5, 40])
def test_an_address_that_was_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(InvalidSetting, match="cut off or changed"):
        load_settings(to_address(LAKE)[:-cut])


# --- S3 ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that speaks S3, with a bucket of settings."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="conf")
    client.put_object(Bucket="conf", Key="retable.toml", Body=LAKE.encode())
    client.close()
    yield "s3://conf/retable.toml"
    server.stop()


def test_settings_are_read_from_a_bucket_with_the_keys_of_the_environment(
    bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted = load_settings(to_address(LAKE))
    assert load_settings(bucket) == wanted
    monkeypatch.setenv("RETABLE_SETTINGS", bucket)
    assert load_settings() == wanted


def test_an_object_that_is_not_there_is_not_found_and_a_store_that_is_not_there_is_a_fault(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFound, match="no settings at s3://conf/other.toml"):
        load_settings("s3://conf/other.toml")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(EnvironmentFault, match="cannot be read"):
        load_settings(bucket)
