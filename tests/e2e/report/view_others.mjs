/*
 * view_others.mjs - pages of `sightline view` beside the one of view_page.mjs: of an empty report, of two, of one that grows, of
 * one with hostile names, without the key; and what is handed over to Perfetto's page.
 */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { equal, near, one, serve, settled, sql, test, truth, until } from './page.mjs';

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

	await test('an empty report: a page that has the reason', () => withServer(['--port', '18430', `${folder}/empty.sqlite`], async (open) => {
		const empty = await open({ wait: false });

		await empty.waitForSelector('.nothing, .problem');
		await empty.screenshot({ path: `${folder}/empty.png` });
		truth((await empty.textContent('#app')).match(/no events|nothing/i), 'a reason');
	}));

	await test('without the key: a page that says what to do', async () => {
		const bare = await browser.open(server.address.replace(/#.*/, ''), { wait: false, expectErrors: true });

		await bare.waitForSelector('.problem');
		truth((await bare.textContent('.problem')).includes('needs its key'), 'the reason');
		await bare.context().close();
	});

	await test('two reports, aligned on a step', () => withServer(['--port', '18440', report, `${folder}/slow.sqlite`], async (open) => {
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
	}));

	const program = spawn(bin, ['profile', '-f', 'true', '--osrt-threshold=0', '-o', `${folder}/live`, 'sh', '-c', 'for i in $(seq 400); do cat /etc/hostname; sleep 0.1; done'], { stdio: 'ignore' });
	const rows = () => { try { return one(`${folder}/live.sqlite`, 'SELECT count(*) FROM OSRT_API'); } catch { return 0; } };

	for (let i = 0; i < 100 && !rows(); i++)
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
	}));
	program.kill('SIGTERM');

	await test('names that want out do nothing', () => withServer(['--port', '18450', `${folder}/hostile.sqlite`], async (open) => {
		const odd = await open();

		odd.on('dialog', (d) => browser.errors.push('dialog ' + d.message()));
		await odd.keyboard.press('e');
		await odd.waitForSelector('.tables tbody th');
		truth(await odd.evaluate(() => document.querySelectorAll('script, img, svg, base, iframe').length) <= 1, 'no element came out of a name');
	}));

	await test('--perfetto: the trace to ui.perfetto.dev, once, and to no other page', async () => {
		const child = spawn(bin, ['view', '--no-open', '--perfetto', report], { stdio: ['ignore', 'pipe', 'inherit'] });
		const ended = new Promise((done) => child.on('exit', done));
		const address = await new Promise((done) => child.stdout.on('data', (text) => done(String(text).trim())));
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
