"""The settings file, read by a person who mistypes."""

import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from retable.errors import InvalidSetting, NotFound, SettingsError, UnknownSetting
from retable.formats.registry import FORMATS
from retable.model.event import TableName
from retable.model.policies import Policies
from retable.model.schema import GoldType
from retable.settings.fingerprint import KEEPS_GOLD
from retable.settings.load import Settings, jars_folder, load_settings
from retable.settings.sources import KINDS

LAKE = '[lake]\ncatalog = "sqlite:///var/catalog.db"\nwarehouse = "var/lake"\n'
SOURCE = '[sources.erp]\nkind = "files"\nformat = "canal_json"\npath = "in"\nlayout = "lines"\n'


def of(source_format: str) -> str:
    return SOURCE.replace("canal_json", source_format)


KAFKA = """
[sources.erp]
kind = "kafka"
format = "canal_json"
bootstrap = "127.0.0.1:9092"
topics = ["shop.*"]
"""


@pytest.fixture
def load(tmp_path: Path):
    def load(text: str) -> Settings:
        file = tmp_path / "retable.toml"
        file.write_text(text, encoding="utf-8")
        return load_settings(file)

    return load


def test_relative_paths_start_at_the_settings_files_folder(load, tmp_path):
    settings = load(LAKE + SOURCE)
    assert settings.lake.warehouse == tmp_path / "var/lake"
    assert settings.lake.catalog_file == tmp_path / "var/catalog.db"
    assert settings.source("erp").path == tmp_path / "in"


def test_what_is_not_set_has_its_default(load):
    source = load(LAKE + SOURCE).source("erp")
    assert (source.name, source.every, source.start) == ("erp", timedelta(hours=1), None)
    assert (source.time_zone, source.timestamp_zone, source.source_epoch) == ("UTC", "UTC", 0)
    assert (source.include, source.exclude, source.max_message) == (("*",), (), 32 << 20)


def test_the_timestamp_zone_follows_the_time_zone(load):
    assert load(LAKE + SOURCE + 'time_zone = "Asia/Shanghai"').source("erp").timestamp_zone == "Asia/Shanghai"


def test_a_kafka_source_names_its_brokers_topics_and_who_reads_them(load, tmp_path):
    more = 'start = "latest"\ndelay = "5m"\n[sources.erp.kafka]\nsecurity_protocol = "SASL_SSL"\n'
    source = load(LAKE + KAFKA + more + 'username_env = "A"\npassword_env = "B"\nca_file = "ca.pem"').source("erp")
    assert (source.start, source.first, source.delay) == ("latest", None, timedelta(minutes=5))
    assert source.kafka.ca_file == tmp_path / "ca.pem"
    assert [name for name in ("shop.a", "SHOP.a", "shopxa", "shop.") if source.reads(name)] == ["shop.a", "shop."]
    assert load(LAKE + KAFKA).source("erp").delay == timedelta(minutes=2)


def test_a_secret_in_place_of_a_variables_name_is_refused_and_not_shown(load):
    secret = "S3CR3T-xyz!"
    with pytest.raises(SettingsError, match="is not the name of an environment variable") as caught:
        load(LAKE + KAFKA + f'kafka = {{ security_protocol = "SASL_SSL", password_env = "{secret}" }}')
    assert secret not in caught.value.message


