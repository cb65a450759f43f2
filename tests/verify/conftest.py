"""A lake that is whole, and the command line in its folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from laws.story import tell
from retable.cli.app import app
from retable.simulate import ROW_KINDS, Delivery
from verify.filled import Filled, copied, fill

STORY = tell(1, "canal_json", Delivery(windows=2), 40, (*ROW_KINDS, "add_column", "rename_column"))


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """The lake, which nobody changes."""
    return fill(tmp_path_factory.mktemp("whole") / "lake", STORY)


@pytest.fixture
def filled(whole: Filled, tmp_path: Path) -> Filled:
    """The lake under a catalog of this test's own."""
    return copied(whole, tmp_path / "lake")


@pytest.fixture
def retable(filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call `retable` with these arguments, in the folder of the lake."""
    monkeypatch.chdir(tmp_path / "lake")
    monkeypatch.delenv("RETABLE_SETTINGS", raising=False)
    return lambda *args: CliRunner().invoke(app, args, prog_name="retable")
