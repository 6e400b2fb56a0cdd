"""report_page.py FILE [--plain]: FILE is a page of --report, and a harmless one.

Every element is closed where it must be, every element and attribute is one that
the report itself writes, nothing can be loaded or run, no control or invisible
character is in it, and the dots of each chart stand where their values say. With
--plain the bytes hold nothing that looks like an address either; texts of others
may. Prints what can be read on the page, a line a block, for FileCheck."""
import math
import re
import sys
import unicodedata
from html.parser import HTMLParser

GLOBAL = {"class", "id"}
ALLOWED = {
    "html": {"lang"}, "head": set(), "body": set(), "title": set(), "style": set(), "main": set(),
    "meta": {"charset", "name", "content", "http-equiv"}, "header": set(), "footer": set(),
    "section": {"id"}, "h1": set(), "h2": set(), "h3": set(), "p": set(), "strong": set(), "span": set(),
    "small": set(), "code": set(), "pre": set(), "br": set(), "a": {"href"}, "ul": set(), "li": set(),
    "dl": set(), "dt": set(), "dd": set(), "details": set(), "summary": set(), "figure": set(),
    "figcaption": set(), "table": set(), "caption": set(), "thead": set(), "tbody": set(), "tr": set(),
    "th": {"scope"}, "td": {"data-label"}, "svg": {"viewbox", "role", "aria-label", "aria-hidden", "preserveaspectratio"},
    "line": {"x1", "x2", "y1", "y2"}, "text": {"x", "y", "text-anchor"}, "circle": {"cx", "cy", "r"},
    "path": {"d"}, "rect": {"width", "height"}, "polyline": {"points"},
}
VOID = {"meta", "br"}
BLOCKS = {"h1", "h2", "h3", "p", "li", "dd", "tr", "caption", "pre", "figcaption", "title", "style", "summary"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.hrefs, self.lines, self.charts = [], set(), set(), [], []
        self.text, self.style, self.tags = "", "", []

    def flush(self):
        line = " ".join(self.text.split())
        if line:
            self.lines.append(line)
        self.text = ""

    def element(self, tag, attrs):
        if tag not in ALLOWED:
            sys.exit("an element <%s> at %s" % (tag, self.getpos()))
        names = [name for name, _ in attrs]
        wrong = set(names) - ALLOWED[tag] - GLOBAL
        if wrong or len(names) != len(set(names)) or any(value is None for _, value in attrs):
            sys.exit("attributes %s of <%s> at %s" % (attrs, tag, self.getpos()))
        attrs = dict(attrs)
        if not re.fullmatch(r"[a-z0-9 -]*", attrs.get("class", "")):
            sys.exit("class %r" % attrs["class"])
        if "id" in attrs:
            if attrs["id"] in self.ids or not re.fullmatch(r"k\d+", attrs["id"]):
                sys.exit("id %r" % attrs["id"])
            self.ids.add(attrs["id"])
        if "href" in attrs:
            self.hrefs.add(attrs["href"])
        if tag in BLOCKS:
            self.flush()
        if tag in ("td", "th", "dt"):
            self.text += " | "
        if tag == "br":
            self.text += " / "
        if tag == "svg":
            self.charts.append({"ticks": [], "dots": [], "label": attrs.get("aria-label")})
        if tag == "circle":
            self.charts[-1]["dots"].append([float(attrs["cy"]), None])
        if tag == "text" and attrs["x"] == "40":
            self.charts[-1]["ticks"].append([float(attrs["y"]) - 4, None])
        self.tags.append(tag)
        return attrs

    def handle_starttag(self, tag, attrs):
        self.element(tag, attrs)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.element(tag, attrs)

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1] != tag:
            sys.exit("</%s> at %s closes %s" % (tag, self.getpos(), self.stack[-3:]))
        self.stack.pop()
        if tag in BLOCKS:
            self.flush()

    def handle_data(self, data):
        if not self.stack:
            if data.strip():
                sys.exit("text outside of everything: %r" % data)
        elif self.stack[-1] == "style":
            self.style += data
        elif "svg" in self.stack:
            value = re.search(r"([0-9.]+)x", data)
            if self.stack[-1] == "title" and self.stack[-2] == "circle":
                self.charts[-1]["dots"][-1][1] = float(value.group(1))
            elif self.stack[-1] == "text" and value and self.charts[-1]["ticks"] and self.charts[-1]["ticks"][-1][1] is None:
                self.charts[-1]["ticks"][-1][1] = float(value.group(1))
        else:
            self.text += data

    def handle_comment(self, data):
        sys.exit("a comment: %r" % data)

    def handle_pi(self, data):
        sys.exit("a processing instruction: %r" % data)

    def unknown_decl(self, data):
        sys.exit("a declaration: %r" % data)


def on_scale(ticks, dots, scale):
    (y0, v0), (y1, v1) = ticks[0], ticks[-1]
    slope = (y1 - y0) / (scale(v1) - scale(v0))
    # Titles have two digits, ticks fewer where they need no more.
    return all(abs(y0 + (scale(v) - scale(v0)) * slope - y) < 0.15 + abs(slope) * abs(scale(v + 0.005) - scale(v))
               for y, v in ticks + dots)


with open(sys.argv[1], "rb") as f:
    data = f.read()
text = data.decode("utf-8")
if not text.startswith("<!DOCTYPE html>\n"):
    sys.exit("no document")
for c in text:
    if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") and c not in "\n\t":
        sys.exit("U+%04X is in the page" % ord(c))
if "--plain" in sys.argv:
    for word in ("http:", "https:", "//www", "url(", "src=", "javascript", "@import", "<script", "<link"):
        if word in text.lower():
            sys.exit("%s is in the page" % word)
page = Page()
page.feed(text)
page.close()
page.flush()
if page.stack:
    sys.exit("not closed: %s" % page.stack)
if page.tags.count("html") != 1 or page.tags.count("style") != 1 or page.tags.count("title") < 1:
    sys.exit("not one page")
if not page.hrefs <= {"#" + i for i in page.ids}:
    sys.exit("links to %s" % sorted(page.hrefs))
if re.search(r"url\s*\(|@import|expression|</", page.style, re.I) or "prefers-color-scheme: dark" not in page.style:
    sys.exit("style")
if "default-src &#39;none&#39;" not in text:
    sys.exit("no policy")
for chart in page.charts:
    if chart["label"] is None:
        continue
    ticks, dots = chart["ticks"], chart["dots"]
    if len(ticks) < 2 or not dots or any(v is None for _, v in ticks + dots):
        sys.exit("chart without scale or dots: %s" % chart)
    if not on_scale(ticks, dots, float) and not on_scale(ticks, dots, math.log):
        sys.exit("dots that are not where their values are: %s" % chart)
    page.lines.append("chart: %s; dots %s" % (chart["label"], " ".join("%.2f" % v for _, v in dots)))
print("\n".join(page.lines))
