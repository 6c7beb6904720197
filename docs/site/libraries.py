"""Reads what DocC knows of the Swift libraries, for pages of the site: one page for each type, with its members.

'docc convert' writes a file of JSON for each symbol. Their form is that of DocC's RenderNode.
"""

import html
import json
import re
from pathlib import Path

# These have pages of their own; every other symbol stands on the page of its type.
TYPES = {"class", "struct", "enum", "protocol", "extension", "module"}
# Comments in the sources name a page of the documentation by its file.
PAGE = re.compile(r"\bdocs/([a-z-]+/[a-z-]+)\.md\b")
DOCS = Path(__file__).resolve().parent.parent
HEADING = re.compile(r'<h\d id="([^"]+)">(.*?)</h\d>')


class Libraries:
    """The symbols of all libraries in a folder, by DocC's addresses."""

    def __init__(self, folder):
        self.symbols = {}
        for path in sorted(Path(folder).glob("*/data/documentation/**/*.json")):
            symbol = json.loads(path.read_text(encoding="utf-8"))
            self.symbols[symbol["identifier"]["url"]] = symbol
        # DocC's own groups, such as "Equatable Implementations", repeat the standard library. No page has their members.
        self.shown = {each for url, symbol in self.symbols.items() if self.has_page(url)
                      for group in symbol.get("topicSections", []) for each in group["identifiers"]}
        self.names = sorted(url.split("/")[-1] for url, symbol in self.symbols.items() if not parent(symbol))
        self.aliases = {}
        for symbol in self.symbols.values():
            for content in symbol.get("primaryContentSections", []):
                self.read_aliases(content.get("content", []))

    def read_aliases(self, blocks):
        """Reads the tables of an article with counterparts: the search finds a symbol by Core Data's name, too."""
        for rows in (each["rows"] for each in blocks if each["type"] == "table"):
            if texts(rows[0][0]) != "Core Data":
                continue
            for theirs, ours in rows[1:]:
                for url in references(ours):
                    self.aliases.setdefault(url, []).append(texts(theirs).replace(",", ""))

    def pages(self):
        return [LibraryPage(url, self) for url in sorted(self.symbols) if self.has_page(url)]

    def has_page(self, url):
        symbol = self.symbols.get(url)
        return bool(symbol) and (kind(symbol) in TYPES or symbol["metadata"]["role"] == "article")

    def place(self, url):
        """The address in the site of a symbol, with the anchor of a member, or None where it has none."""
        if self.has_page(url):
            return f"libraries/{'.'.join(names(url))}.html"
        owner = parent(self.symbols[url]) if url in self.shown and url in self.symbols else None
        return f"{self.place(owner)}#{anchor(url)}" if owner else None


def kind(symbol):
    """What a symbol is, such as 'struct'; a module of extensions counts as one."""
    metadata = symbol["metadata"]
    return "module" if metadata["role"] == "collection" else metadata.get("symbolKind", "")


def parent(symbol):
    paths = symbol["hierarchy"]["paths"]
    return paths[0][-1] if paths and paths[0] else None


def names(url):
    """The parts of a symbol's name, from the library on. DocC adds '-swift.enum' where two names differ in case only."""
    return [part.split("-swift.")[0] for part in url.split("/documentation/")[1].split("/")]


def references(elements):
    """The symbols to which parts of a text lead."""
    for element in elements:
        if element["type"] == "reference":
            yield element["identifier"]
        yield from references(element.get("inlineContent", []))


def texts(elements):
    """The words of parts of a text."""
    return "".join(element.get("text") or element.get("code") or texts(element.get("inlineContent", []))
                   for element in elements)


def page_link(match):
    """The link to a page that a comment names by its file."""
    title = (DOCS / f"{match[1]}.md").read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return f'<a href="../{match[1]}.html">{html.escape(title)}</a>'


def anchor(url):
    return re.sub(r"[^\w-]+", "-", url.split("/")[-1]).strip("-")


def plain(text):
    """The words of a symbol's HTML, without its code, for the search."""
    words = re.sub(r"<[^>]+>", " ", re.sub(r"<pre.*?</pre>", " ", text, flags=re.DOTALL))
    return html.unescape(re.sub(r"\s+", " ", words)).strip()


