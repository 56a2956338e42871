"""html_browser.py BROWSER.py-FOLDER FOLDER - the HTML summary in a headless Chromium: TAP.

FOLDER holds all.html and all.sqlite (html_make.py), known.html and empty.html (html_browser.t).
"""
import json
import os
import sys

sys.path.insert(0, sys.argv[1])
from browser import Browser  # noqa: E402

folder, count, failed = sys.argv[2], 0, 0


def ok(good, name, more=''):
    global count, failed
    count += 1
    print('%s %d - %s' % ('ok' if good else 'not ok', count, name), flush=True)
    if not good:
        failed += 1
        print('# ' + str(more).replace('\n', '\n# '), file=sys.stderr, flush=True)


def at(name):
    return os.path.join(folder, name)


# What is wider than the page, save what scrolls in a frame of its own.
OVERFLOW = '''(() => {
    const wide = document.documentElement.clientWidth;
    const out = [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, nav ul, svg') || e.matches('.scroll'))
        .filter(e => e.getBoundingClientRect().right > wide + 1 && e.checkVisibility())
        .map(e => e.tagName + '.' + e.className + ' ' + Math.round(e.getBoundingClientRect().right));
    return {page: document.documentElement.scrollWidth - wide, out: out.slice(0, 5)};
})()'''

# Boxes that hold text and lie over each other though neither is in the other.
OVERLAP = '''(() => {
    const boxes = [...document.querySelectorAll('main h2, main h3, main p, dt, dd, .plot, .scroll, .legend, summary, svg.flame')]
        .filter(e => (!e.closest('.scroll') || e.matches('.scroll')) && e.checkVisibility())
        .map(e => [e, e.getBoundingClientRect()]);
    const over = [];
    for (const [a, p] of boxes)
        for (const [b, q] of boxes)
            if (a !== b && !a.contains(b) && !b.contains(a) && p.left < q.right - 1 && q.left < p.right - 1 &&
                    p.top < q.bottom - 1 && q.top < p.bottom - 1 && a.compareDocumentPosition(b) & 4)
                over.push(a.tagName + ' ' + a.textContent.slice(0, 30) + ' / ' + b.tagName + ' ' + b.textContent.slice(0, 30));
    return over.slice(0, 5);
})()'''

# Every text against what is behind it, as WCAG counts contrast.
CONTRAST = '''(() => {
    const rgb = s => (s.match(/[\\d.]+/g) || []).map(Number);
    const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
        return .2126 * r + .7152 * g + .0722 * b; };
    const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
        if (c.length === 3 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
    let least = 99, where = '';
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const e = walk.currentNode.parentElement;
        if (!walk.currentNode.textContent.trim() || e.closest('script, style, noscript, svg') || !e.checkVisibility()) continue;
        const a = light(rgb(getComputedStyle(e).color).slice(0, 3)), b = light(behind(e));
        const k = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (k < least) { least = k; where = e.tagName + '.' + e.className + ': ' + e.textContent.slice(0, 30); }
    }
    return [least, where];
})()'''

# Of each canvas: the share of pixels in each colour of the series.
PIXELS = '''(() => [...document.querySelectorAll('figure')].map(f => {
    const canvas = f.querySelector('canvas');
    if (!canvas) return [f.id, null];
    const p = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let drawn = 0; const colours = new Set();
    for (let i = 0; i < p.length; i += 4) if (p[i + 3]) { drawn++; colours.add(p[i] >> 4 << 8 | p[i + 1] >> 4 << 4 | p[i + 2] >> 4); }
    return [f.id, drawn / (p.length / 4), colours.size, canvas.width, canvas.height];
}))()'''

# Where on the page a chart's plotting area is.
AREA = '''(id => { const r = document.querySelector('#' + id + ' .u-over').getBoundingClientRect();
    return [r.left, r.top, r.width, r.height]; })(%s)'''

