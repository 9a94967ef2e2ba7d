"""What is left of an output where a page is shown without styles, as GitHub shows notebooks, and how it reads there.

The list is that of the sanitizer that GitHub published, lib/html_pipeline/sanitization_filter.rb of version 3 of
https://github.com/gjtorikian/html-pipeline: an element that is not in it goes, and its text stays. GitHub does not
publish the one that it uses today; that it takes styles away is in jupyter/nbviewer#450 and pandas-dev/pandas#33076.
What becomes of the words in an SVG is not known, so both are tried.
"""

import re
from html.parser import HTMLParser

import bleach

# Those that begin a line of their own in a browser, and the others.
BLOCKS = re.findall(
    r"\w+",
    "h1 h2 h3 h4 h5 h6 pre div p ol ul table thead tbody tfoot blockquote dl dt dd hr li tr summary details caption "
    "figure figcaption",
)
ELEMENTS = BLOCKS + re.findall(
    r"\w+",
    "br b i strong em a code img tt ins del sup sub kbd q samp var ruby rt rp td th s strike abbr bdo cite dfn mark "
    "small span time wbr",
)
# Of the attributes those that a drawing could use to say something.
ATTRIBUTES = {
    "a": ["href"],
    "img": ["src"],
    "*": [
        *("align", "alt", "aria-hidden", "aria-label", "color", "colspan", "dir", "height", "lang", "open", "role"),
        *("rowspan", "scope", "start", "summary", "tabindex", "title", "type", "valign", "value", "width"),
    ],
}


def stripped(html, svg_words=False):
    """The HTML that is left, with the words of pictures or without."""
    if not svg_words:
        html = re.sub(r"(?s)<svg\b.*?</svg>", "", html)
    return bleach.clean(html, tags=ELEMENTS, attributes=ATTRIBUTES, strip=True)


def read(html):
    """How a browser sets this HTML: its lines of text."""
    reader = _Reader(convert_charrefs=True)
    reader.feed(html)
    reader.close()
    return [line for line in "".join(reader.pieces).split("\n") if line.strip()]


class _Reader(HTMLParser):
    def __init__(self, **options):
        super().__init__(**options)
        self.pieces, self.pre = [], 0

    def handle_starttag(self, tag, attributes):
        self.pre += tag == "pre"
        self._mark(tag)

    def handle_endtag(self, tag):
        self.pre -= tag == "pre"
        self._mark(tag)

    def _mark(self, tag):
        if tag in BLOCKS or tag == "br":
            self.pieces.append("\n")
        elif tag in ("td", "th"):
            self.pieces.append("  ")

    def handle_data(self, data):
        self.pieces.append(data if self.pre else re.sub(r"\s+", " ", data))


def words(line):
    """The words of a line, and the signs that a drawing says something with. [brackets] belong to their words."""
    return re.findall(r"\[?\w+\]?|[^\w\s!-/:-@\[-`{-~…“”’·]+", line)


def missing(text, html, svg_words=False):
    """What the twin says and the page does not, where it has no styles: the first such line, or "".

    A line of the twin has to be there with its words, in this order, and two lines may not run into one.
    """
    page = [(word, at) for at, line in enumerate(read(stripped(html, svg_words))) for word in words(line)]
    place, last = 0, -1
    for line in text.split("\n"):
        if re.fullmatch(r"\s*\.\.\. \d+ more lines", line):
            continue  # the page has them, folded
        for number, word in enumerate(words(line)):
            while place < len(page) and page[place][0] != word:
                place += 1
            if place == len(page):
                return f"{word!r} of the line {line!r}"
            if number == 0 and page[place][1] == last and not svg_words:
                return f"a line of its own for {line!r}"
            last, place = page[place][1], place + 1
    return ""
