"""Drawn stories of several tables that go into one: any cut gives one gold, and that is what the tables hold."""

import json
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from laws.drawing import EXAMPLES, PHASES, SAME
from laws.test_replays_found import ddl, row
from laws.test_shards import KEYED, RULES, TABLE, apart, held, run, world_of
from retable.model.message import RawMessage

NAMES = ("a", "b", "c")
SHARDS = 3
WORDS = ("insert", "insert", "update", "delete", "add", "add", "drop", "rename", "widen", "truncate", "create")


@dataclass(slots=True)
class Shard:
    """A table of the source, as its server has it."""

    number: int
    columns: dict[str, str] = field(default_factory=lambda: {"a": "int"})
    rows: dict[int, dict[str, str | None]] = field(default_factory=dict)


@dataclass(slots=True)
class Story:
    """What the tables say, and what they hold in the end."""

    shards: list[Shard] = field(default_factory=lambda: [Shard(number) for number in range(SHARDS)])
    said: list[RawMessage] = field(default_factory=list)
    keys: int = 0

    def tell(self, shard: Shard, sql: str) -> None:
        name = f"orders_{shard.number}"
        self.said.append(ddl(len(self.said) + 1, sql.format(name), name))

    def say(self, op: str, shard: Shard, key: int, values: dict[str, str | None]) -> None:
        types = {"id": "int", **shard.columns}
        name, place = f"orders_{shard.number}", len(self.said) + 1
        self.said.append(row(place, op, types, table=name, id=str(key), **values))

    def act(self, word: str, shard: Shard, pick: int) -> None:
        """Do one thing, where it can be done; `pick` chooses what is left open."""
        columns, rows = shard.columns, shard.rows
        name, free = list(columns)[pick % len(columns)] if columns else None, [n for n in NAMES if n not in columns]
        if word == "create":
            self.tell(shard, "drop table {}")
            self.tell(shard, "create table {} (id int primary key, a int)")
            shard.columns, shard.rows = {"a": "int"}, {}
        elif word == "insert":
            self.keys += 1
            rows[self.keys] = {column: str(pick + at) for at, column in enumerate(columns)}
            self.say("INSERT", shard, self.keys, rows[self.keys])
        elif word in ("update", "delete") and rows:
            key = list(rows)[pick % len(rows)]
            if word == "update":
                rows[key] = {column: str(pick + 7 * at) for at, column in enumerate(columns)}
            self.say(word.upper(), shard, key, rows[key])
            if word == "delete":
                del rows[key]
        elif word == "truncate":
            self.tell(shard, "truncate table {}")
            rows.clear()
        elif word == "add" and free:
            told = f" default {pick}" if pick % 2 else ""
            new = free[pick % len(free)]
            self.tell(shard, f"alter table {{}} add column {new} int{told}")
            columns[new] = "int"
            for values in rows.values():
                values[new] = str(pick) if told else None
        elif name is not None and word == "drop":
            self.tell(shard, f"alter table {{}} drop column {name}")
            del columns[name]
            for values in rows.values():
                del values[name]
        elif name is not None and word == "widen":
            self.tell(shard, f"alter table {{}} modify {name} bigint")
            columns[name] = "bigint"
        elif name is not None and word == "rename" and free:
            new = free[pick % len(free)]
            self.tell(shard, f"alter table {{}} rename column {name} to {new}")
            columns[new] = columns.pop(name)
            for values in rows.values():
                values[new] = values.pop(name)

    def truth(self) -> list[dict[str, object]]:
        found = []
        for shard in self.shards:
            for key, values in shard.rows.items():
                whole = {name: None if value is None else int(value) for name, value in values.items()}
                found.append({"id": key, **whole})
        return sorted(found, key=lambda each: str(each["id"]))


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """A story; in half of them a statement is said of all tables at once, so that they end alike."""
    story = Story()
    for shard in story.shards:
        story.tell(shard, "create table {} (id int primary key, a int)")
    together = draw(st.booleans())
    for _ in range(draw(st.integers(3, 14))):
        word, pick = draw(st.sampled_from(WORDS)), draw(st.integers(1, 9))
        alone = word in ("insert", "update", "delete", "truncate", "create")
        chosen = story.shards[draw(st.integers(0, SHARDS - 1))]
        for shard in [chosen] if alone or not together else story.shards:
            story.act(word, shard, pick)
            if draw(st.booleans()):
                story.act("insert", story.shards[draw(st.integers(0, SHARDS - 1))], pick)
    return story


@settings(max_examples=EXAMPLES, derandomize=SAME, phases=PHASES, deadline=None)
@given(stories(), st.data())
def test_any_cut_gives_what_the_tables_hold(story: Story, data: st.DataObject) -> None:
    said = apart(story.said) if data.draw(st.booleans()) else story.said
    rules = data.draw(st.sampled_from([RULES, KEYED]))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(said) - 1), max_size=4)))
    whole = run(world_of(rules), said)
    world = run(world_of(rules), *(said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)))
    if held(whole) is not None:
        assert held(world) is not None
        return
    assert held(world) is None
    assert world.gold() == whole.gold()
    world.rebuild(TABLE)
    assert world.gold() == whole.gold()
    if len({frozenset(shard.columns) for shard in story.shards}) == 1:
        found = [json.loads(each) for each in world.gold()[TABLE].rows]
        for each in found:
            each.pop("source_table", None)
        assert sorted(found, key=lambda each: str(each["id"])) == story.truth()
