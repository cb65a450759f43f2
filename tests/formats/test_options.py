"""What an option of a format decides is said where it is declared, and nowhere else."""

from pathlib import Path
from zoneinfo import TZPATH, available_timezones

import pytest
from pydantic import TypeAdapter, ValidationError

from retable.formats.options import Zone, docstring_of
from retable.formats.registry import FORMATS
from retable.formats.shareplex_json import SharePlexOptions

OPTIONS = [(name, option) for name, known in FORMATS.items() for option in known.options.model_fields]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_every_option_says_what_it_decides(name: str, option: str) -> None:
    assert FORMATS[name].words(option).endswith(".")


def test_the_words_of_an_option_are_those_below_it() -> None:
    assert docstring_of(SharePlexOptions, "database") == "The database of the messages. Messages do not name it."


def test_a_zone_is_each_name_that_this_machine_lists_and_no_other_file_of_its_database() -> None:
    files = {str(path.relative_to(folder)) for folder in TZPATH for path in Path(folder).rglob("*") if path.is_file()}
    listed = available_timezones()
    for name in {*listed, *sorted(files - listed)[::50]}:
        assert _is_taken(name) == (name in listed), name


@pytest.mark.parametrize("name", ["", ".", "Asia", "Asia/Shanghai ", "asia/shanghai", "/etc/passwd", "../x", "a\0b"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    assert not _is_taken(name)


def _is_taken(name: str) -> bool:
    try:
        return TypeAdapter(Zone).validate_python(name) == name
    except ValidationError:
        return False
