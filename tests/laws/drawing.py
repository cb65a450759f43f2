"""How a law draws its examples: the same ones in every run, or, for `make test-long`, other ones each time.

$LAW_EXAMPLES says how many of the latter; $LAW_SHRINKS=no leaves a failing example as it was found.
"""

import os

from hypothesis import Phase

EXAMPLES = int(os.environ.get("LAW_EXAMPLES", "40"))
SAME = "LAW_EXAMPLES" not in os.environ
PHASES = [phase for phase in Phase if phase is not Phase.shrink or os.environ.get("LAW_SHRINKS") != "no"]
