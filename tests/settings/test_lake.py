"""Where a lake may be: its catalogs and its warehouse, and what Spark and pyiceberg are told of them."""

from pathlib import Path

import pytest

from retable.errors import EnvironmentFault, InvalidSetting, SettingsError, UnknownSetting
from retable.settings.load import Settings, load_settings, read_variable
from retable.settings.storage import Bucket

SECRET = "S3CR3T-xyz"


@pytest.fixture
def load(tmp_path: Path):
    def load(catalog: str, warehouse: str = "var/lake", more: str = "") -> Settings:
        file = tmp_path / "retable.toml"
        file.write_text(f'[lake]\ncatalog = "{catalog}"\nwarehouse = "{warehouse}"\n{more}', encoding="utf-8")
        return load_settings(file)

    return load


def told(name: str) -> str:
    return f"<{name}>"


def test_spark_and_pyiceberg_read_the_same_catalog_file(load, tmp_path):
    lake = load("sqlite:///var/catalog.db").lake
    assert lake.spark()["uri"] == f"jdbc:sqlite:{tmp_path}/var/catalog.db?journal_mode=WAL&busy_timeout=30000"
    assert lake.pyiceberg(told)["uri"] == f"sqlite:///{tmp_path}/var/catalog.db?timeout=30"
    assert lake.catalog_file == tmp_path / "var/catalog.db"


def test_spark_and_pyiceberg_reach_the_same_database(load):
    lake = load("postgresql://lake@db.example:5433/lakes?sslmode=verify-full").lake
    spark, pyiceberg = lake.spark(), lake.pyiceberg(told)
    assert spark["type"] == "jdbc"
    assert spark["uri"].startswith("jdbc:postgresql://db.example:5433/lakes?sslmode=verify-full&")
    assert spark["jdbc.user"] == "lake"
    assert pyiceberg["uri"].startswith("postgresql+psycopg2://lake@db.example:5433/lakes?sslmode=verify-full&")
    assert lake.catalog_file is None


def test_spark_and_pyiceberg_reach_the_same_rest_catalog(load):
    lake = load("rest+https://polaris.example/api/catalog?warehouse=shop&scope=PRINCIPAL_ROLE:ALL").lake
    for form in (lake.spark(), lake.pyiceberg(told)):
        assert form["type"] == "rest"
        assert form["uri"] == "https://polaris.example/api/catalog"
        assert (form["warehouse"], form["scope"]) == ("shop", "PRINCIPAL_ROLE:ALL")


def test_spark_and_pyiceberg_reach_the_same_glue(load):
    lake = load("glue://eu-central-1?endpoint=http://127.0.0.1:5000", "s3://lake/shop").lake
    assert lake.spark()["client.region"] == lake.pyiceberg(told)["glue.region"] == "eu-central-1"
    assert lake.spark()["glue.endpoint"] == lake.pyiceberg(told)["glue.endpoint"] == "http://127.0.0.1:5000"


STORE = """
[lake.s3]
endpoint = "http://127.0.0.1:9000/"
region = "us-east-1"
access_key_env = "LAKE_KEY"
secret_key_env = "LAKE_SECRET"
"""


def test_spark_and_pyiceberg_reach_the_same_store(load):
    lake = load("sqlite:///c.db", "s3://lake/shop/", STORE).lake
    assert lake.warehouse == Bucket("lake", "shop")
    spark, pyiceberg = lake.spark(), lake.pyiceberg(told)
    assert spark["warehouse"] == pyiceberg["warehouse"] == "s3://lake/shop"
    assert spark["s3.endpoint"] == pyiceberg["s3.endpoint"] == "http://127.0.0.1:9000"
    assert (spark["s3.path-style-access"], pyiceberg["s3.force-virtual-addressing"]) == ("true", "false")
    assert spark["client.region"] == pyiceberg["s3.region"] == "us-east-1"
    assert pyiceberg["s3.secret-access-key"] == "<LAKE_SECRET>"


