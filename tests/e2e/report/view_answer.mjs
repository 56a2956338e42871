/*
 * view_answer.mjs - the answer of `sightline why` on the page of `sightline view`, places that commands name, and single events: held
 * against the command and against SQL on the same report.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { equal, near, one, pixels, serve, settled, sql, test, truth, until } from './page.mjs';

export async function answerPages({ bin, folder, report, browser, server }) {
	const page = await browser.open(server.address, { width: 1440, height: 900 });
	const text = execFileSync(bin, ['why', report], { encoding: 'utf8' });
	const json = JSON.parse(execFileSync(bin, ['why', '-f', 'json', '--limit=0', '--max-bytes=0', report], { encoding: 'utf8' }));
	const own = (kind) => page.evaluate((k) => __view.model.ownRows.value.filter((r) => r.kind === k).map((r) => ({ name: r.name, about: r.about, full: r.full, lane: r.lanes[0] })), kind);

	await test('the first rows are where the time of the main thread and of the GPU went, then the three best findings', async () => {
		await until(page, () => document.querySelectorAll('.pins .finding').length === 3, null, 'three findings');
		equal((await own('why')).map((r) => r.name), ['main thread', 'GPU 0'], 'tracks');
		/* Processes share a GPU: its track names none of them. */
		equal(await page.evaluate(() => __view.model.ownRows.value.filter((r) => r.kind === 'why' && r.name === 'GPU 0').map((r) => r.ids)), [''], 'ids of the track of a GPU');
		const want = [...text.matchAll(/^ +\d +([\d.]+) % +[\d.]+ \w+ {2}(.*?): /gm)].slice(0, 3).map(([, share, place]) => [share, place]);
		const got = (await own('finding')).map((r) => [r.name.match(/^([\d.]+) %/)[1], r.about]);

		equal(got, want, 'as the command has them');
	});

	await test('the track of causes has as much of each reason as the command', async () => {
		const sums = await page.evaluate(() => {
			const [row] = __view.model.ownRows.value, of = {};
			const { starts, ends, kinds, names } = __view.local(row.source, row.lanes[0]);

			starts.forEach((s, i) => { const reason = names[kinds[i]].text.split(':')[0]; of[reason] = (of[reason] ?? 0) + ends[i] - s; });
			return of;
		});
		const total = Object.values(sums).reduce((a, b) => a + b, 0);

		near(total, json.focus.ns, 1, 'all of the time');
		const line = /([\d.]+) % +[\d.]+ \w+ {2}GPU works/.exec(text);

		near(100 * sums['GPU works'] / total, Number(line[1]), 0.06, 'GPU works');
	});

	await test('a finding leads to its worst place, which is the one that the command names', async () => {
		const [, at, tid] = /at worst: sightline view \S+ --at ([\d.]+)s --row (\d+)/.exec(text.slice(text.indexOf('train.py:41')));
		const line = page.locator('.pins .finding', { hasText: 'train.py:41' }).locator('.link');

		await line.click();
		await until(page, () => __view.model.selected.value !== null, null, 'a selection');
		await settled(page);
		const [start, ids, shown] = await page.evaluate(() => [__view.model.selected.value.start, __view.model.selected.value.row.ids, __view.view.shown()]);

		truth(ids === `pid ${tid}`, ids);
		truth(shown.t0 <= at * 1e9 && at * 1e9 <= shown.t1 && Math.abs(start - at * 1e9) <= (shown.t1 - shown.t0), `${start} for ${at} s in ${JSON.stringify(shown)}`);
		await page.waitForSelector('.why li');
	});

	await test('the pane of findings has every line with its share, and what a change would save', async () => {
		await page.evaluate(() => document.querySelector('.scroll').focus());
		await page.keyboard.press('6');
		const lines = await page.$$eval('.findings tbody tr', (all) => all.map((r) => r.textContent));

		truth(lines.length >= 3 && lines.some((l) => /train\.py:41/.test(l) && /would save/.test(l)), lines.join('\n'));
	});

	await test('the strip has a bar for each step, with median and outliers, and leads to them', async () => {
		const want = sql(report, "SELECT start, end FROM NVTX_EVENTS WHERE text = 'step' ORDER BY start");
		const lengths = want.map((s) => s.end - s.start).sort((a, b) => a - b);
		const text = await page.textContent('.strip');

		truth(text.includes('20 steps “step”') && text.includes(await page.evaluate((ns) => __view.format.dur(ns), (lengths[9] + lengths[10]) / 2)), text);
		const box = await page.locator('.strip canvas').boundingBox();
		const shown = async (n) => {
			await until(page, (t) => __view.model.selected.value?.start === t, want[n].start, `step ${n + 1}`);
			await settled(page);
			const at = await page.evaluate(() => __view.view.shown());

			truth(at.t0 < want[n].start && at.t1 > want[n].end && at.t1 - at.t0 < 2 * (want[n].end - want[n].start), JSON.stringify(at));
		};

		await page.mouse.click(box.x + box.width * 5.5 / 20, box.y + 20);
		await shown(5);
		truth(/outlier/.test(await page.getAttribute('.strip canvas', 'aria-valuetext')), 'every seventh step is three times as slow to get its data');
		await page.focus('.strip canvas');
		await page.keyboard.press('ArrowRight');
		await shown(6);
		await page.focus('.scroll');
		await page.keyboard.press('Shift+Comma');
		await shown(5);
		const { width, data } = await pixels(page, '.strip canvas');
		const marked = new Set();

		for (let i = 0; i < data.length; i += 4)
			if (data[i] === 0xb3 && data[i + 1] === 0x26 && data[i + 2] === 0x1e)
				marked.add(Math.floor((i / 4 % width) / width * 20));
		equal([...marked].sort((a, b) => a - b), [5, 12, 19], 'marked');
	});

	await test('view --at --row --span opens there', async () => {
		const [step] = sql(report, "SELECT start, end FROM NVTX_EVENTS WHERE text = 'step' ORDER BY start LIMIT 1 OFFSET 5");
		const seconds = (ns) => `${(ns / 1e9).toFixed(6)}s`;
		const placed = await serve(bin, ['--port', '18490', report, '--at', seconds(step.start + 1e6), '--row', '4720', '--span', `${seconds(step.start)}-${seconds(step.end)}`]);
		const there = await browser.open(placed.address);

		await until(there, () => __view.model.selected.value !== null, null, 'an event at that time');
		const [ids, shown, start, end] = await there.evaluate(() => { const e = __view.model.selected.value; return [e.row.ids, __view.view.shown(), e.start, e.end]; });

		equal(ids, 'pid 4720', 'the row');
		near(shown.t0, step.start, 1100, 'from');
		near(shown.t1, step.end, 1100, 'to');
		truth(start <= step.start + 1e6 && end >= step.start + 1e6, `${start} to ${end}`);
		await there.context().close();
		await placed.end();
		for (const bad of [['--at', 'noon'], ['--span', '5s-3s'], ['--at', '1s,2s']]) {
			let status = 0;

			try {
				execFileSync(bin, ['view', '--no-open', report, ...bad], { stdio: 'pipe', timeout: 20000 });
			} catch (e) {
				status = e.status;
			}
			equal(status, 2, bad.join(' '));
		}
	});

	/* ---- single events ---- */

	const lines = () => page.$$eval('table.events tbody tr', (all) => all.map((r) => [...r.children].map((c) => c.textContent)));
	const ask = async (filter) => {
		await page.fill('#events', filter);
		await settled(page);
	};

	await test('single events: a filter of name, kind, thread and duration finds what SQL finds, sorted', async () => {
		await page.evaluate(() => { __view.model.range.value = __view.model.rangeRows.value = null; document.querySelector('.scroll').focus(); });
		await page.keyboard.press('5');
		await page.waitForSelector('#events:focus');
		await ask('read kind:libc dur>200us pid:4720');
		const want = sql(report, "SELECT start, end - start AS ns FROM OSRT_API JOIN StringIds ON id = nameId WHERE value LIKE '%read%' AND end - start > 200000 AND globalTid >> 24 & 0xffffff = 4720 ORDER BY ns DESC, start");

		truth(want.length > 20, `${want.length} reads`);
		equal(Number((await page.textContent('.tables .line b')).replace(/\D/g, '')), want.length, 'how many');
		await page.getByRole('button', { name: 'Duration', exact: true }).click();
		await settled(page);
		const got = (await lines()).filter((r) => r.length === 7).slice(0, 20).map((r) => r[5]);

		equal(got, await page.evaluate((all) => all.map((ns) => __view.format.dur(ns)), want.slice(0, 20).map((r) => r.ns)), 'the longest first');
	});

	await test('single events: arguments, expressions, names that are not wanted', async () => {
		const path = one(report, "SELECT value FROM StringIds WHERE value LIKE '/data/%' AND id IN (SELECT pathId FROM OSRT_API) LIMIT 1");
		const count = async (filter) => { await ask(filter); return Number((await page.textContent('.tables .line b')).replace(/\D/g, '')); };

		equal(await count(`arg:"${path}" kind:libc`), one(report, `SELECT count(*) FROM OSRT_API JOIN StringIds s ON s.id = pathId WHERE s.value = '${path}'`), 'of one path');
		equal(await count('name:/^(openat|close)$/ kind:libc'), one(report, "SELECT count(*) FROM OSRT_API JOIN StringIds ON id = nameId WHERE value IN ('openat', 'close')"), 'an expression');
		equal(await count('kind:libc -read -openat -close'), one(report, "SELECT count(*) FROM OSRT_API JOIN StringIds ON id = nameId WHERE value NOT LIKE '%read%' AND value NOT IN ('openat', 'close')"), 'without');
		equal(await count('=step kind:nvtx -kind:gpu'), 20, 'steps');
		equal(await count('stream:7 dur<=100us'), one(report, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE streamId = 7 AND end - start <= 100000'), 'of a stream');
	});

	await test('a filter that is wrong has its wrong part marked, and a way out', async () => {
		await ask('read knd:libc dur>10ms');
		truth(/“kind:”/.test(await page.textContent('.wrong')) && (await page.textContent('.wrong mark')) === 'knd', await page.textContent('.wrong'));
		await ask('dur>soon');
		truth((await page.textContent('.wrong mark')) === 'dur>soon', await page.textContent('.wrong'));
		await ask('name:/^(/');
		truth(/regular expression/.test(await page.textContent('.wrong')), await page.textContent('.wrong'));
	});

	await test('single events are saved as CSV, and become a row', async () => {
		await ask('=step kind:nvtx -kind:gpu');
		const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()]);
		const csv = readFileSync(await download.path(), 'utf8').trim().split('\n');
		const want = sql(report, "SELECT start, end - start AS ns FROM NVTX_EVENTS WHERE text = 'step' ORDER BY ns DESC, start");

		equal(csv[0], 'start_ns,duration_ns,name,kind,of', 'head');
		equal(csv.slice(1).map((l) => l.split(',').slice(0, 2).map(Number)), want.map((r) => [r.start, r.ns]), 'lines');
		await page.getByRole('button', { name: 'Make this a row' }).click();
		await settled(page);
		equal(await page.evaluate(() => __view.model.ownRows.value.filter((r) => r.kind === 'query').map((r) => [r.name, r.events])), [['=step kind:nvtx -kind:gpu', 20]], 'a row');
		await page.locator('.pins [aria-label=Close]').first().click({ force: true });
		equal(await page.evaluate(() => __view.model.ownRows.value.filter((r) => r.kind === 'query').length), 0, 'closed');
	});

	await test('a part of the histogram of durations chooses events', async () => {
		await ask('kind:libc read');
		const box = await page.locator('.histogram svg').boundingBox();

		await page.mouse.move(box.x + box.width * 0.75, box.y + 10);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width - 2, box.y + 10);
		await page.mouse.up();
		await settled(page);
		const shown = Number((await page.textContent('.tables .line b')).replace(/\D/g, ''));
		const all = one(report, "SELECT count(*) FROM OSRT_API JOIN StringIds ON id = nameId WHERE value LIKE '%read%'");

		truth(shown > 0 && shown < all, `${shown} of ${all}`);
		await ask('');
	});

	await test('the search field has the same language', async () => {
		await page.evaluate(() => { __view.model.selected.value = null; __view.view.showAll(); });
		await page.fill('#search', 'read dur>300us kind:libc');
		await page.press('#search', 'Enter');
		await until(page, () => __view.model.selected.value?.name === 'read', null, 'a read');
		const want = sql(report, "SELECT start FROM OSRT_API JOIN StringIds ON id = nameId WHERE value LIKE '%read%' AND end - start > 300000 ORDER BY start").map((r) => r.start);

		equal(await page.evaluate(() => __view.model.selected.value.start), want[0], 'the first');
		await page.press('#search', 'Enter');
		await until(page, (t) => __view.model.selected.value.start > t, want[0], 'the next');
		equal(await page.evaluate(() => __view.model.selected.value.start), want.find((t) => t > want[0]), 'the next');
		equal(await page.textContent('.hits'), String(want.length), 'how many');
		await page.click('.hits');
		await settled(page);
		equal(Number((await page.textContent('.tables .line b')).replace(/\D/g, '')), want.length, 'and a list of them');
	});

	await page.context().close();
}
