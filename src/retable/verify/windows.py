"""Check that each position of a source is in exactly one window, and that each message of a window is accounted for."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from retable.errors import Unbalanced
from retable.ledger.counts import check_events, check_messages, check_rows
from retable.model.window import PartitionRange, Window
from retable.verify.findings import Finding

MessageAddress = tuple[str, int, int]
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """What the tables have of one window, and what the ledger counted by stage. A stage that has not run is missing.

    `unseen` are messages of bronze that are neither in silver nor in quarantine. `unknown` are addresses that these
    have and bronze does not. `fresh` says whether the replayed content is what silver has now.
    """

    window: str
    bronze: int
    silver: int
    silver_rows: int
    quarantine: int
    unseen: tuple[MessageAddress, ...]
    unknown: tuple[MessageAddress, ...]
    fresh: bool
    counted: Mapping[str, Mapping[str, int]]


def as_counted(accounts: Accounts, gone: Collection[str]) -> Accounts:
    """Give the accounts of a window that retention dropped from these layers, with the ledger's counts for them."""
    land, decode, replay = (accounts.counted.get(stage, {}) for stage in ("land", "decode", "replay"))
    sums = _sums(decode)
    found = replace(accounts, unseen=(), unknown=())
    if "bronze" in gone:
        found = replace(found, bronze=land.get("landed", 0))
    if "quarantine" in gone:
        found = replace(found, quarantine=sums["quarantined"])
    if "silver" in gone:
        rows = replay.get("rows", 0)
        found = replace(found, silver=sums["events"] - sums["excluded"], silver_rows=rows, fresh=True)
    return found


def check_tiling(windows: Sequence[Window]) -> list[Finding]:
    """Check that each window begins at the end of the one before, and that no object is missing or in two windows."""
    found = []
    for before, window in pairwise(windows):
        if window.ordinal != before.ordinal + 1:
            what = f"it is number {window.ordinal}, and the one before it, {before.name}, is number {before.ordinal}"
            found.append(Finding("WINDOW_NUMBER", window.name, what))
        if window.start != before.end:
            code = "WINDOW_GAP" if window.start > before.end else "WINDOW_OVERLAP"
            found.append(
                Finding(
                    code,
                    window.name,
                    f"it begins at {window.start:%FT%TZ}, and {before.name} ends at {before.end:%FT%TZ}",
                )
            )
    if windows and windows[0].ordinal != 0:
        found.append(
            Finding("WINDOW_NUMBER", windows[0].name, f"the first window is number {windows[0].ordinal}, not 0")
        )
    return found + _check_objects(windows) + _check_ranges(windows)


def _check_objects(windows: Sequence[Window]) -> list[Finding]:
    found = []
    wanted = 0
    seen: dict[tuple[str, str], str] = {}
    for window in windows:
        for item in window.objects:
            if item.number != wanted:
                code = "OBJECT_GAP" if item.number > wanted else "OBJECT_TWICE"
                found.append(Finding(code, window.name, f"{item.key} is object {item.number}, and {wanted} is next"))
            wanted = max(wanted, item.number) + 1
            other = seen.setdefault((item.key, item.etag), window.name)
            if other != window.name:
                found.append(Finding("OBJECT_TWICE", window.name, f"{item.key} is in the window {other} too"))
    return found


def _check_ranges(windows: Sequence[Window]) -> list[Finding]:
    """Each partition's ranges must follow one another, except where the source epoch was raised."""
    found = []
    last: dict[tuple[str, int], PartitionRange] = {}
    for window in windows:
        for each in window.ranges:
            before = last.get(each.address)
            if before is not None and before.epoch == each.epoch and before.end != each.begin:
                code = "POSITION_GAP" if each.begin > before.end else "POSITION_TWICE"
                what = (
                    f"{each.topic}/{each.partition} begins at {each.begin}, and its range before ends at {before.end}"
                )
                found.append(Finding(code, window.name, what))
            last[each.address] = each
    return found


def check_accounts(accounts: Accounts) -> list[Finding]:
    """Check that each message of bronze is an event, a note or in quarantine, and that the ledger counted the same."""
    found = [*_check_landed(accounts), *_check_decoded(accounts), *_check_replayed(accounts)]
    return [Finding(code, accounts.window, what) for code, what in found]


def _check_landed(accounts: Accounts) -> Iterable[tuple[str, str]]:
    land, decode = accounts.counted.get("land"), accounts.counted.get("decode")
    landed = None if land is None else land.get("landed", 0)
    if landed is not None and landed != accounts.bronze:
        code = "MESSAGES_LOST" if accounts.bronze < landed else "MESSAGES_ADDED"
        yield code, f"bronze has {accounts.bronze} messages, and {landed} were landed"
    if decode is not None and landed is not None and decode.get("landed", 0) != landed:
        yield "UNBALANCED", f"{landed} messages were landed, and decode read {decode.get('landed', 0)}"


def _check_decoded(accounts: Accounts) -> Iterable[tuple[str, str]]:
    decode = accounts.counted.get("decode")
    if decode is None:
        return
    for check in (check_messages, check_events):
        try:
            check(decode)
        except Unbalanced as error:
            yield "UNBALANCED", error.message.partition(";")[0]
    sums = _sums(decode)
    for what, there, wanted in (
        ("silver", accounts.silver, sums["events"] - sums["excluded"]),
        ("quarantine", accounts.quarantine, sums["quarantined"]),
    ):
        if there != wanted:
            yield f"{what.upper()}_DIFFERS", f"{what} has {there} rows of it, and the ledger counted {wanted}"
    if len(accounts.unseen) > sums["excluded"] + sums["ignored"] + sums["erased"]:
        words = "are neither events nor notes, and not in quarantine"
        yield "MESSAGE_UNACCOUNTED", f"{len(accounts.unseen)} messages {words}: {_format_addresses(accounts.unseen)}"
    if accounts.unknown:
        yield "EVENT_WITHOUT_MESSAGE", f"bronze has no message at {_format_addresses(accounts.unknown)}"


def _check_replayed(accounts: Accounts) -> Iterable[tuple[str, str]]:
    replay = accounts.counted.get("replay")
    if replay is None:
        return
    if not accounts.fresh:
        yield "DECODED_SINCE", "it was decoded again, and not replayed since"
        return
    try:
        check_rows(replay)
    except Unbalanced as error:
        yield "UNBALANCED", error.message.partition(";")[0]
    if replay.get("rows", 0) != accounts.silver_rows:
        yield (
            "ROWS_UNCOUNTED",
            f"silver has {accounts.silver_rows} row changes, and {replay.get('rows', 0)} were replayed",
        )


def _sums(counts: Mapping[str, int]) -> Counter[str]:
    """Counts without their reasons."""
    sums: Counter[str] = Counter()
    for name, count in counts.items():
        sums[name.partition(":")[0]] += count
    return sums


def _format_addresses(addresses: Sequence[MessageAddress]) -> str:
    shown = ", ".join(f"{topic}/{partition}@{offset}" for topic, partition, offset in addresses[:_SHOWN])
    return shown if len(addresses) <= _SHOWN else f"{shown} and {len(addresses) - _SHOWN} more"