@pytest.mark.parametrize("start", ['"2026-03-01T13:00:00+08:00"', "2026-03-01T05:00:00Z"])
def test_a_start_is_a_time_with_its_zone(load, start):
    assert load(LAKE + SOURCE + f"start = {start}").source("erp").start == datetime(2026, 3, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAKE + SOURCE + "evry = 1", "sources.erp.evry is not a setting; did you mean 'every'?"),
        (
            LAKE + SOURCE + 'zero_date = "null"',
            'sources.erp.zero_date is not a setting; it belongs to [tables."SCHEMA.TABLE"]',
        ),
        (LAKE + 'every = "1h"', "lake.every is not a setting; it belongs to [sources.NAME]"),
        (LAKE + SOURCE + "qqqq = 1", "sources.erp.qqqq is not a setting; the settings here are applications, binary_"),
        (LAKE + "[tabels.x]", "tabels is not a setting; did you mean 'tables'?"),
        (
            LAKE + '[tables."shop.*"]\nzero_dates = "null"',
            'tables."shop.*".zero_dates is not a setting; did you mean \'zero_d',
        ),
        (LAKE + 'catalogue = ""', "lake.catalogue is not a setting; did you mean 'catalog'?"),
    ],
)
def test_an_unknown_key_is_an_error_that_names_the_nearest_one(load, tmp_path, text, said):
    with pytest.raises(UnknownSetting) as caught:
        load(text)
    assert f"{tmp_path}/retable.toml: {said}" in caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAKE.replace("var/catalog", "v%61r/catalog"), "contains '%'"),
        (LAKE + 'gold = "all"', "lake.gold: 'all' is not a valid namespace"),
        (LAKE + 'case = "upper"', "lake.case: should be 'lower' or 'source', not 'upper'"),
        ('[lake]\nwarehouse = "x"', "lake.catalog is missing"),
        ("", "lake is missing"),
        (LAKE + SOURCE.replace('"files"', '"sqs"'), "sources.erp.kind: should be 'files' or 'kafka', not 'sqs'"),
        (LAKE + SOURCE.replace('kind = "files"\n', ""), "sources.erp.kind is missing; it has no default"),
        (LAKE + SOURCE + 'topics = ["shop"]', "sources.erp.topics belongs to a source of kind 'kafka'"),
        (LAKE + KAFKA + 'path = "in"', "sources.erp.path belongs to a source of kind 'files'"),
        (LAKE + KAFKA.replace("127.0.0.1:9092", "kafka"), "sources.erp.bootstrap: 'kafka' is not a list of brokers"),
        (LAKE + KAFKA.replace('["shop.*"]', "[]"), "sources.erp.topics: "),
        (LAKE + KAFKA + 'start = "now"', '\'now\' is not a valid start; write "earliest", "latest", or a time'),
        (LAKE + KAFKA + 'delay = "2h"', "sources.erp.delay: '2h' is not a valid delay"),
        (
            LAKE + KAFKA + 'kafka = { password = "x" }',
            "sources.erp.kafka.password is not a setting; did you mean 'passwo",
        ),
        (LAKE + KAFKA + 'kafka = { security_protocol = "SASL_SSL" }', "SASL_SSL needs username_env and password_env"),
        (LAKE + KAFKA + 'kafka = { username_env = "A" }', "username_env is used only if security_protocol is SASL"),
        (LAKE + KAFKA + 'kafka = { ca_file = "ca.pem" }', "ca_file is used only if security_protocol is SSL or"),
        (
            LAKE + KAFKA + 'kafka = { security_protocol = "SSL", key_file = "k" }',
            "certificate_file and key_file belong together",
        ),
        (LAKE + SOURCE.replace("erp", "Erp"), "'Erp' is not a source name"),
        (LAKE + SOURCE + 'name = "other"', "sources.erp.name is not a setting"),
        (LAKE + SOURCE + 'every = "7h"', "sources.erp.every: '7h' is not an interval"),
        (LAKE + SOURCE + 'every = "2d"', "sources.erp.every: '2d' is not an interval"),
        (LAKE + SOURCE + 'start = "latest"', "sources.erp.start: 'latest' is not a valid start"),
        (LAKE + SOURCE + "start = 2026-03-01T05:00:00", "is not a valid start"),
        (LAKE + SOURCE + 'time_zone = "Asia/Shangai"', "did you mean 'Asia/Shanghai'?"),
        (LAKE + SOURCE + "hour = '(['", "is not a regular expression"),
        (LAKE + SOURCE + "hour = 'T'", "'T' has no group"),
        (
            LAKE + SOURCE + "hour = '(?=x)(x)'",
            "is not a regular expression of RE2, which has no look-around: invalid perl",
        ),
        (LAKE + SOURCE + "hour = '(((((x{99}){99}){99}){99}){99})'", "is not a regular expression of RE2"),
        (LAKE + SOURCE + 'include = "shop.*"', "sources.erp.include: should be a valid tuple, not 'shop.*'"),
        (LAKE + SOURCE + 'source_epoch = "1"', "sources.erp.source_epoch: should be a valid integer, not '1'"),
        (LAKE + of("shareplex_json") + 'database = ""', "sources.erp.database: "),
        (LAKE + of("lindorm_debezium") + 'model = "kv"', "sources.erp.model: should be 'sql' or 'hbase', not 'kv'"),
        (
            LAKE + of("datahub_tuple") + 'database = "shop"\ntuple_schema = { id = "INT" }',
            "sources.erp.tuple_schema.id: should be 'TINYINT', 'SMALLINT'",
        ),
        (LAKE + SOURCE + "max_message = 1", "sources.erp.max_message: should be greater than or equal to 1024"),
        (LAKE + "sources = 3", "sources"),
        (LAKE + '[tables.x]\ntypes = { a = "decimal(40,2)" }', "tables.x.types.a: 'decimal(40,2)' is not a type"),
        (LAKE + SOURCE + 'spark_door = "subprocess:getoutput"', "is in subprocess, a module of Python itself"),
        (LAKE + SOURCE + 'spark_door = "os.path:exists"', "is in os, a module of Python itself"),
        (LAKE + SOURCE + 'notify = [{ notifier = "subprocess.Popen" }]', "is in subprocess, a module of Python itself"),
        ("[lake", "is not TOML"),
    ],
)
def test_a_value_that_a_setting_cannot_take_says_why(load, tmp_path, text, said):
    with pytest.raises(SettingsError) as caught:
        load(text)
    assert caught.value.message.startswith(f"{tmp_path}/retable.toml")
    assert said in caught.value.message


