"""A real broker of Kafka on loopback, in one process, which a test may kill and start again."""

import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from servers_kafka import JARS, install_kafka

from retable.settings.sources import KafkaSource
from servers.processes import QUICK, Process, free_port, listens

USER, PASSWORD = "retable", "S3CR3T-xyz"
USER_VARIABLE, PASSWORD_VARIABLE = "RETABLE_TESTS_KAFKA_USER", "RETABLE_TESTS_KAFKA_PASSWORD"

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
log.dirs={folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
auto.create.topics.enable=false
# One that was killed may come back only when its former self is given up, usually after nine seconds.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
message.max.bytes=41943040
log.cleaner.backoff.ms=200
log.cleaner.dedupe.buffer.size=4194304
# Captures have old stamps: by the usual retention they would be gone at once.
log.retention.hours=-1
"""


@dataclass(frozen=True, slots=True)
class Record:
    """A message to produce; its stamp is in milliseconds, and None leaves it to the producer's clock."""

    value: bytes | None
    stamp: int | None = None
    partition: int = 0
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


@dataclass(slots=True)
class Broker:
    """The broker: what tests do to it."""

    process: Process
    sasl_port: int
    admin: AdminClient
    _kept: Producer | None = None
    """What produces: a new one waits half a second for its id. It does not notice that a topic is another one now."""

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.process.port}"

    def source(self, *topics: str, **more: Any) -> KafkaSource:
        """Settings of a source that reads these topics."""
        facts = {"name": "erp", "kind": "kafka", "format": "canal_json", "bootstrap": self.bootstrap}
        return KafkaSource.model_validate({**facts, "topics": topics, **more})

    def create(self, topic: str, partitions: int = 1, **config: str) -> str:
        """Make a topic; config has `_` for each dot."""
        options = {name.replace("_", "."): value for name, value in config.items()}
        self.admin.create_topics([NewTopic(topic, partitions, 1, config=options)])[topic].result()
        return topic

    def delete(self, topic: str) -> None:
        """Delete a topic, and wait until it is gone."""
        self.admin.delete_topics([topic])[topic].result()
        self._kept = None
        wait_for(lambda: topic not in self.admin.list_topics(timeout=10).topics)

    def add_partitions(self, topic: str, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result()
        self._kept = None
        wait_for(lambda: len(self.admin.list_topics(topic, timeout=10).topics[topic].partitions) == partitions)

    def delete_records(self, topic: str, before: int, partition: int = 0) -> None:
        """Let retention take all positions of a partition before one."""
        (done,) = self.admin.delete_records([TopicPartition(topic, partition, before)]).values()
        done.result()

    def produce(self, topic: str, records: Iterable[Record]) -> None:
        """Produce records, each to its partition, in order."""
        self._kept = self._kept or self.producer()
        send(self._kept, topic, records)
        assert self._kept.flush(60) == 0

    def producer(self, **options: object) -> Producer:
        facts = {**reaching(self.process.port), "enable.idempotence": True, "message.max.bytes": 40 << 20}
        return Producer({**facts, "linger.ms": 5, "log_level": 2, **options})


def reaching(port: int) -> dict[str, Any]:
    """What clients of the tests' own are told: a broker that was killed is found again as soon as it is back."""
    return {"bootstrap.servers": f"127.0.0.1:{port}", "reconnect.backoff.max.ms": 200}


def send(producer: Producer, topic: str, records: Iterable[Record]) -> None:
    for record in records:
        stamp = {} if record.stamp is None else {"timestamp": record.stamp}
        while True:
            try:
                producer.produce(
                    topic,
                    record.value,
                    record.key,
                    record.partition,
                    headers=[*record.headers],
                    on_delivery=_delivered,
                    **stamp,
                )
                break
            except BufferError:
                producer.poll(0.05)
        producer.poll(0)


def _delivered(error: object, _message: object) -> None:
    assert error is None, error


def wait_for(is_so: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something is so."""
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends, "it did not become so"
        time.sleep(0.05)


@contextmanager
def kafka_server(folder: Path) -> Iterator[Broker]:
    """Run a broker that keeps its log in this folder."""
    install_kafka()
    port, sasl, controller = free_port(), free_port(), free_port()
    properties = folder / "server.properties"
    facts = {"user": USER, "password": PASSWORD, "folder": folder}
    properties.write_text(_PROPERTIES.format(port=port, sasl=sasl, controller=controller, **facts))
    _java("kafka.tools.StorageTool", "format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(properties))
    options = ["-Xmx512m", *QUICK, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    command = ["java", *options, "-cp", f"{JARS}/*", "kafka.Kafka", str(properties)]
    with Process(command, port, folder / "broker.log", is_ready=_answers).running() as process:
        yield Broker(process, sasl, AdminClient({**reaching(port), "log_level": 2}))


def _java(*command: str) -> None:
    subprocess.run(["java", *QUICK, "-cp", f"{JARS}/*", *command], check=True, capture_output=True)


def _answers(port: int) -> bool:
    # A client that finds nobody there would look again only after a while.
    if not listens(port):
        return False
    try:
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0})
        return bool(admin.list_topics(timeout=1).brokers)
    except KafkaException:
        return False


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The broker of the run; each test makes topics of its own."""
    with pytest.MonkeyPatch.context() as patch, kafka_server(tmp_path_factory.mktemp("kafka")) as broker:
        patch.setenv(USER_VARIABLE, USER)
        patch.setenv(PASSWORD_VARIABLE, PASSWORD)
        yield broker
