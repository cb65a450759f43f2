"""The state machine on the pure core."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from laws.drawing import EXAMPLES, PHASES, SAME
from laws.machine import Machine


def test_a_lake_keeps_its_promises_whatever_happens_to_it() -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=15,
            phases=PHASES,
            derandomize=SAME,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