def test_a_store_of_aws_is_asked_by_the_bucket_in_the_hosts_name(load):
    lake = load("sqlite:///c.db", "s3://lake", '[lake.s3]\nregion = "eu-central-1"').lake
    assert lake.spark()["s3.path-style-access"] == "false"
    assert "s3.endpoint" not in lake.spark()


def test_no_session_caches_what_others_change(load):
    for catalog in ("sqlite:///c.db", "postgresql://a@b/c", "rest+http://h", "glue://us-east-1"):
        assert load(catalog, "s3://lake").lake.spark()["cache-enabled"] == "false"


@pytest.mark.parametrize(
    ("catalog", "warehouse", "jars"),
    [
        ("sqlite:///c.db", "var", ("sqlite-jdbc",)),
        ("sqlite:///c.db", "s3://lake", ("sqlite-jdbc", "iceberg-aws-bundle")),
        ("postgresql://a@b/c", "var", ("postgresql", "checker-qual")),
        ("rest+http://h", "var", ()),
        ("glue://us-east-1", "s3://lake", ("iceberg-aws-bundle",)),
    ],
)
def test_spark_loads_no_jar_that_the_lake_does_not_need(load, catalog, warehouse, jars):
    assert load(catalog, warehouse).lake.jars == jars


@pytest.mark.parametrize(
    ("catalog", "more", "name"),
    [
        ("postgresql://a@b/c", 'catalog_password_env = "MINE"', "jdbc.password"),
        ("rest+https://h", 'catalog_token_env = "MINE"', "token"),
        ("rest+https://h", 'catalog_credential_env = "MINE"', "credential"),
        ("sqlite:///c.db", STORE.replace("LAKE_SECRET", "MINE"), "s3.secret-access-key"),
    ],
)
def test_a_secret_is_no_part_of_what_a_session_is_told(load, catalog, more, name):
    lake = load(catalog, "s3://lake", more).lake
    assert lake.spark_secrets(lambda variable: SECRET if variable == "MINE" else "key")[name] == SECRET
    assert SECRET not in str(lake.spark())
    assert SECRET not in repr(load)
    assert name not in lake.spark()


def test_a_databases_password_is_no_property_which_goes_with_every_table(load):
    lake = load("postgresql://a@b/c", more='catalog_password_env = "MINE"').lake
    assert SECRET not in str(lake.pyiceberg(lambda _: SECRET))
    assert lake.password(lambda _: SECRET) == SECRET


def test_a_variable_that_is_not_set_is_asked_for_by_its_name(monkeypatch):
    monkeypatch.delenv("LAKE_PASSWORD", raising=False)
    with pytest.raises(
        EnvironmentFault, match="the settings name the environment variable LAKE_PASSWORD, but it is not set"
    ):
        read_variable("LAKE_PASSWORD")


