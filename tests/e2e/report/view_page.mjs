/*
 * view_page.mjs SIGHTLINE FOLDER - the page of `sightline view` in a browser, each thing that can be done with it once; what it
 * shows is held against SQL on the same report. FOLDER has the reports of view_page.t. TAP on stdout; pictures go to FOLDER.
 */
import { readFileSync } from 'node:fs';
import { Browser, equal, finish, near, note, one, serve, settled, skip, sql, test, truth, until } from './page.mjs';
import { farPages } from './view_far.mjs';
import { answerPages } from './view_answer.mjs';
import { faultPages } from './view_faults.mjs';
import { notePages } from './view_notes.mjs';
import { otherPages } from './view_others.mjs';

const [, , bin, folder, chromium] = process.argv;
const report = `${folder}/train.sqlite`;
const browser = await Browser.start(chromium);
const server = await serve(bin, ['--port', '18420', report]);
const page = await browser.open(server.address);
const zero = BigInt(await page.evaluate(() => __view.model.sources.value[0].zero));
const capabilities = await page.evaluate(() => [...__view.model.sources.value[0].capabilities]);
const rel = (absolute) => Number(BigInt(absolute) - zero);

/* ---- helpers ---- */

const press = async (...keys) => {
	for (const key of keys)
		await page.keyboard.press(key);
	await settled(page);
};
const selected = (p = page) => p.evaluate(() => {
	const e = __view.model.selected.value;

	return e && { name: e.name, start: e.start, end: e.end, source: e.source, lane: e.lane, row: e.row?.name, kind: e.row?.kind, table: e.json?.table, rowid: e.json?.rowid, gap: !e.json, before: e.before, after: e.after };
});
const reset = async (p = page) => {
	await p.evaluate(() => {
		const m = __view.model;

		Object.assign(m.selected, { value: null });
		m.flows.value = [];
		m.range.value = m.rangeRows.value = m.measure.value = null;
		m.filter.value = m.search.value = m.notice.value = '';
		m.dialog.value = '';
		m.everyRow((r) => { r.hidden = r.pinned = false; });
		m.changed();
		document.querySelector('.scroll').focus();
		document.querySelector('.scroll').scrollTop = 0;
		__view.view.showAll();
	});
	await p.mouse.move(5, 5);
	await settled(p);
};
/* The first event of a name, by the search field. */
const find = async (name) => {
	await page.fill('#search', '=' + name);
	await page.press('#search', 'Enter');
	await until(page, (n) => __view.model.selected.value?.name === n, name, `search for ${name}`);
	await page.press('#search', 'Escape');
	await page.focus('.scroll');
	await settled(page);
};
/* Where an event of a row is on the screen. */
const spotOf = (kind, name, t) => page.evaluate(([k, n, at]) => {
	const m = __view.model;
	const p = m.placed.value.rows.find((q) => q.row.kind === k && (!n || q.row.name === n));
	const canvas = document.querySelector('.stick canvas').getBoundingClientRect();

	return { x: canvas.left + __view.view.xOf(at), y: canvas.top + p.y - __view.stage.scrollTop + p.height / 2, lane: p.row.lanes[0], lanes: p.row.lanes.length };
}, [kind, name, t]);
const bring = (kind, name) => page.evaluate(([k, n]) => {
	const m = __view.model;

	m.everyRow((r) => { if (r.kind === k && (!n || r.name === n)) { for (let up = r.parent; up; up = up.parent) up.open = true; } });
	m.changed();
	const p = m.placed.value.rows.find((q) => q.row.kind === k && (!n || q.row.name === n));

	document.querySelector('.scroll').scrollTop = Math.max(0, p.y - 60);
}, [kind, name]).then(() => settled(page));
const show = async (t0, t1) => {
	await page.evaluate(([a, b]) => __view.view.show(a, b), [t0, t1]);
	await settled(page);
};
const kernel = sql(report, "SELECT k.start AS start, k.end AS end, s.value AS name, k.correlationId AS id, k.rowid AS row FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName WHERE s.value LIKE '%multi_tensor%' ORDER BY k.start LIMIT 1")[0];

/* ---- 1: zoom and pan, tree, map ---- */

