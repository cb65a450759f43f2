"""streamx_json: row changes, statements and heartbeats of whole databases, as Alibaba Cloud DataWorks writes them.

Written to Kafka by the full-database tasks of DataWorks Data Integration, whose engine is StreamX (known from the
messages of its documentation, and from those of Apache Paimon's tests for "aliyun-json"). `version` has no meaning. One
message is one row change, half of an update, a statement, or a heartbeat:

    {"schema":{"dataColumn":[{"name":"id","type":"LONG"},{"name":"c","type":"STRING"}],"primaryKey":["id"],
     "source":{"dbType":"MySQL","dbName":"shop","tableName":"t"}},
     "payload":{"before":null,"after":{"dataColumn":{"id":1,"c":"x"}},"sequenceId":"1620457642589000000",
     "timestamp":{"eventTime":1620457896000,"systemTime":1620457896977},"op":"INSERT","ddl":null},"version":"0.0.1"}

An update is two messages, UPDATE_BEFOR (spelled so) and UPDATE_AFTER, with the same `sequenceId`; or it is one message,
UPDATE_AFTER with both images. The configuration of the DataWorks task decides this, and the images of each message show
it. The order is `sequenceId`, as an integer, then the half of the update.
`ddl.ddlMeta` is a serialized Java object, which is unsafe to open; it is not read. For users: docs/formats.md.
"""

from retable.formats.format import Format, across_the_stream
from retable.formats.streamx.envelope import names_every_part
from retable.formats.streamx.record import CANNOT_TELL, MARKS, decode, default_type, implied_change, wire_encoding

NAME = "streamx_json"
VERSION = "streamx_json/1"
TIME_ZONE = "The zone of the source's wall clocks. Messages carry instants; DATETIME and DATE are shown in this zone."


def is_own(value: bytes) -> bool:
    """Return whether a message is of this format, and not of `datahub_blob`, whose messages leave out empty fields."""
    return names_every_part(value)


FORMAT = Format(
    name=NAME,
    version=VERSION,
    decode=decode,
    encoding=wire_encoding,
    default_type=default_type,
    implied_change=implied_change,
    order_scope=across_the_stream,
    partitions_in_order=True,
    is_own=is_own,
    marks=MARKS,
    time_zone=TIME_ZONE,
    cannot_tell=CANNOT_TELL,
)
