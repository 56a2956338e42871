/*
 * view_others.mjs - pages of `sightline view` beside the one of view_page.mjs: of an empty report, of two, of one that grows, of
 * one with hostile names, without the key; and what is handed over to Perfetto's page.
 */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { equal, near, one, serve, settled, sql, test, truth, until } from './page.mjs';

/* Perfetto's page reads from one port alone, which another test may have for a moment. */
async function handOver(bin, report) {
	for (let i = 0; ; i++) {
		const child = spawn(bin, ['view', '--no-open', '--perfetto', report], { stdio: ['ignore', 'pipe', 'pipe'] });
		let out = '', err = '';
		const ended = new Promise((done) => child.on('close', done));

		child.stderr.on('data', (text) => { err += text; });
		await Promise.race([ended, new Promise((done) => child.stdout.on('data', (text) => { out += text; if (out.includes('\n')) done(); }))]);
		if (out.includes('\n'))
			return { address: out.trim(), ended };
		truth(err.includes('is taken') && i < 120, err);
		await new Promise((done) => setTimeout(done, 500));
	}
}

export async function otherPages({ bin, folder, report, browser, server, selected }) {
	/* A server of its own; its pages are closed before it ends. */
	const withServer = async (args, use) => {
		const other = await serve(bin, args);
		const pages = [];

		try {
			await use(async (options) => {
				const p = await browser.open(other.address, options);

				pages.push(p);
				return p;
			});
		} finally {
			for (const p of pages)
				await p.context().close();
			await other.end();
		}
	};

	await test('an empty report: the page has the reason', () => withServer(['--port', '18430', `${folder}/empty.sqlite`], async (open) => {
		const empty = await open({ wait: false });

		await empty.waitForSelector('.nothing, .problem');
		await empty.screenshot({ path: `${folder}/empty.png` });
		truth((await empty.textContent('#app')).match(/no events|nothing/i), 'a reason');
	}));

	await test('opened before anything is indexed: what the first answer lacks comes with the next', () => withServer(['--port', '18435', report], async (open) => {
		let early = true;
		const page = await open({ prepare: (p) => p.route('**/v1/report*', async (route) => {
			if (!early)
				return route.continue();
			early = false;
			/* It takes its time. */
			await p.waitForTimeout(1000);
			const response = await route.fetch();

			return route.fulfill({ response, json: { ...await response.json(), t0: '0', rows: [], events: 0, generation: -2, state: 'building', progress: 0, indexed_to: 0, span: [0, 0] } });
		}) });

		equal(await page.evaluate(() => __view.model.sources.value[0].zero), '0', "time 0 is that of the report's clock");
		truth(await page.evaluate(() => __view.counted.rectangles > 100), 'the picture');
		const [shown, limits] = await page.evaluate(() => [__view.view.shown(), __view.view.limits]);

		truth(shown.t0 <= limits.t0 && shown.t1 >= limits.t1, `all of it: ${JSON.stringify([shown, limits])}`);
	}));

	await test('the name of a GPU is cut in its middle, after the text behind it, and is whole on hover', () => withServer(['--port', '18437', `${folder}/named.sqlite`], async (open) => {
		const page = await open();
		const items = await page.$$eval('.space .row', (all) => all.filter((r) => r.title.startsWith('GPU: GPU')).map((r) => {
			const [front, end] = r.querySelectorAll('.cut > span'), about = r.querySelector(':scope > .about');
			const cut = (e) => e.scrollWidth > e.clientWidth;

			return { title: r.title, text: front.textContent + end.textContent, end: end.textContent, cut: cut(front), endCut: cut(end) || end.getBoundingClientRect().right > r.getBoundingClientRect().right, about: about.getBoundingClientRect().width };
		}));
		const [plain, long] = items;

		equal(items.map((x) => x.text), ['GPU 0: A100-SXM4-40GB', 'GPU 1: RTX PRO 6000 Blackwell Max-Q Workstation Edition'], 'the names');
		truth(!plain.cut || plain.about < 1, `what stands behind gives way first: ${JSON.stringify(plain)}`);
		truth(long.cut && !long.endCut && long.end === 'n Edition', JSON.stringify(long));
		truth(long.title.includes('NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition'), long.title);
		await page.screenshot({ path: `${folder}/names.png` });
	}));

	await test('tiles that come in another order make the same picture', () => withServer(['--port', '18436', report], async (open) => {
		/* Of the three requests that are on their way, the last is answered first. */
		const held = [];
		const backwards = (p) => p.route('**/v1/tiles*', async (route) => {
			held.push({ route, response: await route.fetch() });
			setTimeout(() => { const last = held.pop(); last.route.fulfill({ response: last.response }).catch(() => {}); }, 40);
		});
		const pictures = [];

		for (const prepare of [null, backwards]) {
			const p = await open({ prepare });

			for (const [t0, t1] of [[1.1e8, 1.9e8], [1.31e8, 1.42e8]]) {
				await p.evaluate(([a, b]) => { __view.most.batch = 7; __view.view.show(a, b); }, [t0, t1]);
				await settled(p);
				pictures.push(await p.screenshot());
			}
		}
		truth(pictures[0].equals(pictures[2]) && pictures[1].equals(pictures[3]), 'pixel by pixel');
	}));

	await test('an address without the key: the page says what to do', async () => {
		const bare = await browser.open(server.address.replace(/#.*/, ''), { wait: false, expectErrors: true });

		await bare.waitForSelector('.problem');
		truth((await bare.textContent('.problem')).includes('needs its key'), 'the reason');
		await bare.context().close();
	});

	await test('two reports are aligned on a step', () => withServer(['--port', '18440', report, `${folder}/slow.sqlite`], async (open) => {
		const both = await open();

		await both.fill('#search', '=optimizer');
		await both.press('#search', 'Enter');
		await until(both, () => __view.model.selected.value?.name === 'optimizer');
		for (let i = 0; i < 6; i++) {
			const { start } = await selected(both);

			await both.press('#search', 'Enter');
			await until(both, (t) => __view.model.selected.value?.start > t, start, 'a later step');
		}
		const e = await selected(both);

		equal(e.source, 0, 'it is one of the first report');
		await both.getByText('Align on selection').click();
		await until(both, () => __view.model.sources.value[1].offset !== 0, null, 'the other report moves');
		const [offset, zeros] = await both.evaluate(() => [__view.model.sources.value[1].offset, __view.model.sources.value.map((s) => s.zero)]);
		const starts = ['train', 'slow'].map((f, i) => sql(`${folder}/${f}.sqlite`, "SELECT start FROM NVTX_EVENTS WHERE text = 'optimizer' ORDER BY start").map((r) => Number(BigInt(r.start) - BigInt(zeros[i]))));

		/* On the GPU ranges are projected: there the start is that of a kernel. */
		if (e.kind === 'nvtx')
			equal(starts[1][starts[0].indexOf(e.start)] + offset, e.start, 'the same step at the same time');
		else
			truth(await both.evaluate(() => __view.model.sources.value[1].offset < 0), 'the slower one moves to the left');
		await settled(both);
		await both.screenshot({ path: `${folder}/two.png` });
		/* All steps of the second take longer, while forward takes as long on the host. */
		await both.evaluate(() => { __view.view.showAll(); document.querySelector('.scroll').focus(); });
		await both.keyboard.press('e');
		await settled(both);
		const change = await both.evaluate(() => Object.fromEntries([...document.querySelectorAll('.tables table.names tbody tr')].map((r) => [...r.children]).filter((c) => c.length === 11)
			.map((c) => [`${c[2].textContent} ${c[1].textContent}`, [c[10].textContent, c[10].className.includes('sure'), c[10].title]])));
		const step = change['NVTX step'], forward = change['NVTX forward'];

		truth(/^\+\d/.test(step?.[0]) && step[1] && /^p < 0\.001: more than chance/.test(step[2]), `steps: ${JSON.stringify(change)}`);
		truth(forward && !forward[1] && /^~/.test(forward[0]), `forward: ${JSON.stringify(forward)}`);
	}));

	/* Ended below: it outlives the longest wait of the test. */
	const program = spawn(bin, ['profile', '-f', 'true', '-s', 'none', '--osrt-threshold=0', '-o', `${folder}/live`, 'sh', '-c', 'for i in $(seq 3000); do cat /etc/hostname; sleep 0.1; done'], { stdio: 'ignore' });
	const ended = new Promise((done) => program.on('exit', done));
	const rows = () => { try { return one(`${folder}/live.sqlite`, 'SELECT count(*) FROM OSRT_API'); } catch { return 0; } };

	for (let i = 0; i < 600 && !rows() && program.exitCode === null; i++)
		await new Promise((done) => setTimeout(done, 100));
	await test('live: the page follows a report that grows', () => withServer(['--port', '18460', `${folder}/live.sqlite`], async (open) => {
		const growing = await open({ wait: false });

		await until(growing, () => window.__view?.model.sources.value[0]?.events > 0, null, 'the first events');
		truth(await growing.evaluate(() => __view.model.live.value), 'it is live');
		await growing.keyboard.press('l');
		await growing.evaluate(() => { const { limits, show } = __view.view; show(limits.t1 - (limits.t1 - limits.t0) / 4, limits.t1); });
		const before = await growing.evaluate(() => [__view.model.sources.value[0].events, __view.view.limits.t1, __view.view.shown().t1]);

		await until(growing, ([n, end]) => __view.model.sources.value[0].events > n && __view.view.limits.t1 > end + 5e8, before, 'more events');
		const after = await growing.evaluate(() => [__view.view.limits.t1, __view.view.shown().t1]);

		near(after[1] - before[2], after[0] - before[1], 1e6, 'the view moves with the end');
		/* News that were asked for before the view moved are no reason to move it back. */
		const held = [];
		let holds = true;

		await growing.route('**/v1/report*', (route) => holds ? held.push(route) : route.continue());
		await growing.evaluate(() => { __view.model.follow.value = false; __view.view.showAll(); });
		for (let i = 0; i < 300 && !held.length; i++)
			await growing.waitForTimeout(100);
		truth(held.length > 0, 'news of the report');
		const part = await growing.evaluate(() => { const { limits, show, shown } = __view.view; show(limits.t0, limits.t0 + (limits.t1 - limits.t0) / 4); return [shown(), limits.t1]; });

		holds = false;
		for (const route of held)
			await route.continue();
		await until(growing, (end) => __view.view.limits.t1 > end, part[1], 'what the news are');
		equal(await growing.evaluate(() => __view.view.shown()), part[0], 'the view that was chosen stays');
	}));
	program.kill('SIGTERM');
	await ended;

	await test('names with markup and scripts do nothing', () => withServer(['--port', '18450', `${folder}/hostile.sqlite`], async (open) => {
		const odd = await open();

		odd.on('dialog', (d) => browser.errors.push('dialog ' + d.message()));
		await odd.keyboard.press('e');
		await settled(odd);
		truth(await odd.isVisible('.tables tbody th'), 'the table');
		truth(await odd.evaluate(() => document.querySelectorAll('script, img, svg, base, iframe').length) <= 1, 'no element came out of a name');
	}));

	await test('--perfetto gives the trace to ui.perfetto.dev, once, and to no other page', async () => {
		const { address, ended } = await handOver(bin, report);
		const [, url] = /^https:\/\/ui\.perfetto\.dev\/#!\/\?url=(http:\/\/127\.0\.0\.1:9001\/[0-9a-f]{32}\.perfetto-trace)$/.exec(address);
		const ask = (path, origin) => fetch(path, { headers: origin ? { Origin: origin } : {} });

		equal((await ask(url, 'https://example.com')).status, 403, 'another origin');
		equal((await ask(url)).status, 403, 'no origin');
		equal((await ask(url.replace(/[0-9a-f]{32}/, '0'.repeat(32)), 'https://ui.perfetto.dev')).status, 403, 'another name');
		const answer = await ask(url, 'https://ui.perfetto.dev');

		equal([answer.status, answer.headers.get('access-control-allow-origin')], [200, 'https://ui.perfetto.dev'], 'its page');
		execFileSync(bin, ['export', '-q', 'true', '-f', 'true', '-t', 'perfetto', '-o', `${folder}/trace`, report], { stdio: 'ignore' });
		truth(Buffer.from(await answer.arrayBuffer()).equals(readFileSync(`${folder}/trace`)), 'what export writes');
		equal(await ended, 0, 'it ends by itself');
	});
}
