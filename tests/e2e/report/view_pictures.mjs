/*
 * view_pictures.mjs SIGHTLINE FOLDER CHROMIUM GOLDEN - pictures of the page of `sightline view` against those in GOLDEN. FOLDER has
 * the reports of view_pictures.t; NAME.png (with texts) and NAME.blank.png (as it is compared) go there. TAP on stdout.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { blank, difference } from './blank.mjs';
import { Browser, equal, finish, note, serve, settled, skip, test, truth, until } from './page.mjs';

const [, , bin, folder, chromium, golden] = process.argv;
const MOST = 0.01;
const SIZE = { width: 1100, height: 700 };
const browser = await Browser.start(chromium);
const judge = await browser.browser.newPage();
let port = 18500;

/* What it looks like; @act: what is done first. Twice: as people see it, and without texts. */
async function picture(name, reports, act = null, options = {}) {
	if (!reports.every((r) => existsSync(`${folder}/${r}.sqlite`)))
		return skip(`the picture ${name} is as it was approved`, 'the report is not here');
	return test(`the picture ${name} is as it was approved`, async () => {
		const server = await serve(bin, ['--port', String(port++), ...reports.map((r) => `${folder}/${r}.sqlite`)]);
		let page;

		try {
			for (const isBlank of [false, true]) {
				page = await browser.open(server.address, { ...SIZE, ...options, prepare: isBlank ? blank : null });
				await act?.(page);
				await settled(page);
				await page.screenshot({ path: `${folder}/${name}${isBlank ? '.blank' : ''}.png` });
				await page.context().close();
				page = null;
			}
		} finally {
			await page?.context().close();
			await server.end();
		}
		const got = readFileSync(`${folder}/${name}.blank.png`);

		if (process.env.VIEW_PICTURES_WRITE) {
			mkdirSync(golden, { recursive: true });
			writeFileSync(`${golden}/${name}.png`, got);
		}
		const share = await difference(judge, got, readFileSync(`${golden}/${name}.png`));

		if (share > 0)
			note(`${name}: ${(100 * share).toFixed(3)} % of the pixels differ`);
		truth(share <= MOST, `${name}: ${share} of the pixels differ`);
	});
}

/* The first event of a name. */
async function find(page, name) {
	await page.fill('#search', '=' + name);
	await page.press('#search', 'Enter');
	await until(page, (n) => __view.model.selected.value?.name === n, name, `search for ${name}`);
	await page.keyboard.press('Escape');
	await settled(page);
}
const show = (page, t0, t1) => page.evaluate(([a, b]) => __view.view.show(a, b), [t0, t1]);
const openAll = (page) => page.evaluate(() => { __view.model.everyRow((r) => { r.open = r.kids.length > 0; }); __view.model.changed(); });

await picture('gpu-light', ['train']);
await picture('gpu-dark', ['train'], null, { colorScheme: 'dark' });
await picture('gpu-arrow', ['train'], async (page) => {
	await find(page, 'multi_tensor_apply_kernel');
	await page.keyboard.press('z');
	await settled(page);
	for (let i = 0; i < 10; i++)
		await page.keyboard.press('s');
});
await picture('gpu-tables', ['train'], async (page) => {
	await show(page, 1e8, 2e8);
	await page.keyboard.press('e');
});
await picture('gpu-flame', ['train'], async (page) => {
	await show(page, 1e8, 2e8);
	await page.keyboard.press('e');
	await page.keyboard.press('3');
}, { colorScheme: 'dark' });
await picture('gpu-pinned-measured', ['train'], async (page) => {
	await find(page, 'step');
	await page.keyboard.press('p');
	await page.keyboard.press('z');
	await page.keyboard.press('Shift+M');
	await page.keyboard.press('Shift+M');
	await page.keyboard.press('q');
});
await picture('help', ['train'], (page) => page.keyboard.press('Shift+Slash'));
await picture('narrow', ['train'], null, { width: 320, height: 640 });
await picture('two', ['train', 'slow'], async (page) => {
	await find(page, 'optimizer');
	for (let i = 0; i < 6; i++) {
		await page.keyboard.press('Period');
		await settled(page);
	}
	await page.getByText('Align on selection').click();
	await until(page, () => __view.model.sources.value[1].offset !== 0, null, 'the other report moves');
});
await picture('cpu-only', ['cpu']);
await picture('lost', ['lost']);
await picture('cpu-why', ['cpu'], async (page) => {
	await page.keyboard.press('ArrowRight');
	await settled(page);
	await page.keyboard.press('ArrowRight');
}, { colorScheme: 'dark' });
await picture('counters-light', ['health'], openAll);
await picture('counters-dark', ['health'], async (page) => {
	await openAll(page);
	await page.evaluate(() => { document.querySelector('.scroll').scrollTop = 300; });
}, { colorScheme: 'dark' });
await picture('nsys', ['nsys'], openAll);
await picture('empty', ['empty']);
for (const real of ['flameox_nsight_2025.5.2', 'nsysai_h100_2gpu_1s', 'nsysai_mfu_2gpu_after', 'nsysai_mfu_2gpu_before'])
	await picture(`nsys-${real}`, [real]);

/* As long as there is a writer, the report is live. */
const writer = spawn('flock', ['-x', `${folder}/cpu.sqlite`, 'sh', '-c', 'echo has; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });

await new Promise((done) => writer.stdout.once('data', done));
await picture('live', ['cpu'], (page) => page.keyboard.press('l'));
writer.stdin.end();

await test('no error in any console', () => equal(browser.errors, []));
await test('no request to another host', () => equal(browser.strangers, []));
await browser.close();
finish();
