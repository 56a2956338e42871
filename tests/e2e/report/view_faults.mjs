/*
 * view_faults.mjs - faults that the page of `sightline view` had once, each by what a person sees of it. odd.sqlite is of
 * view_faults_make.py, train.sqlite of view_make.py.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { equal, near, one, pixels, serve, settled, sql, test, truth, until } from './page.mjs';

const BEGIN = 5e9; /* of the program in odd.sqlite */

export async function faultPages({ bin, folder, report, browser, server }) {
	const odd = `${folder}/odd.sqlite`;
	const oddServer = await serve(bin, ['--port', '18480', odd]);
	const page = await browser.open(oddServer.address, { width: 1440, height: 900 });
	const train = await browser.open(server.address, { width: 1440, height: 900 });
	const rows = (p = page) => p.evaluate(() => __view.model.placed.value.rows.map((q) => ({ name: q.row.name, ids: q.row.ids, kind: q.row.kind, joined: q.row.joined, level: q.row.level, open: q.row.open, y: q.y, height: q.height, events: q.row.events, counter: q.row.counter })));
	const reset = async (p) => {
		await p.evaluate(() => {
			const m = __view.model;

			m.selected.value = m.range.value = m.rangeRows.value = m.measure.value = null;
			m.flows.value = [];
			m.search.value = m.filter.value = m.notice.value = m.dialog.value = '';
			m.paneOpen.value = false;
			m.everyRow((r) => { r.open = r.kids.length > 0; });
			m.changed();
			document.querySelector('.scroll').focus();
			__view.view.showAll();
		});
		await p.mouse.move(5, 5);
		await settled(p);
	};
	const spotOf = (p, kind, ids, t) => p.evaluate(([k, i, at]) => {
		const q = __view.model.placed.value.rows.find((x) => x.row.kind === k && (!i || x.row.ids === i || x.row.parent?.ids === i));
		const scroll = document.querySelector('.scroll');

		scroll.scrollTop = Math.max(0, q.y - 100);
		const box = document.querySelector('.stick canvas').getBoundingClientRect();

		return { x: box.left + __view.view.xOf(at), y: box.top + q.y - scroll.scrollTop + q.height / 2 };
	}, [kind, ids, t]);
	const find = async (p, name) => {
		await p.fill('#search', '=' + name);
		await p.press('#search', 'Enter');
		await until(p, (n) => __view.model.selected.value?.name === n, name, `search for ${name}`);
		await p.press('#search', 'Escape');
		await settled(p);
	};
	const click = async (p, kind, ids, t) => {
		await spotOf(p, kind, ids, t);
		await settled(p);
		const s = await spotOf(p, kind, ids, t);

		await p.mouse.click(s.x, s.y);
		await settled(p);
	};

	/* ---- what opens ---- */

	await test('threads have their names in a page that was opened before the index was whole', async () => {
		let early = true;
		const other = await browser.open(oddServer.address, { prepare: (p) => p.route('**/v1/report*', async (route) => {
			const response = await route.fetch();

			if (!early)
				return route.fulfill({ response });
			early = false;
			return route.fulfill({ response, json: { ...await response.json(), generation: -2, state: 'building', progress: 0.5 } });
		}) });
		const names = await other.evaluate(() => { const all = []; __view.model.everyRow((r) => { if (r.kind === 'thread') all.push(r.name); }); return all; });

		truth(names.length > 64 && !names.includes('state'), [...new Set(names)].slice(0, 9).join());
		equal(names.filter((n) => n === 'thread-7').length, 1, 'one thread is called thread-7');
		await other.context().close();
	});

	await test('the first screen has the rows with most events, and small processes are one closed row', async () => {
		const all = await rows();
		const height = await page.evaluate(() => __view.stage.height);
		const seen = all.filter((r) => r.y < height && r.kind === 'osrt');
		const total = one(odd, 'SELECT count(*) FROM OSRT_API');
		const shown = seen.reduce((sum, r) => sum + r.events, 0);

		truth(shown >= 0.8 * total, `${shown} of ${total} calls are in rows in sight`);
		const group = all.filter((r) => r.kind === 'group');

		equal(group.map((r) => [r.name, r.open]), [['30 small processes', false]], 'the shells');
		truth(all.filter((r) => r.name === 'bash').length === 0, 'no shell has a row of its own');
		truth(seen.length >= 3 && all[0].ids === 'pid 100', all[0].ids);
	});

	await test('a process with more threads than there is room for is open, and the page is full', async () => {
		const all = await rows();
		const { height, bottom } = await page.evaluate(() => { const r = __view.model.placed.value; return { height: __view.stage.height, bottom: r.height }; });

		truth(all.some((r) => r.name === 'thread-1'), 'its threads');
		truth(bottom > height, `rows end at ${bottom} of ${height}`);
	});

	await test('the first screen has four of five events, and no time without them', async () => {
		for (const name of ['train', 'odd', 'streams']) {
			const alone = await serve(bin, ['--port', '18500', `${folder}/${name}.sqlite`]);
			const p = await browser.open(alone.address, { width: 1440, height: 900 });

			await until(p, () => __view.model.sources.value[0].state === 'ready', null, 'the index');
			await settled(p);
			const [visible, blank] = await p.evaluate(() => {
				const m = __view.model, bottom = document.querySelector('.scroll').clientHeight, { t0, t1 } = __view.view.shown();
				const counts = (r) => r.id > 0 && !r.counter && !['file', 'lock'].includes(r.kind);
				const seen = m.placed.value.rows.filter((q) => q.y + q.height <= bottom && counts(q.row)).map((q) => q.row);
				const times = seen.filter((r) => r.span && !['overhead', 'marks'].includes(r.kind)).map((r) => r.span);
				let all = 0;

				m.everyRow((r) => { all += counts(r) ? r.events : 0; });
				return [seen.reduce((sum, r) => sum + r.events, 0) / all,
					(Math.max(0, Math.min(...times.map(([a]) => a)) - t0) + Math.max(0, t1 - Math.max(...times.map(([, b]) => b)))) / (t1 - t0)];
			});

			truth(visible >= 0.8, `${name}: ${visible} of the events`);
			truth(blank <= 0.05, `${name}: ${blank} of the width is blank`);
			await p.context().close();
			await alone.end();
		}
	});

	await test('time begins with the program, on the clock of the report', async () => {
		const [shown, zero] = await page.evaluate(() => [__view.view.shown(), __view.model.sources.value[0].zero]);

		equal(zero, '0', "the report's zero");
		truth(shown.t0 < BEGIN && BEGIN - shown.t0 < 0.05 * (shown.t1 - shown.t0), `${shown.t0} to ${shown.t1}`);
	});

	await test('a process and its main thread are one row, and rows of the tracer stand behind the threads', async () => {
		await reset(page);
		const all = await rows();
		const at = (kind) => all.findIndex((r) => r.kind === kind && r.level === 2);

		equal(all.filter((r) => r.kind === 'process').length, 0, 'rows of processes alone');
		equal(all.filter((r) => r.joined).length, 34, 'joined rows');
		truth(at('marks') > at('osrt'), 'messages stand behind calls');
	});

	await test('counters of one unit have one scale', async () => {
		const scales = await page.evaluate(() => { const all = []; __view.model.everyRow((r) => { if (r.counter) all.push([r.unit, document.getElementById(`row-0-${r.id}`)?.querySelector('.scale')?.textContent, r.most]); }); return all; });
		const texts = new Set(scales.filter(([, text]) => text).map(([unit, text]) => unit + text));

		truth(new Set(scales.map(([, , most]) => most)).size > 1, 'the counters differ');
		equal(texts.size, 1, [...texts].join());
	});

	await test('incomplete stacks are not counted as lost events', async () => {
		const text = await page.textContent('.state');

		truth(/\D2 lost/.test(text) && /458 incomplete stacks/.test(text), text);
	});

	/* ---- selections ---- */

	await test('the page says whom a running thread woke, and leads there', async () => {
		await reset(page);
		await page.evaluate((t) => __view.view.show(t - 1e6, t + 40e6), BEGIN + 100e6);
		const woken = BEGIN + 120e6;

		await click(page, 'thread', 'pid 101', BEGIN + 110e6);
		await until(page, () => __view.model.flows.value.length > 0, null, 'arrows');
		const text = await page.textContent('.arrows');

		truth(/woke python3, pid 100/.test(text) && !/woken by python3, pid 101/.test(text), text);
		await page.evaluate(() => document.querySelector('.scroll').focus());
		await page.keyboard.press('BracketRight');
		await until(page, (t) => Math.abs((__view.model.selected.value?.start ?? 0) - t) < 1, woken, 'the woken thread');
	});

	await test('a hit of the search, and an event that is clicked, are in sight', async () => {
		await reset(page);
		await page.evaluate(() => { __view.model.everyRow((r) => { r.open = false; }); __view.model.changed(); document.querySelector('.scroll').scrollTop = 0; });
		await settled(page);
		await find(page, 'execve');
		const inSight = () => page.evaluate(() => {
			const e = __view.model.selected.value;
			const p = __view.places(e.source, e.lane).find((x) => !x.pinned);

			return p && p.y >= __view.model.pinned.value.height - 1 && p.y + p.height <= __view.model.pinned.value.height + __view.stage.height + 1;
		});

		truth(await inSight(), 'the first hit, in a group that was closed');
		await reset(page);
		const y = await page.evaluate(() => { const c = document.querySelector('.stick canvas').getBoundingClientRect(); return c.top + __view.stage.height - 30; });

		await page.mouse.click(900, y);
		await until(page, () => __view.model.selected.value !== null, null, 'an event at the bottom');
		await settled(page);
		truth(await inSight(), 'the event at the bottom, above the pane that opened');
	});

	await test('a call that waited says because of what, by line, and each line is a link', async () => {
		await reset(page);
		await page.evaluate((t) => __view.view.show(t, t + 300e6), BEGIN + 90e6);
		await click(page, 'nvtx', '', BEGIN + 400e6).catch(() => {});
		await page.evaluate(([t0, t1]) => { __view.view.show(t0, t1); }, [BEGIN + 155e6, BEGIN + 370e6]);
		await find(page, 'pthread_mutex_lock');
		await page.waitForSelector('.why li .link');
		truth(/waiting for a lock/.test(await page.textContent('.why')), await page.textContent('.why'));
	});

	await test('calls at one line are one part of the answer', async () => {
		const answer = await page.evaluate(async ([from, to]) => {
			let row;

			__view.model.everyRow((r) => { if (r.joined && r.ids === 'pid 100') row = r.id; });
			const token = sessionStorage.getItem('sightline-token');

			return (await fetch(`/v1/why?row=${row}&from=${from}&to=${to}`, { headers: { Authorization: 'Bearer ' + token } })).json();
		}, [BEGIN + 160e6, BEGIN + 358e6]);
		const files = answer.parts.filter((p) => /t\.py:41/.test(p.line));

		truth(files.length >= 1 && files.length <= 3 && /t\.py:41/.test(answer.text), JSON.stringify(answer).slice(0, 800));
		truth(files[0].more >= 10 && files[0].end > files[0].start && files[0].row > 0, JSON.stringify(files[0]));
	});

	await test('the owner of a lock is in the details, with an arrow', async () => {
		await reset(page);
		await find(page, 'pthread_mutex_lock');
		await until(page, () => __view.model.flows.value.some((f) => f.kind === 'lock'), null, 'an arrow from the owner');
		const text = await page.textContent('.details');

		truth(/held by\s*pid 101, tid 101/.test(text) && /0x7f0012345678/.test(text), text.slice(0, 600));
		truth(/the lock is held by\s*python3, pid 101/.test(text), text.slice(0, 900));
	});

	await test('a lock that threads wait for is a row: its owner, the thread that waits, and the arrow between them', async () => {
		await reset(page);
		await until(page, () => __view.model.roots.value.some((r) => r.kind === 'locks'), null, 'rows of locks');
		const [lock] = await page.evaluate(() => __view.model.roots.value.find((r) => r.kind === 'locks').kids.map((r) => ({ name: r.name, lanes: r.lanes, events: r.events })));

		equal([lock.name, lock.events, lock.lanes.length], ['pthread_mutex_lock 0x7f0012345678', 1, 2], 'the row');
		await page.evaluate((t) => __view.view.show(t - 1e7, t + 4e7), BEGIN + 100e6);
		const [y, x] = await page.evaluate((t) => {
			const q = __view.model.placed.value.rows.find((r) => r.row.kind === 'lock'), scroll = document.querySelector('.scroll');

			scroll.scrollTop = q.y - 100;
			const box = document.querySelector('.stick canvas').getBoundingClientRect();

			return [box.top + q.y - scroll.scrollTop + q.height - 10, box.left + __view.view.xOf(t)];
		}, BEGIN + 110e6);

		await settled(page);
		await page.mouse.click(x, y);
		await until(page, () => __view.model.selected.value?.name === 'python3 (pid 100) waits', null, 'the wait');
		await until(page, () => __view.model.flows.value.some((f) => f.kind === 'lock'), null, 'the arrow');
		truth(/held by\s*python3 \(pid 101\)/.test(await page.textContent('.details')), await page.textContent('.details'));
		equal(await page.evaluate(([lane, t]) => { const e = __view.local(0, lane); return [e.names[e.kinds[0]].text, e.starts[0] === t]; }, [lock.lanes[0], BEGIN + 100e6]), ['held by python3 (pid 101)', true], 'the owner on the first lane');
	});

	await test('the critical path goes through the rows of the threads that the time is due to', async () => {
		await reset(train);
		await train.keyboard.press('x');
		const rows = await train.evaluate(() => {
			const parts = __view.pathIn(1e8, 2e8), ids = new Map();

			__view.model.everyRow((r) => ids.set(r.id, r.ids));
			return parts.map((p) => [ids.get(p.row), p.start, p.end]);
		});

		equal([...new Set(rows.map(([ids]) => ids))].sort(), ['pid 4711', 'pid 4720', 'pid 4721'], 'rows');
		truth(rows.every(([, a], i) => i === 0 || Math.abs(a - rows[i - 1][2]) < 1), 'without gaps');
		await settled(train);
		const { data } = await pixels(train, '.overlay');
		const red = data.filter((v, i) => i % 4 === 0 && v > 150 && data[i + 1] < 80 && data[i + 3] > 100).length;

		truth(red > 500, `${red} pixels`);
		await train.keyboard.press('x');
	});

	/* ---- tables ---- */

	const table = (p) => p.evaluate(() => [...document.querySelectorAll('.tables table.names tbody tr')].map((r) => [...r.children].map((c) => c.textContent)));
	const span = async (p, t0, t1) => {
		await p.evaluate(([a, b]) => { __view.view.show(a, b); }, [t0, t1]);
		await settled(p);
		await p.keyboard.press('e');
		await settled(p);
	};

	await test('events that the span cuts count apart: means are of whole events', async () => {
		await reset(page);
		await span(page, BEGIN + 550e6, BEGIN + 850e6);
		const line = (await table(page)).find((r) => r[1] === 'step');

		equal([line[3], line[4], line[6]], ['4 (2 cut)', '270.0 ms', '90.00 ms'], line.join('|'));
		equal(line[10], '0 ns', 'the deviation');
	});

	await test('names that differ in numbers are one line, and its events are found', async () => {
		const lines = (await table(page)).filter((r) => r[1].startsWith('aten::copy_'));

		equal(lines.length, 1, lines.map((r) => r[1]).join());
		truth(lines[0][1] === 'aten::copy_, op_id = #', lines[0][1]);
		await page.getByText('aten::copy_, op_id = #').click();
		await until(page, () => /op_id = \d+/.test(__view.model.selected.value?.name), null, 'one of them');
		const first = await page.evaluate(() => __view.model.selected.value.start);

		await page.evaluate(() => document.querySelector('.scroll').focus());
		await page.keyboard.press('.');
		await until(page, (t) => __view.model.selected.value.start > t, first, 'the next step, which has another number');
	});

	await test('a kind has a table of its own, whose shares sum up to all of it; counters have their process', async () => {
		await reset(page);
		await page.keyboard.press('e');
		await settled(page);
		const first = (await table(page))[0];

		truth(first[2] !== 'states of threads' && parseFloat(first[11]) <= 100, first.join('|'));
		await page.locator('.kinds').getByText('libc', { exact: true }).click();
		const shares = (await table(page)).filter((r) => r.length === 12).map((r) => [r[2], parseFloat(r[11])]);

		equal([...new Set(shares.map(([kind]) => kind))], ['libc'], 'kinds');
		near(shares.reduce((sum, [, s]) => sum + s, 0), 100, 0.5, 'shares');
		await page.locator('.kinds').getByText('All', { exact: true }).click();
		truth(/python3 \(pid 101\): read/.test(await page.textContent('.tables')), 'a counter with its process');
	});

	await test('a range with parts on two streams is two lines', async () => {
		await reset(train);
		await train.keyboard.press('e');
		await settled(train);
		const steps = (await table(train)).filter((r) => r[1] === 'step' && /NVTX on the GPU/.test(r[2]));

		equal(steps.map((r) => r[3]), ['20', '20'], steps.map((r) => r.join('|')).join('\n'));
		truth(new Set(steps.map((r) => r[2])).size === 2, steps.map((r) => r[2]).join());
	});

	await test('a table has self times, and lines of each thread', async () => {
		const lines = await table(train);
		const step = lines.find((r) => r[1] === 'step' && r[2] === 'NVTX');
		const read = (r) => [r[1], r[2], r[3]].join('|');

		truth(step && parseFloat(step[5]) > 0 && step[5] !== step[4], `self of step: ${step?.join('|')}`);
		await train.getByText('By thread', { exact: true }).click();
		await settled(train);
		const apart = (await table(train)).filter((r) => r[1] === 'read' && /libc/.test(r[2]));

		truth(apart.length > 1 && apart.every((r) => /\((?:pid|tid) \d+\)/.test(r[2])), apart.map(read).join('\n'));
		equal(apart.reduce((sum, r) => sum + parseInt(r[3], 10), 0), parseInt(lines.find((r) => r[1] === 'read' && /libc/.test(r[2]))[3], 10), 'calls');
		await train.getByText('By thread', { exact: true }).click();
		await settled(train);
		equal((await table(train)).filter((r) => r[1] === 'read' && /libc/.test(r[2])).length, 1, 'one line again');
	});

	/* ---- search, notes ---- */

	await test('a search without a hit moves nothing, and goes with the next key; Esc gives names their colours back', async () => {
		await reset(page);
		const top = () => page.evaluate(() => document.querySelector('.stage').getBoundingClientRect().top);
		const before = await top();

		await page.fill('#search', 'bmm');
		await page.press('#search', 'Enter');
		await page.waitForSelector('[role=alert]');
		equal(await top(), before, 'the rows stay where they are');
		await page.fill('#search', 'execve');
		equal(await page.locator('[role=alert]').count(), 0, 'the notice');
		await page.press('#search', 'Enter');
		await until(page, () => __view.model.selected.value?.name === 'execve');
		const colours = () => page.evaluate(() => __view.names.map((n, i) => [n.text, __view.colours.table()[i]]).filter(([t]) => t === 'futex').map(([, c]) => c));
		const pale = await colours();

		await page.press('#search', 'Escape');
		const full = await colours();

		truth(full.length > 0 && pale[0] !== full[0], 'after one Esc');
		equal(await page.inputValue('#search'), 'execve', 'the text stays for N');
	});

	/* ---- looks ---- */

	await test('a name without room is shortened to what tells it apart, or is not there', async () => {
		const texts = await train.evaluate(() => {
			const c = document.createElement('canvas').getContext('2d');

			c.font = __view.font;
			const wide = (text) => c.measureText(text).width;

			return [__view.fitted(c, 'cudaMemcpyAsync', wide('MemcpyAsync') + 2), __view.fitted(c, 'aten::addmm_out', wide('addmm_out') + 2), __view.fitted(c, 'ampere_sgemm', 26), __view.fitted(c, 'read', wide('read') + 1)];
		});

		equal(texts, ['MemcpyAsync', 'addmm_out', '', 'read'], 'labels');
	});

	await test('a closed GPU has a curve of how busy it is', async () => {
		const [wait] = sql(report, "SELECT start, end FROM NVTX_EVENTS WHERE text = 'data' ORDER BY end - start DESC LIMIT 1");

		await reset(train);
		await train.evaluate(([a, b]) => { __view.model.everyRow((r) => { r.open = r.kind !== 'gpu'; }); __view.model.changed(); __view.view.show(a - 2e7, b + 2e7); document.querySelector('.scroll').scrollTop = 0; }, [wait.start, wait.end]);
		await settled(train);
		const { width, data } = await pixels(train, '.stick canvas');
		const height = async (t) => {
			const [x, y, high] = await train.evaluate((at) => { const p = __view.model.placed.value.rows.find((q) => q.row.kind === 'gpu' && !q.row.open && q.row.kids.some((k) => k.kind === 'stream')); return [Math.round(__view.view.xOf(at)), p.y, p.height]; }, t);
			const light = Array.from({ length: high }, (_, i) => { const at = 4 * ((y + i) * width + x); return data[at] + data[at + 1] + data[at + 2]; });

			return light.indexOf(Math.min(...light)) / high;
		};

		truth(await height(wait.start - 1e7) < 0.3, `busy: ${await height(wait.start - 1e7)}`);
		truth(await height((wait.start + wait.end) / 2) > 0.7, `idle: ${await height((wait.start + wait.end) / 2)}`);
	});

	await test('the pid of a GPU\'s process is in sight', async () => {
		const [cut, text] = await train.evaluate(() => { const e = document.querySelector('.row[title^="GPU: GPU 0"] .ids'); return [e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > e.closest('.row').getBoundingClientRect().right, e.textContent]; });

		equal([cut, text], [false, 'pid 4711'], 'pid');
	});

	await test('the pointer has the shape of a kernel beside it, and the details fit into the pane', async () => {
		await reset(train);
		await find(train, 'multi_tensor_apply_kernel');
		await train.keyboard.press('z');
		await settled(train);
		const [x, y] = await train.evaluate(() => { const e = __view.model.selected.value, p = __view.places(0, e.lane)[0], c = document.querySelector('.overlay').getBoundingClientRect(); return [c.left + __view.view.xOf((e.start + e.end) / 2), c.top + p.y + p.height / 2]; });

		await train.mouse.move(x, y);
		await until(train, () => /grid/.test(document.querySelector('.tip')?.textContent ?? ''), null, 'the grid');
		const over = await train.evaluate(() => { const p = document.querySelector('.panel'); return p.scrollWidth - p.clientWidth; });

		truth(over <= 1, `${over} pixels hang out`);
	});

	await test('stacks can be read without frames of C, and copied', async () => {
		await reset(page);
		await find(page, 'pthread_mutex_lock');
		const frames = () => page.$$eval('.stack li', (all) => all.map((x) => x.textContent));

		equal((await frames()).length, 2, 'frames');
		truth((await frames())[0].includes('t.py:41'), (await frames()).join());
		truth(await page.isVisible('.stack button'), 'a way to copy');
	});

	await test('the flame graph can be searched and turned round, of samples and of the time of calls', async () => {
		await reset(train);
		await train.keyboard.press('e');
		await train.keyboard.press('3');
		await train.waitForSelector('.flame');
		await train.fill('.flamebox input', 'decode_mcu');
		await settled(train);
		const share = parseFloat((await train.textContent('.flamebox')).match(/([\d.]+) %/g).pop());
		const want = one(report, "SELECT 100.0 * sum(stackId = 2) / count(*) FROM COMPOSITE_EVENTS WHERE stackId IS NOT NULL");

		near(share, want, 0.06, 'its share');
		await train.getByText('Inverted').click();
		await settled(train);
		truth(await train.isVisible('.flame'), 'callers of what takes the time');
		await train.getByText('Inverted').click();
		await train.selectOption('[aria-label=Weight]', 'flame_calls');
		await settled(train);
		truth(/ms|µs|s/.test(await train.textContent('.flamebox .line')) && !/samples, /.test(await train.textContent('.flamebox .line b ~ *')), 'time of calls');
		await train.selectOption('[aria-label=Weight]', 'flame');
		await train.fill('.flamebox input', '');
	});

	await test('queries are offered for tables that the report has, and a result becomes a row', async () => {
		await reset(train);
		await train.keyboard.press('4');
		await train.waitForSelector('[aria-label="Queries to begin with"] option:nth-child(4)', { state: 'attached' });
		const offers = await train.$$eval('[aria-label="Queries to begin with"] option', (all) => all.map((o) => o.textContent));
		const none = await page.evaluate(async () => { __view.model.pane.value = 'sql'; __view.model.paneOpen.value = true; });

		await page.waitForSelector('[aria-label="Queries to begin with"] option:nth-child(3)', { state: 'attached' });
		truth(offers.includes('Kernels, most time first') && none === undefined, offers.join());
		truth(!(await page.$$eval('[aria-label="Queries to begin with"] option', (all) => all.map((o) => o.textContent))).includes('Kernels, most time first'), 'none of kernels where there are none');
		await train.selectOption('[aria-label="Queries to begin with"]', { label: 'The longest gaps between kernels' });
		await train.click('#run-sql');
		await train.getByText('make this a row').click();
		await settled(train);
		equal(await train.evaluate(() => __view.model.ownRows.value.filter((r) => r.kind === 'query').map((r) => r.events)), [19], 'the gaps between 20 steps');
		await train.evaluate(() => { __view.model.ownRows.value = __view.model.ownRows.value.filter((r) => r.kind !== 'query'); });
	});

	await test('axe-core finds no fault in any pane or dialog, in either theme', async () => {
		const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
		const found = [];

		for (const colorScheme of ['light', 'dark']) {
			const p = await browser.open(server.address, { width: 1440, height: 900, colorScheme });

			await until(p, () => document.querySelectorAll('.pins .finding').length === 3 && document.querySelector('.strip'), null, 'findings and steps');
			await p.evaluate(axe);
			for (const key of ['', '6', '1', '5', 'e', '3', '4', '?', 'Control+k', 'g', 'b', 'F2']) {
				await p.evaluate(() => { __view.model.dialog.value = ''; document.querySelector('.scroll').focus(); });
				if (key)
					await p.keyboard.press(key);
				await settled(p);
				found.push(...await p.evaluate(async (k) => (await axe.run()).violations.map((v) => `${k}: ${v.id}: ${v.nodes[0].html.slice(0, 200)}`), `${colorScheme} ${key}`));
			}
			await p.context().close();
		}
		equal(found, [], 'violations');
	});

	await test('axe-core finds no fault in the page of report, in either theme, and its bars can be read without colours', async () => {
		const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
		const found = [];

		for (const name of ['train', 'odd', 'hostile', 'empty'])
			for (const colorScheme of ['light', 'dark']) {
				const html = `${folder}/${name}.html`;

				if (colorScheme === 'light')
					execFileSync(bin, ['report', '-q', '-f', 'true', '-o', html, `${folder}/${name}.sqlite`]);
				equal(statSync(html).mode & 0o777, 0o600, 'the page is for its owner alone');
				const context = await browser.browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme });
				const p = await context.newPage();

				await p.goto(`file://${html}`);
				await p.evaluate(axe);
				found.push(...await p.evaluate(async (k) => (await axe.run()).violations.map((v) => `${k}: ${v.id}: ${v.nodes[0].html.slice(0, 200)}`), `${name} ${colorScheme}`));
				/* Letters in bars are no text that axe looks at. */
				found.push(...await p.evaluate((k) => {
					const linear = (x) => x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4;
					const light = (css) => css.match(/[\d.]+/g).slice(0, 3).map(Number).map(linear).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
					const wrong = [];

					for (const bar of document.querySelectorAll('.why-bar')) {
						const pieces = [...bar.querySelectorAll('svg svg')];
						const letters = pieces.map((s) => s.querySelector('title').textContent[0]);

						if (new Set(letters).size !== letters.length)
							wrong.push(`${k}: letters ${letters}`);
						for (const s of pieces) {
							const text = s.querySelector('text'), [a, b] = text ? [text, s.querySelector('rect')].map((e) => light(getComputedStyle(e).fill)) : [1, 0];

							if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5)
								wrong.push(`${k}: ${s.outerHTML.slice(0, 200)}`);
						}
					}
					for (const key of document.querySelectorAll('ul.why .key'))
						if (!document.querySelector(`.why-bar .${[...key.classList].find((c) => c.startsWith('r-'))}`))
							wrong.push(`${k}: no piece of ${key.textContent}`);
					return wrong;
				}, `${name} ${colorScheme}`));
				if (name === 'train')
					truth(await p.locator('.why-bar svg svg').count() > 4, 'pieces');
				await context.close();
			}
		equal(found, [], 'violations');
	});

	await test('the page of report and the view have one colour for a reason', async () => {
		const context = await browser.browser.newContext();
		const p = await context.newPage();

		await p.goto(`file://${folder}/train.html`);
		const ofPage = await p.evaluate(() => [...document.querySelectorAll('ul.why li')].map((li) => [li.querySelector('.what').textContent, getComputedStyle(li.querySelector('.key')).backgroundColor]));
		const ofView = await train.evaluate(() => [...document.querySelectorAll('.pins .finding')].map((f) => [f.textContent, getComputedStyle(f.querySelector('i')).backgroundColor]));
		let same = 0;

		await context.close();
		for (const [what, colour] of ofPage)
			for (const [text, swatch] of ofView.filter(([t]) => t.includes(what))) {
				equal(swatch, colour, text);
				same++;
			}
		truth(same >= 3, `${JSON.stringify(ofPage)} ${JSON.stringify(ofView)}`);
	});

	/* ---- keyboards ---- */

	const type = (key, code, more = {}) => train.evaluate(([k, c, o]) => { document.querySelector('.scroll').dispatchEvent(new KeyboardEvent('keydown', { key: k, code: c, bubbles: true, cancelable: true, ...o })); }, [key, code, more]);
	const scale = () => train.evaluate(() => __view.view.view.scale);

	await test('QWERTZ: Ctrl+Z goes back, / and ? do what the help says', async () => {
		await reset(train);
		const before = await scale();

		await type('w', 'KeyW');
		truth(await scale() < before, 'W zooms');
		await type('z', 'KeyY', { ctrlKey: true });
		near(await scale(), before, before / 1e6, 'Ctrl+Z');
		await type('/', 'Digit7', { shiftKey: true });
		await until(train, () => document.activeElement.id === 'search', null, 'the search field');
		await train.evaluate(() => document.querySelector('.scroll').focus());
		await type('?', 'Minus', { shiftKey: true });
		await until(train, () => __view.model.dialog.value === 'help', null, 'the help');
		await train.keyboard.press('Escape');
		await type('-', 'Slash');
		equal(await train.evaluate(() => document.activeElement.id), '', 'the place of / types something else');
		await type('[', 'Digit8', { ctrlKey: true, altKey: true, modifierAltGraph: true });
	});

	await test('AZERTY: the four places zoom and move, all other keys are found by what they type', async () => {
		await reset(train);
		const before = await scale();

		await type('z', 'KeyW');
		truth(await scale() < before, 'the key above S zooms');
		await type('s', 'KeyS');
		near(await scale(), before, before / 1e6, 'and out');
		await type('m', 'Semicolon');
		equal(await train.evaluate(() => __view.model.mode.value), 'measure', 'M');
		await type('m', 'Semicolon');
		await type(',', 'KeyM');
		equal(await train.evaluate(() => __view.model.mode.value), 'select', ', is not M');
		const pane = await train.evaluate(() => __view.model.paneOpen.value);

		await type('a', 'KeyQ');
		equal(await train.evaluate(() => __view.model.paneOpen.value), !pane, 'the place of Q');
		const names = await train.evaluate(() => { __view.keys.layout.value = new Map([['KeyW', 'z'], ['KeyA', 'q'], ['KeyQ', 'a'], ['KeyZ', 'w'], ['KeyM', ','], ['Semicolon', 'm']]); return ['KeyW', 'KeyA', 'KeyQ', 'KeyZ', 'KeyM', 'Ctrl+KeyZ'].map(__view.keys.keyName); });

		equal(names, ['Z', 'Q', 'A', 'W', 'M', 'Ctrl+Z'], 'what the help calls them');
	});

	await page.context().close();
	await train.context().close();
	await oddServer.end();
}