@pytest.mark.parametrize(
    ("catalog", "said"),
    [
        (
            "mysql://h/db",
            "'mysql://h/db' is not a catalog; write it as sqlite:///var/lake/catalog.db, postgresql://user@",
        ),
        ("sqlite:///", "'sqlite:///' is not a catalog"),
        ("sqlite:///v%61r/c.db", "contains '%'"),
        ("sqlite:///lake#1/c.db", "contains '#'"),
        (
            "postgresql://u:hunter2@h/db",
            "put it into an environment variable, and write the name of that variable as `catalog_pa",
        ),
        ("postgresql://h/db", "does not name a user and a database"),
        ("postgresql://u@h", "does not name a user and a database"),
        ("postgresql://u@h:port/db", "is not a catalog"),
        ("postgresql://u@h/db?sslmod=x", "is not an option of this kind of catalog; did you mean 'sslmode'?"),
        ("rest+https://me:hunter2@h", "write the name of that variable as `catalog_token_env or"),
        ("rest+https://", "does not name a server"),
        ("rest://h", "'rest://h' is not a catalog"),
        ("glue://Frankfurt", "does not name a region; write it as glue://eu-central-1"),
        ("glue://us-east-1?endpoint=here", "'here' is not an http or https address of a server"),
    ],
)
def test_an_address_that_is_no_catalogs_says_how_to_write_one(load, catalog, said):
    with pytest.raises(InvalidSetting) as caught:
        load(catalog, "s3://lake")
    assert said in caught.value.message
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize(
    ("warehouse", "said"),
    [
        ("la#ke", "la#ke' contains '#', which the address of a file cannot contain; use another path"),
        ("la?ke", "contains '?'"),
        ("s3://wh", "'wh' in 's3://wh' is not a valid name of a bucket; write 3 to 63 small"),
        ("s3://My-Bucket/x", "'My-Bucket' in 's3://My-Bucket/x' is not a valid name of a bucket"),
        ("s3://10.0.0.1", "'10.0.0.1' in 's3://10.0.0.1' is not a valid name of a bucket"),
        ("s3://lake/a//b", "'a//b' in 's3://lake/a//b' is not a valid prefix"),
        ("s3://lake/../b", "'../b' in 's3://lake/../b' is not a valid prefix"),
        ("hdfs://h/x", "'hdfs://h/x' is neither a folder of this machine nor a bucket"),
    ],
)
def test_a_warehouse_that_is_none_says_how_to_write_one(load, warehouse, said):
    with pytest.raises(InvalidSetting) as caught:
        load("sqlite:///c.db", warehouse)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("catalog", "warehouse", "more", "said"),
    [
        ("sqlite:///c.db", "var", 'catalog_password_env = "P"', "catalog_password_env does not apply to a catalog"),
        (
            "rest+http://h",
            "var",
            'catalog_token_env = "T"\ncatalog_credential_env = "C"',
            "are two ways to log in to the catalog",
        ),
        (
            "postgresql://a@b/c",
            "var",
            'catalog_password_env = "hunter2!"',
            "the value is not the name of an environment variable",
        ),
        ("glue://us-east-1", "var", "", "which readers of a Glue catalog cannot read"),
        ("glue://us-east-1", "s3://lake", STORE, "Glue finds its keys in the usual ways of AWS"),
        ("sqlite:///c.db", "s3://lake", '[lake.s3]\naccess_key_env = "A"', "are used together; set both, or neither"),
        ("sqlite:///c.db", "s3://lake", '[lake.s3]\nsession_token_env = "A"', "session_token_env needs access_key_env"),
        ("sqlite:///c.db", "s3://lake", '[lake.s3]\nendpoint = "minio:9000"', "is not an http or https address"),
        ("sqlite:///c.db", "s3://lake", '[lake.s3]\nendpoint = "http://a:hunter2@h"', "does not name a server"),
    ],
)
def test_settings_that_do_not_go_together_say_why(load, catalog, warehouse, more, said):
    with pytest.raises(SettingsError) as caught:
        load(catalog, warehouse, more)
    assert said in caught.value.message
    assert "hunter2" not in caught.value.message


def test_the_nearest_setting_of_the_store_is_named(load):
    with pytest.raises(UnknownSetting, match="lake.s3.endpiont is not a setting; did you mean 'endpoint'"):
        load("sqlite:///c.db", "s3://lake", '[lake.s3]\nendpiont = "http://h"')


SOURCE = '\n[sources.erp]\nkind = "files"\nformat = "canal_json"\nlayout = "lines"\npath = "s3://landing/erp/"\n'


def test_a_source_uses_the_lakes_store_unless_it_has_its_own(load):
    of_lake = load("sqlite:///c.db", "s3://lake", STORE + SOURCE).source("erp")
    assert (of_lake.path, of_lake.s3.endpoint) == (Bucket("landing", "erp"), "http://127.0.0.1:9000")
    own = load("sqlite:///c.db", "s3://lake", STORE + SOURCE + '[sources.erp.s3]\nregion = "eu-west-1"').source("erp")
    assert (own.s3.region, own.s3.endpoint) == ("eu-west-1", None)


def test_the_nearest_setting_of_a_sources_store_is_named(load):
    with pytest.raises(UnknownSetting, match="sources.erp.s3.regoin is not a setting; did you mean 'region'"):
        load("sqlite:///c.db", "s3://lake", SOURCE + '[sources.erp.s3]\nregoin = "x"')
