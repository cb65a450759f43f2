"""datahub_blob: row changes, statements and heartbeats of a whole database, as DataWorks writes them into DataHub.

Written by Data Integration of Alibaba Cloud DataWorks into Blob topics of DataHub (known from the messages of its
documentation). One message is the record of `streamx_json`, but its empty parts are missing instead of null:

    {"schema":{"dataColumn":[{"name":"id","type":"LONG"},{"name":"c","type":"STRING"}],
     "source":{"dbName":"shop","dbType":"MySQL","tableName":"t"},"primaryKey":["id"]},
     "payload":{"op":"INSERT","after":{"dataColumn":{"c":"x","id":1}},"sequenceId":"1605339516000000004",
     "timestamp":{"eventTime":1605339932000,"systemTime":1605339932736}},"version":"0.0.1"}

A statement has neither `dataColumn` nor `primaryKey`; a heartbeat has an empty `schema` and no `sequenceId`. Statements
and rows of one table can be in different shards: `sequenceId` orders them. For users: docs/formats.md.
"""

from retable.formats.format import Format, across_the_stream
from retable.formats.streamx.envelope import names_every_part
from retable.formats.streamx.record import CANNOT_TELL, MARKS, decode, default_type, implied_change, wire_encoding

NAME = "datahub_blob"
VERSION = "datahub_blob/1"
TIME_ZONE = "The zone of the source's wall clocks. Messages carry instants; DATETIME and DATE are shown in this zone."


def is_own(value: bytes) -> bool:
    """Return whether a message is of this format, and not of `streamx_json`, which writes empty fields as null."""
    return not names_every_part(value)


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
