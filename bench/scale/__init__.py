"""Measure a replay by the kind and the number of its changes, each in a separate process."""

import retable as retable  # Before pyarrow is imported: it chooses the allocator of Arrow.
