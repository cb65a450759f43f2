"""The state machine on the pure core."""

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from laws.machine import Machine

EXAMPLES = int(os.environ.get("LAW_EXAMPLES", "60"))


def test_a_lake_keeps_its_promises_whatever_happens_to_it() -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=int(os.environ.get("LAW_EXAMPLES", "60")),
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
