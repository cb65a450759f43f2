"""Kafka clients: their configuration, and the meaning of broker errors."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from retable.errors import EnvironmentFault, RetableError, Unavailable
from retable.settings.load import read_variable
from retable.settings.sources import KafkaSource

REQUEST_SECONDS = 30.0
"""The timeout of a request to the brokers."""

_REFUSED = {
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
}
_AWAY = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}
_READING = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # A missing position is an error; the client must never jump to another position.
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "check.crcs": True,
    # Bound what a consumer fetches ahead, and fetch again as soon as there is room.
    "queued.max.messages.kbytes": 16 << 10,
    "fetch.queue.backoff.ms": 5,
    "fetch.max.bytes": 16 << 20,
    # An empty answer shows the end of the committed messages; by default brokers delay such an answer for longer.
    "fetch.wait.max.ms": 50,
    # A single message may be longer than all of these limits; it is fetched all the same.
    "receive.message.max.bytes": (1 << 31) - 1,
}

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")


class Brokers:
    """Clients of the brokers of one source. Secrets are read from the environment for each new client, and not kept."""

    def __init__(self, source: KafkaSource) -> None:
        self._source = source
        self._refused: KafkaError | None = None
        self._admin: AdminClient | None = None

    @property
    def admin(self) -> AdminClient:
        """The client for requests about topics and offsets. It must exist until its answers have arrived."""
        self._admin = self._admin or AdminClient(self._configuration())
        return self._admin

    @contextmanager
    def consumer(self, **options: object) -> Iterator[Consumer]:
        """Make a consumer for a `with` block. It reads committed messages of the partitions that the caller assigns.

        `options` are additional options of the client.
        """
        group = {"group.id": self._source.kafka.group}
        consumer = Consumer({**self._configuration(), **group, **_READING, **options})
        try:
            yield consumer
        finally:
            consumer.close()

    def meet(self, consumer: Consumer) -> None:
        """Let a consumer load the leaders of all partitions with one request now.

        Otherwise it loads them topic by topic, and loses about a second for each. Raise a Retable error if this fails.
        """
        try:
            consumer.list_topics(timeout=REQUEST_SECONDS)
        except KafkaException as error:
            raise self.fault(error.args[0]) from error

    def answers(self, asked: Mapping[_Question, "Future[_Answer]"], but: int | None = None) -> dict[_Question, _Answer]:
        """Wait for the answers to requests, and return them by request.

        Leave out requests that fail with the error code `but`. Raise a Retable error for any other failure.
        """
        found = {}
        for question, answer in asked.items():
            try:
                found[question] = answer.result(REQUEST_SECONDS + 5)
            except KafkaException as error:
                if error.args[0].code() != but:
                    raise self.fault(error.args[0]) from error
            except TimeoutError as error:
                raise self.away("a request got no answer in time") from error
        return found

    def fault(self, error: KafkaError) -> RetableError:
        """Return the Retable error for an error that the brokers or the client library report."""
        if error.code() in _REFUSED:
            return self._refusal(error)
        if error.code() in _AWAY:
            if self._admin is not None:
                self._admin.poll(0.1)
            return self._refusal(self._refused) if self._refused else self.away(error.str())
        return EnvironmentFault(
            f"the brokers of sources.{self._source.name} ({self._source.bootstrap}) report the error {error.name()}: "
            f"{error.str()}"
        )

    def away(self, why: str) -> Unavailable:
        """Return the error for brokers that do not answer now. `why` is a part of its message: what did not happen."""
        return Unavailable(
            f"the brokers of sources.{self._source.name} ({self._source.bootstrap}) do not answer: {why}; try again"
        )

    def _refusal(self, error: KafkaError) -> EnvironmentFault:
        return EnvironmentFault(
            f"the brokers of sources.{self._source.name} ({self._source.bootstrap}) refuse: {error.str()}; check "
            f"sources.{self._source.name}.kafka, the variables that it names, and what this user may read",
            kafka=error.name(),
        )

    def _hear(self, error: KafkaError) -> None:
        """Remember why a connection was refused, because the waiting request only reports a timeout."""
        if error.code() in _REFUSED:
            self._refused = error

    def _configuration(self) -> dict[str, Any]:
        access = self._source.kafka
        files = {
            "ssl.ca.location": access.ca_file,
            "ssl.certificate.location": access.certificate_file,
            "ssl.key.location": access.key_file,
        }
        variables = {
            "sasl.username": access.username_env,
            "sasl.password": access.password_env,
            "ssl.key.password": access.key_password_env,
        }
        mechanism = {"sasl.mechanism": access.mechanism} if access.security_protocol.startswith("SASL") else {}
        return {
            "bootstrap.servers": self._source.bootstrap,
            "client.id": "retable",
            "security.protocol": access.security_protocol,
            **mechanism,
            **{name: str(file) for name, file in files.items() if file is not None},
            **{name: read_variable(variable) for name, variable in variables.items() if variable is not None},
            "error_cb": self._hear,
            # Failures are raised; the client's own lines on stderr would repeat them many times.
            "log_level": 2,
        }
