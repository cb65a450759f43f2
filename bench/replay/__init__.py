"""Measure a replay: Retable and other methods apply the same changes to the same tables."""

import retable as retable  # Before pyarrow is imported: it chooses the allocator of Arrow.