def test_a_missing_file_says_how_to_name_or_write_one(tmp_path):
    with pytest.raises(NotFound, match="--settings"):
        load_settings(tmp_path / "none.toml")


def test_the_environment_names_the_settings(monkeypatch, tmp_path):
    (tmp_path / "mine.toml").write_text(LAKE)
    monkeypatch.setenv("RETABLE_SETTINGS", str(tmp_path / "mine.toml"))
    assert load_settings().lake.warehouse == tmp_path / "var/lake"


def test_a_folder_of_files_is_one_set_of_settings(tmp_path):
    (tmp_path / "lake.toml").write_text(LAKE)
    (tmp_path / "erp.toml").write_text(SOURCE)
    (tmp_path / "crm.toml").write_text(SOURCE.replace("erp", "crm"))
    assert set(load_settings(tmp_path).sources) == {"erp", "crm"}


def test_a_key_set_twice_in_a_folder_names_both_files(tmp_path):
    (tmp_path / "a.toml").write_text(LAKE + SOURCE)
    (tmp_path / "b.toml").write_text('[sources.erp]\nformat = "canal_json"\n')
    with pytest.raises(InvalidSetting, match=r"sources.erp.format is set twice: in .*a.toml and in .*b.toml"):
        load_settings(tmp_path)


def test_an_unknown_key_in_a_folder_names_its_own_file(tmp_path):
    (tmp_path / "a.toml").write_text(LAKE)
    (tmp_path / "b.toml").write_text(SOURCE + "evry = 1")
    with pytest.raises(UnknownSetting, match=r"b.toml: sources.erp.evry"):
        load_settings(tmp_path)


def test_an_empty_folder_is_not_found(tmp_path):
    with pytest.raises(NotFound, match="no settings"):
        load_settings(tmp_path)


def test_an_unknown_source_names_the_nearest(load):
    with pytest.raises(NotFound, match="did you mean 'erp'"):
        load(LAKE + SOURCE).source("erq")


@pytest.mark.parametrize(
    ("table", "zero_date"),
    [
        (TableName("shop", None, "orders"), "string"),
        (TableName("shop", None, "orders_1"), "null"),
        (TableName("shop", None, "item"), "hold"),
        (TableName("SHOP", None, "orders"), "hold"),
        (TableName("hr", "dbo", "emp"), "string"),
    ],
)
def test_the_most_specific_pattern_wins_case_sensitive(load, table, zero_date):
    rules = {"shop.*": "hold", "shop.orders*": "null", "shop.orders": "string", "hr.dbo.*": "string"}
    text = "".join(f'[tables."{glob}"]\nzero_date = "{rule}"\n' for glob, rule in rules.items())
    assert load(LAKE + text).rules(table).zero_date == zero_date


def test_two_equally_specific_patterns_are_an_error(load):
    settings = load(LAKE + '[tables."shop.a*"]\n[tables."shop.*b"]\n')
    with pytest.raises(InvalidSetting, match="equally specific"):
        settings.rules(TableName("shop", None, "ab"))
    assert settings.rules(TableName("shop", None, "ac")).keys == ()


def test_types_are_those_of_a_gold_column(load):
    rules = load(LAKE + '[tables."shop.t"]\nkeys = ["id"]\ntypes = { price = "decimal(18,4)" }').rules(
        TableName("shop", None, "t")
    )
    assert rules.types == {"price": GoldType("decimal", 18, 4)}
    assert rules.keys == ("id",)


def test_include_and_exclude_are_globs_over_the_whole_name(load):
    source = load(LAKE + SOURCE + 'include = ["shop.*", "hr.dbo.*"]\nexclude = ["*.tmp_*"]').source("erp")
    assert source.takes(TableName("shop", None, "orders"))
    assert source.takes(TableName("hr", "dbo", "emp"))
    assert not source.takes(TableName("shop", None, "tmp_1"))
    assert not source.takes(TableName("Shop", None, "orders"))


