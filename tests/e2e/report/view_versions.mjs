/*
 * view_versions.mjs SIGHTLINE FOLDER CHROMIUM - the page of `sightline view` on each report in FOLDER: it opens without an error in its
 * console, draws, and has as many events as the report. TAP on stdout; with VIEW_PICTURES a picture of each goes to FOLDER.
 */
import { readdirSync } from 'node:fs';
import { Browser, equal, finish, note, one, serve, sql, test, truth } from './page.mjs';

const [, , bin, folder, chromium] = process.argv;
const browser = await Browser.start(chromium);
const versions = new Set();
let port = 18600;

/* Rows of tables, which a version may not have. */
function rows(file, tables, where = '1') {
	const there = new Set(sql(file, 'SELECT name FROM sqlite_master').map((r) => r.name));

	return tables.filter((t) => there.has(t)).reduce((sum, t) => sum + one(file, `SELECT count(*) FROM ${t} WHERE ${where}`), 0);
}

/* Until 2022 the table had another name, and before that it was not there. */
function versionOf(file) {
	const table = sql(file, "SELECT name FROM sqlite_master WHERE name IN ('META_DATA_EXPORT', 'EXPORT_META_DATA')")[0]?.name;

	return table && one(file, `SELECT value FROM ${table} WHERE name = 'EXPORT_SCHEMA_VERSION'`) || 'not named';
}

for (const name of readdirSync(folder).filter((f) => f.endsWith('.sqlite')).sort()) {
	const file = `${folder}/${name}`, version = versionOf(file);

	versions.add(version);
	await test(`${name}, schema ${version}: the page draws its events`, async () => {
		const server = await serve(bin, ['--port', String(port++), file]);
		const page = await browser.open(server.address, { width: 1100, height: 700 });

		try {
			const [kinds, drawn, message] = await page.evaluate(() => {
				const events = {};

				__view.model.everyRow((r) => { events[r.kind] = (events[r.kind] ?? 0) + (r.events ?? 0); });
				return [events, __view.counted.rectangles, document.querySelector('#app').textContent];
			});
			/* Of libc there are marks, too, of no thread. */
			const work = ['KERNEL', 'MEMCPY', 'MEMSET', 'GRAPH_TRACE'].map((t) => `CUPTI_ACTIVITY_KIND_${t}`);
			const all = Object.values(kinds).reduce((sum, n) => sum + n, 0);

			if (process.env.VIEW_PICTURES)
				await page.screenshot({ path: file.replace(/sqlite$/, 'png') });
			equal([kinds.stream ?? 0, kinds.cuda ?? 0, kinds.osrt ?? 0], [rows(file, work), rows(file, ['CUPTI_ACTIVITY_KIND_RUNTIME']), rows(file, ['OSRT_API'], 'eventClass = 27')], 'work on GPUs, calls of CUDA and libc');
			truth(all > 0 ? drawn > 0 : /no events/.test(message), `${drawn} rectangles of ${all} events`);
		} finally {
			await page.context().close();
			await server.end();
		}
	});
}

note(`${versions.size} versions: ${[...versions].sort().join(', ')}`);
await test('no error in any console', () => equal(browser.errors, []));
await test('no request to another host', () => equal(browser.strangers, []));
await browser.close();
finish();
