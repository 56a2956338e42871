/*
 * notes.ts - notes, pins, hidden rows and names of rows, kept beside each report by the server; until the server has them, also in the
 * browser. What comes from there may be anything.
 */
import { effect, signal } from "@preact/signals";
import * as m from "./model";
import { get, post, Refused, type NotesJson } from "./net";

interface Kept { version: 1; marks: { t: number; t1?: number; text: string }[]; pins: string[]; hidden: string[]; names: Record<string, string> }

const STILL_MS = 700, MARKS = 1000, ROWS = 20000, TEXT = 200, NAME = 200;
/* By report: the notes as the server has them; null: they are not to be saved. */
const saved: (string | null)[] = [];
/* Notes in the way of these: whose they are, and where. */
export const inTheWay = signal<{ source: number; text: string } | null>(null);
let isReady = false;
let timer = 0;

const storeOf = (source: number): string => `sightline-notes ${m.sources.value[source].path}`;
const inBrowser = <T,>(f: () => T): T | null => { try { return f(); } catch { return null; } };

/* Of a report alone, by its own clock. */
function notesOf(source: number): Kept {
	const { offset } = m.sources.value[source];
	const kept: Kept = { version: 1, marks: m.marks.value.filter((k) => (k.source ?? 0) === source).map((k) => ({ t: Math.round(k.t - offset), ...(k.t1 === undefined ? {} : { t1: Math.round(k.t1 - offset) }), text: k.text })), pins: [], hidden: [], names: {} };

	m.everyRow((r) => {
		if (r.source !== source)
			return;
		if (r.pinned)
			kept.pins.push(r.key);
		if (r.hidden)
			kept.hidden.push(r.key);
		if (r.given)
			kept.names[r.key] = r.name;
	});
	return kept;
}

const isEmpty = (k: Kept): boolean => !k.marks.length && !k.pins.length && !k.hidden.length && !Object.keys(k.names).length;
const strings = (x: unknown): string[] => Array.isArray(x) ? x.filter((s): s is string => typeof s === "string").slice(0, ROWS) : [];

/* Takes what has the right form. */
function read(json: unknown): Kept {
	const from = (typeof json === "object" && json !== null ? json : {}) as Record<string, unknown>;
	const marks = Array.isArray(from.marks) ? from.marks : [];
	const names = typeof from.names === "object" && from.names !== null ? Object.entries(from.names as Record<string, unknown>) : [];

	return {
		version: 1, pins: strings(from.pins), hidden: strings(from.hidden),
		marks: marks.filter((k) => typeof k === "object" && k !== null && Number.isFinite(k.t)).slice(0, MARKS).map((k) => ({ t: k.t as number, ...(Number.isFinite(k.t1) ? { t1: k.t1 as number } : {}), text: typeof k.text === "string" ? k.text.slice(0, TEXT) : "" })),
		names: Object.fromEntries(names.filter((e): e is [string, string] => typeof e[1] === "string").slice(0, ROWS).map(([k, v]) => [k, v.slice(0, NAME)])),
	};
}

/* Adds notes to those that are there: a link may have brought some. */
function apply(source: number, kept: Kept): void {
	const { offset } = m.sources.value[source];
	const known = new Set(m.marks.value.map((k) => `${Math.round(k.t)} ${k.text}`));
	const pins = new Set(kept.pins), hidden = new Set(kept.hidden);

	m.marks.value = [...m.marks.value, ...kept.marks.filter((k) => !known.has(`${Math.round(k.t + offset)} ${k.text}`)).map((k) => ({ ...k, t: k.t + offset, ...(k.t1 === undefined ? {} : { t1: k.t1 + offset }), source }))].sort((a, b) => a.t - b.t);
	m.everyRow((r) => {
		if (r.source !== source)
			return;
		r.pinned ||= pins.has(r.key);
		r.hidden ||= hidden.has(r.key);
		if (Object.hasOwn(kept.names, r.key))
			m.rename(r, kept.names[r.key]);
	});
	m.changed();
}

async function load(source: number): Promise<void> {
	const unsaved = inBrowser(() => localStorage.getItem(storeOf(source)));
	const json = await get<NotesJson>("notes", { r: source });

	saved[source] = json.state === "ours" || json.state === "none" ? JSON.stringify(json.notes ? read(json.notes) : null) : null;
	if (json.state === "ours")
		apply(source, read(json.notes));
	if (unsaved)
		apply(source, read(inBrowser(() => JSON.parse(unsaved))));
	if (json.state === "other" || json.state === "damaged")
		inTheWay.value = { source, text: `The notes in ${json.path} are ${json.state === "other" ? "of another recording" : "damaged"}: they stay there, and new ones are kept in this browser alone.` };
}

async function save(source: number, replace = false): Promise<void> {
	let kept = notesOf(source), text = JSON.stringify(kept);

	if (saved[source] === text || (saved[source] === "null" && isEmpty(kept)))
		return;
	inBrowser(() => localStorage.setItem(storeOf(source), text));
	if (saved[source] === null && !replace)
		return;
	try {
		/* Another page of this report may have saved since. */
		const now = await get<NotesJson>("notes", { r: source });

		if (now.state === "ours" && JSON.stringify(read(now.notes)) !== saved[source]) {
			apply(source, read(now.notes));
			kept = notesOf(source);
			text = JSON.stringify(kept);
		}
		await post("note", { r: source, replace: replace ? 1 : undefined }, kept);
		saved[source] = text;
		inBrowser(() => localStorage.removeItem(storeOf(source)));
	} catch (e) {
		m.notice.value = `${e instanceof Refused ? e.message : String(e)} The notes are kept in this browser until then.`;
	}
}

/* The notes in the way get another name, and new ones are saved. */
export async function setAside(): Promise<void> {
	const way = inTheWay.value;

	inTheWay.value = null;
	if (way)
		await save(way.source, true);
}

export function saveSoon(): void {
	clearTimeout(timer);
	if (isReady)
		timer = setTimeout(() => m.sources.value.forEach((s) => void save(s.index)), STILL_MS) as unknown as number;
}

/* Once, when the rows are there. */
export async function keepNotes(): Promise<void> {
	try {
		for (const s of m.sources.value)
			await load(s.index);
		isReady = true;
	} catch (e) {
		m.notice.value = e instanceof Error ? e.message : String(e);
		return;
	}
	effect(() => {
		m.marks.value;
		m.layoutTick.value;
		saveSoon();
	});
}