# Is there paint of a series' colour at these places (shares of width and height) of the plotting area?
PAINT = '''((id, k, places) => {
    const f = document.getElementById(id), canvas = f.querySelector('canvas'), over = f.querySelector('.u-over');
    const ratio = canvas.width / canvas.getBoundingClientRect().width, c = canvas.getBoundingClientRect(), o = over.getBoundingClientRect();
    const probe = document.createElement('i'); probe.style.color = 'var(--c' + k + ')'; document.body.append(probe);
    const want = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number); probe.remove();
    const all = canvas.getContext('2d');
    return places.map(([x, y]) => {
        const px = Math.round((o.left - c.left + x * o.width) * ratio), py = Math.round((o.top - c.top + y * o.height) * ratio);
        const p = all.getImageData(px - 1, py - 1, 3, 3).data;
        for (let i = 0; i < p.length; i += 4)
            if (p[i + 3] > 40 && Math.abs(p[i] - want[0]) + Math.abs(p[i + 1] - want[1]) + Math.abs(p[i + 2] - want[2]) < 30) return true;
        return false;
    });
})(%s, %d, %s)'''


def scroll_to(b, what):
    b.ask('document.querySelector(%s).scrollIntoView({block: "center"})' % json.dumps(what))
    b.settle()


def area(b, chart):
    scroll_to(b, '#' + chart)
    return b.ask(AREA % json.dumps(chart))


def looks(b):
    for name, widths in (('all', (1600, 1280, 700, 390)), ('known', (390,)), ('empty', (1280,))):
        for width in widths:
            for dark in (False, True) if width in (1280, 390) else (False,):
                url = b.open(at(name + '.html'), width, 900, dark)
                what = '%s, %d wide, %s' % (name, width, 'dark' if dark else 'light')
                ok(b.complaints() == [], what + ': the browser has no complaint', b.complaints())
                ok(b.requests() == [url], what + ': the page asks for nothing else', b.requests())
                over = b.ask(OVERFLOW)
                ok(over['page'] <= 0 and not over['out'], what + ': nothing is wider than the page', over)
                over = b.ask(OVERLAP)
                ok(over == [], what + ': nothing lies over anything', over)
                least, where = b.ask(CONTRAST)
                ok(least >= 4.5, what + ': every text can be told from its ground', (least, where))
                charts = b.ask(PIXELS)
                # Axes and grid alone are about 1 % and few colours.
                blank = [c for c in charts if c[1] is None or c[1] < 0.02 or c[2] < 3 or c[3] < 200 or c[4] < 100]
                ok(not blank and (charts or name == 'empty'), what + ': every chart is drawn', charts)


def known(b):
    """A page whose curves are known: a GPU that works in the first half, memory in the third quarter."""
    b.open(at('known.html'), 1280, 900)
    scroll_to(b, '#gpu-0')
    ok(b.ask(PAINT % ('"gpu-0"', 0, '[[0.01, 0.004], [0.25, 0.004], [0.49, 0.004], [0.51, 0.004], [0.75, 0.004], [0.5, 0.5]]')) ==
       [True, True, True, False, False, True], 'the curve of a GPU busy in the first half is where it should be',
       b.ask(PAINT % ('"gpu-0"', 0, '[[0.01, 0.004], [0.25, 0.004], [0.49, 0.004], [0.51, 0.004], [0.75, 0.004], [0.5, 0.5]]')))
    scroll_to(b, '#cpu')
    places = '[[0.1, 0.9], [0.1, 0.6], [0.1, 0.4], [0.6, 0.9], [0.6, 0.6], [0.6, 0.4], [0.6, 0.1], [0.9, 0.9]]'
    # Process 1 runs from 0 to 80 %, process 2 on top of it from 50 to 70 %: of two processors.
    ok(b.ask(PAINT % ('"cpu"', 0, places)) == [True, True, False, True, True, False, False, False], 'processors: the first process is drawn where it ran',
       b.ask(PAINT % ('"cpu"', 0, places)))
    ok(b.ask(PAINT % ('"cpu"', 1, places)) == [False, False, False, False, False, True, True, False], 'processors: the second process is drawn on top',
       b.ask(PAINT % ('"cpu"', 1, places)))
    scroll_to(b, '#gpu-memory')
    places = '[[0.3, 0.004], [0.6, 0.004], [0.74, 0.5], [0.74, 0.004], [0.9, 0.004], [0.9, 0.3]]'
    ok(b.ask(PAINT % ('"gpu-memory"', 0, places)) == [False, True, True, True, False, False], 'memory is drawn between half and three quarters',
       b.ask(PAINT % ('"gpu-memory"', 0, places)))