await test('the page opens with rows for every process and thread, and names the loss', async () => {
	const shown = await page.evaluate(() => { const all = []; __view.model.everyRow((r) => all.push([r.kind, r.joined])); return all; });

	/* A process and its main thread are one row. */
	equal(shown.filter(([k, joined]) => k === 'process' || joined).length, one(report, 'SELECT count(*) FROM PROCESSES'), 'processes');
	equal(shown.filter(([k]) => k === 'thread').length, one(report, 'SELECT count(*) FROM ThreadNames'), 'threads');
	truth((await page.textContent('.state')).includes('128 lost'), 'the loss');
	truth(await page.isVisible('[role=tree] [role=treeitem]'), 'a tree');
});

await test('pixels of a stream are drawn where SQL has its work', async () => {
	await bring('stream', 'stream 7');
	const [step] = sql(report, "SELECT start, end FROM NVTX_EVENTS WHERE text = 'step' ORDER BY start LIMIT 1");

	await show(rel(step.start), rel(step.end));
	const spot = await spotOf('stream', 'stream 7', 0);
	const probe = await page.evaluate(({ y }) => {
		const canvas = document.querySelector('.stick canvas');
		const box = canvas.getBoundingClientRect();
		const copy = document.createElement('canvas');

		copy.width = canvas.width;
		copy.height = canvas.height;
		const c = copy.getContext('2d', { willReadFrequently: true });

		c.drawImage(canvas, 0, 0);
		const out = [];

		for (let x = 3; x < __view.view.view.width - 3; x += 7) {
			const t = __view.view.tOf(x + 0.5);
			const at = c.getImageData(x * __view.stage.dpr, (y - box.top - 5) * __view.stage.dpr, 1, 1).data;

			out.push([t, __view.view.view.scale, at[0], at[1], at[2]]);
		}
		return out;
	}, spot);
	const kernels = sql(report, `SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE streamId = 7 AND end > ${step.start} AND start < ${step.end}`)
		.map((k) => [rel(k.start), rel(k.end)]);
	let busy = 0;

	for (const [t, scale, r, g, b] of probe) {
		const inside = kernels.some(([a, z]) => t > a + 2 * scale && t < z - 2 * scale), near = kernels.some(([a, z]) => t > a - 2 * scale && t < z + 2 * scale);
		const coloured = Math.max(r, g, b) - Math.min(r, g, b) > 16;

		if (inside)
			truth(coloured, `a kernel runs at ${t}, and nothing is drawn: ${[r, g, b]}`);
		if (!near)
			truth(!coloured, `no kernel runs at ${t}, and something is drawn: ${[r, g, b]}`);
		busy += inside;
	}
	truth(busy > 20 && busy < probe.length, `${busy} of ${probe.length} pixels are busy`);
});

await test('keys alone lead to one kernel, zoom in, and out again', async () => {
	await reset();
	await press('/');
	await page.keyboard.type('=' + kernel.name);
	await page.keyboard.press('Enter');
	await until(page, (n) => __view.model.selected.value?.name === n, kernel.name);
	await press('Escape', 'z');
	const at = await page.evaluate(() => __view.view.shown());

	truth(at.t0 <= rel(kernel.start) && at.t1 >= rel(kernel.end) && at.t1 - at.t0 < 3 * (kernel.end - kernel.start), `shows ${JSON.stringify(at)}`);
	await press('w', 'w', 'd');
	const closer = await page.evaluate(() => __view.view.shown());

	near((closer.t1 - closer.t0) / (at.t1 - at.t0), 0.64, 0.001, 'two steps of zoom');
	await press('Control+z');
	const back = await page.evaluate(() => __view.view.shown());

	near(back.t0, at.t0, 1, 'back');
	await press('Home');
	const all = await page.evaluate(() => [__view.view.shown(), __view.view.limits]);

	truth(all[0].t0 <= all[1].t0 && all[0].t1 >= all[1].t1, 'everything');
});

