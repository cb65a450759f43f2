"""Alerts: what is told, to whom, once, and what a notifier of somebody else's may do to it."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar
from urllib.error import HTTPError

import pytest
from airflow.sdk import BaseHook, BaseNotifier, Connection

from feeding import EACH, Feed, at, read_incidents
from lakes import SettingsWriter
from published import publish
from retable.errors import InvalidSetting
from retable.ledger.lake.catalog import open_lake
from retable.ledger.rows import TableRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.settings.types import Notify
from retable_airflow.alerts import Alert, make_notifier, watch
from retable_airflow.notify import WebhookNotifier, _address

FILE = 'notify = [{{ notifier = "retable_airflow.notify.FileNotifier", path = "{path}" }}]\n'


@pytest.fixture
def feed(write_settings: SettingsWriter, tmp_path: Path) -> Feed:
    """An hour that is replayed and proven, of two tables with an SLA of 20 minutes."""
    told = 'sla = "20m"\nowner = "orders-team"\nseverity = "error"\n' + FILE.format(path=tmp_path / "told.jsonl")
    feed = Feed(open_lake(write_settings(EACH + told)))
    feed.windows(6)
    feed.done(5)
    feed.proves(5, 0, heartbeat="06:00")
    for table in ("orders", "items"):
        gold = publish(feed.lake, TableName("shop", None, table), {"id": "int"}, [])
        append_rows(
            feed.lake,
            [
                TableRow(
                    source="dump",
                    identity=f"shop.{table}@base",
                    gold=gold,
                    database="shop",
                    schema=None,
                    table=table,
                    state="live",
                    hold=None,
                    recorded_at=at("06:00"),
                )
            ],
        )
    return feed


@pytest.fixture
def settings(feed: Feed, tmp_path: Path) -> Path:
    return tmp_path / "retable.toml"


def told(settings: Path) -> list[dict[str, Any]]:
    file = settings.with_name("told.jsonl")
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def test_late_tables_of_one_cause_are_one_alert_and_one_when_it_is_over(feed: Feed, settings: Path) -> None:
    assert watch(settings, now=at("06:30")) == []
    for moment in ("07:25", "07:30"):
        watch(settings, now=at(moment))
    feed.windows(7)
    feed.done(6)
    feed.proves(6, 0, heartbeat="07:00")
    for moment in ("07:45", "07:50"):
        watch(settings, now=at(moment))
    late, over = told(settings)
    assert late["subject"] == "[error] gold_shop.items and 1 more: late by 5m (orders-team)"
    assert late["names"] == ["gold_shop.items", "gold_shop.orders"]
    assert "has not landed yet: the last window of dump ends at 2026-03-01T06:00:00Z" in late["why"]
    assert late["next_step"] in late["text"]
    assert late["link"].endswith("/dags/replay_changes__dump")
    assert over["subject"] == "[recovered] gold_shop.items and 1 more: complete again, after 25m (orders-team)"


def test_a_notifier_that_fails_is_tried_again_by_the_next_look(feed: Feed, settings: Path) -> None:
    settings.with_name("told.jsonl").mkdir()
    assert watch(settings, now=at("07:25")) == []
    settings.with_name("told.jsonl").rmdir()
    assert len(watch(settings, now=at("07:30"))) == 1
    assert len(told(settings)) == 1


def test_of_what_lost_its_sla_nobody_is_told_that_it_is_complete(feed: Feed, settings: Path) -> None:
    without = settings.read_text("utf-8").replace('sla = "20m"\n', "")
    settings.write_text(without + '[tables."shop.items"]\nsla = "20m"\n', encoding="utf-8")
    watch(settings, now=at("07:25"))
    settings.write_text(without, encoding="utf-8")
    for moment in ("07:35", "07:40"):
        watch(settings, now=at(moment))
    late, left = told(settings)
    assert left["subject"] == "[no longer watched] gold_shop.items: late by 15m when it lost its SLA (orders-team)"
    assert late["why"] in left["text"]


def test_what_a_source_that_is_gone_made_late_is_not_open_for_ever(feed: Feed, settings: Path) -> None:
    watch(settings, now=at("07:25"))
    other = settings.read_text("utf-8").replace("sources.dump", "sources.other").replace('"dump"', '"elsewhere"')
    settings.write_text(other, encoding="utf-8")
    watch(settings)
    assert {each.source: each.state for each in read_incidents(feed.lake)} == {"dump": "unwatched", "other": "open"}


def test_what_a_table_says_of_its_alerts_goes_before_its_source(feed: Feed, settings: Path, tmp_path: Path) -> None:
    with settings.open("a", encoding="utf-8") as file:
        file.write('[tables."shop.items"]\n' + FILE.format(path=tmp_path / "items.jsonl"))
    watch(settings, now=at("07:25"))
    assert len(told(settings)) == 1
    assert len((tmp_path / "items.jsonl").read_text("utf-8").splitlines()) == 1
    assert len(read_incidents(feed.lake)) == 1


# --- notifiers ---------------------------------------------------------------------------------------------------
SEEN: list[dict[str, str]] = []


class Chat(BaseNotifier):
    """As Slack's and others: a text and a subject that are templates, and what the settings give."""

    template_fields = ("text", "channel")

    def __init__(self, *, text: str = "this is the default", channel: str = "#none", conn_id: str, **more: Any) -> None:
        super().__init__(**more)
        self.text, self.channel, self.conn_id = text, channel, conn_id

    def notify(self, context: Any) -> None:
        SEEN.append({"text": self.text, "channel": self.channel, "conn_id": self.conn_id})