def reacts(b):
    b.open(at('all.html'), 1280, 900)
    # Tooltip.
    x, y, w, h = area(b, 'cpu')
    b.mouse('mouseMoved', x + w / 2, y + h / 2)
    b.settle()
    text = b.ask('[...document.querySelectorAll(".tip")].filter(t => !t.hidden).map(t => [...t.children].map(c => c.textContent))')
    ok(len(text) == 1 and len(text[0]) == 4 and text[0][0] in ('0.998 s', '1.000 s', '1.002 s') and 'train (100)' in ' '.join(text[0]),
       'the tooltip of one chart tells time and values', text)
    ok(b.ask('[...document.querySelectorAll(".tip")].every(t => t.hidden || (r => r.left >= 0 && r.right <= innerWidth)(t.getBoundingClientRect()))'),
       'every tooltip lies within the page')
    # Zoom: in all of them at once, and back.
    before = b.ask(PIXELS)
    b.mouse('mousePressed', x + w * 0.25, y + h / 2, 'left', 1)
    for k in range(26, 51):
        b.mouse('mouseMoved', x + w * k / 100, y + h / 2, 'left')
    b.mouse('mouseReleased', x + w * 0.5, y + h / 2, 'left', 1)
    b.settle()
    zoomed = b.ask(PIXELS)
    b.mouse('mouseMoved', x + w / 2, y + h / 2)
    b.settle()
    text = b.ask('[...document.querySelectorAll("#cpu .tip b")].map(t => t.textContent)')
    ok(text and abs(float(text[0].split()[0]) - 0.75) < 0.02, 'dragging looks closer', text)
    changed = [p[0] for p, q in zip(before, zoomed) if p != q]
    ok({'gpu-0', 'gpu-1', 'gpu-memory', 'cpu', 'io'} <= set(changed) and 'kernel-times' not in changed, 'dragging looks closer in all curves at once', changed)
    b.mouse('mousePressed', x + w / 2, y + h / 2, 'left', 1)
    b.mouse('mouseReleased', x + w / 2, y + h / 2, 'left', 1)
    b.mouse('mousePressed', x + w / 2, y + h / 2, 'left', 2)
    b.mouse('mouseReleased', x + w / 2, y + h / 2, 'left', 2)
    b.settle()
    ok(b.ask(PIXELS) == before, 'a double click shows the whole again')
    # Legend.
    b.ask('document.querySelector("#gpu-0 .legend button").click()')
    b.settle()
    ok(b.ask('document.querySelector("#gpu-0 .legend button").getAttribute("aria-pressed")') == 'false' and
       [p[0] for p, q in zip(before, b.ask(PIXELS)) if p != q] == ['gpu-0'], 'the legend takes a series out')
    # Histogram.
    x, y, w, h = area(b, 'kernel-times')
    b.mouse('mouseMoved', x + w * 0.9, y + h / 2)
    b.settle()
    text = b.ask('[...document.querySelectorAll("#kernel-times .tip b")].map(t => t.textContent)')
    ok(text == ['2 ms \u2013 5 ms'], 'a bar of a histogram has its range on hover', text)
    ok(b.ask('(() => { const s = document.createElement("script"); s.textContent = "window.broke = 1"; document.body.append(s); '
             'return window.broke; })()') is None, 'no script but those of the page runs')
    ok(b.ask('document.querySelectorAll("main script, main img, main style, main base, main iframe").length') == 0 and
       b.ask('typeof alert.called') == 'undefined', 'names in a report are text in the page')
    # Sorting.
    column = '[...document.querySelector("#cuda_gpu_kern_sum + .scroll tbody").rows].map(r => r.cells[%d].dataset.v || r.cells[%d].textContent)'
    first = b.ask(column % (0, 0))
    head = 'document.querySelectorAll("#cuda_gpu_kern_sum + .scroll thead button")[%d].click()'
    b.ask(head % 5)
    values = [float(v) for v in b.ask(column % (5, 5))]
    ok(values == sorted(values, reverse=True) and len(values) > 5, 'a click on a heading sorts, the largest first', values)
    b.ask(head % 5)
    ok([float(v) for v in b.ask(column % (5, 5))] == sorted(values), 'a second click on a heading sorts the other way round')
    ok(b.ask('document.querySelectorAll("#cuda_gpu_kern_sum + .scroll th[aria-sort=ascending]").length') == 1, 'a sorted heading has aria-sort')
    b.ask(head % 5)
    ok(b.ask(column % (0, 0)) == first, 'a third click on a heading restores the order')
    # Long names.
    names = 'getComputedStyle(document.querySelector("#cuda_gpu_kern_sum + .scroll .name.long")).webkitLineClamp'
    ok(b.ask(names) == '2', 'long names are folded')
    b.ask('document.querySelector("#cuda_gpu_kern_sum + .scroll .name.long").click()')
    ok(b.ask('document.querySelectorAll("#cuda_gpu_kern_sum + .scroll .name.open").length') == 1, 'long names open with a click')


