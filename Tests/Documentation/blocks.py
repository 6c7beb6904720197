"""The fenced blocks and the commands in comments of a page."""

import re
from dataclasses import dataclass, field

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`]*)$")
COMMENT = re.compile(r"^ *<!-- (?P<verb>run|start|stop)(?:: (?P<text>.*?))? -->$")


@dataclass
class Block:
    """A block of a page: its language, the words behind it as in 'sh exit=65', and its lines without indentation."""

    line: int
    language: str
    words: dict = field(default_factory=dict)
    lines: list = field(default_factory=list)

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"

    @property
    def first(self):
        return self.lines[0].strip() if self.lines else ""


def words(text):
    """'file=a.yaml background' as a dictionary; a word without a value has the value ''."""
    return dict(part.partition("=")[::2] for part in text.split())


def blocks(text):
    """Yields the blocks in their order; a comment that runs, starts or stops is a hidden block."""
    current, indent = None, 0
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if current is None and fence:
            language, _, rest = fence["info"].strip().partition(" ")
            current, indent = Block(number, language, words(rest)), len(fence["indent"])
        elif current is not None and fence and not fence["info"]:
            yield current
            current = None
        elif current is not None:
            current.lines.append(line[indent:] if line[:indent].isspace() or not indent else line)
        elif comment := COMMENT.match(line):
            language = "stop" if comment["verb"] == "stop" else "sh"
            kind = {"hidden": ""} | ({"background": ""} if comment["verb"] == "start" else {})
            yield Block(number, language, kind, [comment["text"] or ""])


def is_shown(lines, output):
    """Whether the output has the lines in their order; '…' stands for any text, and a line of it alone for any lines."""
    rest = iter([line.strip() for line in output.splitlines()])
    for line in lines:
        wanted = line.strip()
        if wanted in ("", "…"):
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in wanted.split("…")))
        if not any(pattern.fullmatch(each) for each in rest):
            return False
    return True
