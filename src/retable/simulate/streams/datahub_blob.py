"""datahub_blob: write the history as DataWorks' real-time synchronisation does for a Blob topic of DataHub.

    {"schema":{"dataColumn":[{"name":"id","type":"LONG"}],"primaryKey":["id"],"source":{"dbType":"MySQL",…}},
     "payload":{"after":{"dataColumn":{"id":1}},"sequenceId":"1772323200000001004","op":"INSERT",…},"version":"0.0.1"}

Messages are as in `streamx_json`, but without the fields of the envelope that are null. Null values of a row stay.
"""

import json
from dataclasses import replace
from typing import Any

from retable.simulate.history import History
from retable.simulate.streams import streamx_json
from retable.simulate.streams.stream import Message, Stream

NAME = "datahub_blob"


def write(history: History, options: streamx_json.Options | None = None) -> Stream:
    """Write the history as datahub_blob messages, in the order of the binlog. `options` are those of streamx_json."""
    messages = streamx_json.write(history, options).messages
    return Stream(NAME, tuple(map(_without_empty_parts, messages)), by_offset=False)


def _without_empty_parts(message: Message) -> Message:
    whole: dict[str, Any] = json.loads(message.value or "")
    schema, payload = _filled(whole["schema"]), _filled(whole["payload"])
    if "source" in schema:
        schema["source"] = _filled(schema["source"])
    value = json.dumps({**whole, "schema": schema, "payload": payload}, ensure_ascii=False, separators=(",", ":"))
    return replace(message, value=value)


def _filled(part: dict[str, Any]) -> dict[str, Any]:
    return {name: content for name, content in part.items() if content is not None}
