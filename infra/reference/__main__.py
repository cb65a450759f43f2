"""Write the pages of docs/reference and the index of docs/decisions."""

import sys
from pathlib import Path

from reference.pages import ROOT, pages


def main() -> None:
    for path, text in pages().items():
        target = ROOT / path
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            Path(target).write_text(text, encoding="utf-8", newline="\n")
            sys.stdout.write(f"written: {path}\n")


if __name__ == "__main__":
    main()
