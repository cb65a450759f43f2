"""Draw a picture of boxes, arrows and text as SVG."""

from html import escape

_STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1b1f24}.small{font-size:12px;fill:#57606a}.head{font-weight:600}"
    ".code{font:12px ui-monospace,monospace}.box{fill:#f6f8fa;stroke:#8c959f}.good{fill:#dafbe1;stroke:#2da44e}"
    ".bad{fill:#ffebe9;stroke:#cf222e}.note{fill:#fff8c5;stroke:#bf8700}.blue{fill:#ddf4ff;stroke:#0969da}"
    ".line{stroke:#57606a;stroke-width:1.5;fill:none}.dash{stroke-dasharray:5 4}"
)
_HEAD = (
    '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>'
)


class Drawing:
    """A picture. Sizes and positions are in pixels. `words` describes the picture for people who cannot see it."""

    def __init__(self, width: int, height: int, words: str) -> None:
        self._size = width, height
        self._parts = [f"<title>{escape(words)}</title>"]

    def box(self, x: int, y: int, width: int, height: int, *lines: str, kind: str = "box") -> None:
        """Draw a box with lines of text in its middle. The first line is the heading. `kind` is the box's style."""
        self._parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>')
        top = y + height / 2 - 9 * (len(lines) - 1) + 5
        for number, line in enumerate(lines):
            style = "head" if number == 0 else "small"
            self.text(x + width // 2, int(top + 18 * number), line, style=style)

    def text(self, x: int, y: int, line: str, *, style: str = "", anchor: str = "middle") -> None:
        """Write a line of text. `anchor` says whether `x` is the middle, the `start` or the `end` of the line."""
        self._parts.append(f'<text class="{style}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(line)}</text>')

    def arrow(self, x: int, y: int, to_x: int, to_y: int, line: str = "", *, dashed: bool = False) -> None:
        """Draw an arrow, with a line of text above its middle."""
        kind = "line dash" if dashed else "line"
        self._parts.append(f'<path class="{kind}" marker-end="url(#end)" d="M{x} {y}L{to_x} {to_y}"/>')
        if line:
            self.text((x + to_x) // 2, (y + to_y) // 2 - 8, line, style="small")

    def line(self, x: int, y: int, to_x: int, to_y: int, *, dashed: bool = False) -> None:
        """Draw a line."""
        self._parts.append(f'<path class="{"line dash" if dashed else "line"}" d="M{x} {y}L{to_x} {to_y}"/>')

    def svg(self) -> str:
        """Return the picture as the text of an SVG file."""
        width, height = self._size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        )
        ground = f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>'
        return "\n".join([head, f"<style>{_STYLE}</style>", _HEAD, ground, *self._parts, "</svg>"]) + "\n"
