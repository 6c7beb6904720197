"""Checks the relative links and anchors of all Markdown files, and the pages that other files name."""

import re
from pathlib import Path

FENCE = re.compile(r"^\s*(```|~~~)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PAGE = re.compile(r"(?<![\w/.-])docs/[\w/.-]*\.md(?:#[\w-]+)?")
SOURCE = re.compile(r"`((?:Sources|Tests|Benchmarks|config|deploy|samples)/[\w/.+-]+)`")
OUTSIDE = re.compile(r"^(?:https?:|mailto:|doc:)")


def files(root):
    """Returns the files of the clone: nothing hidden, and nothing that was built or downloaded."""
    found = []
    for path in sorted(root.iterdir()):
        if path.name.startswith((".", "__")) or path.name == "data" or path.is_symlink():
            continue
        found += files(path) if path.is_dir() else [path]
    return found


def text_lines(text):
    """Yields (number, line) outside of code blocks."""
    in_fence = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            in_fence = not in_fence
        elif not in_fence:
            yield number, line


def anchors(text):
    """Returns the anchors of the headings, as GitHub makes them."""
    found = set()
    for _, line in text_lines(text):
        if match := re.match(r"#{1,6}\s+(.*)", line):
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).lower()
            slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
            number = 0
            while (name := f"{slug}-{number}" if number else slug) in found:
                number += 1
            found.add(name)
    return found


def problem(path, target):
    """Says what is wrong with a target, which path names or links to, or nothing."""
    name, _, anchor = target.partition("#")
    page = path.parent / name if name else path
    if not page.exists():
        return f"there is no {name}"
    if anchor and page.suffix == ".md" and anchor not in anchors(page.read_text(encoding="utf-8")):
        return f"{page.name} has no heading for #{anchor}"
    return None


def targets(path, text, root):
    """Yields (line, target, file that it is relative to).

    Targets are the pages that any file names, and the links and paths of sources in a Markdown file.
    """
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, match[0], root / "README.md") for match in PAGE.finditer(line))
    if path.suffix == ".md":
        for number, line in text_lines(text):
            yield from ((number, match[1], root / "README.md") for match in SOURCE.finditer(line))
            links = LINK.finditer(re.sub(r"`[^`]*`", "", line))
            yield from ((number, match[1], path) for match in links if not OUTSIDE.match(match[1]))


def check(root):
    """Returns (number of targets, problems as 'path:line: text')."""
    count, problems = 0, []
    for path in files(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, target, base in targets(path, text, root):
            count += 1
            if wrong := problem(base, target):
                problems.append(f"{path.relative_to(root)}:{number}: {target}: {wrong}")
    return count, problems