await test('the wheel, a drag of the map, and a time that is typed move the view', async () => {
	await reset();
	const spot = await spotOf('thread', '', 0);

	await page.mouse.move(700, spot.y);
	await page.keyboard.down('Control');
	for (let i = 0; i < 5; i++)
		await page.mouse.wheel(0, -100);
	await page.keyboard.up('Control');
	await settled(page);
	const before = await page.evaluate(() => __view.view.shown());

	truth(before.t1 - before.t0 < 0.3 * 8e8, 'the wheel zooms');
	const map = await page.locator('.map').boundingBox();

	await page.mouse.click(map.x + map.width * 0.9, map.y + 15);
	await settled(page);
	const moved = await page.evaluate(() => [__view.view.shown(), __view.view.limits]);

	near((moved[0].t0 + moved[0].t1) / 2, moved[1].t0 + 0.9 * (moved[1].t1 - moved[1].t0), 0.01 * (moved[1].t1 - moved[1].t0), 'the middle');
	await page.keyboard.press('g');
	await page.waitForSelector('dialog[open] input:focus');
	await page.keyboard.type('250 ms');
	await page.keyboard.press('Enter');
	await settled(page);
	const there = await page.evaluate(() => __view.view.shown());

	near((there.t0 + there.t1) / 2, 250e6, 2, 'go to 250 ms');
});

await test('a tree closed by keys keeps its outline, and its rows come back', async () => {
	await reset();
	const count = () => page.evaluate(() => __view.model.placed.value.rows.length);
	const before = await count();

	await press('ArrowDown', 'ArrowDown');
	await press('c');
	truth(await count() < 8, 'all closed');
	await press('c');
	truth(await count() >= 8, 'open again');
	await page.evaluate(() => { __view.model.everyRow((r) => { r.open = r.kids.length > 0; }); __view.model.changed(); });
	truth(await count() >= before, 'every row');
	equal(await page.getAttribute('[role=treeitem].current', 'aria-selected'), 'true', 'the current row');
});

/* ---- 2: details, stack, arrows ---- */

await test('the details have every column of the row', async () => {
	await reset();
	await find(kernel.name);
	const got = await selected();

	equal([got.table, got.rowid, got.start, got.end], ['CUPTI_ACTIVITY_KIND_KERNEL', kernel.row, rel(kernel.start), rel(kernel.end)], 'the event');
	const shown = await page.$$eval('.details table.pairs:last-of-type tr', (rows) => rows.map((r) => [r.children[0].textContent, r.children[1].textContent]));
	const [row] = sql(report, `SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = ${kernel.row}`);

	for (const [column, value] of Object.entries(row))
		equal(shown.find(([c]) => c === column)?.[1], value === null ? 'NULL' : String(value), column);
	truth((await page.textContent('.spoken')).includes(kernel.name), 'the live region has its name');
});

await test('the pointer has name and duration of an event beside it', async () => {
	await reset();
	await bring('stream', 'stream 7');
	await show(rel(kernel.start) - 1e6, rel(kernel.end) + 1e6);
	const spot = await spotOf('stream', 'stream 7', (rel(kernel.start) + rel(kernel.end)) / 2);

	await page.mouse.move(spot.x, spot.y);
	await page.waitForSelector('.tip');
	await until(page, () => /900\.0 µs/.test(document.querySelector('.tip')?.textContent), null, 'the exact duration');
	const tip = await page.textContent('.tip');

	truth(tip.includes(kernel.name.slice(0, 20)), tip);
});

if (capabilities.includes('stream'))
	await test('arrows lead from a call to its kernel and back, also to a pinned row', async () => {
		await reset();
		await find(kernel.name);
		await until(page, () => __view.model.flows.value.length > 0, null, 'an arrow');
		await press('BracketLeft');
		await until(page, () => __view.model.selected.value?.row?.kind === 'cuda', null, 'back along the arrow');
		const call = await selected();
		const [want] = sql(report, `SELECT start, end FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = ${kernel.id}`);

		equal([call.start, call.end], [rel(want.start), rel(want.end)], 'the call that launched it');
		await until(page, () => __view.model.flows.value.length > 0);
		await press('BracketRight');
		await until(page, (n) => __view.model.selected.value?.name === n, kernel.name, 'there again');
		await press('p');
		await until(page, () => __view.model.flows.value.length > 0);
		equal(await page.evaluate(() => __view.places(0, __view.model.selected.value.lane).some((p) => p.pinned)), true, 'the pinned row is a place for its arrows');
	});

