"""Check that each position of a source is in exactly one window, and that no message of a window is lost.

A position is a Kafka offset or the number of an object (file).
"""

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
    """The numbers of rows that bronze, silver and quarantine have for one window, and the ledger's counts.

    `silver` counts all events, `silver_rows` only row changes. `unseen` are messages that are in bronze, but neither in
    silver nor in quarantine. `unknown` are messages that are in silver or quarantine, but not in bronze. `fresh` is
    True if the replay used the content that silver has now. `counted` has the ledger's counts by stage (land, decode,
    replay), without stages that have not run.
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
    """Return the accounts of a window that retention dropped from some layers (`gone`: bronze, silver, quarantine).

    For these layers, the ledger's counts replace the numbers of rows, so that a check finds no difference there.
    """
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
    """Return findings if there is a gap between windows, or if windows overlap.

    This is checked for the times and the numbers of the windows, and for the files or Kafka offsets in them. `windows`
    are all windows of a source, in order.
    """
    found = []
    for before, window in pairwise(windows):
        if window.ordinal != before.ordinal + 1:
            what = (
                f"the window has number {window.ordinal}, but the window before it, {before.name}, has {before.ordinal}"
            )
            found.append(Finding("WINDOW_NUMBER", window.name, what))
        if window.start != before.end:
            code = "WINDOW_GAP" if window.start > before.end else "WINDOW_OVERLAP"
            found.append(
                Finding(
                    code,
                    window.name,
                    f"the window begins at {window.start:%FT%TZ}, but the window before it, {before.name}, ends at "
                    f"{before.end:%FT%TZ}",
                )
            )
    if windows and windows[0].ordinal != 0:
        found.append(
            Finding("WINDOW_NUMBER", windows[0].name, f"the first window is number {windows[0].ordinal}, not 0")
        )
    return found + _check_objects(windows) + _check_ranges(windows)


def _check_objects(windows: Sequence[Window]) -> list[Finding]:
    """Check that each object has the next number, or that of an earlier version of it, and is in one window only."""
    found = []
    wanted = 0
    keys: dict[int, str] = {}
    seen: dict[tuple[str, str], str] = {}
    for window in windows:
        for item in window.objects:
            if item.count != wanted and keys.get(item.number) != item.key:
                code = "OBJECT_GAP" if item.count > wanted else "OBJECT_TWICE"
                found.append(Finding(code, window.name, f"{item.key} has the number {item.count}, not {wanted}"))
            wanted = max(wanted, item.count + 1)
            keys.setdefault(item.number, item.key)
            other = seen.setdefault((item.key, item.etag), window.name)
            if other != window.name:
                found.append(Finding("OBJECT_TWICE", window.name, f"{item.key} is also in the window {other}"))
    return found


def _check_ranges(windows: Sequence[Window]) -> list[Finding]:
    """Check that each range of a Kafka partition begins where the range before it ends.

    This is not checked if the source epoch was raised between the two ranges.
    """
    found = []
    last: dict[tuple[str, int], PartitionRange] = {}
    for window in windows:
        for each in window.ranges:
            before = last.get(each.address)
            if before is not None and before.epoch == each.epoch and before.end != each.begin:
                code = "POSITION_GAP" if each.begin > before.end else "POSITION_TWICE"
                what = (
                    f"the range of {each.topic}/{each.partition} begins at the offset {each.begin}, but the range "
                    f"before it ends at {before.end}"
                )
                found.append(Finding(code, window.name, what))
            last[each.address] = each
    return found


def check_accounts(accounts: Accounts) -> list[Finding]:
    """Return findings for one window, if messages are lost or the ledger's counts are wrong.

    Each message of bronze must be in silver or in quarantine, or the ledger must count it as ignored, excluded or
    erased. The numbers of rows must be equal to the ledger's counts.
    """
    found = [*_check_landed(accounts), *_check_decoded(accounts), *_check_replayed(accounts)]
    return [Finding(code, accounts.window, what) for code, what in found]


def _check_landed(accounts: Accounts) -> Iterable[tuple[str, str]]:
    land, decode = accounts.counted.get("land"), accounts.counted.get("decode")
    landed = None if land is None else land.get("landed", 0)
    if landed is not None and landed != accounts.bronze:
        code = "MESSAGES_LOST" if accounts.bronze < landed else "MESSAGES_ADDED"
        yield code, f"bronze has {accounts.bronze} messages, but land counted {landed}"
    if decode is not None and landed is not None and decode.get("landed", 0) != landed:
        yield "UNBALANCED", f"land counted {landed} messages, but decode read {decode.get('landed', 0)}"


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
            yield f"{what.upper()}_DIFFERS", f"{what} has {there} rows of the window, but the ledger counted {wanted}"
    if len(accounts.unseen) > sums["excluded"] + sums["ignored"] + sums["erased"]:
        words = "messages of bronze are neither in silver nor in quarantine"
        yield "MESSAGE_UNACCOUNTED", f"{len(accounts.unseen)} {words}: {_format_addresses(accounts.unseen)}"
    if accounts.unknown:
        yield (
            "EVENT_WITHOUT_MESSAGE",
            f"silver or quarantine has messages that bronze does not have: {_format_addresses(accounts.unknown)}",
        )


def _check_replayed(accounts: Accounts) -> Iterable[tuple[str, str]]:
    replay = accounts.counted.get("replay")
    if replay is None:
        return
    if not accounts.fresh:
        yield "DECODED_SINCE", "the window was decoded again, but not replayed again; replay it"
        return
    try:
        check_rows(replay)
    except Unbalanced as error:
        yield "UNBALANCED", error.message.partition(";")[0]
    if replay.get("rows", 0) != accounts.silver_rows:
        yield (
            "ROWS_UNCOUNTED",
            f"silver has {accounts.silver_rows} row changes, but replay counted {replay.get('rows', 0)}",
        )


def _sums(counts: Mapping[str, int]) -> Counter[str]:
    """Return the counts summed by kind. A name such as `ignored:<reason>` is counted as `ignored`."""
    sums: Counter[str] = Counter()
    for name, count in counts.items():
        sums[name.partition(":")[0]] += count
    return sums


def _format_addresses(addresses: Sequence[MessageAddress]) -> str:
    shown = ", ".join(f"{topic}/{partition}@{offset}" for topic, partition, offset in addresses[:_SHOWN])
    return shown if len(addresses) <= _SHOWN else f"{shown} and {len(addresses) - _SHOWN} more"
