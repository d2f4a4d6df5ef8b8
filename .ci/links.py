"""Check that every link, picture, script and style of a site leads somewhere within it.

python .ci/links.py FOLDER

A link to another host is listed and not followed; a script, style or picture from another host is a fault, since the site must work without one.
"""
import re, sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {'script', 'img', 'source', 'video', 'audio', 'iframe', 'embed'}
LOADED_RELATIONS = {'stylesheet', 'icon', 'preload', 'modulepreload'}


class Page(HTMLParser):
    "The links of a page and the anchors that others can link to"
    def __init__(self, file):
        super().__init__()
        self.links, self.anchors = [], {'', 'top'}
        self.feed(file.read_text(encoding='utf-8'))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[o] for o in ('id', 'name') if found.get(o)}
        loaded = tag in LOADED or bool(LOADED_RELATIONS & set((found.get('rel') or '').split()))
        self.links += [(found[o], loaded) for o in ('href', 'src') if found.get(o)]


def style_links(file):
    "What a style sheet loads"
    return [(o, True) for o in re.findall(r"url\(\s*['\"]?([^'\")]+)", file.read_text(encoding='utf-8'))]


def fault(site, file, link, loaded, pages):
    "What is wrong with a link, or None"
    parts = urlsplit(link)
    if parts.scheme in ('http', 'https') or parts.netloc: return 'is loaded from another host' if loaded else None
    if parts.scheme: return None # data:, mailto: and javascript: load nothing
    path = unquote(parts.path)
    if path.startswith('/'): return 'is absolute, so it works on one host only'
    target = (file.parent / path).resolve() if path else file
    if target.is_dir(): target /= 'index.html'
    if not target.is_relative_to(site): return 'leads out of the site'
    if not target.is_file(): return 'leads to no file'
    if target in pages and unquote(parts.fragment) not in pages[target].anchors: return 'leads to no anchor'


def check(site):
    "The faults of a site, each a sentence, and its links to other hosts"
    site = Path(site).resolve()
    pages = {file: Page(file) for file in sorted(site.rglob('*.html'))}
    links = {file: page.links for file, page in pages.items()} | {file: style_links(file) for file in sorted(site.rglob('*.css'))}
    flat = [(file, link, loaded) for file, found in links.items() for link, loaded in found]
    faults = [f'{file.relative_to(site)}: {link} {what}' for file, link, loaded in flat if (what := fault(site, file, link, loaded, pages))]
    return faults, sorted({link for _, link, _ in flat if urlsplit(link).scheme in ('http', 'https')}), len(flat)


def main(folder):
    faults, outside, count = check(folder)
    for link in outside: print(f'not followed: {link}')
    for sentence in faults: print(sentence, file=sys.stderr)
    print(f'{count} links, {len(outside)} to other hosts, {len(faults)} dead')
    return bool(faults) or not count


if __name__ == '__main__': sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else __doc__)
