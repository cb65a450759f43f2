"""Faults drawn by a seed: one file of a lake that is gone, cut short or changed, or a catalog of an hour ago."""

import json
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from typer.testing import Result

from faults.shop_lake import ShopLake

ROUNDS = 4
_FLIPPED = (".parquet", ".puffin")
_FOOTER = 8
"""A Parquet file ends with the length of its footer and its magic."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is done to a lake, in words, and the name of the file that it is done to; `in_footer` of a Parquet file."""

    words: str
    file: str
    table: str | None = None
    in_footer: bool = False


def draw(shop: ShopLake, seed: int) -> Fault:
    """Do one thing to a lake; equal seeds do the same to lakes of the same files, whatever these are called."""
    chance = random.Random(seed)
    if chance.random() < 0.15:
        state = chance.choice(sorted((shop.folder / "states").iterdir()))
        for path in shop.warehouse.glob("catalog.db*"):
            path.unlink()
        shutil.copy2(state, shop.catalog)
        return Fault(f"the catalog {state.name} is put back", shop.catalog.name)
    by_kind: dict[tuple[str, str], list[Path]] = {}
    for path in _files(shop):
        by_kind.setdefault((path.relative_to(shop.warehouse).parts[0], _kind(path)), []).append(path)
    kind = chance.choice(sorted(by_kind))
    path = chance.choice(by_kind[kind])
    named = f"{kind[0]} {kind[1]} {path.relative_to(shop.warehouse)}"
    content, table = path.read_bytes(), _table_of(shop, path)
    what = chance.choice(["deleted", "cut", "flipped"] if path.suffix in _FLIPPED else ["deleted", "cut"])
    match what:
        case "deleted":
            path.unlink()
        case "cut":
            path.write_bytes(content[: chance.randrange(len(content))])
        case _:
            at = chance.randrange(len(content))
            path.write_bytes(content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :])
            footer = path.suffix == ".parquet" and at >= len(content) - _FOOTER - _footer(content)
            return Fault(f"{named}: flipped at {at} of {len(content)}", path.name, table, footer)
    return Fault(f"{named}: {what}", path.name, table)


def live(shop: ShopLake, fault: Fault, before: dict[str, list[str]], to: str) -> Iterator[Result]:
    """Go on with a damaged lake as its commands say, and give what each of them said.

    AssertionError where `verify` calls a table equal whose rows are not those that stood there `before`.
    """
    yield shop.call("status")
    table = fault.table if fault.table in before else sorted(before)[0]
    verified = shop.call("verify", str(table))
    yield verified
    if verified.exit_code == 0:
        rows = shop.call("rows", str(table))
        assert rows.exit_code != 0 or sorted(rows.stdout.splitlines()) == before[str(table)], "verify called it equal"
    for _ in range(ROUNDS):
        ran = shop.call("run", "shop", "--to", to)
        yield ran
        if ran.exit_code == 0:
            return
        yield from _remedies(shop, ran)


def _remedies(shop: ShopLake, said: Result) -> Iterator[Result]:
    """Do what the commands say that helps."""
    if "retable recover" in said.stderr:
        shown = shop.call("recover", "--yes")
        yield shown
        if taken := re.findall(r"--take (\S+)", shown.stderr):
            yield shop.call("recover", "--yes", *(f"--take={file}" for file in taken))
    for stage, window in set(re.findall(r"retable (land|decode) shop --window (\w+)", said.stderr)):
        yield shop.call(stage, "shop", "--window", window)
    holds = shop.call("hold", "list", "--json")
    yield holds
    for hold in json.loads(holds.stdout or "[]"):
        if "retable rebuild" in hold["remedy"]:
            yield shop.call("rebuild", hold["name"], "--reason", "a damaged file", "--yes")
    for name in set(re.findall(r"retable rebuild (\S+)", said.stderr)):
        yield shop.call("rebuild", name, "--reason", "a damaged file", "--yes")


def _files(shop: ShopLake) -> list[Path]:
    """The files of the warehouse in an order that does not depend on their names, which are drawn anew each time."""
    found = [path for path in shop.warehouse.rglob("*") if path.is_file()]
    kept = [path for path in found if not path.name.startswith((".", "catalog.db"))]
    names = {folder: name for name, folder in shop.named()}

    def key(path: Path) -> tuple[str, str, str, int, str]:
        folder = shop.warehouse.joinpath(*path.relative_to(shop.warehouse).parts[:2])
        return (names.get(folder, ""), _kind(path), path.name[:5], path.stat().st_size, path.name)

    return sorted(kept, key=key)


def _kind(path: Path) -> str:
    if path.name.startswith("snap-"):
        return "list"
    if path.suffix == ".json":
        return "metadata" if path.name.endswith(".metadata.json") else "record"
    return "manifest" if path.suffix == ".avro" else "data" if path.suffix == ".parquet" else "vector"


def _table_of(shop: ShopLake, path: Path) -> str | None:
    folders = {folder: name for name, folder in shop.named()}
    return next((folders[parent] for parent in path.parents if parent in folders), None)


def _footer(content: bytes) -> int:
    return int.from_bytes(content[-8:-4], "little")