await test('arrows lead to what woke a thread', async () => {
	const [switched] = sql(report, "SELECT s.start AS start, d.wakerTid & 0xffffff AS waker FROM SCHED_EVENTS s JOIN SL_SCHED_DETAIL d USING (start, globalTid) WHERE s.isSchedIn = 1 AND s.globalTid & 0xffffff = 4711 AND d.wakerTid IS NOT NULL ORDER BY 1 LIMIT 1");

	await reset();
	await bring('thread', '');
	await show(rel(switched.start) - 1e6, rel(switched.start) + 2e6);
	const spot = await spotOf('thread', '', rel(switched.start) + 3e5);

	await page.mouse.click(spot.x, spot.y);
	await until(page, () => __view.model.flows.value.some((f) => f.kind === 'wakeup'), null, 'the arrow of a wakeup');
	const waker = await page.evaluate(() => {
		const f = __view.model.flows.value.find((x) => x.kind === 'wakeup');

		return __view.model.rowOfLane.value.get('0:' + f.from.lane)?.ids;
	});

	equal(waker, `pid ${switched.waker}`, 'the waker, the main thread of its process');
});

await test('a call shows its stack', async () => {
	await reset();
	await find('read');
	const [want] = sql(report, 'SELECT group_concat(value) AS names FROM (SELECT s.value FROM SL_STACKS k JOIN SL_FRAMES f ON f.id = k.frameId JOIN StringIds s ON s.id = f.symbol WHERE k.id = 1 ORDER BY depth)');
	const shown = await page.$$eval('.stack li > span:first-child', (all) => all.map((x) => x.textContent).join(','));

	equal(shown, want.names, 'frames, the innermost first');
});

/* ---- 3: span to tables, flame graph ---- */

await test('tables of everything have count, total, mean, least and most of SQL', async () => {
	await reset();
	await press('e');
	const read = () => page.evaluate(() => [...document.querySelectorAll('.tables tbody tr')].map((r) => [...r.children].map((c) => c.textContent)));

	await page.fill('.tables input', 'forward');
	await settled(page);
	const rows = (await read()).filter((r) => r[1] === 'forward' && r[2] === 'NVTX');
	const [want] = sql(report, "SELECT count(*) AS n, sum(end - start) AS total, avg(end - start) AS mean, min(end - start) AS least, max(end - start) AS most FROM NVTX_EVENTS WHERE text = 'forward'");
	const text = (ns) => page.evaluate((v) => __view.format.dur(v), ns);

	equal([3, 4, 6].map((i) => rows[0][i]), [String(want.n), await text(want.total), await text(want.mean)], 'count, total, mean');
	equal(rows[0].slice(8, 10), [await text(want.least), await text(want.most)], 'least, most');
});

await test('tables of dragged rows are of these rows alone', async () => {
	await page.fill('.tables input', '');
	await reset();
	await bring('stream', 'stream 13');
	const spot = await spotOf('stream', 'stream 13', 0);

	await page.mouse.move(400, spot.y);
	await page.mouse.down();
	await page.mouse.move(1200, spot.y + 2, { steps: 4 });
	await page.mouse.up();
	await settled(page);
	const kinds = await page.evaluate(() => [...document.querySelectorAll('.tables tbody tr')].map((r) => r.children[2]?.textContent));
	const range = await page.evaluate(() => __view.model.range.value);
	const n = one(report, `SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE end > ${zero} + ${Math.floor(range.t0)} AND start < ${zero} + ${Math.ceil(range.t1)}`);
	const shown = await page.evaluate(() => [...document.querySelectorAll('.tables tbody tr')].reduce((sum, r) => sum + Number(r.children[3].textContent), 0));

	equal([...new Set(kinds)], ['stream'], 'kinds');
	equal(shown, n, 'copies in the span');
});

await test('the flame graph has as many samples as SQL', async () => {
	await reset();
	await press('e', '3');
	const shown = (await page.textContent('.flamebox .line')).match(/([\d\u2009]+) samples/)[1].replace(/\D/g, '');

	equal(Number(shown), one(report, 'SELECT count(*) FROM COMPOSITE_EVENTS WHERE stackId IS NOT NULL'), 'samples');
	await page.focus('.flame');
	await page.keyboard.press('ArrowDown');
	truth((await page.textContent('.flamebox .line b:nth-of-type(1)')) !== '', 'a function by keys');
});

