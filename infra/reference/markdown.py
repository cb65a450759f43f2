"""Parts of a page in Markdown."""

import re
from collections.abc import Iterable, Sequence

MADE = "<!-- Made by `make docs` from the code. Change the code, not this page. -->"


def page(title: str, *parts: str) -> str:
    """Join a title and parts of a page."""
    return "\n\n".join([MADE, f"# {title}", *(part.strip("\n") for part in parts if part)]) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; a `|` or a line break in a cell is replaced by what shows as such."""
    lines = [heads, ["---"] * len(heads), *([cell(each) for each in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(text: str) -> str:
    """Write a text so that it stays in one cell of a table."""
    return linked(" ".join(text.split())).replace("|", r"\|")


def linked(text: str) -> str:
    """Make links of the files of docs that a text of the code names, as seen from docs/reference."""
    text = re.sub(r"\]\(docs/", "](../", text)
    return re.sub(
        r"(?<![(\w/])docs/([\w/-]+)\.md", lambda found: f"[{found[1].split('/')[-1]}](../{found[1]}.md)", text
    )


def code(text: str) -> str:
    """Write a text as code; one without any letter is a dash."""
    return f"`{text}`" if text else "–"


def paragraphs(text: str) -> str:
    """Give the text of a docstring, with one line for each paragraph."""
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(linked(part if part.startswith("    ") else " ".join(part.split())) for part in parts)
