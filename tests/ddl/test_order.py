"""The ordered actions of one ALTER TABLE give, one by one, the columns that MySQL makes at once."""

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from retable.ddl.registry import parse_statement
from retable.model.schema_change import AddColumn, ChangeColumn, ColumnPosition, DropColumn

BEFORE = ["a", "b", "c", "d", "e"]
Column = tuple[str, str]
"""Its name now, and where it comes from: its name before, or the statement's ADD."""


class Action:
    """One action of a statement: `old` None adds, `new` None drops; `place` in MySQL's own words."""

    def __init__(self, old: str | None, new: str | None, place: str) -> None:
        self.old, self.new, self.place = old, new, place

    @property
    def sql(self) -> str:
        if self.old is None:
            return f"ADD {self.new} INT {self.place}"
        return f"DROP {self.old}" if self.new is None else f"CHANGE {self.old} {self.new} INT {self.place}"


def at_once(actions: list[Action]) -> list[Column]:
    """MySQL's own way: the columns that stay, under their new names, then the placed and the added ones in turn."""
    by_old = {action.old: action for action in actions if action.old is not None}
    columns: list[Column] = []
    for name in BEFORE:
        action = by_old.get(name)
        if action is None:
            columns.append((name, name))
        elif action.new is not None and not action.place:
            columns.append((action.new, name))
    for action in actions:
        if action.new is not None and (action.old is None or action.place):
            insert(columns, (action.new, action.old or "added"), action.place)
    return columns


def insert(columns: list[Column], column: Column, place: str) -> None:
    names = [name for name, _ in columns]
    where = len(columns) if not place else 0 if place == "FIRST" else names.index(place.removeprefix("AFTER ")) + 1
    columns.insert(where, column)


def one_by_one(changes: tuple[object, ...]) -> list[Column]:
    columns = [(name, name) for name in BEFORE]
    for change in changes:
        match change:
            case DropColumn(name=name):
                columns.remove(find(columns, name))
            case AddColumn(column=spec, place=place):
                assert spec.name not in dict(columns), "an added name is free"
                insert(columns, (spec.name, "added"), in_words(place))
            case ChangeColumn(name=name, column=spec, place=place):
                old = find(columns, name)
                assert spec.name == name or spec.name not in dict(columns), "a new name is free"
                columns[columns.index(old)] = (spec.name, old[1])
                if place is not None:
                    columns.remove((spec.name, old[1]))
                    insert(columns, (spec.name, old[1]), in_words(place))
    return columns


def find(columns: list[Column], name: str) -> Column:
    return name, dict(columns)[name]


def in_words(place: ColumnPosition) -> str:
    return "FIRST" if place.first else f"AFTER {place.after}" if place.after else ""


@st.composite
def alters(draw: st.DrawFn) -> list[Action]:
    """Statements that MySQL accepts: every old name once, new names all different, AFTER a name that is there."""
    touched = draw(st.lists(st.sampled_from(BEFORE), unique=True, max_size=4))
    olds = draw(st.permutations([*touched, *draw(st.sampled_from(([], [None], [None, None])))]))
    names = draw(st.permutations([*touched, "x", "y"]))
    places = st.sampled_from(["", "", "", "FIRST", *(f"AFTER {name}" for name in (*BEFORE, "x", "y"))])
    actions = [Action(old, new, draw(places)) for old, new in zip(olds, names, strict=False)]
    for action in actions:
        if action.old is not None and draw(st.integers(0, 3)) == 0:
            action.new = None
    try:
        at_once(actions)
    except ValueError:
        reject()
    return actions


@given(alters())
@settings(max_examples=500, deadline=None)
def test_one_by_one_gives_what_mysql_makes_at_once(actions: list[Action]) -> None:
    statement = "ALTER TABLE t " + (", ".join(action.sql for action in actions) or "FORCE")
    assert one_by_one(parse_statement("mysql", statement, "shop", None, "t")) == at_once(actions)