/* ---- 4: search, filter, hide, pin, order ---- */

await test('search goes to next and previous in the order of time', async () => {
	await reset();
	await page.fill('#search', 'optimizer');
	await page.press('#search', 'Enter');
	await until(page, () => __view.model.selected.value?.name === 'optimizer');
	const first = (await selected()).start;
	await page.focus('.scroll');
	const want = sql(report, "SELECT start FROM NVTX_EVENTS WHERE text = 'optimizer' ORDER BY start").map((r) => rel(r.start));
	const projected = await page.evaluate(() => __view.model.selected.value.row.kind);
	const seen = [first];

	for (let i = 0; i < 3; i++) {
		const before = (await selected()).start;

		await page.keyboard.press('n');
		await until(page, (b) => __view.model.selected.value?.start > b, before, 'the next');
		seen.push((await selected()).start);
	}
	await page.keyboard.press('Shift+n');
	await until(page, (b) => __view.model.selected.value?.start < b, seen[3], 'the previous');
	equal((await selected()).start, seen[2], 'back');
	truth(want.includes(first) || projected === 'nvtx_gpu', 'the first is in SQL');
});

await test('rows can be filtered, hidden, pinned and ordered', async () => {
	await reset();
	const kinds = () => page.evaluate(() => __view.model.placed.value.rows.map((p) => p.row.kind));

	await page.fill('#filter', 'kind:counter');
	const left = await kinds();

	truth(left.includes('counter') && !left.includes('osrt'), left.join());
	/* A word about the row, one about a row above it. */
	await page.fill('#filter', 'kind:libc tid:4720');
	equal(await kinds(), ['thread', 'thread', 'osrt'], 'of one thread, below the process that started its own');
	await page.fill('#filter', 'nothing like this');
	truth(await page.isVisible('.nomatch'), 'none');
	await page.fill('#filter', '');
	await page.focus('.scroll');
	await page.evaluate(() => { __view.model.current.value = __view.model.placed.value.rows.find((p) => p.row.kind === 'nvtx').row; });
	const rows = (await kinds()).length;

	await press('p');
	equal(await page.locator('.pins [role=treeitem]:not(.own)').count(), 1, 'pinned');
	await press('h');
	equal((await kinds()).length, rows - 1, 'hidden');
	await press('Shift+h');
	equal((await kinds()).length, rows, 'shown again');
	const order = () => page.evaluate(() => __view.model.placed.value.rows.filter((p) => p.row.level === 2 && p.row.joined).map((p) => p.row.ids).slice(0, 2));
	const before = await order();

	await page.evaluate(() => { __view.model.current.value = __view.model.placed.value.rows.find((p) => p.row.level === 2 && p.row.joined).row; });
	await press('Alt+ArrowDown');
	equal((await order())[0] !== before[0], true, 'moved down');
	await press('Alt+ArrowUp');
	equal(await order(), before, 'moved up');
});

/* ---- 5: measure, gaps ---- */

await test('measure snaps to the edges of an event', async () => {
	await reset();
	await bring('stream', 'stream 7');
	await show(rel(kernel.start) - 1e6, rel(kernel.end) + 1e6);
	const a = await spotOf('stream', 'stream 7', rel(kernel.start)), b = await spotOf('stream', 'stream 7', rel(kernel.end));

	await page.keyboard.press('m');
	await page.mouse.move(a.x + 3, a.y);
	await page.mouse.down();
	await page.mouse.move(b.x - 20, b.y, { steps: 3 });
	await page.mouse.move(b.x - 3, b.y);
	await page.mouse.up();
	const got = await page.evaluate(() => [__view.model.measure.value, __view.view.view.scale]);

	near(got[0].t1 - got[0].t0, kernel.end - kernel.start, got[1], 'within a pixel');
});

