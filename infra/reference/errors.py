"""Make docs/reference/errors.md: every error class with its cause and what helps, and the exit codes."""

from collections.abc import Iterator

from reference.markdown import code, linked, page, table
from retable.errors import ConflictError, MessageError, RetableError, SettingsError, TableError, Unbalanced
from retable.exit_codes import EXIT_CODES, exit_code

_GROUPS: dict[type[RetableError], tuple[str, str]] = {
    MessageError: (
        "Quarantine: one message or row",
        "The message or the row waits in `quarantine.<source>` with the code. The others go on. A command that works "
        "on a single message ends with 1.",
    ),
    TableError: (
        "Hold: one table",
        "The table stops at a position. The other tables go on, and `retable run` ends with 2. [Holds](holds.md) lists "
        "all codes of holds: some have no error of their own.",
    ),
    ConflictError: ("Try again", "The command ends with 3. In Airflow the task is repeated."),
    SettingsError: ("Stop: a person must change something", "The command ends with 1."),
    Unbalanced: ("A bug of Retable", "The command ends with 70."),
}

INTRODUCTION = """
The command line prints an error as `error: what happened, and where`, then what helps, then `[CODE]`. The log of an
Airflow task has `CODE: what happened`. The code is stored in tables and never changes. `--debug` prints the traceback.
"""


def errors_page() -> str:
    """Return the page. Raise LookupError if an error class has no docstring or no `helps`."""
    codes = table(("code", "meaning"), ([code(str(number)), words] for number, words in EXIT_CODES.items()))
    return page("Errors and exit codes", INTRODUCTION, "## Exit codes", codes, *_groups())


def _groups() -> Iterator[str]:
    for group, (title, words) in _GROUPS.items():
        yield f"## {title}"
        yield words
        kinds = [group, *kinds_below(group)]
        yield table(("code", "what happened", "what helps"), ([code(each.code), *said(each)] for each in kinds))
        assert exit_code(group("")) in EXIT_CODES


def kinds_below(kind: type[RetableError]) -> Iterator[type[RetableError]]:
    """Yield all subclasses of an error class in order. Subclasses outside of `retable.errors` are left out."""
    for each in kind.__subclasses__():
        if each.__module__ == RetableError.__module__:
            yield each
            yield from kinds_below(each)


def said(kind: type[RetableError]) -> tuple[str, str]:
    """Return what happened and what helps, from the docstring and `helps` of an error class."""
    if not kind.__doc__ or "helps" not in vars(kind):
        raise LookupError(f"{kind.__name__} does not say what happened, or what helps")
    return linked(" ".join(kind.__doc__.split())), linked(kind.helps)
