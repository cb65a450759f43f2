"""A secret that somebody wrote in the wrong place is told by no error."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from retable.cli.app import app
from retable.errors import RetableError
from retable.onboard.schema.databases import read_address
from retable.printable import without_passwords
from retable.settings.load import load_settings

SECRET = "hunter2/+=x"
LAKE = '[lake]\ncatalog = "sqlite:////lake/catalog.db"\nwarehouse = "/lake"\n'
FILES = '[sources.erp]\nkind = "files"\nformat = "canal_json"\npath = "in"\nlayout = "lines"\n'
KAFKA = '[sources.erp]\nkind = "kafka"\nformat = "canal_json"\ntopics = ["shop"]\nbootstrap = "h:9092"\n'
MISPLACED = {
    "warehouse": LAKE.replace('"/lake"', f'"s3a://KEY:{SECRET}@bucket/lake"'),
    "bucket": LAKE.replace('"/lake"', f'"s3://KEY:{SECRET}@bucket/lake"'),
    "catalog": LAKE.replace("sqlite:////lake/catalog.db", f"postgresql://u:{SECRET}@h:port/db"),
    "rest": LAKE.replace("sqlite:////lake/catalog.db", f"rest+https://u:{SECRET}@h/x"),
    "catalog in a list": LAKE.replace('"sqlite:////lake/catalog.db"', f'["postgresql://u:{SECRET}@h/db"]'),
    "catalog password": LAKE + f"catalog_password_env = {json.dumps([SECRET])}",
    "catalog token": LAKE + f"catalog_token_env = {json.dumps(SECRET)}",
    "path": LAKE + FILES.replace('"in"', f'"s3a://KEY:{SECRET}@bucket"'),
    "bootstrap": LAKE + KAFKA.replace("h:9092", f"u:{SECRET}@h:9092"),
    "second broker": LAKE + KAFKA.replace("h:9092", f"h:9092,u:{SECRET}@h:9092"),
    "password": LAKE + KAFKA + f"kafka = {{ security_protocol = 'SASL_SSL', password_env = {json.dumps([SECRET])} }}",
    "user": LAKE + KAFKA + f"kafka = {{ security_protocol = 'SASL_SSL', username_env = {json.dumps(SECRET)} }}",
}


@pytest.mark.parametrize("text", MISPLACED.values(), ids=MISPLACED)
def test_settings_with_a_secret_in_the_wrong_place_are_refused_without_it(text: str, tmp_path: Path) -> None:
    path = tmp_path / "retable.toml"
    path.write_text(text)
    with pytest.raises(RetableError) as refused:
        load_settings(path)
    assert "hunter2" not in str(refused.value)
    for words in (["status"], ["--debug", "status"]):
        said = CliRunner().invoke(app, ["--settings", str(path), *words])
        assert said.exit_code == 1
        assert "hunter2" not in said.output


@pytest.mark.parametrize(
    "address",
    [
        f"mysql://u:{SECRET}@h:port/shop",
        f"jdbc:mysql://u:{SECRET}@h/shop",
        f"jdbc:mysql://h/shop?password={SECRET}",
        f"db2://u:{SECRET}@h/shop",
        f"jdbc:oracle:thin:u/{SECRET}@h:1521:x",
    ],
)
def test_the_address_of_a_database_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(RetableError) as refused:
        read_address(address, None)
    assert "hunter2" not in str(refused.value)


@given(st.from_regex(r"[^\s'\",:@]{1,20}", fullmatch=True), st.from_regex(r"[^\s'\",]{1,30}", fullmatch=True))
def test_a_password_never_shows_and_words_without_one_stay(user: str, password: str) -> None:
    shown = without_passwords(f"see s3a://{user}:{password}@bucket")
    assert f":{password}@" not in shown or password == "…"
    # Without a scheme, `u://x@host` is an address of the scheme u.
    shown = without_passwords(f"and u:{password}@host:9092")
    assert f":{password}@" not in shown or password == "…" or password.startswith("//")
    plain = "at 12:30 the file /a/b:c is damaged: https://host:80/x is away; erp/20260301T0500Z/decode/t/0@7"
    assert without_passwords(plain) == plain