await test('measure by keys goes from one event to the next', async () => {
	const [first, second] = sql(report, "SELECT start FROM NVTX_EVENTS WHERE text = 'set up' OR text = 'step' ORDER BY start LIMIT 2");

	await reset();
	await find('set up');
	await page.keyboard.press('Shift+M');
	await page.keyboard.press('ArrowRight');
	await until(page, () => __view.model.selected.value?.name === 'step');
	await page.keyboard.press('Shift+M');
	const got = await page.evaluate(() => __view.model.measure.value);

	equal(got.t1 - got.t0, second.start - first.start, 'from start to start');
	truth(/between/.test(await page.textContent('.spoken')), 'the live region has it');
});

await test('a gap can be selected, and shows its neighbours, length and reason', async () => {
	const [gap] = sql(report, 'SELECT z AS start, n AS end FROM (SELECT a.end AS z, (SELECT min(b.start) FROM CUPTI_ACTIVITY_KIND_KERNEL b WHERE b.start >= a.end) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL a) ORDER BY n - z DESC LIMIT 1');

	await reset();
	await bring('stream', 'stream 7');
	await show(rel(gap.start) - 1e6, rel(gap.end) + 1e6);
	const spot = await spotOf('stream', 'stream 7', (rel(gap.start) + rel(gap.end)) / 2);

	await page.mouse.click(spot.x, spot.y);
	await until(page, () => __view.model.selected.value?.json === null, null, 'a gap');
	const got = await selected();

	equal([got.gap, got.start, got.end], [true, rel(gap.start), rel(gap.end)], 'from where to where');
	truth(got.before && got.after, 'neighbours');
});

if (capabilities.includes('why'))
	await test('a wait shows why the thread waited', async () => {
		const [sleep] = sql(report, 'SELECT o.start AS start, (SELECT min(i.start) FROM SCHED_EVENTS i WHERE i.globalTid = o.globalTid AND i.isSchedIn = 1 AND i.start > o.start) AS end FROM SCHED_EVENTS o WHERE o.globalTid & 0xffffff = 4711 AND o.isSchedIn = 0 ORDER BY 2 - 1 LIMIT 1 OFFSET 2');

		await reset();
		await bring('thread', '');
		await show(rel(sleep.start) - 1e6, rel(sleep.end) + 1e6);
		const spot = await spotOf('thread', '', (rel(sleep.start) + rel(sleep.end)) / 2);

		await page.mouse.click(spot.x, spot.y);
		await page.waitForSelector('.why li');
		const text = await page.textContent('.why');

		truth(/\d/.test(text), text);
	});

/* ---- 8: SQL ---- */

