"""`retable verify`: checks that gold agrees with bronze, and that the ledger is right. Exit code 0 is yes, 4 is no."""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from retable.cli.arguments import Json, SourceOrTable, newest_lake
from retable.cli.output import print_json, print_table, say
from retable.cli.progress import working
from retable.cli.verify.differences import print_rows, rows_json
from retable.errors import DamagedFile, NotReady
from retable.gold.damage import LOST
from retable.gold.read import gold_states, is_retired, known_states, lost_tables
from retable.ledger.lake.catalog import Lake
from retable.verify.bronze import against_bronze
from retable.verify.findings import Finding, Verification
from retable.verify.ledger import against_ledger
from retable.verify.rows import Share

app = typer.Typer()

_DIFFERENT = 4
_DAMAGED = "DAMAGED"
_SHARE = re.compile(r"([1-9][0-9]{0,4})/([1-9][0-9]{0,3})\Z")
_MOST_FINDINGS = 40


class VerifyAgainst(StrEnum):
    """What `retable verify` compares a gold table with: its messages in bronze, or its records in the ledger."""

    BRONZE = "bronze"
    LEDGER = "ledger"


def _share(text: str) -> Share:
    found = _SHARE.match(text)
    if found is None or int(found[1]) > int(found[2]):
        raise typer.BadParameter(f"{text!r} is not a part of the keys; write 3/16 for the third of sixteen parts")
    return Share(int(found[1]), int(found[2]))


@app.command()
def verify(
    ctx: typer.Context,
    name: SourceOrTable,
    against: Annotated[
        VerifyAgainst | None, typer.Option("--against", help="What to compare with. Not given: both.")
    ] = None,
    part: Annotated[
        Share | None,
        typer.Option(
            "--part", metavar="K/N", parser=_share, help="Against bronze: compare only part K of N of the keys."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Verify a gold table, or all of a source. Exit code 0: nothing differs, 4: something differs.

    Against bronze: decode the table's messages again, without silver, compute the rows from them, and compare the rows
    by key. Against the ledger: check that windows have no gap and no overlap, that every message is accounted for, and
    that only runs wrote gold's snapshots.
    """
    lake = newest_lake(ctx)
    share = part or Share()
    verified: list[dict[str, object]] = []
    tables = _tables(lake, name)
    if not tables:
        raise NotReady(f"{name} has no gold table to verify yet; `retable run {name}` makes them", source=name)
    for table, is_lost in tables.items():
        reports = []
        for report in [_lost(table)] if is_lost else _reports(lake, table, against, share):
            reports.append(report)
            if not as_json:
                _print(table, report, share)
        is_equal = all(report.is_equal for report in reports)
        verified.append({"table": table, "equal": is_equal, "reports": [_json(each, share) for each in reports]})
    if as_json:
        print_json(verified if name in lake.settings.sources else verified[0])
    if not all(each["equal"] for each in verified):
        raise typer.Exit(_DIFFERENT)


def _tables(lake: Lake, name: str) -> dict[str, bool]:
    """Return the table of this name, or the source's tables that the settings include. The value says if it is lost."""
    if name not in lake.settings.sources:
        return {name: False}
    states, damaged = known_states(lake)
    if unknown := [error for error in damaged if error.facts.get("table") not in states]:
        raise unknown[0]
    lost = lost_tables(lake, gold_states(lake, lambda _: None).values(), damaged)
    mine = (each for each in sorted(states) if states[each].source == name and not is_retired(lake, states[each]))
    return {each: each in lost for each in mine}


def _reports(lake: Lake, table: str, against: VerifyAgainst | None, part: Share) -> Iterator[Verification]:
    if against != VerifyAgainst.LEDGER:
        words = f"{table}: decoding and folding bronze again"
        say(words)
        with working(words), TemporaryDirectory(prefix="retable-verify-") as folder:
            yield _or_damaged("bronze", lambda: against_bronze(lake, table, Path(folder), part))
    if against != VerifyAgainst.BRONZE:
        yield _or_damaged("ledger", lambda: against_ledger(lake, table))


def _lost(table: str) -> Verification:
    """Return the result for a lost table: it is recorded in ops.tables, but not in the catalog."""
    return Verification("ledger", {}, (Finding(LOST.code, table, LOST.reason),), ())


def _or_damaged(against: Literal["bronze", "ledger"], verify: Callable[[], Verification]) -> Verification:
    """Run a verification and return its result. If a file is damaged, return a result that names the file."""
    try:
        return verify()
    except DamagedFile as error:
        finding = Finding(_DAMAGED, str(error.facts.get("path", "")), error.message)
        return Verification(against, {}, (finding,), ())


def _print(table: str, report: Verification, part: Share) -> None:
    if report.findings:
        shown = report.findings[:_MOST_FINDINGS]
        print_table(["AGAINST", "FINDING", "WHERE", "WHAT"], ([report.against, *_cells(each)] for each in shown))
        if len(shown) < len(report.findings):
            say(f"and {len(report.findings) - len(shown)} more findings: --json prints all of them")
    if report.rows is not None and not report.rows.is_equal:
        print_rows(report.rows, "gold", "bronze")
    looked = ", ".join(f"{count:,} {what}" for what, count in report.checked.items())
    compared = "" if report.rows is None else f"; {report.rows.left:,} rows of gold, {report.rows.right:,} rebuilt"
    some = f", part {part.number} of {part.of} of the keys" if report.against == "bronze" and part.of > 1 else ""
    if damaged := [finding for finding in report.findings if finding.code == _DAMAGED]:
        say(f"{table} against {report.against}{some}: DAMAGED, nothing was compared")
        for finding in damaged:
            say(f"    {finding.what}")
    else:
        verdict = "equal" if report.is_equal else "DIFFERENT"
        say(f"{table} against {report.against}{some}: {verdict} ({looked}{compared})")
    for note in report.notes:
        say(f"    {note}")


def _cells(finding: object) -> list[object]:
    return [getattr(finding, name) for name in ("code", "where", "what")]


def _json(report: Verification, part: Share) -> dict[str, object]:
    return {
        "against": report.against,
        "equal": report.is_equal,
        **({"part": f"{part.number}/{part.of}"} if report.against == "bronze" else {}),
        "checked": report.checked,
        "notes": list(report.notes),
        "findings": [{"code": each.code, "where": each.where, "what": each.what} for each in report.findings],
        "rows": None if report.rows is None else rows_json(report.rows, "gold", "bronze"),
    }
