"""All documentation pages and pictures that are made from code."""

from pathlib import Path

from pictures.concepts import PICTURES
from reference.airflow import airflow_page
from reference.commands import commands_page
from reference.errors import errors_page
from reference.markdown import page
from reference.settings import settings_page
from reference.tables import properties_page, tables_page

ROOT = Path(__file__).resolve().parents[2]


def pages() -> dict[str, str]:
    """Return the text of every page and picture that is made from code, by its path in the repository."""
    return {
        "docs/reference/settings.md": settings_page(ROOT),
        "docs/reference/commands.md": commands_page(),
        "docs/reference/errors.md": errors_page(),
        "docs/reference/tables.md": tables_page(),
        "docs/reference/properties.md": properties_page(),
        "docs/reference/airflow.md": airflow_page(),
        "docs/decisions/index.md": decisions_page(),
        **{f"docs/images/{name}.svg": draw().svg() for name, draw in PICTURES.items()},
    }


def decisions_page() -> str:
    """Return the page that lists the records of decisions, the newest first."""
    records = sorted((ROOT / "docs" / "decisions").glob("2*.md"), reverse=True)
    lines = []
    for record in records:
        title = record.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        lines.append(f"- {record.name[:10]} [{title}]({record.name})")
    words = "Each record says what was decided, why, and what was measured. A later record may replace an earlier one."
    return page("Decisions", words, "\n".join(lines))
