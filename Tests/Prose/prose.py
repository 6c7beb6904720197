"""Finds the sentences of Markdown, of Swift's string literals and of Swift's comments, each with its line."""

import re

CODE = "CODE"  # stands for a code span, an interpolation or a command, and counts as one word

FENCE = re.compile(r"^\s*(```|~~~)")
LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
CODE_SPAN = re.compile(r"(`+)(.+?)\1", re.S)
LINK = re.compile(r"!?\[((?:[^\]\[]|\[[^\]]*\])*)\]\([^)]*\)")
SENTENCE_END = re.compile(r"(?:(?<=[.!?])[\"')\]]*\s+(?=[^a-z\s])|\s·\s)")
COMMAND = re.compile(r"'ingest-worker [^']*'|Examples?:\s+ingest-worker [^\n]*|^\s*(?:ingest-worker|--\w)[^\n]*", re.M)


def newlines(text):
    return "\n" * text.count("\n")


def without_markup(text):
    """Replaces code spans by one word and links by their texts; line breaks stay."""
    text = CODE_SPAN.sub(lambda match: CODE + newlines(match[0]), text)
    text = LINK.sub(r"\1", text)
    text = re.sub(r"<?https?://[^\s>)]+>?", CODE, text)
    return text.replace("**", "").replace("*", "")


def sentences(unit):
    """Yields (line, sentence) of a unit (first line, text)."""
    line, text = unit
    start = 0
    for end in [*SENTENCE_END.finditer(text), None]:
        sentence = text[start : end.end() if end else len(text)]
        before = sentence[: len(sentence) - len(sentence.lstrip())]
        if sentence.strip():
            yield line + text[:start].count("\n") + before.count("\n"), " ".join(sentence.split())
        start = end.end() if end else start


def word_count(sentence):
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def markdown_units(numbered_lines):
    """Yields a unit for each paragraph, heading, list item and table cell outside of code blocks."""
    paragraph, first, in_fence = [], 0, False
    for number, line in [*numbered_lines, (0, "")]:
        text, is_fence = line.strip(), bool(FENCE.match(line))
        is_single = text.startswith(("#", "|", "<!--"))
        starts = is_fence or in_fence or not text or is_single or LIST_ITEM.match(line)
        if starts and paragraph:
            yield first, without_markup("\n".join(paragraph))
            paragraph = []
        if is_fence:
            in_fence = not in_fence
        elif in_fence or not text or text.startswith("<!--"):
            continue
        elif text.startswith("|"):
            row = without_markup(text).replace("\\|", " ")
            yield from ((number, cell) for cell in row.split("|") if re.search(r"\w", cell))
        elif text.startswith("#"):
            yield number, without_markup(text.lstrip("# "))
        else:
            first = first if paragraph else number
            paragraph.append(LIST_ITEM.sub("", line))


def comment_units(source):
    """Yields the units of the comments of Swift source: `///` and `//`, read as Markdown."""
    block = []
    for number, line in [*enumerate(source.splitlines(), 1), (0, "")]:
        match = re.match(r"\s*///? ?(.*)$", line)
        if match and not match[1].startswith("swift-tools-version"):
            block.append((number, match[1]))
        elif block:
            yield from markdown_units(block)
            block = []


TOKEN = re.compile(r'//[^\n]*|(#+)"(?:"")?|"""|"')


def literal_units(source):
    """Yields the string literals of Swift source; literals joined by `+` are one unit. Raw literals are left out."""
    unit, position = None, 0
    while match := TOKEN.search(source, position):
        start, token = match.start(), match[0]
        if match[1]:
            end = source.find(token[::-1], match.end())
            position = end + len(token) if end >= 0 else len(source)
        elif token.startswith("//"):
            position = match.end()
        else:
            text, position = literal(source, match.end(), token)
            between = source[unit[2] : start] if unit else ""
            if unit and re.fullmatch(r"\s*\+\s*", between):
                unit = unit[0], unit[1] + newlines(between) + text, position
                continue
            if unit:
                yield unit[0], COMMAND.sub(lambda found: CODE + "." + newlines(found[0]), unit[1])
            unit = source.count("\n", 0, start) + 1, text, position
    if unit:
        yield unit[0], COMMAND.sub(lambda found: CODE + "." + newlines(found[0]), unit[1])


def literal(source, position, quote):
    """Returns the text of a literal whose content begins at position, and the position behind it."""
    text = ""
    while position < len(source) and not source.startswith(quote, position):
        if source.startswith("\\(", position):
            end = interpolation_end(source, position + 2)
            text, position = text + CODE + newlines(source[position:end]), end
        elif source[position] == "\\":
            text += "\n" if source[position + 1] == "\n" else " " if source[position + 1] in "nrt" else source[position + 1]
            position += 2
        else:
            text, position = text + source[position], position + 1
    return text, position + len(quote)


def interpolation_end(source, position):
    depth = 1
    while position < len(source) and depth:
        if source[position] == '"':
            quote = '"""' if source.startswith('"""', position) else '"'
            position = literal(source, position + len(quote), quote)[1]
            continue
        depth += {"(": 1, ")": -1}.get(source[position], 0)
        position += 1
    return position
