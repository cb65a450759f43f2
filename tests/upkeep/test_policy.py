"""Laws of upkeep: it ends, it removes nothing that anybody needs, and it leaves what is in order alone."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from retable.upkeep.policy import (
    FileFacts,
    SnapshotFacts,
    TableFacts,
    UpkeepRules,
    expirable,
    is_indebted,
    plan_upkeep,
    stands_alone,
    worth_compacting,
)

NOW = datetime(2026, 3, 8, tzinfo=UTC)
RULES = UpkeepRules()
MB = 1 << 20


@st.composite
def files(draw) -> list[FileFacts]:
    found = []
    for number in range(draw(st.integers(0, 12))):
        rows = draw(st.integers(1, 1000))
        deleted = draw(st.one_of(st.just(0), st.integers(0, rows)))
        size = draw(st.integers(1, 300)) * MB
        found.append(FileFacts(str(number), (draw(st.sampled_from("ab")),), size, rows, deleted, int(deleted > 0)))
    return found


ages = st.lists(st.integers(0, 96), max_size=12, unique=True)


def compacted(group: tuple[FileFacts, ...]) -> list[FileFacts]:
    """What Iceberg makes of a group of files: their living rows, in files of the wanted size."""
    living = sum(file.bytes * (file.rows - file.deleted) // file.rows for file in group)
    count = max(1, -(-living // RULES.target))
    rows = sum(file.rows - file.deleted for file in group)
    return [FileFacts(f"new {n}", group[0].partition, living // count, max(1, rows // count)) for n in range(count)]


@given(files())
def test_a_compacted_partition_wants_no_more(found):
    wanted = worth_compacting(found, RULES)
    for partition, group in wanted.items():
        rest = [file for file in found if file.partition == partition and file not in group]
        assert worth_compacting([*rest, *compacted(group)], RULES) == {}


@given(files())
def test_only_small_or_indebted_files_are_written_anew_and_every_debt_is_paid(found):
    chosen = [file for group in worth_compacting(found, RULES).values() for file in group]
    assert all(file.bytes < RULES.small or is_indebted(file, RULES) for file in chosen)
    assert {file.path for file in found if is_indebted(file, RULES)} <= {file.path for file in chosen}


def test_a_few_small_files_and_a_few_deleted_rows_are_left_alone():
    few = [FileFacts(str(number), (), MB, 100, deleted=20, deletes=1) for number in range(4)]
    assert worth_compacting(few, RULES) == {}
    assert list(worth_compacting([*few, FileFacts("5", (), MB, 100)], RULES)) == [()]
    assert list(worth_compacting([FileFacts("big", (), 400 * MB, 100, deleted=30, deletes=1)], RULES)) == [()]


@given(st.lists(st.integers(1, 40_000), min_size=1, max_size=60))
def test_a_day_of_the_record_costs_the_same_however_old_it_is(days):
    kept: list[FileFacts] = []
    for day, rows in enumerate(days):
        kept += [FileFacts(f"{day}-{hour}", (), 10_000, rows) for hour in range(24)]
        group = plan_upkeep(TableFacts(name="ops.ledger", location="/lake/l", files=tuple(kept)), (), NOW, RULES)
        for mine in group.compact.values():
            written = sum(file.rows for file in mine)
            assert written < 100_000 + 24 * rows
            kept = [file for file in kept if file not in mine]
            kept.append(FileFacts(f"{day}", (), MB, written))
    assert len(kept) <= 24 * sum(days) // 100_000 + 1


@given(ages, st.sets(st.integers(0, 96)), st.sets(st.integers(0, 96)))
def test_nothing_expires_that_is_young_or_that_anybody_names(hours, tagged, needed):
    snapshots = tuple(SnapshotFacts(age, NOW - timedelta(hours=age)) for age in hours)
    current = min(hours, default=None)
    facts = TableFacts(
        name="t", location="/lake/t", files=(), snapshots=snapshots, current=current, referenced=frozenset(tagged)
    )
    gone = set(expirable(facts, needed, NOW, RULES))
    assert gone.isdisjoint({current} | tagged | needed)
    assert all(age >= 24 for age in gone)
    assert {age for age in hours if age >= 24} - gone <= {current} | tagged | needed


def test_a_table_in_order_has_nothing_to_do():
    facts = TableFacts(
        name="t",
        location="/lake/t",
        files=(FileFacts("1", (), MB, 100),),
        snapshots=(SnapshotFacts(1, NOW - timedelta(days=9)),),
        current=1,
    )
    assert not plan_upkeep(facts, (), NOW, RULES).has_work


def test_no_file_is_an_orphan_where_another_table_may_own_it():
    assert stands_alone("/lake/gold/1", ["/lake/gold/2", "/lake/gold/10", "file:/lake/bronze/1"])
    assert not stands_alone("file:///lake/gold/1", ["/lake/gold/1/data"])
    assert not stands_alone("/lake/gold/1/", ["file:/lake/gold"])
    assert not stands_alone("/lake/gold/1", ["file:/lake/gold/1"])
