"""html_why.py SIGHTLINE REPORT PAGE - the first card has the numbers of sightline why: as JSON, to the nanosecond, and as text, word for word."""
import collections
import json
import re
import subprocess
import sys

from html_page import Page

sightline, report, path = sys.argv[1:]


def why(*options):
    done = subprocess.run([sightline, 'why', *options, report], capture_output=True, text=True)
    assert done.returncode in (0, 4), done.stderr # 4: there is no answer
    return done.stdout


answer, text, page = json.loads(why('-f', 'json', '--limit=0', '--max-bytes=0')), why(), Page(path)
sections = [s['attrs']['id'] for s in page.all('section')]
if answer.get('abstained'):
    assert 'why' not in sections, sections
    sys.exit()
ns = collections.Counter()
for part in answer['partition']:
    ns[part['reason']] += part['ns']
if answer['focus'].get('tid') is None or not sum(ns.values()):
    assert 'why' not in sections, sections
    sys.exit()
assert sections[0] == 'why', sections
bars = [e for e in page.all('div') if e['attrs'].get('class') == 'why-bar']
pieces = [[int(e['attrs']['data-v']) for e in bar['below'][0]['below']] for bar in bars]
assert pieces[0] == sorted(ns.values(), reverse=True), (pieces[0], ns)
assert sum(pieces[0]) == answer['focus']['ns'] == answer['wall']['ns'], (sum(pieces[0]), answer['focus'], answer['wall'])
widths = sum(float(e['attrs']['width'][:-1]) for e in bars[0]['below'][0]['below'])
assert abs(widths - 100) < 0.01, widths
for bar, gpu in zip(pieces[1:], answer.get('gpu', [])):
    assert bar == [v for v in (gpu[k + '_ns'] for k in ('kernel', 'copy_only', 'launch_latency', 'launching', 'host', 'not_recorded')) if v], (bar, gpu)
assert len(bars) == 1 + min(8, len(answer.get('gpu', []))), len(bars)
lines = [' '.join(span['text'] for span in li['below'] if span['attrs']['class'].split()[0] not in ('place', 'key')) for li in page.all('li')
         if any(span['attrs'].get('class') == 'share' for span in li['below'])]
want = [' '.join(line.split()) for line in text.splitlines() if re.match(r' {5} *[\d.]+ %  +[\d.]+ (s|ms|us)  [A-Za-z]', line)]
want = want[:next((i for i, line in enumerate(text.splitlines()) if line == 'Causes, without waits for a CPU'), len(want))] if want else want
assert lines == want[:len(lines)] and lines, (lines, want)
assert len(lines) == text.split('Causes, without waits for a CPU')[0].count(' %  '), (lines, text)
for gpu in answer.get('gpu', [])[:4]:
    line = next(line for line in text.splitlines() if line.startswith('GPU %d ' % gpu['device']))
    assert any(line in e['text'] for e in page.all('pre')), line
