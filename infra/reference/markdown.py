"""Write parts of a page in Markdown."""

import re
from collections.abc import Iterable, Sequence

MADE = "<!-- Made by `make docs` from the code. Change the code, not this page. -->"


def page(title: str, *parts: str) -> str:
    """Return a page: a title and its parts. Empty parts are left out."""
    return "\n\n".join([MADE, f"# {title}", *(part.strip("\n") for part in parts if part)]) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. A `|` in a cell is escaped, and a line break becomes a blank."""
    lines = [heads, ["---"] * len(heads), *([cell(each) for each in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(text: str) -> str:
    """Return a text that stays in one cell of a table."""
    return linked(" ".join(text.split())).replace("|", r"\|")


def linked(text: str) -> str:
    """Return a text in which names of files of docs are links, relative to docs/reference."""
    text = re.sub(r"\]\(docs/", "](../", text)
    return re.sub(
        r"(?<![(\w/])docs/([\w/-]+)\.md", lambda found: f"[{found[1].split('/')[-1]}](../{found[1]}.md)", text
    )


def code(text: str) -> str:
    """Return a text as code. An empty text becomes a dash."""
    return f"`{text}`" if text else "–"


def paragraphs(text: str) -> str:
    """Return the text of a docstring, with one line for each paragraph."""
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(linked(part if part.startswith("    ") else " ".join(part.split())) for part in parts)
