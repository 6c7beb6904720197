"""Finds the runs of words that two pages share: each fact has one page, and the others link to it."""

import re
from collections import defaultdict

# So many words in a row are no coincidence.
LENGTH = 12
# Blocks of code, hidden commands, pictures, and the targets of links are not what a page says.
SILENT = [(r"```.*?```", " "), (r"<!--.*?-->", " "), (r"!\[[^\]]*\]\([^)]*\)", " "), (r"\]\([^)]*\)", "")]


def runs(text):
    """Returns all runs of words of a page."""
    for pattern, replacement in SILENT:
        text = re.sub(pattern, replacement, text, flags=re.DOTALL)
    words = re.findall(r"[\w'-]+(?:\.\w+)*", re.sub(r"[`*|\[]", " ", text).lower())
    return {" ".join(words[start:start + LENGTH]) for start in range(len(words) - LENGTH + 1)}


def problems(texts):
    """Yields a line for each two pages that say the same, of a dictionary of texts by name."""
    pages = defaultdict(set)
    for name, text in texts.items():
        for run in runs(text):
            pages[run].add(name)
    shared = defaultdict(list)
    for run, names in pages.items():
        if len(names) > 1:
            shared[tuple(sorted(names))].append(run)
    for names, found in sorted(shared.items()):
        yield f"{' and '.join(names)} both say '{min(found)}': keep it on one page, and link to it"
