"""Apply statements that remove rows (DROP, TRUNCATE, DROP PARTITION), as the settings and people's decisions say.

If the statement holds the table, a function returns the reason of the hold. Otherwise it returns None.
"""

from retable.model.policies import Policies
from retable.model.schema_change import DropDatabase
from retable.schema_history.decisions import REMEDY_APPROVAL, REMEDY_DATABASE, REMEDY_PARTITIONS, asks_first
from retable.schema_history.statement import Statement
from retable.schema_history.traced import TracedTable

KEPT = "the settings keep the rows in gold"


def drop(table: TracedTable, at: Statement, policies: Policies) -> str | None:
    """Apply a statement that drops the table. Return the reason if this holds the table, or None.

    The rows of the table are removed from gold, unless the settings keep them.
    """
    if table.hold is not None or table.leaves_out(at):
        return None
    table.save(at.position)
    reason = asks_first(policies, "drop_table") if table.is_known and not table.dropped else None
    if reason is not None:
        return table.stop(at, reason, "APPROVAL", REMEDY_DATABASE if drops_database(at) else REMEDY_APPROVAL)
    _end(table, at, policies)
    return None


def drop_unseen(table: TracedTable, at: Statement, policies: Policies) -> None:
    """Apply a DROP DATABASE to a table that had neither a statement nor a row before it, as `drop` does."""
    if table.leaves_out(at):
        return
    if (reason := asks_first(policies, "drop_table")) is not None:
        table.stop(at, reason, "APPROVAL", REMEDY_DATABASE)
    else:
        _end(table, at, policies)


def drops_database(at: Statement) -> bool:
    """Return whether a statement is a DROP DATABASE. A person cannot replace it by another statement (`--as`)."""
    return any(isinstance(change, DropDatabase) for change in at.changes)


def _end(table: TracedTable, at: Statement, policies: Policies) -> None:
    if policies.drop_table == "keep":
        table.ended = at.position
    else:
        table.truncations.append((at.position, True))


def truncate(table: TracedTable, at: Statement, policies: Policies) -> str | None:
    if table.hold is not None:
        return None
    table.save(at.position)
    reason = asks_first(policies, "truncate")
    if reason is not None:
        return table.stop(at, reason, "APPROVAL", REMEDY_APPROVAL)
    table.truncations.append((at.position, False))
    return None


def leave_partitions(table: TracedTable, at: Statement, reason: str, policies: Policies) -> str | None:
    """Apply a statement that removes or adds partitions of a source table, with their rows.

    The setting `on.drop_partition` decides: hold the table and return `reason`, or keep the rows that gold has, record
    `reason` with the statement, and return None.
    """
    if policies.drop_partition == "hold":
        return table.stop(at, reason, remedy=REMEDY_PARTITIONS)
    if table.hold is None:
        table.record(at, (), "nothing", f"{reason}; {KEPT}", orders=False)
    return None