class LibraryPage:
    """A page of one type or article, in the form of the site's other pages."""

    def __init__(self, url, libraries):
        self.url, self.libraries, self.symbol = url, libraries, libraries.symbols[url]
        self.address = libraries.place(url)
        self.library = names(url)[0]
        self.references = dict(self.symbol["references"])
        metadata = self.symbol["metadata"]
        self.title = ".".join(names(url)[1:]) if kind(self.symbol) in TYPES - {"module"} else metadata["title"]
        self.in_member, self.headings = False, []
        text = self.summary(self.symbol)
        self.is_article = metadata["role"] == "article"
        # An article has a section for each heading: text, anchor, heading, text, and so on.
        first, *parts = HEADING.split(text)
        self.sections = [[self.title, "content", plain(first), *self.aliases(url)]]
        self.sections += [[plain(heading), place, plain(part)]
                          for place, heading, part in zip(parts[::3], parts[1::3], parts[2::3])]
        heading = metadata.get("roleHeading", "") if parent(self.symbol) else "Swift library"
        self.body = "\n".join([
            self.trail(), f"<h1>{html.escape(self.title)}</h1>", f'<p class="kind">{html.escape(heading)}</p>',
            text, *self.relations(), *self.topics(),
        ])

    def trail(self):
        """The way from the library to this page."""
        owners = self.symbol["hierarchy"]["paths"][0] if parent(self.symbol) else []
        links = [self.link(each, html.escape(names(each)[-1])) for each in owners if self.libraries.has_page(each)]
        return f'<p class="trail">{" › ".join(links)}</p>' if links else ""

    def aliases(self, url):
        """Other names of a symbol, in one text; nothing where it has none."""
        found = self.libraries.aliases.get(url)
        return [" ".join(found)] if found else []

    def link(self, url, text):
        place = self.libraries.place(url)
        if not place:
            return text
        # All pages of libraries are in one folder.
        return f'<a href="{html.escape(place.removeprefix("libraries/"))}">{text}</a>'

    def topics(self):
        """Yields a section for each group of members: pages as a list, other symbols in full."""
        groups = self.symbol.get("topicSections", [])
        for group in groups:
            symbols = [each for each in group["identifiers"] if each in self.libraries.symbols]
            pages = [each for each in symbols if self.libraries.has_page(each)]
            members = [each for each in symbols if self.libraries.place(each) and each not in pages]
            if not pages and not members:
                continue
            place = "group-" + re.sub(r"\W+", "-", group["title"])
            self.headings.append(("h2", group["title"], place))
            yield f'<h2 id="{place}">{html.escape(group["title"])}</h2>'
            if pages:
                yield "<dl>" + "\n".join(self.entry(each) for each in pages) + "</dl>"
            for each in members:
                yield self.member(each)

    def entry(self, url):
        symbol = self.libraries.symbols[url]
        name = html.escape(names(url)[-1]) if kind(symbol) in TYPES else html.escape(symbol["metadata"]["title"])
        return f'<dt>{self.link(url, name)}</dt><dd>{self.inline(symbol.get("abstract", []))}</dd>'

    def member(self, url):
        symbol = self.libraries.symbols[url]
        self.references |= symbol["references"]
        self.in_member = True
        title = symbol["metadata"]["title"]
        self.headings.append(("h3", title, anchor(url)))
        text = self.summary(symbol)
        self.sections.append([title, anchor(url), plain(text), *self.aliases(url)])
        return f'<h3 id="{anchor(url)}"><code>{html.escape(title)}</code></h3>\n{text}'

    # MARK: What a symbol says

    def summary(self, symbol):
        """The declaration, the first sentence, parameters and discussion of a symbol."""
        parts = [f'<p>{self.inline(symbol["abstract"])}</p>'] if symbol.get("abstract") else []
        for section in symbol.get("primaryContentSections", []):
            if section["kind"] == "declarations":
                parts = [self.declaration(each) for each in section["declarations"]] + parts
            elif section["kind"] == "parameters":
                rows = "".join(
                    f'<dt><code>{html.escape(each["name"])}</code></dt><dd>{self.blocks(each["content"])}</dd>'
                    for each in section["parameters"])
                parts.append(f"<dl>{rows}</dl>")
            elif section["kind"] == "content":
                parts.append(self.blocks(section["content"]))
        return "\n".join(parts)

    def declaration(self, declaration):
        text = "".join(
            self.link(token["identifier"], html.escape(token["text"])) if token.get("identifier")
            else html.escape(token["text"]) for token in declaration["tokens"])
        return f'<pre tabindex="0"><code>{text}</code></pre>'

    def relations(self):
        """Yields what a type conforms to, inherits from, and is conformed to by."""
        for section in self.symbol.get("relationshipsSections", []):
            known = [self.reference(each) for each in section["identifiers"]]
            # Each type of Swift 6 that can be sent conforms to this too.
            found = [each for each in known if "SendableMetatype" not in each]
            if found:
                yield f'<p class="kind">{html.escape(section["title"].capitalize())}: {", ".join(found)}</p>'

    # MARK: DocC's elements

    def reference(self, url):
        known = self.references.get(url, {})
        title = html.escape(known.get("title", url.split("/")[-1]))
        if known.get("type") == "link":
            return f'<a href="{html.escape(known["url"])}">{title}</a>'
        return self.link(url, title if self.leads_to_article(url) else f"<code>{title}</code>")

    def leads_to_article(self, url):
        symbol = self.libraries.symbols.get(url)
        return bool(symbol) and symbol["metadata"]["role"] == "article"

    def inline(self, elements):
        return "".join(self.inline_element(each) for each in elements)

    def inline_element(self, element):
        match element["type"]:
            case "text": return PAGE.sub(page_link, html.escape(element["text"]))
            case "codeVoice" if page := PAGE.fullmatch(element["code"]): return page_link(page)
            case "codeVoice": return f'<code>{html.escape(element["code"])}</code>'
            case "reference": return self.reference(element["identifier"])
            case "strong": return f'<strong>{self.inline(element["inlineContent"])}</strong>'
            case "emphasis": return f'<em>{self.inline(element["inlineContent"])}</em>'
            case other: raise ValueError(f"{self.url}: DocC's inline element '{other}' is new to the site")

    def blocks(self, elements):
        return "\n".join(self.block(each) for each in elements)

    def block(self, element):
        match element["type"]:
            case "paragraph": return f'<p>{self.inline(element["inlineContent"])}</p>'
            case "heading": return self.heading(element)
            case "aside":
                name = html.escape(element.get("name") or element["style"].capitalize())
                return f'<div class="aside"><strong>{name}</strong>{self.blocks(element["content"])}</div>'
            case "codeListing":
                return f'<pre tabindex="0"><code>{html.escape(chr(10).join(element["code"]))}</code></pre>'
            case "unorderedList" | "orderedList":
                tag = "ul" if element["type"] == "unorderedList" else "ol"
                items = "".join(f'<li>{self.blocks(each["content"])}</li>' for each in element["items"])
                return f"<{tag}>{items}</{tag}>"
            case "table": return self.table(element)
            case other: raise ValueError(f"{self.url}: DocC's element '{other}' is new to the site")

    def heading(self, element):
        """A heading inside a text: below a member's own, or one of the page. DocC adds "Overview" to each text."""
        if element["text"] in ("Overview", "Discussion"):
            return ""
        text = html.escape(element["text"])
        if self.in_member:
            return f"<h4>{text}</h4>"
        self.headings.append((f'h{element["level"]}', element["text"], element["anchor"]))
        return f'<h{element["level"]} id="{html.escape(element["anchor"])}">{text}</h{element["level"]}>'

    def table(self, element):
        rows = []
        for number, row in enumerate(element["rows"]):
            tag = "th" if number == 0 and element.get("header") == "row" else "td"
            rows.append("<tr>" + "".join(f"<{tag}>{self.blocks(cell)}</{tag}>" for cell in row) + "</tr>")
        return f'<div class="table" tabindex="0"><table>{"".join(rows)}</table></div>'
