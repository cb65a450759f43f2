"""Print what the demo shows of the lake: windows, watermark, gold compared with the truth, and the mart."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from demo_shop import MartRow
from retable.formats.registry import find_format
from retable.freshness.catalog import read_facts, tables_of
from retable.freshness.gate import format_time, judge
from retable.freshness.watermark import partition_name
from retable.gold.read import PublishedTable, list_gold
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_evidence, read_ledger
from retable.ledger.rows import Stage
from retable.ledger.windows.recording import read_windows
from retable.settings.sources import SourceSettings

STAGES: tuple[Stage, ...] = ("land", "decode", "replay")
FIRST_ROWS = 5

console = Console(soft_wrap=True)


def show_windows(lake: Lake, source: str) -> None:
    counts = {(row.window, row.stage): row.counts for row in read_ledger(lake, source) if row.table is None}
    table = Table("window", *STAGES, title="\nWhat each stage did with each window (from the ledger)")
    for window in read_windows(lake, source):
        table.add_row(window.name, *(_spell(counts.get((window.name, stage), {})) for stage in STAGES))
    console.print(table)


def _spell(counts: dict[str, int]) -> str:
    return "\n".join(f"{count:,} {name}" for name, count in counts.items() if count)


# --- gold ------------------------------------------------------------------------------------------------------------
def show_gold(lake: Lake, source: str, found: Mapping[str, Sequence[str]]) -> None:
    """Print every gold table of a source, compared with the source. `found` has the differences by gold name."""
    published = [gold for gold in list_gold(lake) if gold.state.source == source]
    table = Table("gold table", "rows", "state", "against the source's own table", title="\nGold")
    for gold in published:
        table.add_row(escape(gold.name), f"{gold.rows:,}", gold.state.state, _verdict(gold, found.get(gold.name, ())))
    console.print(table)
    _show_held(published)
    for name in sorted(found.keys() - held_tables(lake, source)):
        console.print(f"[red]{escape(name)} differs:[/]", *map(escape, found[name][:5]), sep="\n  ")


def held_tables(lake: Lake, source: str) -> set[str]:
    return {name for name, state in tables_of(lake, source).items() if state.hold}


def _verdict(gold: PublishedTable, lines: Sequence[str]) -> str:
    if not lines:
        return "[green]equal[/]"
    return "[yellow]held: it stops before the end[/]" if gold.state.hold else f"[red]{len(lines)} differences[/]"


def _show_held(published: list[PublishedTable]) -> None:
    for gold in published:
        if hold := gold.state.hold:
            console.print(f"[yellow]{escape(gold.name)} is held[/] ({hold.code}): {escape(hold.reason)}")
            if hold.statement:
                console.print(f"  {escape(hold.statement)}")
            console.print(f"  Next: {escape(hold.remedy)}")


def show_watermark(lake: Lake, source: SourceSettings, through: datetime) -> bool:
    """Print the watermark of a source and its evidence. Return False if the watermark is before `through`."""
    facts = read_facts(lake, source, tables_of(lake, source.name))
    verdict = judge([facts], through, "row")
    last = {partition_name(row): row for row in read_evidence(lake, source.name)}
    table = Table("partition", "last heartbeat", "last row", title="\nThe watermark: what each partition proves")
    for name, row in last.items():
        table.add_row(name, format_time(row.heartbeat), format_time(row.row))
    console.print(table)
    if not verdict.is_fresh:
        console.print(f"[red]{escape(verdict.words)}[/]")
        return False
    at, grade = verdict.standing.watermark, verdict.standing.grade
    witnesses = [name for name, row in last.items() if at in (row.heartbeat, row.row)]
    console.print(f"[green]All {len(facts.blockers)} tables are complete through {format_time(at)}[/], grade {grade}:")
    console.print(f"  a {grade} of that time is in {' and '.join(witnesses)}; {_rule(source)}")
    return True


def _rule(source: SourceSettings) -> str:
    if find_format(source.format).partitions_in_order:
        return f"{source.format} is written in the source's order, so one partition's evidence counts for all"
    return "no partition got less far"


# --- the mart --------------------------------------------------------------------------------------------------------
def show_mart(name: str, rows: Sequence[MartRow], truth: Sequence[MartRow]) -> bool:
    """Print the rows of the mart with most orders. Return False if the mart differs from `truth`."""
    table = Table("customer", "orders", "amount", title=f"\n{name}, built after the gate: its first rows")
    for customer, orders, amount in sorted(rows, key=lambda row: -(row[1] or 0))[:FIRST_ROWS]:
        table.add_row(str(customer), "" if orders is None else str(orders), "" if amount is None else f"{amount:,}")
    console.print(table)
    agrees = list(rows) == list(truth)
    words = "[green]equal[/] to what the shop itself counts" if agrees else "[red]not what the shop itself counts[/]"
    console.print(f"{len(rows)} customers: {words}")
    return agrees
