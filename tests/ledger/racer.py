"""One of two processes that record the same windows: waits for the start, then prints what it sees."""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from retable.land.objects.files import list_objects
from retable.ledger.lake.catalog import open_lake
from retable.ledger.windows.recording import read_windows, record_windows
from retable.settings.load import load_settings

settings = load_settings(Path(sys.argv[1]))
source = settings.source("erp")
now = datetime(2026, 3, 1, 12, int(sys.argv[3]), tzinfo=UTC)
print("ready", flush=True)
while not Path(sys.argv[2]).exists():
    time.sleep(0.001)
lake = open_lake(settings)
record_windows(lake, source, lambda: list_objects(source), now, now)
for window in read_windows(lake, "erp"):
    print(window.ordinal, window.name, window.recorded_at.isoformat(), [item.key for item in window.objects])
