"""How a process ends, for the command line and the jobs."""

import pytest

from retable.errors import EnvironmentFault, Fenced, NotFound, RetableError, Unbalanced
from retable.exit_codes import exiting


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFound("no source is called 'erq'"), 1),
        (EnvironmentFault("no Java"), 1),
        (Fenced("gold moved"), 3),
        (Unbalanced("landed 3, decoded 2"), 70),
    ],
)
def test_the_class_of_an_error_is_its_exit_code(
    error: RetableError, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, exiting():
        raise error
    assert ended.value.code == code
    assert capsys.readouterr().err == f"{error.code}: {error.message}\n"


def test_what_nobody_foresaw_is_a_bug_of_ours_and_shows_where(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, exiting():
        raise ZeroDivisionError("unforeseen")
    assert ended.value.code == 70
    assert "Traceback" in capsys.readouterr().err


def test_the_end_of_the_work_ends_nothing() -> None:
    with exiting():
        pass


HOSTILE = "\x1b[2J\x9b2J\u202e\x07 {{ 7 }}"


def test_words_of_an_error_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    for error in (NotFound(HOSTILE), ValueError(HOSTILE)):
        with pytest.raises(SystemExit), exiting():
            raise error
        said = capsys.readouterr().err
        assert "\\x1b[2J\\x9b2J\\u202e\\x07 {{ 7 }}" in said
        assert set(said) & set(HOSTILE) <= set(" {}72J[")
