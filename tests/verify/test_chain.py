"""Gold's snapshots against the record, where the run that made them and the one that recorded them differ."""

from datetime import UTC, datetime

from retable.gold.state import RUN_PROPERTY
from retable.verify.chain import Chain, Made, RecordedSnapshots, check_chain

BEFORE, DELETED, APPENDED, SEAL, ANEW = range(1, 6)
W5, W6 = "20260301T0500Z", "20260301T0600Z"
NOW = datetime(2026, 4, 1, tzinfo=UTC)
PUBLISHED_MS = 400


def made(number: int, run: str = "", window: str = W5) -> Made:
    told = {RUN_PROPERTY: run, "retable.window": window} if run else {}
    return Made(number, number - 1 or None, number * 100, "append", told)


CHAIN = Chain(
    {
        BEFORE: made(BEFORE, "first"),
        DELETED: made(DELETED),
        APPENDED: made(APPENDED, "died"),
        SEAL: made(SEAL, f"died/{W5}"),
    },
    # A publication moves main to its branch and seals it, at one moment.
    [(BEFORE, 100), (APPENDED, PUBLISHED_MS), (SEAL, PUBLISHED_MS)],
)


def test_what_a_run_published_before_it_died_is_the_records_once_another_run_has_recorded_it() -> None:
    recorded = RecordedSnapshots({BEFORE: NOW, SEAL: NOW}, (), {"first", "again"})
    assert check_chain(CHAIN, recorded) == []


def test_what_a_run_published_before_it_died_is_named_until_its_window_is_run_again() -> None:
    recorded = RecordedSnapshots({BEFORE: NOW}, (), {"first"})
    found = [(finding.code, finding.where) for finding in check_chain(CHAIN, recorded)]
    assert ("RUN_UNRECORDED", str(SEAL)) in found
    assert ("FOREIGN_COMMIT", str(DELETED)) in found


def followed_by(later: Made) -> Chain:
    return Chain({**CHAIN.snapshots, later.id: later}, [*CHAIN.main, (later.id, later.time_ms)])


def test_what_another_run_has_published_anew_since_for_the_same_window_is_nobodys_fault() -> None:
    recorded = RecordedSnapshots({BEFORE: NOW, ANEW: NOW}, (), {"first", "again"})
    assert check_chain(followed_by(made(ANEW, "again")), recorded) == []


def test_what_another_run_has_published_for_another_window_excuses_nothing() -> None:
    recorded = RecordedSnapshots({BEFORE: NOW, ANEW: NOW}, (), {"first", "again"})
    found = {finding.code for finding in check_chain(followed_by(made(ANEW, "again", W6)), recorded)}
    assert found == {"FOREIGN_COMMIT", "RUN_UNRECORDED"}


def test_a_commit_that_names_no_run_is_foreign_whatever_comes_after_it() -> None:
    chain = Chain({BEFORE: made(BEFORE, "first"), DELETED: made(DELETED)}, [(BEFORE, 100), (DELETED, 200)])
    later = made(APPENDED, "first")
    chain = Chain({**chain.snapshots, later.id: later}, [*chain.main, (later.id, later.time_ms)])
    found = [finding.code for finding in check_chain(chain, RecordedSnapshots({BEFORE: NOW}, (), {"first"}))]
    assert found == ["FOREIGN_COMMIT"]
