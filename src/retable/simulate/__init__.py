"""A simulated shop, independent of Retable: its database writes change messages and knows its true contents.

    from retable.simulate import FORMATS, Delivery, deliver, simulate, streamx_json, write_objects

    history = simulate(random.Random(7), changes=80)             # or Hypothesis' st.randoms(use_true_random=False)
    stream = streamx_json.write(history)                         # or FORMATS["canal_json"].write(history)
    windows = deliver(stream, chance, Delivery(partitions=3, windows=4, late=0.1, repeated=0.1, shuffled=True))
    names = write_objects(windows, folder)                       # the windows' names: ["20260301T0000Z", …]
    history.truth().rows("orders")                               # as `retable rows --format jsonl`, read as JSON
    history.truth_up_to(windows[0][-1].position)                 # the contents after this message's binlog position

`simulate(kinds=…)` takes names of ROW_KINDS, DDL_KINDS and HELD_KINDS. A name given twice is chosen twice as often.
`history.holds()` returns the positions of the statements at which, by its documentation, Retable holds a table.
`FORMATS` says what each format can express, and what settings must declare of tables because its messages do not.
"""

from retable.simulate.actions.play import DDL_KINDS, HELD_KINDS, LOADED, ROW_KINDS, simulate
from retable.simulate.chance import Chance
from retable.simulate.delivery import Delivery, Record, deliver, hour_cuts, write_objects
from retable.simulate.history import History
from retable.simulate.settings import TableSetting, type_settings
from retable.simulate.shop import START_MS, Clock
from retable.simulate.streams import (
    canal_json,
    datahub_blob,
    datahub_tuple,
    dts_avro,
    lindorm_debezium,
    shareplex_json,
    streamx_json,
)
from retable.simulate.streams.debezium import json as debezium_json
from retable.simulate.streams.formats import FORMATS, Format
from retable.simulate.streams.stream import Message, Stream
from retable.simulate.truth import Truth

__all__ = [
    "DDL_KINDS",
    "FORMATS",
    "HELD_KINDS",
    "LOADED",
    "ROW_KINDS",
    "START_MS",
    "Chance",
    "Clock",
    "Delivery",
    "Format",
    "History",
    "Message",
    "Record",
    "Stream",
    "TableSetting",
    "Truth",
    "canal_json",
    "datahub_blob",
    "datahub_tuple",
    "debezium_json",
    "deliver",
    "dts_avro",
    "hour_cuts",
    "lindorm_debezium",
    "shareplex_json",
    "simulate",
    "streamx_json",
    "type_settings",
    "write_objects",
]
