/*
 * view_notes.mjs - what people write on a report and where they look, on the page of `sightline view`: kept beside the report, and in a
 * link that another browser opens.
 */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { equal, near, serve, settled, test, truth, until } from './page.mjs';

export async function notePages({ bin, folder, browser }) {
	const report = `${folder}/noted.sqlite`, file = `${report}.notes`;
	/* The same one for all servers: what a browser keeps is of one port. */
	const port = String(21000 + process.pid % 9000);
	const using = async (use) => {
		const server = await serve(bin, ['--port', port, report]);
		const pages = [];

		try {
			await use(async (options = {}) => {
				const p = await browser.open(options.address ?? server.address, options);

				pages.push(p);
				return p;
			}, server);
		} finally {
			for (const p of pages)
				await p.context().close();
			if (server.child.exitCode === null)
				await server.end();
		}
	};
	const kept = () => {
		try {
			return JSON.parse(readFileSync(file, 'utf8')).notes;
		} catch {
			return null;
		}
	};
	const saved = async (p, is) => {
		for (let i = 0; i < 200; i++) {
			const notes = kept();

			if (notes && is(notes))
				return notes;
			await p.waitForTimeout(50);
		}
		throw new Error(`not saved: ${JSON.stringify(kept())}`);
	};
	const note = async (p, text) => {
		await p.evaluate(() => document.querySelector('.scroll').focus());
		await p.keyboard.press('b');
		await p.waitForSelector('dialog[open] input:focus');
		await p.keyboard.type(text);
		await p.keyboard.press('Enter');
	};
	const state = (p) => p.evaluate(() => ({
		marks: __view.model.marks.value.map((k) => [Math.round(k.t), k.t1 === undefined ? null : Math.round(k.t1), k.text]), pins: __view.model.pinned.value.rows.filter((q) => !['why', 'finding'].includes(q.row.kind)).map((q) => q.row.name),
		named: (() => { const all = []; __view.model.everyRow((r) => { if (r.given) all.push(r.name); }); return all; })(), hidden: (() => { const all = []; __view.model.everyRow((r) => { if (r.hidden) all.push(r.key); }); return all.length; })(),
	}));

	await test('notes, spans, pins, hidden rows and names are there again after the server began anew, in a file for the owner alone', async () => {
		let before;

		await using(async (open) => {
			const p = await open();

			await p.evaluate(() => { __view.view.show(1e8, 2e8); });
			await note(p, 'slow step');
			await p.evaluate(() => { __view.model.range.value = { t0: 3e8, t1: 3.5e8 }; });
			await note(p, 'a span <b>&');
			await p.evaluate(() => { __view.model.range.value = null; __view.model.current.value = __view.model.placed.value.rows.find((q) => q.row.kind === 'nvtx').row; document.querySelector('.scroll').focus(); });
			await p.keyboard.press('p');
			await p.keyboard.press('F2');
			await p.waitForSelector('dialog[open] input:focus');
			await p.keyboard.press('Control+a');
			await p.keyboard.type('ranges of mine');
			await p.keyboard.press('Enter');
			await p.evaluate(() => { __view.model.current.value = __view.model.placed.value.rows.find((q) => q.row.kind === 'sample').row; document.querySelector('.scroll').focus(); });
			await p.keyboard.press('h');
			await saved(p, (n) => n.marks.length === 2 && n.pins.length === 1 && n.hidden.length === 1 && Object.keys(n.names).length === 1);
			before = await state(p);
		});
		equal(statSync(file).mode & 0o777, 0o600, 'mode');
		await using(async (open) => {
			const p = await open();

			await until(p, () => __view.model.marks.value.length === 2, null, 'the notes');
			equal(await state(p), before, 'all of it');
			equal(before.pins, ['ranges of mine'], 'the pinned row has its name');
		});
	});

	await test('a link that was copied opens in another browser: the same span, selection and notes', () => using(async (open, server) => {
		const p = await open();

		await p.context().grantPermissions(['clipboard-read', 'clipboard-write']);
		await p.fill('#search', '=optimizer');
		await p.press('#search', 'Enter');
		await until(p, () => __view.model.selected.value?.name === 'optimizer', null, 'a range');
		await p.evaluate(() => { const e = __view.model.selected.value; __view.view.show(e.start - 1e6, e.end + 1e6); __view.model.range.value = { t0: e.start, t1: e.end }; document.querySelector('.scroll').focus(); });
		await settled(p);
		await p.keyboard.press('u');
		const link = await p.evaluate(() => new Promise((done) => setTimeout(() => navigator.clipboard.readText().then(done), 300)));

		truth(link.startsWith(server.address.replace(/#.*/, '#t=')), link);
		const here = await p.evaluate(() => [__view.view.shown(), __view.model.range.value, __view.model.selected.value.start, __view.model.selected.value.name]);
		const other = await open({ address: link });

		await until(other, () => __view.model.selected.value !== null && __view.model.marks.value.length === 2, null, 'the selection and the notes');
		const there = await other.evaluate(() => [__view.view.shown(), __view.model.range.value, __view.model.selected.value.start, __view.model.selected.value.name]);

		near(there[0].t0, here[0].t0, 2, 'from');
		near(there[0].t1, here[0].t1, 2, 'to');
		equal(there.slice(2), here.slice(2), 'the selected event');
		near(there[1].t0, here[1].t0, 1, 'the span');
		truth(!(await other.url()).includes('t=' + server.address.split('t=')[1]), 'the key leaves the address');
	}));

	await test('notes of two pages of one report do not overwrite each other', () => using(async (open) => {
		const a = await open(), b = await open();

		for (const [p, text, t] of [[a, 'from one page', 5e8], [b, 'from another page', 6e8]]) {
			await p.evaluate((at) => { __view.model.selected.value = __view.model.range.value = null; __view.view.show(at - 1e7, at + 1e7); }, t);
			await note(p, text);
			await saved(p, (n) => n.marks.some((k) => k.text === text));
		}
		equal(kept().marks.map((k) => k.text).sort(), ['a span <b>&', 'from another page', 'from one page', 'slow step'], 'all notes');
	}));

	await test('notes of another recording, and damaged ones, stay until they are set aside', async () => {
		const ours = readFileSync(file, 'utf8');

		for (const [text, said] of [[ours.replace(/"report": "[^"]*"/, '"report": "begin 1"'), 'of another recording'], ['{"report": "x", "notes": [', 'damaged'], ['', 'damaged'], [ours.slice(0, 40), 'damaged']]) {
			writeFileSync(file, text);
			rmSync(file + '.old', { force: true });
			await using(async (open) => {
				const p = await open();

				await p.evaluate(() => localStorage.clear());
				await p.getByText(said).waitFor();
				equal(await p.evaluate(() => __view.model.marks.value.length), 0, 'none of them is shown');
				await note(p, 'mine');
				await p.waitForTimeout(1200);
				equal(readFileSync(file, 'utf8'), text, 'they stay as they are');
				await p.getByText('Set them aside').click();
				await saved(p, (n) => n.marks.length === 1 && n.marks[0].text === 'mine');
				equal(readFileSync(file + '.old', 'utf8'), text, 'and are kept under another name');
			});
		}
		writeFileSync(file, ours);
	});

	await test('notes that were written when the server was gone are saved when it is there again', async () => {
		const context = await browser.browser.newContext();

		await using(async (_, server) => {
			const p = await context.newPage();

			await p.goto(server.address + '&test');
			await p.waitForFunction(() => window.__view?.model.sources.value.every((s) => s.indexed === 1) && __view.model.marks.value.length > 0);
			await settled(p);
			await server.end();
			await note(p, 'nobody there');
			await p.getByText('kept in this browser').waitFor();
			/* Here: the page that finds the server again forgets it once it is saved. */
			await p.waitForFunction(() => JSON.stringify(localStorage).includes('nobody there'));
			await p.close();
		});
		await using(async (_, server) => {
			const p = await context.newPage();

			await p.goto(server.address + '&test');
			equal(new URL(server.address).port, port, 'what a browser keeps is of one port');
			await until(p, () => window.__view?.model.marks.value.some((k) => k.text === 'nobody there'), null, 'the note');
			await saved(p, (n) => n.marks.some((k) => k.text === 'nobody there'));
			await p.close();
		});
		await context.close();
	});

	await test('notes that may be anything do nothing but show', async () => {
		const { report: of } = JSON.parse(readFileSync(file, 'utf8'));
		const odd = { version: 9, marks: [{ t: 'x' }, { t: 1e8, text: '<img src=x onerror=alert(1)>' }, null, 7], pins: { a: 1 }, hidden: ['nowhere'], names: { __proto__: 'x', 'p:1': 5 } };

		writeFileSync(file, JSON.stringify({ report: of, notes: odd }));
		await using(async (open) => {
			const p = await open();

			await until(p, () => __view.model.marks.value.length === 1, null, 'the one that is one');
			await p.keyboard.press('b');
			await p.waitForSelector('dialog[open] .marks li');
			equal(await p.evaluate(() => document.querySelectorAll('img').length), 0, 'no element came out of it');
		});
	});
}
