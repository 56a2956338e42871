"""html_page.py PAGE - is it a page, does it need nothing else, can nothing in it do anything it should not?

As a module: Page, which has a page's elements, texts, tables and numbers.
"""
import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

VOID = {'meta', 'br', 'link', 'img', 'hr', 'input', 'base', 'col'}
ALLOWED = set('''html head meta title style body header h1 h2 h3 p code nav ul ol li a main section dl div dt dd figure figcaption
    table caption thead tbody tr th td span b svg rect text details summary footer pre script noscript input label
    defs pattern path'''.split())
ATTRIBUTES = set('''lang charset name content http-equiv class id href aria-label aria-hidden scope data-v tabindex type
    width height x y viewbox for checked role patternunits d fill'''.split())


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        raw = open(path, 'rb').read()
        self.size = len(raw)
        self.source = raw.decode('utf-8')  # must not fail
        self.stack, self.elements, self.wrong = [], [], []
        self.feed(self.source)
        self.close()
        if self.stack:
            self.wrong.append('never closed: %s' % [e['tag'] for e in self.stack])

    def handle_decl(self, decl):
        self.elements.append({'tag': '!', 'attrs': {}, 'text': decl, 'up': None})

    def handle_comment(self, data):
        self.wrong.append('a comment: ' + data[:60])

    def unknown_decl(self, data):
        self.wrong.append('a declaration: ' + data[:60])

    def handle_pi(self, data):
        self.wrong.append('an instruction: ' + data[:60])

    def handle_starttag(self, tag, attrs, closed=False):
        if len({k for k, _ in attrs}) != len(attrs):
            self.wrong.append('<%s> has an attribute twice' % tag)
        e = {'tag': tag, 'attrs': dict(attrs), 'text': '', 'up': self.stack[-1] if self.stack else None, 'below': []}
        self.elements.append(e)
        if e['up']:
            e['up']['below'].append(e)
        if tag not in VOID and not closed:
            self.stack.append(e)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs, True)

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1]['tag'] != tag:
            self.wrong.append('</%s> closes %s' % (tag, self.stack[-1]['tag'] if self.stack else 'nothing'))
        else:
            self.stack.pop()

    def handle_data(self, data):
        for e in self.stack:
            e['text'] += data

    # ---- questions ----
    def all(self, tag, **attrs):
        return [e for e in self.elements if e['tag'] == tag and all(e['attrs'].get(k) == v for k, v in attrs.items())]

    def by_id(self, name):
        found = [e for e in self.elements if e['attrs'].get('id') == name]
        return found[0] if found else None

    def figure(self, name):
        """What a key figure says exactly, and in words; None: it is not there."""
        box = self.by_id('fig-' + name)
        if box is None:
            return None
        values = [e for e in box['below'] if e['tag'] == 'dd']
        return float(values[0]['attrs']['data-v']), values[0]['text']

    def table(self, heading):
        """Rows of the table behind the h3 with this id: lists of (text, exact number or None)."""
        at = next((i for i, e in enumerate(self.elements) if e['attrs'].get('id') == heading), None)
        if at is None:
            return None
        table = next(e for e in self.elements[at:] if e['tag'] == 'table')
        return rows_of(table)

    def data(self):
        e = self.by_id('data')
        return json.loads(e['text']) if e else None

    def chart(self, name):
        return next((c for c in self.data()['charts'] if c['id'] == name), None)


def rows_of(table):
    body = next(e for e in table['below'] if e['tag'] == 'tbody')
    return [[(c['text'], float(c['attrs']['data-v']) if 'data-v' in c['attrs'] else None) for c in row['below']]
            for row in body['below']]


