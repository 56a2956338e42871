/*
 * view_far.mjs - the page of `sightline view` over a connection that takes 50 ms for each answer, as an ssh tunnel may: how many
 * answers a picture waits for one after the other, and how many bytes it takes. Times are only printed: machines differ.
 */
import { delaying } from './far.mjs';
import { equal, note, settled, test, truth } from './page.mjs';

const ROUND_MS = 50, BYTES = 300000;

/* Requests, each with the number of those that had to be answered before it was made, one after the other. */
function rounds(page) {
	const done = new Map();
	const began = new Map();
	let all = [];

	page.on('request', (r) => {
		began.set(r, 1 + Math.max(0, ...[...done.values()]));
		/* What is fetched ahead of time has a limit. */
		all.push({ url: r.url().replace(/^[^/]*\/\/[^/]*/, '').replace(/\?.*most=.*/, ' ahead').replace(/\?.*/, ''), depth: began.get(r) });
	});
	page.on('requestfinished', (r) => done.set(r, began.get(r)));
	return {
		reset: () => { done.clear(); all = []; },
		most: (ending) => Math.max(0, ...all.filter((r) => r.url.endsWith(ending)).map((r) => r.depth)),
		text: () => all.map((r) => `${r.depth} ${r.url}`).join(', '),
	};
}

export async function farPages({ browser, server }) {
	const [, port, fragment] = /:(\d+)\/(#.*)/.exec(server.address);
	const proxy = await delaying(Number(port), ROUND_MS);
	const context = await browser.browser.newContext({ viewport: { width: 1600, height: 900 } });
	const page = await context.newPage();
	const counted = rounds(page);
	const encodings = [];

	page.on('response', (r) => { if (r.url().includes('/v1/tiles')) encodings.push(r.headers()['content-encoding'] ?? ''); });
	await test('far away: the first picture needs four answers, compressed', async () => {
		const plain = await fetch(`http://127.0.0.1:${port}/app.js`, { headers: { 'Accept-Encoding': 'identity' } });

		equal(plain.status, 406, 'a client that reads no gzip');
		const began = performance.now();

		await page.goto(`http://127.0.0.1:${proxy.port}/${fragment}&test`);
		await page.waitForFunction(() => window.__view?.requests.count > 0 && window.__view.cached().bytes > 0);
		note(`first picture after ${Math.round(performance.now() - began)} ms, ${proxy.counted.bytes} bytes: ${counted.text()}`);
		const files = await page.evaluate(() => performance.getEntriesByType('resource').filter((r) => /app\.(js|css)$/.test(r.name)).map((r) => [r.name, r.encodedBodySize, r.decodedBodySize]));

		truth(files.length === 2 && files.every(([, sent, whole]) => sent > 0 && sent < whole / 2), JSON.stringify(files));
		await settled(page);
		/* The page; its script and style; the rows; the tiles. When all in sight is there, those that are likely next, and those that may be later. */
		truth(counted.most('/v1/tiles') <= 4, `rounds: ${counted.text()}`);
		truth(counted.most('/v1/tiles ahead') <= 6, `rounds: ${counted.text()}`);
		truth(encodings.length > 0 && encodings.every((e) => e === 'deflate'), `encodings of tiles: ${encodings}`);
	});
	await test('far away: a view needs one answer, of at most 300 KB', async () => {
		for (const [what, move] of [['half a screen on', () => { const v = window.__view.view; const { t0, t1 } = v.shown(); v.show(t0 + (t1 - t0) / 2, t1 + (t1 - t0) / 2); }],
			['eight times closer', () => { const v = window.__view.view; const { t0, t1 } = v.shown(); const half = (t1 - t0) / 16, mid = (t0 + t1) / 2; v.show(mid - half, mid + half); }]]) {
			const before = proxy.counted.bytes;

			counted.reset();
			const began = performance.now();

			await page.evaluate(move);
			await settled(page);
			note(`${what}: ${Math.round(performance.now() - began)} ms, ${proxy.counted.bytes - before} bytes: ${counted.text()}`);
			truth(counted.most('/v1/tiles') <= 1, `rounds, ${what}: ${counted.text()}`);
			truth(counted.most('/v1/tiles ahead') <= 3, `rounds, ${what}: ${counted.text()}`);
			truth(proxy.counted.bytes - before <= BYTES, `bytes, ${what}: ${proxy.counted.bytes - before}`);
		}
	});
	await test('far away: what is fetched ahead of time takes what the picture has left', async () => {
		const limits = [];
		const look = async (bytes) => {
			const before = proxy.counted.bytes;

			limits.length = 0;
			await page.evaluate((n) => {
				const { show, shown, showAll } = __view.view;

				__view.most.view = n;
				__view.forget(0);
				showAll();
				const { t0, t1 } = shown();

				show(t0 + (t1 - t0) * (0.3 + n / 1e9), t0 + (t1 - t0) * 0.4);
			}, bytes);
			await settled(page);
			note(`${bytes} bytes: ${proxy.counted.bytes - before}, at most ${limits} rectangles`);
			truth(limits.includes(Infinity), 'the picture has no limit');
			return { ahead: limits.filter((n) => n < Infinity), bytes: proxy.counted.bytes - before };
		};

		page.on('request', (r) => { if (r.url().includes('/v1/tiles')) limits.push(Number(/most=(\d+)/.exec(r.url())?.[1] ?? Infinity)); });
		const picture = await look(0), little = await look(picture.bytes + 8000), much = await look(picture.bytes + 80000);

		equal(picture.ahead, [], 'nothing is left');
		/* A rectangle takes more than a byte; heads are not known exactly. */
		truth(little.ahead.length > 0 && little.ahead[0] < 12000 && little.bytes < picture.bytes + 20000, JSON.stringify([picture, little]));
		truth(much.ahead.length > 0 && much.ahead[0] > 2 * little.ahead[0], JSON.stringify([little, much]));
	});
	await context.close();
	proxy.close();
}