def flame(b):
    b.open(at('all.html'), 1280, 900)
    scroll_to(b, '#flame-graph')
    boxes = '''[...document.querySelectorAll("#flame-graph svg")].filter(f => !f.classList.contains("gone"))
        .map(f => [f.querySelector("title").textContent.split("\\n")[0], parseFloat(f.getAttribute("x")), parseFloat(f.getAttribute("width")),
            parseFloat(f.getAttribute("y")), f.getBoundingClientRect().left, f.getBoundingClientRect().top])'''
    before = b.ask(boxes)
    target = next(f for f in before if f[0] == 'forward' and f[3] == 54)
    b.click(target[4] + 5, target[5] + 5)
    after = b.ask(boxes)
    same = [f for f in after if f[0] == 'forward' and f[3] == 54]
    ok(len(same) == 1 and abs(same[0][1]) < 1e-6 and abs(same[0][2] - 100) < 1e-6, 'a click on a frame makes it as wide as the page', same)
    ok([f[0] for f in after if f[3] < 54] == ['train (100)', 'main', 'run'], 'a frame as wide as the page stands below its callers', after[:5])
    scale = 100 / target[2]
    child = next(f for f in before if f[3] == 72 and target[1] <= f[1] < target[1] + target[2])
    got = next(f for f in after if f[3] == 72)
    ok(got[0] == child[0] and abs(got[2] - child[2] * scale) < 0.05, 'the callees of a frame as wide as the page grow with it', (child, got))
    b.click(target[4] + 5 if same[0][4] > target[4] else same[0][4] + 5, same[0][5] + 5)
    again = b.ask(boxes)
    ok(len(again) == len(before) and all(f[0] == g[0] and abs(f[1] - g[1]) + abs(f[2] - g[2]) < 1e-6 for f, g in zip(again, before)),
       'another click on the frame shows all frames again')
    over = b.ask('''(() => { const g = document.getElementById("flame-graph").getBoundingClientRect();
        return [...document.querySelectorAll("#flame-graph svg")].filter(f => (r => r.bottom > g.bottom + 1)(f.getBoundingClientRect())).length; })()''')
    ok(over == 0, 'the flame graph is as high as it is deep')
    b.ask('document.getElementById("flame-graph").setAttribute("height", 9000)')
    box = b.ask('(() => { const g = document.getElementById("flame-graph").parentElement; return [g.clientHeight, g.scrollHeight]; })()')
    ok(box == [720, 9000], 'a flame graph deeper than the window is scrolled within it', box)
    # Tabs.
    shown = 'document.querySelector("#flame-graph%s").checkVisibility()'
    ok(b.ask(shown % '') and not b.ask(shown % '-off-cpu'), 'one of two flame graphs is shown')
    b.ask('document.querySelector("label[for=flame-tab-off-cpu]").click()')
    ok(not b.ask(shown % '') and b.ask(shown % '-off-cpu'), 'a click on its tab shows the other flame graph')
    b.ask('document.querySelector("label[for=flame-tab]").click()')
    # Search.
    find = """(() => { const i = document.querySelector(".tab .flame-search input"); i.value = %s;
        i.dispatchEvent(new Event("input")); return [document.querySelector(".tab .flame-search output").textContent,
        document.querySelectorAll("#flame-graph svg.miss").length, document.querySelectorAll("#flame-graph svg").length]; })()"""
    text, miss, every = b.ask(find % '"FORWARD"')
    tops = [f for f in before if 'forward' in f[0]]
    outer = [f for f in tops if not any(g[3] < f[3] and g[1] <= f[1] + 1e-6 and f[1] + f[2] <= g[1] + g[2] + 1e-6 for g in tops)]
    ok(miss == every - len(tops) and text == '%.1f %%' % sum(f[2] for f in outer), 'search: what does not match fades, how much matches',
       (text, miss, every))
    ok(b.ask(find % '""') == ['', 0, every], 'search: an empty word restores all frames')


