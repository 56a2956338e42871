/*
 * ranks_view.mjs SIGHTLINE FOLDER CHROMIUM - the page of `sightline view` over ranks of several hosts (FOLDER/all.sqlite of
 * ranks_view.t): their order, their names, one axis. TAP on stdout.
 */
import { Browser, equal, finish, serve, settled, sql, test, until } from './page.mjs';

const [, , bin, folder, chromium] = process.argv;
const report = `${folder}/all.sqlite`;
const browser = await Browser.start(chromium);
const server = await serve(bin, ['--port', '18440', report]);
const page = await browser.open(server.address);
const ranks = ['rank 0, g070: ranks', 'rank 1, g071: ranks', 'rank 2, g070: ranks'];

/* What stands on the screen, from above. */
const shown = (kind, what) => page.evaluate(([k, w]) => __view.model.placed.value.rows.map((p) => p.row).filter((r) => r.kind === k || (k === 'process' && r.joined)).map((r) => r[w]), [kind, what]);

await test('processes stand in the order of ranks, with rank and host', async () => equal(await shown('process', 'name'), ranks));
await test('GPUs stand in the order of ranks, with rank and host', async () => equal((await shown('gpu', 'about')).map((text) => text.replace(/ pid .*/, '')), ranks));
await test('CPUs of two hosts have the number that they have there, and the host', async () => {
	const want = sql(report, `SELECT DISTINCT 'CPU ' || (cpu - firstCpu) || ', ' || host AS name FROM SCHED_EVENTS JOIN SL_RANK_CPUS ON cpu BETWEEN firstCpu AND firstCpu + cpus - 1 ORDER BY cpu`);

	await page.evaluate(() => { __view.model.everyRow((r) => { if (r.kind === 'machine') r.open = true; }); __view.model.changed(); });
	await settled(page);
	equal(await shown('cpu', 'name'), want.map((row) => row.name));
});
await test('steps of all ranks lie on one axis: one ends before the next begins on any', async () => {
	const zero = BigInt(await page.evaluate(() => __view.model.sources.value[0].zero));
	const want = sql(report, `SELECT CAST(start AS TEXT) AS start, name FROM NVTX_EVENTS JOIN PROCESSES ON globalPid >> 24 = globalTid >> 24
		WHERE coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) = 'step' ORDER BY NVTX_EVENTS.start, name`);
	const got = [];

	await page.fill('#search', '=step');
	await page.press('#search', 'Enter');
	await until(page, () => __view.model.selected.value?.name === 'step');
	await page.press('#search', 'Escape');
	await page.focus('.scroll');
	/* Ranges on the GPU come between them. */
	for (let i = 0; i < 2 * want.length && got.length < want.length; i++) {
		const [start, kind, name] = await page.evaluate(() => {
			const e = __view.model.selected.value;
			let row = e.row;

			while (row.parent)
				row = row.parent;
			return [e.start, e.row.kind, row.name];
		});

		if (kind === 'nvtx')
			got.push([start, name]);
		if (got.length < want.length) {
			await page.keyboard.press('n');
			await until(page, (before) => __view.model.selected.value?.start > before, start, 'the next step');
		}
	}
	equal(got, want.map((row) => [Number(BigInt(row.start) - zero), row.name]));
	for (let i = 0; i < got.length; i += 3)
		equal(got.slice(i, i + 3).map((step) => step[1]).sort(), ranks, `step ${i / 3 + 1}`);
});
await page.screenshot({ path: `${folder}/ranks.png` });
await test('no error in the console, and no request to another host', async () => equal([browser.errors, browser.strangers], [[], []]));
await browser.close();
await server.end();
finish();