TABLE = TableName("shop", None, "orders")


@pytest.mark.parametrize(
    "more",
    [
        'time_zone = "Asia/Tokyo"',
        'timestamp_zone = "Asia/Tokyo"',
        'source_system = "mysql"',
        'exclude = ["shop.orders"]',
        'binary_encoding = "hex"',
        '[tables."shop.orders"]\nkeys = ["id"]',
        '[tables."shop.*"]\ntypes = { a = "long" }',
        '[tables."shop.*"]\nzero_date = "null"',
    ],
)
def test_what_changes_a_tables_values_changes_its_fingerprint(load, more):
    before = load(LAKE + SOURCE).fingerprint("erp", TABLE)
    assert load(LAKE + SOURCE + more).fingerprint("erp", TABLE) != before


@pytest.mark.parametrize(
    "more",
    [
        'every = "15m"',
        "max_message = 1024",
        "source_epoch = 1",
        'paused = "it moves"',
        '[tables."shop.other"]\nkeys = ["id"]',
    ],
)
def test_what_does_not_touch_a_tables_values_keeps_its_fingerprint(load, more):
    before = load(LAKE + SOURCE).fingerprint("erp", TABLE)
    assert len(before) == 16
    assert load(LAKE + SOURCE + more).fingerprint("erp", TABLE) == before


OTHER_VALUES = [
    *('"other"', '"string"', '"hbase"', '"offset"', '"all"', '"connect"', '"Asia/Tokyo"', "true", "1"),
    *('[{ from_offset = 0, dialect = "community" }]', '{ id = "BIGINT" }'),
]
"""Values of which each option of a format takes one, and none that it has by default."""
OPTIONS = [(known, name) for known in FORMATS.values() for name in known.options.model_fields]


def _loaded(load, name: str, needed: str, option: str, value: str) -> Settings | None:
    try:
        return load(LAKE + of(name) + needed + f"{option} = {value}")
    except SettingsError:
        return None


@pytest.mark.parametrize(("known", "option"), OPTIONS, ids=lambda each: getattr(each, "name", each))
def test_every_option_of_a_format_is_in_the_digests_unless_it_says_otherwise(load, known, option):
    needed = "".join(f'{name} = "UTC"\n' for name in known.needs if name != option)
    least = needed + "".join(f'{name} = "UTC"\n' for name in known.needs if name == option)
    before = load(LAKE + of(known.name) + least)
    after = next(filter(None, (_loaded(load, known.name, needed, option, value) for value in OTHER_VALUES)))
    changes = before.fingerprint("erp", TABLE) != after.fingerprint("erp", TABLE)
    assert changes == (option not in known.options.KEEPS_GOLD)
    changes = before.typing("erp", TABLE) != after.typing("erp", TABLE)
    assert changes == (option not in known.options.KEEPS_TYPES)


def test_every_setting_of_a_source_is_in_the_digest_or_exempt_by_name():
    """The others are those that the tests of the fingerprint change one by one, and the two that choose tables."""
    changing = {"format", "source_system", "time_zone", "timestamp_zone", "binary_encoding"}
    taking = {"include", "exclude", "canary"}
    fields = {name for kind in KINDS.values() for name in kind.model_fields}
    assert fields == KEEPS_GOLD | changing | taking


def test_digests_of_existing_tables_stay(load):
    """Digests that an earlier version wrote: another one would make all windows of such a source stale."""
    assert load(LAKE + SOURCE).fingerprint("erp", TABLE) == "732d33ffa9b9d0fc"
    debezium = of("debezium_json") + 'decimal_mode = "string"\norder = "offset"\nunavailable_value = "(lost)"'
    assert load(LAKE + debezium).fingerprint("erp", TABLE) == "a41d29818bc1a499"
    assert load(LAKE + debezium).typing("erp", TABLE) == "baefd3d5ff1b3b1a"
    tuples = of("datahub_tuple") + 'database = "shop"\ntuple_schema = { id = "BIGINT" }'
    assert load(LAKE + tuples).fingerprint("erp", TABLE) == "2ec2a9a082333fb9"


def test_settings_reach_sparks_workers(load):
    settings = load(LAKE + SOURCE + '[tables."shop.*"]\ntypes = { a = "long" }')
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_the_jars_are_in_the_environment_unless_it_says_otherwise(monkeypatch):
    monkeypatch.setenv("RETABLE_JARS", "/jars")
    assert jars_folder() == Path("/jars")
    monkeypatch.delenv("RETABLE_JARS")
    assert jars_folder().name == "jars"