def alert(why: str) -> Alert:
    return Alert(
        event="late",
        incident="id",
        source="erp",
        names=["gold_shop.orders"],
        severity="error",
        owner=None,
        late_seconds=60,
        cause="HELD",
        why=why,
        next_step="look",
        link="http://x",
    )


def test_a_notifier_gets_the_words_that_the_settings_leave_out_and_no_word_is_ever_a_template() -> None:
    SEEN.clear()
    words = "ALTER TABLE `{{ conn.canary.password }}` {% raw %}"
    given = {"notifier": f"{__name__}.Chat", "conn_id": "chat", "channel": "#{{ alert.source }}"}
    notifier = make_notifier(Notify.model_validate(given))
    notifier({"alert": alert(words)})
    (seen,) = SEEN
    assert words in seen["text"]
    assert (seen["channel"], seen["conn_id"]) == ("#erp", "chat")


def test_words_are_escaped_where_a_notifier_takes_html() -> None:
    assert "&lt;script&gt;" in alert("<script>").html


def test_a_notifier_that_is_not_installed_is_named() -> None:
    with pytest.raises(InvalidSetting, match="airflow.providers.slack"):
        make_notifier(Notify(notifier="airflow.providers.slack.notifications.slack.SlackNotifier"))


class Command:
    """Takes what a notifier takes, and is none; making one is what must not happen."""

    made = False

    def __init__(self, **_: Any) -> None:
        Command.made = True


def test_a_class_that_is_no_notifier_is_refused_before_it_is_made() -> None:
    with pytest.raises(InvalidSetting, match="not a subclass of airflow.sdk.BaseNotifier"):
        make_notifier(Notify.model_validate({"notifier": f"{__name__}.Command", "args": ["touch", "/tmp/x"]}))
    assert not Command.made


# --- the webhook -------------------------------------------------------------------------------------------------
class Told(BaseHTTPRequestHandler):
    """Answers with the status in the path, and with an address to go on to; keeps whom it heard."""

    heard: ClassVar[list[str | None]] = []

    def do_POST(self) -> None:
        Told.heard.append(self.headers["Authorization"])
        self.send_response(int(self.path.strip("/")))
        self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/200")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Post an alert to a server of this machine that answers with a status."""
    Told.heard.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Told) as server:
        Thread(target=server.serve_forever, daemon=True).start()

        def post(status: int) -> None:
            connection = Connection(
                conn_id="hook",
                host=f"http://127.0.0.1:{server.server_port}",
                password="token",
                extra=json.dumps({"path": f"/{status}"}),
            )
            monkeypatch.setattr(BaseHook, "get_connection", lambda _: connection)
            WebhookNotifier("hook").notify({"alert": alert("why")})

        yield post
        server.shutdown()


def test_a_webhook_that_takes_the_alert_has_the_token(webhook: Callable[..., None]) -> None:
    webhook(200)
    assert Told.heard == ["Bearer token"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 401, 500])
def test_a_webhook_that_answers_with_another_address_or_an_error_was_not_told(
    webhook: Callable[..., None], status: int
) -> None:
    with pytest.raises(HTTPError):
        webhook(status)
    assert len(Told.heard) == 1


@pytest.mark.parametrize(
    ("host", "extra", "is_sent"),
    [
        ("http://hooks.example", {}, False),
        ("http://hooks.example", {"allow_http": True}, True),
        ("http://127.0.0.1.example", {}, False),
        ("http://localhost", {}, True),
        ("hooks.example", {}, True),
    ],
)
def test_an_alert_goes_in_the_clear_only_where_the_connection_says_so(
    host: str, extra: dict[str, object], is_sent: bool
) -> None:
    connection = Connection(conn_id="hook", host=host, password="token", extra=json.dumps(extra))
    if is_sent:
        assert _address(connection).endswith(host.rpartition("/")[2])
    else:
        with pytest.raises(ValueError, match="would be unencrypted"):
            _address(connection)


def test_a_webhook_at_a_metadata_service_is_refused_also_behind_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retable_airflow.notify.getaddrinfo", lambda *_: [(2, 1, 6, "", ("169.254.169.254", 0))])
    for host in ("169.254.169.254", "hooks.example"):
        with pytest.raises(ValueError, match="allow_link_local"):
            _address(Connection(conn_id="hook", host=host))
        allowed = Connection(conn_id="hook", host=host, extra=json.dumps({"allow_link_local": True}))
        assert _address(allowed) == f"https://{host}"
