"""How many examples a law draws, and whether a failing one is made smaller: $LAW_EXAMPLES, $LAW_SHRINKS=no."""

import os

from hypothesis import Phase

EXAMPLES = int(os.environ.get("LAW_EXAMPLES", "100"))
PHASES = [phase for phase in Phase if phase is not Phase.shrink or os.environ.get("LAW_SHRINKS") != "no"]