await test('SQL is answered, an error shown, and a statement that writes refused', async () => {
	await reset();
	await press('4');
	await page.waitForFunction(() => document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content'));
	const run = async (text) => {
		await page.evaluate(() => document.querySelector('.editor').shadowRoot.querySelector('.cm-content').focus());
		await page.keyboard.press('Control+a');
		await page.keyboard.press('Delete');
		await page.keyboard.insertText(text);
		await page.keyboard.press('Escape');
		await page.click('#run-sql');
		await settled(page);
		return page.textContent('.sqlpane .right');
	};

	truth((await run('SELECT count(*) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL')).includes(String(one(report, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL'))), 'a count');
	truth((await run('SELECT * FROM nowhere')).includes('nowhere'), 'the error');
	for (const bad of ['UPDATE StringIds SET value = 1', "ATTACH 'x' AS y", 'DELETE FROM StringIds', 'PRAGMA journal_mode = DELETE']) {
		const answer = await run(bad);

		truth(await page.isVisible('.sqlpane .error'), `${bad}: ${answer}`);
	}
});

/* ---- 9: bookmarks, pictures ---- */

await test('bookmarks and the view are in the address', async () => {
	await reset();
	await show(1e8, 2e8);
	await page.keyboard.press('b');
	await page.waitForSelector('dialog[open] input:focus');
	await page.keyboard.type('slow step');
	await page.keyboard.press('Enter');
	await until(page, () => location.hash.includes('slow'), null, 'in the address');
	truth(!page.url().includes('t=' + server.address.split('t=')[1]), 'the token is not');
	const before = await page.evaluate(() => __view.view.shown());

	await page.reload();
	await page.waitForFunction(() => window.__view?.model.sources.value.length > 0 && __view.model.marks.value.length > 0);
	const after = await page.evaluate(() => [__view.model.marks.value[0].text, __view.view.shown()]);

	equal(after[0], 'slow step', 'the note');
	near(after[1].t0, before.t0, 2, 'the view');
	await page.evaluate(() => { __view.model.marks.value = []; });
});

await test('the picture is saved as PNG and SVG, the span as Chrome JSON', async () => {
	const save = async (command) => {
		const [download] = await Promise.all([page.waitForEvent('download'), (async () => {
			await page.keyboard.press('Control+k');
			await page.waitForSelector('dialog[open] input:focus');
			await page.keyboard.type(command);
			await page.keyboard.press('Enter');
		})()]);

		return readFileSync(await download.path());
	};
	const png = await save('as PNG');

	equal(png.subarray(1, 4).toString(), 'PNG', 'signature');
	truth(png.readUInt32BE(16) === 1400 - 0 || png.readUInt32BE(16) > 1300, 'width');
	await page.evaluate(() => { __view.model.range.value = { t0: 0, t1: 1e8 }; });
	const events = JSON.parse(await save('Chrome JSON'));
	const n = one(report, `SELECT count(*) FROM (SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY) WHERE end > ${zero} AND start < ${zero} + 100000000`);

	equal((events.traceEvents ?? events).filter((e) => e.cat === 'stream' && e.ph === 'X').length, n, 'what the GPU did, in the Chrome JSON');
	const svg = (await save('as SVG')).toString();

	truth(svg.startsWith('<svg') && svg.includes('stream 7'), svg.slice(0, 200));
});

/* ---- looks ---- */

await test('names on the rows have a contrast of at least 4.5 in both themes', async () => {
	for (const theme of ['light', 'dark']) {
		const worst = await page.evaluate((t) => {
			__view.theme.choose(t);
			const { colours, names, theme } = __view;
			const ink = (c) => c === '#000' ? { r: 0, g: 0, b: 0 } : { r: 255, g: 255, b: 255 };

			return names.map((_, i) => theme.contrast(theme.unpack(colours.table()[i]), ink(colours.inkOf(i)))).reduce((a, b) => Math.min(a, b));
		}, theme);

		truth(worst >= 4.5, `${theme}: ${worst}`);
		const texts = await page.evaluate(() => {
			const css = getComputedStyle(document.documentElement);
			const parse = (v) => { const n = parseInt(css.getPropertyValue(v).trim().slice(1), 16); return { r: n >> 16, g: n >> 8 & 255, b: n & 255 }; };

			return ['--text', '--quiet', '--link', '--alarm'].flatMap((a) => ['--page', '--panel', '--group', '--select'].map((b) => [a, b, __view.theme.contrast(parse(a), parse(b))]));
		});

		for (const [a, b, ratio] of texts)
			truth(ratio >= 4.5, `${theme}: ${a} on ${b}: ${ratio}`);
	}
	await page.evaluate(() => __view.theme.choose('auto'));
});

note(`first picture ${Math.round(await page.evaluate(() => __view.stage.firstPicture))} ms after navigation`);
await test('a page of 320 pixels draws rows, and nothing hangs out', async () => {
	const small = await browser.open(server.address, { width: 320, height: 640 });
	const at = await small.evaluate(() => [document.documentElement.scrollWidth, __view.counted.rectangles]);

	truth(at[0] <= 320 && at[1] > 100, JSON.stringify(at));
	await small.screenshot({ path: `${folder}/narrow.png` });
	await small.context().close();
});

await test('the same view gives the same picture, and a dark theme a dark one', async () => {
	const shots = [];

	for (const colorScheme of ['light', 'light', 'dark']) {
		const again = await browser.open(server.address, { colorScheme });

		shots.push(await again.screenshot({ path: `${folder}/${colorScheme}.png` }));
		await again.context().close();
	}
	const differing = await page.evaluate(async (pictures) => {
		const read = async (b64) => {
			const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(b64), (c) => c.charCodeAt(0))], { type: 'image/png' }));
			const c = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');

			c.drawImage(bitmap, 0, 0);
			return c.getImageData(0, 0, bitmap.width, bitmap.height).data;
		};
		const [a, b, d] = await Promise.all(pictures.map(read));
		const share = (x, y) => { let n = 0; for (let i = 0; i < x.length; i += 4) n += Math.abs(x[i] - y[i]) + Math.abs(x[i + 1] - y[i + 1]) + Math.abs(x[i + 2] - y[i + 2]) > 24; return 4 * n / x.length; };

		return [share(a, b), share(a, d)];
	}, shots.map((s) => s.toString('base64')));

	truth(differing[0] < 0.01, `${differing[0]} of the pixels differ`);
	truth(differing[1] > 0.5, `the dark page differs in ${differing[1]} only`);
});

await test('the picture of README.md can be made', async () => {
	await page.setViewportSize({ width: 1280, height: 760 });
	await reset();
	const [a] = sql(report, "SELECT start, end FROM NVTX_EVENTS WHERE text = 'step' ORDER BY start LIMIT 1 OFFSET 8");
	const [call] = sql(report, `SELECT r.start AS t FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN CUPTI_ACTIVITY_KIND_KERNEL k USING (correlationId) WHERE r.start > ${a.start} + 5500000 ORDER BY r.start LIMIT 1`);

	await show(rel(a.start) - 4e6, rel(a.end) + 8e6);
	await bring('cuda', '');
	const spot = await spotOf('cuda', '', rel(call.t));

	await page.mouse.click(spot.x, spot.y);
	await until(page, () => __view.model.flows.value.length > 0);
	await page.mouse.move(1270, 20);
	await settled(page);
	const png = await page.screenshot({ path: `${folder}/readme.png` });

	truth(png.length < 150 * 1024, `${png.length} bytes`);
	await page.setViewportSize({ width: 1400, height: 850 });
	await settled(page);
});

/* ---- strain ---- */

await test('the heap stays small over 500 zooms', async () => {
	await reset();
	await page.mouse.move(800, 300);
	await page.evaluate(() => { __view.frames.length = 0; });
	await page.evaluate(async () => {
		for (let i = 0; i < 500; i++) {
			__view.view.zoom(i % 40 < 20 ? 0.8 : 1.25, 400);
			if (i % 5 === 0)
				await new Promise((done) => requestAnimationFrame(done));
		}
	});
	await settled(page);
	const times = await page.evaluate(() => [...__view.frames].sort((a, b) => a - b));
	const session = await page.context().newCDPSession(page);

	await session.send('HeapProfiler.collectGarbage');
	const heap = (await session.send('Runtime.getHeapUsage')).usedSize / 1e6;

	note(`heap ${heap.toFixed(1)} MB; drawing took ${times[times.length >> 1].toFixed(1)} ms in the median frame, ${times[Math.floor(times.length * 0.95)].toFixed(1)} ms at 95 %`);
	truth(heap <= 150, `${heap} MB`);
});

await test('a small cache asks again for tiles and names that it dropped, and looks the same', async () => {
	await reset();
	await show(0, 3e7);
	const before = await page.screenshot({ path: `${folder}/cache-before.png` });
	const most = await page.evaluate(() => { const was = { ...__view.most }; Object.assign(__view.most, { bytes: 60000, names: 4 }); return was; });
	const names = await page.evaluate(() => __view.names.length);

	for (let i = 0; i < 12; i++)
		await show(i * 1.2e7 / 2 ** (i % 4), i * 1.2e7 / 2 ** (i % 4) + 3e7 / 3 ** (i % 5));
	const cached = await page.evaluate(() => __view.cached());

	truth(cached.names < 3 * names && cached.bytes < 5e6, JSON.stringify(cached));
	await show(0, 3e7);
	truth((await page.screenshot({ path: `${folder}/cache-after.png` })).equals(before), 'the same picture');
	await page.evaluate((was) => Object.assign(__view.most, was), most);
});

await otherPages({ bin, folder, report, browser, server, selected });
await faultPages({ bin, folder, report, browser, server });
await answerPages({ bin, folder, report, browser, server });
await notePages({ bin, folder, browser });
await farPages({ browser, server });

await test('no error in any console', () => equal(browser.errors, []));
await test('no request to another host', () => equal(browser.strangers, []));
if (!capabilities.includes('why'))
	skip('a wait shows why the thread waited', 'the server has no reasons');
await browser.close();
await server.end();
finish();
