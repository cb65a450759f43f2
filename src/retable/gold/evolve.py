"""Plan how the columns of a gold table change. This module does not use Iceberg.

First the table is expanded (new columns, wider types). The transaction that publishes the rows then drops, renames and
orders columns.
"""

from dataclasses import dataclass

from retable.errors import LateChange
from retable.gold.state import SEQUENCE_COLUMN, GoldColumn
from retable.model.schema import GoldType
from retable.schema_history.history import Column

Field = tuple[int, str, GoldType | None]
TEMPORARY = "_retable_new_"


class RewriteNeeded(Exception):
    """All rows of a gold table must be written again: Iceberg cannot make a column's new values from the old ones."""


class RowsMissing(RewriteNeeded):
    """A rewrite is needed, but silver does not have all rows: the table was excluded when some windows were decoded."""


@dataclass(frozen=True, slots=True)
class Evolution:
    """The steps that change the present columns of a gold table into the final columns.

    The first steps expand the table. They come before the rows are written, and readers see at most extra columns that
    are null. The last steps contract it, together with the commit of the rows.

    - `leftovers`: columns to drop first; a killed run left them.
    - `adds`: columns to add first, each with a temporary name.
    - `promotions`: columns to promote first, by name, each with its new type.
    - `drops`: columns to drop last.
    - `renames`: columns to rename last, each with its present and its new name.
    - `order`: all columns, by present or temporary name, in their last order; empty if the order stays.
    - `physical`: the final columns, in order, by the names that they have while the rows are written. That is after the
      first and before the last steps, so a new column has its temporary name and a renamed column its former name.
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
    """Plan the steps from the `present` columns of a gold table to the `final` columns.

    A column has an identity: an ID that a rename does not change. `known` are the columns in the table's recorded
    state; they say which Iceberg field has which identity. `names` has the final gold names by identity. Set `by_name`
    for a rebuild. All rows are then written again, so a new column may reuse the field of another column with the same
    name and a type that fits.

    Raise RewriteNeeded if all rows must be written again. One cause is a change of type that loses no values, but that
    Iceberg cannot do (`int` to `string`). The other cause is a new column that gets the values of another column in
    older rows, too. For example, the settings may say that gold keeps both columns of a rename. Raise LateChange if a
    type changes in any other way, so that only a rebuild can do it. With `by_name`, neither error is raised.
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
                raise LateChange(
                    f"column {column.name!r} has the type {column.type} after its DDL statements, but the gold column "
                    f"{name!r} has the type {kind}, and Iceberg cannot convert it"
                )
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
    """Return the column of gold whose values a new column shows in older rows. Return None if there is none."""
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