def test_the_canary_is_not_one_of_the_tables(load):
    source = load(LAKE + SOURCE + 'canary = "ops.retable_canary"').source("erp")
    assert not source.takes(TableName("ops", None, "retable_canary"))
    assert source.takes(TableName("ops", None, "other"))


POLICIES = """
[tables."shop.orders"]
on = {{ {} }}
schema = "{}"
approve = {}
"""


def test_a_table_has_policies(load):
    written = POLICIES.format('type_change = "string", drop_table = "keep"', "additive", '["truncate"]')
    settings = load(LAKE + SOURCE + written)
    asked, others = (settings.rules(TableName("shop", None, name)).policies for name in ("orders", "other"))
    assert asked == Policies("string", "keep", columns="additive", approve=("truncate",))
    assert others == Policies("side_column", "empty", "follow", "hold", "follow", ())


@pytest.mark.parametrize(
    ("on", "schema", "approve", "words"),
    [
        ('type_change = "cast"', "follow", "[]", "on.type_change: should be 'side_column', 'string' or 'hold'"),
        ('drop_tabel = "keep"', "follow", "[]", "did you mean 'drop_table'"),
        ('drop_partition = "apply"', "follow", "[]", "should be 'hold' or 'keep_rows', not 'apply'"),
        ("", "strict", "[]", "schema: should be 'follow', 'additive' or 'frozen'"),
        ("", "follow", '["rename"]', "should be 'drop_table', 'truncate' or 'drop_column'"),
    ],
)
def test_a_policy_that_there_is_not_is_refused(load, on, schema, approve, words):
    with pytest.raises(SettingsError) as found:
        load(LAKE + SOURCE + POLICIES.format(on, schema, approve))
    assert words in found.value.message


def test_policies_change_a_tables_fingerprint(load):
    table = TableName("shop", None, "orders")
    tables = [POLICIES.format(*each) for each in (("", "follow", "[]"), ('rename_table = "hold"', "follow", "[]"))]
    assert len({load(LAKE + SOURCE + each).fingerprint("erp", table) for each in tables}) == 2


SHARDS = '[tables."shop.orders_*"]\nto = "shop.orders"\n[tables."eu.orders_*"]\nto = "shop.orders"\n'


def test_tables_that_go_into_one_have_its_rules_and_that_has_them_too(load):
    settings = load(LAKE + SOURCE + '[tables."shop.orders_*"]\nto = "shop.dbo.orders"\nkeys = ["id"]\n')
    target, shard = TableName("shop", "dbo", "orders"), TableName("shop", None, "orders_1")
    assert (settings.target(shard), settings.target(target)) == (target, None)
    assert settings.rules(target) == settings.rules(shard)
    assert settings.rules(TableName("shop", None, "orders")).keys == ()


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ('to = "orders"', "to: 'orders' is not a table; write it as shop.orders, or shop.dbo.orders"),
        ('to = "shop..orders"', "to: 'shop..orders' is not a table"),
        ("to = 7", "to: 7 is not a table"),
        ("shard_in_key = true", "shard_in_key needs the setting `to`, which names one gold table"),
        ('too = "shop.orders"', "did you mean 'to'"),
    ],
)
def test_tables_that_go_nowhere_are_refused(load, rules, words):
    with pytest.raises(SettingsError) as found:
        load(f'{LAKE}{SOURCE}[tables."shop.orders_*"]\n{rules}\n')
    assert words in found.value.message


def test_patterns_of_one_target_agree(load):
    load(LAKE + SOURCE + SHARDS)
    with pytest.raises(InvalidSetting, match=r"shop.orders_.*eu.orders_.*have the same `to`, shop.orders"):
        load(LAKE + SOURCE + SHARDS + "shard_in_key = true\n")


def test_what_several_tables_go_into_changes_the_fingerprint_and_what_readers_see_of_them_does_not(load):
    fingerprints = [
        load(LAKE + SOURCE + SHARDS.partition('[tables."eu')[0] + each).fingerprint(
            "erp", TableName("shop", None, name)
        )
        for each in ("", "shard_in_key = true\n")
        for name in ("orders", "other")
    ]
    assert fingerprints[0] == fingerprints[2] != fingerprints[1] == fingerprints[3]


def test_the_nearest_setting_of_a_table_is_named(load):
    with pytest.raises(UnknownSetting, match="did you mean 'schema'"):
        load(LAKE + SOURCE + '[tables."shop.orders"]\nschemas = "frozen"\n')