def plain(b):
    """Without scripts."""
    url = b.open(at('all.html'), 1280, 900, scripts=False)
    ok(b.requests() == [url] and b.complaints() == [], 'without scripts: no complaint', b.complaints())
    b.call('Emulation.setScriptExecutionDisabled', value=False)  # for our questions only: the page is loaded
    ok(b.ask('document.documentElement.className') == '', 'without scripts: no script has run')
    seen = b.ask('''[...document.querySelectorAll("table")].filter(t => !t.closest("details") &&
        !(t.closest(".tab") && !t.closest(".tab").checkVisibility())).map(t =>
        [t.caption.textContent, t.getBoundingClientRect().width, t.getBoundingClientRect().height, t.tBodies[0].rows.length])''')
    ok(len(seen) >= 10 and all(w > 300 and h > 20 * n for _, w, h, n in seen), 'without scripts: tables can be read', seen)
    ok(b.ask('[...document.querySelectorAll(".plot")].every(p => p.getBoundingClientRect().height === 0)'), 'without scripts: no empty charts')
    ok('JavaScript' in b.ask('document.querySelector("noscript").innerText || document.querySelector("noscript").textContent'),
       'without scripts: the page names what is missing')
    ok(b.ask('document.getElementById("flame-graph").getBoundingClientRect().height') > 80, 'without scripts: the flame graph is there')
    over = b.ask(OVERFLOW)
    ok(over['page'] <= 0, 'without scripts: nothing is wider than the page', over)
    names = b.ask('[...document.querySelectorAll("#cuda_gpu_kern_sum + .scroll .name")].every(n => n.scrollHeight <= n.clientHeight + 2 || '
                  'getComputedStyle(n).display === "inline")')
    ok(names, 'without scripts: names are there in full')


def paper(b):
    b.open(at('all.html'), 1280, 900, dark=True)
    dark = b.ask('getComputedStyle(document.body).backgroundColor')
    ok(dark != 'rgb(255, 255, 255)', 'the page is dark where the browser is', dark)
    pdf = b.call('Page.printToPDF')['data']
    ok(len(pdf) > 50000, 'the page can be printed', len(pdf))
    b.call('Emulation.setEmulatedMedia', media='print')
    b.settle()
    ok(b.ask('getComputedStyle(document.body).backgroundColor') == 'rgb(255, 255, 255)', 'a printed page is light')
    ok(b.ask('getComputedStyle(document.querySelector("nav")).display') == 'none', 'a printed page has no contents list')
    b.call('Emulation.setEmulatedMedia', media='')


with Browser() as browser:
    for part in (looks, known, reacts, flame, plain, paper):
        part(browser)
print('1..%d' % count)
sys.exit(failed > 0)
