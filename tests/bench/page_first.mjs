/* page_first.mjs SIGHTLINE REPORT CHROMIUM warm|cold|far|slow ROUNDS - times of the page of `sightline view`, as JSON: page_part.py. */
import { Browser, serve } from './page.mjs';
import { delaying } from './far.mjs';

const [, , bin, report, chromium, what, rounds] = process.argv;
const ROUND_MS = 50, SLOW = 500; /* bytes in a millisecond */
/* By how much of the width, and to how much of it. */
const MOVES = [[0.5, 1], [0.1, 0.125], [0.5, 1], [-0.5, 1], [0.2, 0.1], [0.5, 1], [0, 16], [-0.5, 1], [0.3, 0.02], [0.5, 1]];
const sorted = (all) => [...all].sort((a, b) => a - b);
const at = (all, share) => sorted(all)[Math.min(all.length - 1, Math.floor(all.length * share))];

const browser = await Browser.start(chromium);
/* The first page of a browser starts processes that later ones use. */
const blank = await browser.browser.newPage();

await blank.goto('about:blank');
const server = await serve(bin, [report]);
const proxy = what === 'far' || what === 'slow' ? await delaying(Number(/:(\d+)\//.exec(server.address)[1]), ROUND_MS, what === 'slow' ? SLOW : Infinity) : null;
const address = proxy ? server.address.replace(/:\d+\//, `:${proxy.port}/`) : server.address;
const first = [], views = [], pictures = [], bytes = [], frames = []; /* pictures: bytes until all in sight is there */
let fps = 0;

for (let i = 0; i < (what === 'cold' ? 1 : Number(rounds)); i++) {
	const page = await browser.open(address, { width: 1600, height: 900, wait: false });

	await page.waitForFunction(() => window.__view?.stage.firstPicture > 0);
	first.push(await page.evaluate(() => __view.stage.firstPicture));
	if (what !== 'cold' && i === 0) {
		await page.evaluate(() => __view.settled());
		for (const [by, factor] of MOVES) {
			const before = proxy?.counted.bytes ?? 0;

			views.push(await page.evaluate(async ([shift, zoom]) => {
				const { show, shown } = __view.view;
				const { t0, t1 } = shown();
				const middle = (t0 + t1) / 2 + shift * (t1 - t0), half = zoom * (t1 - t0) / 2;
				const began = performance.now();

				show(middle - half, middle + half);
				await __view.whole();
				return performance.now() - began;
			}, [by, factor]));
			pictures.push((proxy?.counted.bytes ?? 0) - before);
			/* On a slow link the next move comes while things are fetched ahead. */
			await (what === 'slow' ? page.waitForTimeout(60) : page.evaluate(() => __view.settled()));
			bytes.push((proxy?.counted.bytes ?? 0) - before);
		}
	}
	if (what === 'warm' && i === 0) {
		await page.evaluate(() => { __view.view.showAll(); return __view.settled(); });
		const times = await page.evaluate(async () => {
			const { limits, show, pan } = __view.view;
			const all = [];
			let last = 0;

			show(limits.t0, limits.t0 + (limits.t1 - limits.t0) / 20);
			for (let n = 0; n < 300; n++) {
				pan(24);
				const now = await new Promise((done) => requestAnimationFrame(done));

				if (last)
					all.push(now - last);
				last = now;
			}
			return all;
		});

		frames.push(...times);
		fps = 1000 * times.length / times.reduce((a, b) => a + b, 0);
	}
	await page.context().close();
}
proxy?.close();
await browser.close();
await server.end();
console.log(JSON.stringify({ first: at(first, 0.5), slowest: Math.max(...first), view: at(views, 0.5) ?? null, view90: at(views, 0.9) ?? null, views: views.reduce((a, b) => a + b, 0), bytes: at(bytes, 0.5) ?? 0, bytesMost: Math.max(0, ...bytes), picture: at(pictures, 0.5) ?? 0, pictureMost: Math.max(0, ...pictures), fps, frame95: at(frames, 0.95) ?? null }));
