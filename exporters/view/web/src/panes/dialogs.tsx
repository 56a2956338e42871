/* dialogs.tsx - help, the list of commands, go to a time, a note for a bookmark. */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import * as m from "../model";
import { bookmark } from "../actions";
import { commands, keyName, type Command } from "../keys";
import { dur, parseTime, point } from "../format";
import { show, showWithin, shown } from "../view";

const close = (): void => { m.dialog.value = ""; };

/* The browser's own dialog: it keeps the focus inside and gives it back. */
function Dialog({ title, children, wide }: { title: string; children: ComponentChildren; wide?: boolean }) {
	const el = useRef<HTMLDialogElement>(null);

	useLayoutEffect(() => {
		el.current?.showModal();
		el.current?.querySelector<HTMLElement>("[data-first]")?.focus();
	}, []);
	return (
		<dialog ref={el} class={wide ? "wide" : ""} aria-label={title} onClose={close} onClick={(e) => { if (e.target === el.current) close(); }}>
			<header><h2>{title}</h2><button class="act" aria-label="Close" onClick={close}>✕</button></header>
			{children}
		</dialog>
	);
}

const Keys = ({ of }: { of: Command }) => <>{of.keys.map((k) => <kbd>{keyName(k)}</kbd>)}</>;

function Help() {
	const groups = [...new Set(commands.map((c) => c.group))].filter((g) => commands.some((c) => c.group === g && c.keys.length));

	return (
		<Dialog title="Keys and mouse" wide>
			<div class="help">
				{groups.map((g) => <section><h3>{g}</h3><dl>{commands.filter((c) => c.group === g && c.keys.length).map((c) => <div><dt><Keys of={c} /></dt><dd>{c.label}</dd></div>)}</dl></section>)}
				<section><h3>Mouse</h3><dl>
					<div><dt>wheel</dt><dd>Scroll rows</dd></div>
					<div><dt><kbd>Ctrl</kbd> wheel</dt><dd>Zoom at the pointer</dd></div>
					<div><dt><kbd>Shift</kbd> wheel</dt><dd>Move in time</dd></div>
					<div><dt>middle, <kbd>Shift</kbd> drag</dt><dd>Move in time and rows</dd></div>
					<div><dt>drag</dt><dd>Select a span of the rows under it; on the axis: of all rows</dd></div>
					<div><dt>click</dt><dd>Select an event, or the gap between two</dd></div>
					<div><dt>double click</dt><dd>Zoom to an event</dd></div>
				</dl></section>
			</div>
		</Dialog>
	);
}

const typed = signal("");
const chosen = signal(0);

function Commands() {
	const words = typed.value.toLowerCase().split(/\s+/).filter(Boolean);
	const list = commands.filter((c) => words.every((w) => (c.group + " " + c.label).toLowerCase().includes(w)));
	const run = (c: Command | undefined): void => {
		close();
		typed.value = "";
		c?.run({ shiftKey: false });
	};
	const key = (e: KeyboardEvent): void => {
		if (e.code === "ArrowDown" || e.code === "ArrowUp") {
			chosen.value = Math.max(0, Math.min(list.length - 1, chosen.value + (e.code === "ArrowDown" ? 1 : -1)));
			e.preventDefault();
		} else if (e.code === "Enter")
			run(list[chosen.value]);
	};

	return (
		<Dialog title="Commands">
			<input data-first role="combobox" aria-expanded="true" aria-controls="commands" aria-activedescendant={`command-${chosen.value}`} aria-label="Command" placeholder="Type a command"
				value={typed.value} onInput={(e) => { typed.value = e.currentTarget.value; chosen.value = 0; }} onKeyDown={key} />
			<ul id="commands" role="listbox" class="commands">{list.map((c, i) => (
				<li id={`command-${i}`} role="option" aria-selected={i === chosen.value} onClick={() => run(c)}><span>{c.label}</span><span><Keys of={c} /></span></li>
			))}</ul>
		</Dialog>
	);
}

function GoTo() {
	const wrong = useRef(signal("")).current;
	const go = (text: string): void => {
		const t = parseTime(text);
		const { t0, t1 } = shown();

		if (isNaN(t)) {
			wrong.value = "A time such as 1.25 s, 300 ms or 1500 ns after the start of the report.";
			return;
		}
		close();
		show(t - (t1 - t0) / 2, t + (t1 - t0) / 2);
	};

	return (
		<Dialog title="Go to a time">
			<form onSubmit={(e) => { e.preventDefault(); go((e.currentTarget.elements[0] as HTMLInputElement).value); }}>
				<input data-first aria-label="Time after the start" placeholder="1.25 s, 300 ms, 1500 ns" /> <button class="act">Go</button>
				{wrong.value && <p class="error" role="alert">{wrong.value}</p>}
			</form>
		</Dialog>
	);
}

function Note() {
	return (
		<Dialog title={m.range.value ? "A note on the span" : "A note"}>
			<form onSubmit={(e) => { e.preventDefault(); close(); bookmark((e.currentTarget.elements[0] as HTMLInputElement).value.slice(0, 200)); }}>
				<input data-first aria-label="Note" placeholder="a note, if you like" maxLength={200} /> <button class="act">Set</button>
			</form>
			{m.marks.value.length > 0 && <ul class="marks">{m.marks.value.map((k) => (
				<li><button class="link" onClick={() => { const { t0, t1 } = shown(); close(); if (k.t1 !== undefined) showWithin(k.t, k.t1); else show(k.t - (t1 - t0) / 2, k.t + (t1 - t0) / 2); }}>{point(k.t, 1e3)}{k.t1 !== undefined && `, ${dur(k.t1 - k.t)}`}</button> {k.text}
					<button class="act" aria-label="Remove" onClick={() => { m.marks.value = m.marks.value.filter((x) => x !== k); }}>✕</button></li>
			))}</ul>}
			<p class="quiet">Notes, pinned and hidden rows, and names of rows are kept beside the report. “Copy link” makes an address for another browser.</p>
		</Dialog>
	);
}

function Rename() {
	const row = m.current.value;

	return (
		<Dialog title="Name of the row">
			<form onSubmit={(e) => { e.preventDefault(); close(); if (row) { m.rename(row, (e.currentTarget.elements[0] as HTMLInputElement).value.trim().slice(0, 200)); m.changed(); } }}>
				<input data-first aria-label="Name" placeholder={row?.full} value={row?.name ?? ""} maxLength={200} /> <button class="act">Set</button>
			</form>
			<p class="quiet">Without a text the row is called {row?.full} again.</p>
		</Dialog>
	);
}

export function Dialogs() {
	switch (m.dialog.value) {
	case "help": return <Help />;
	case "commands": return <Commands />;
	case "goto": return <GoTo />;
	case "note": return <Note />;
	case "rename": return <Rename />;
	default: return null;
	}
}