def check(page):
    wrong = list(page.wrong)

    def want(ok, what):
        if not ok:
            wrong.append(what)

    want(page.elements[0]['text'].lower() == 'doctype html', 'no doctype')
    for e in page.elements:
        if e['tag'] == '!':
            continue
        want(e['tag'] in ALLOWED, 'an element that should not be there: <%s>' % e['tag'])
        want(e['tag'] != 'input' or e['attrs'].get('type') == 'radio', 'an input that is no tab')
        for k in e['attrs']:
            want(k in ATTRIBUTES, 'an attribute that should not be there: <%s %s>' % (e['tag'], k))
    ids = [e['attrs']['id'] for e in page.elements if 'id' in e['attrs']]
    want(len(ids) == len(set(ids)), 'an id twice')
    for a in page.all('a'):
        want(a['attrs']['href'][0] == '#' and a['attrs']['href'][1:] in ids, 'a link out, or to nowhere: %s' % a['attrs'])
    # Nothing from anywhere; scripts and styles are those the policy knows.
    policy = [m['attrs']['content'] for m in page.all('meta') if m['attrs'].get('http-equiv') == 'Content-Security-Policy']
    want(len(policy) == 1, 'policies: %d' % len(policy))
    rules = dict((r.split()[0], r.split()[1:]) for r in policy[0].split(';') if r.strip())
    want(rules.get('default-src') == ["'none'"] and rules.get('base-uri') == ["'none'"] and
         set(rules) == {'default-src', 'script-src', 'style-src', 'base-uri', 'form-action'}, 'policy: %s' % rules)
    for tag, rule in (('script', 'script-src'), ('style', 'style-src')):
        texts = [e['text'] for e in page.all(tag) if e['attrs'].get('type') != 'application/json']
        hashes = ["'sha256-%s'" % base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in texts]
        want(hashes and hashes == rules[rule], '%s: not those of the policy' % tag)
        for t in texts if tag == 'style' else []:
            want(not re.search(r'url\(|@import|src\s*:', t), 'a style that loads something')
    want(not re.search(r'\b(fetch|XMLHttpRequest|WebSocket|sendBeacon|importScripts|eval)\s*\(|new Function',
                       ''.join(e['text'] for e in page.all('script'))), 'a script that may load something')
    # Labels for screen readers.
    levels = [int(e['tag'][1]) for e in page.elements if e['tag'] in ('h1', 'h2', 'h3')]
    want(levels.count(1) == 1 and levels[0] == 1, 'h1')
    want(all(b - a <= 1 for a, b in zip(levels, levels[1:])), 'headings leave out a level: %s' % levels)
    want(all(e['text'].strip() for e in page.elements if e['tag'] in ('h1', 'h2', 'h3', 'title')), 'an empty heading')
    want(page.all('html')[0]['attrs'].get('lang') == 'en', 'lang')
    for table in page.all('table'):
        below = [e['tag'] for e in table['below']]
        want(below == ['caption', 'thead', 'tbody'], 'a table of %s' % below)
        heads = table['below'][1]['below'][0]['below']
        want(all(h['attrs'].get('scope') == 'col' for h in heads), 'a heading without scope')
        want(table['below'][0]['text'].strip(), 'a table without caption')
        rows = table['below'][2]['below']
        want(rows, 'an empty table')
        want(all(len(r['below']) == len(heads) for r in rows), 'rows and headings differ: ' + heads[0]['text'])
    for f in page.all('figure'):
        want(f['below'][0]['tag'] == 'figcaption', 'a figure without caption')
    bad = re.search('[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]', page.source)
    want(not bad, 'a character that has no place: %r' % (bad and bad.group()))
    data = page.data()
    if data:
        ids = [c['id'] for c in data['charts']]
        want(ids == [f['attrs']['id'] for f in page.all('figure')], 'charts and figures differ')
        for c in data['charts']:
            cnt = len(c['labels']) - 1 if 'labels' in c else data['bins']
            want(c['series'] and all(len(s['values']) == cnt for s in c['series']), 'series of %s' % c['id'])
    want(page.size < 2000000, 'it is large: %d' % page.size)
    return wrong


if __name__ == '__main__':
    found = check(Page(sys.argv[1]))
    print('\n'.join(found))
    sys.exit(bool(found))
