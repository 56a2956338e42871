/* page.mjs - what tests of pages share: TAP, a server of `sightline view`, a Chromium, questions to a report. */
import { execFileSync, spawn } from 'node:child_process';
import { chromium } from 'playwright-core';

const PATIENCE = 60000;

let tests = 0, failures = 0;
export const note = (text) => process.stdout.write(String(text).replace(/^/gm, '# ') + '\n');

export async function test(name, run) {
	const began = performance.now();

	tests++;
	try {
		await run();
		process.stdout.write(`ok ${tests} - ${name}\n`);
		if (process.env.VIEW_TIMES)
			note(`${Math.round(performance.now() - began)} ms`);
	} catch (e) {
		failures++;
		process.stdout.write(`not ok ${tests} - ${name}\n`);
		note(e.stack ?? e);
	}
}
export function skip(name, why) {
	tests++;
	process.stdout.write(`ok ${tests} - ${name} # SKIP ${why}\n`);
}
export function finish() {
	process.stdout.write(`1..${tests}\n`);
	process.exitCode = failures ? 1 : 0;
}

/* Of a report, by the sqlite3 shell: an array of objects; big numbers come as text where CAST makes them so. */
export const sql = (file, statement) => JSON.parse(execFileSync('sqlite3', ['-readonly', '-json', file, statement], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }) || '[]');
export const one = (file, statement) => Object.values(sql(file, statement)[0] ?? {})[0];

export async function serve(bin, args) {
	const child = spawn(bin, ['view', '--no-open', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
	let text = '';
	const address = await new Promise((done, fail) => {
		const read = (chunk) => {
			text += chunk;
			const found = /http:\/\/127\.0\.0\.1:\d+\/#t=[0-9a-f]+\S*/.exec(text);

			if (found)
				done(found[0]);
		};
		child.stdout.on('data', read);
		child.stderr.on('data', read);
		child.on('exit', (code) => fail(new Error(`sightline view ended with ${code}: ${text}`)));
		setTimeout(() => fail(new Error(`no address within 60 s: ${text}`)), 60000).unref();
	});

	return { address, child, end: () => new Promise((done) => { child.on('exit', done); child.kill('SIGTERM'); }) };
}

/* Every page is watched: errors in its console, requests to other hosts. */
export class Browser {
	constructor(browser) {
		this.browser = browser;
		this.errors = [];
		this.strangers = [];
	}

	static async start(path) {
		return new Browser(await chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--font-render-hinting=none'] }));
	}

	/* @prepare: what is done with the page before it is opened. */
	async open(address, { width = 1400, height = 850, colorScheme = 'light', expectErrors = false, wait = true, prepare = null } = {}) {
		const context = await this.browser.newContext({ viewport: { width, height }, colorScheme, acceptDownloads: true });
		const page = await context.newPage();

		page.setDefaultTimeout(PATIENCE);

		/* A browser reports each answer of 400 or 404 there: what the page does with it is its own test. */
		page.on('console', (m) => { if (['error', 'warning'].includes(m.type()) && !expectErrors && !/status of 40[04]/.test(m.text())) this.errors.push(`${m.type()}: ${m.text()}`); });
		page.on('pageerror', (e) => this.errors.push(e.stack));
		context.on('request', (r) => { if (!/^(http:\/\/127\.0\.0\.1:\d+\/|data:|blob:)/.test(r.url())) this.strangers.push(r.url()); });
		await prepare?.(page);
		await page.goto(address + (address.includes('#') ? '&' : '#') + 'test');
		if (wait) {
			await page.waitForFunction(() => window.__view?.model.sources.value.length > 0 && window.__view.model.sources.value.every((s) => s.indexed === 1));
			await settled(page);
		}
		return page;
	}

	close() {
		return this.browser.close();
	}
}

export const settled = (page) => page.evaluate(() => window.__view.settled());

export function equal(got, want, what = '') {
	const a = JSON.stringify(got), b = JSON.stringify(want);

	if (a !== b)
		throw new Error(`${what}\ngot:  ${a}\nwant: ${b}`);
}
export function truth(condition, what) {
	if (!condition)
		throw new Error(what);
}
export const near = (got, want, within, what = '') => truth(Math.abs(got - want) <= within, `${what}: got ${got}, want ${want} ± ${within}`);

/* The pixels of a canvas: its width and rows of RGBA, from a copy, so that the page's own canvas stays as it is. */
export const pixels = (page, selector) => page.evaluate((s) => {
	const canvas = document.querySelector(s), copy = document.createElement('canvas');

	copy.width = canvas.width;
	copy.height = canvas.height;
	const c = copy.getContext('2d', { willReadFrequently: true });

	c.drawImage(canvas, 0, 0);
	return { width: copy.width, data: Array.from(c.getImageData(0, 0, copy.width, copy.height).data) };
}, selector);

/* Waits until a question to the page has the answer. */
export async function until(page, question, argument, what) {
	await page.waitForFunction(question, argument, { timeout: PATIENCE }).catch(() => { throw new Error(`${what ?? question}: did not come true`); });
}
