"""Plan the changes of gold's columns without Iceberg: expand first, contract in the publishing transaction."""

from dataclasses import dataclass

from retable.errors import LateChange
from retable.gold.state import SEQUENCE_COLUMN, GoldColumn
from retable.model.schema import GoldType
from retable.schema_history.history import Column

Field = tuple[int, str, GoldType | None]
TEMPORARY = "_retable_new_"


class RewriteNeeded(Exception):
    """Iceberg cannot make a column's new values from the present ones: all rows must be written again."""


class RowsMissing(RewriteNeeded):
    """A rewrite is needed, but silver lacks rows: windows were decoded without the table."""


@dataclass(frozen=True, slots=True)
class Evolution:
    """The steps from gold's present columns to the final ones.

    Expand: add columns under temporary names, and promote types; a reader sees at most an extra null column. Contract:
    `drops` are fields to drop, `renames` new names by present name, `order` the final order of present names.
    """

    adds: tuple[tuple[str, Column], ...]
    promotions: tuple[tuple[str, GoldType], ...]
    drops: tuple[str, ...]
    renames: tuple[tuple[str, str], ...]
    order: tuple[str, ...]
    physical: tuple[str, ...]
    leftovers: tuple[str, ...]

    @property
    def expands(self) -> bool:
        return bool(self.adds or self.promotions or self.leftovers)

    @property
    def contracts(self) -> bool:
        return bool(self.drops or self.renames or self.order)

    @property
    def changes(self) -> bool:
        return self.expands or self.contracts


def plan_evolution(
    present: list[Field],
    known: tuple[GoldColumn, ...],
    final: tuple[Column, ...],
    names: dict[str, str],
    by_name: bool = False,
) -> Evolution:
    """Plan from the `present` fields (id, name, type, in order) to the `final` columns with their gold `names`.

    `known` maps fields to columns. `by_name`: a rebuild writes every row again, so a field of the same name and type
    may be used for a column of another identity. `physical` gives, for each final column, its name between expand and
    contract. `leftovers` are fields that a killed run left; they are dropped first. Raise LateChange if a column has
    another type than in gold and only a rebuild can change it, with a new field. Raise RewriteNeeded if such a change
    loses no value, or if a new column takes the values of a column that gold has.
    """
    fields = {field_id: (name, kind) for field_id, name, kind in present}
    field_of = {column.id: column.field_id for column in known if column.field_id in fields}
    anew: list[str] = []
    for column in final:
        name, kind = fields.get(field_of.get(column.id, -1), ("", None))
        if kind is None and not by_name and (source := _source_in(column, field_of)) is not None:
            anew.append(f"{names[column.id]} with the values of {fields[field_of[source.id]][0]}")
        if kind is not None and not kind.widens_to(column.type):
            if not by_name and (kind.rewrites_to(column.type) or column.text_since is not None):
                anew.append(f"{name} from {kind} to {column.type}")
            elif not by_name:
                raise LateChange(f"column {column.name!r} is {column.type}, and gold has {name!r} as {kind}")
            del field_of[column.id]
    if anew:
        raise RewriteNeeded(", ".join(anew))
    if by_name:
        _match_by_name(field_of, fields, final, names)
    kept = {field_of[column.id] for column in final if column.id in field_of}
    adds: list[tuple[str, Column]] = []
    promotions: list[tuple[str, GoldType]] = []
    renames: list[tuple[str, str]] = []
    physical: list[str] = []
    for number, column in enumerate(final):
        if column.id in field_of:
            name, kind = fields[field_of[column.id]]
            if kind != column.type:
                promotions.append((name, column.type))
        else:
            name = f"{TEMPORARY}{number}"
            adds.append((name, column))
        physical.append(name)
        if name != names[column.id]:
            renames.append((name, names[column.id]))
    system = [name for _, name, _ in present if name == SEQUENCE_COLUMN]
    gone = [name for field_id, name, _ in present if field_id not in kept and name not in system]
    leftovers = tuple(name for name in gone if name.startswith(TEMPORARY))
    drops = tuple(name for name in gone if name not in leftovers)
    now = [name for _, name, _ in present if name not in gone and name not in system]
    wanted = [*physical, *system]
    order = tuple(wanted) if [*now, *system] != wanted else ()
    return Evolution(tuple(adds), tuple(promotions), drops, tuple(renames), order, tuple(physical), leftovers)


def _source_in(column: Column, field_of: dict[str, int]) -> Column | None:
    """The column of gold from which a new column takes its values for older rows."""
    while column.fill is not None:
        column = column.fill.of
        if column.id in field_of:
            return column
    return None


def _match_by_name(
    field_of: dict[str, int],
    fields: dict[int, tuple[str, GoldType | None]],
    final: tuple[Column, ...],
    names: dict[str, str],
) -> None:
    taken = {field_of[column.id] for column in final if column.id in field_of}
    for column in final:
        if column.id in field_of:
            continue
        for field_id, (name, kind) in fields.items():
            if name == names[column.id] and kind is not None and kind.widens_to(column.type) and field_id not in taken:
                field_of[column.id] = field_id
                taken.add(field_id)
