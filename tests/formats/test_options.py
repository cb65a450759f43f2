"""What an option of a format decides is said where it is declared, and nowhere else."""

import pytest

from retable.formats.options import docstring_of
from retable.formats.registry import FORMATS
from retable.formats.shareplex_json import SharePlexOptions

OPTIONS = [(name, option) for name, known in FORMATS.items() for option in known.options.model_fields]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_every_option_says_what_it_decides(name: str, option: str) -> None:
    assert FORMATS[name].words(option).endswith(".")


def test_the_words_of_an_option_are_those_below_it() -> None:
    assert docstring_of(SharePlexOptions, "database") == "The database of the messages. Messages do not name it."
