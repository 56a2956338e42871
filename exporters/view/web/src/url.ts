/* url.ts - the view, bookmarks and pinned rows in the fragment of the address. */
import { effect } from "@preact/signals";
import * as m from "./model";
import { bring, choose, copy, fetchEvent, pick, setSearch } from "./actions";
import { addressWith } from "./net";
import { filter as events } from "./panes/events";
import { changed } from "./model";
import { edges, show, shown } from "./view";

const LONGEST = 8000;

export function readAddress(): void {
	const parts = new URLSearchParams(location.hash.slice(1));
	const [t0, t1] = (parts.get("v") ?? "").split("_").map(Number);
	const pins = new Set(parts.getAll("p"));

	if (pins.size) {
		m.everyRow((r) => { r.pinned = pins.has(r.source + "/" + r.key); });
		changed();
	}
	m.marks.value = parts.getAll("m").map((text) => {
		const [, from, to, note] = /^(-?[\d.]+)(?:-([\d.]+))?(?:_(.*))?$/s.exec(text) ?? [];

		return { t: Number(from ?? NaN), ...(to ? { t1: Number(to) } : {}), text: (note ?? "").slice(0, 200) };
	}).filter((k) => isFinite(k.t)).slice(0, 100);
	readSelection(parts);
	if (isFinite(t0) && isFinite(t1) && t1 > t0 && t1 > edges.t0 && t0 < edges.t1)
		show(t0, t1);
	openAt(parts);
}

/* The row that a person means: the number of a thread or process, a key, a part of a name. */
function rowOf(text: string): m.Row | undefined {
	const wanted = text.toLowerCase(), plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "");
	const tests: ((r: m.Row) => boolean)[] = [
		(r) => r.source + "/" + r.key === text || r.key === text, (r) => r.ids === `tid ${wanted}`, (r) => r.joined && String(r.pid) === wanted, (r) => String(r.pid) === wanted,
		(r) => r.full.toLowerCase() === wanted, (r) => plain(r.full).startsWith(plain(wanted)), (r) => r.full.toLowerCase().includes(wanted),
	];

	for (const is of tests) {
		let found: m.Row | undefined;

		m.everyRow((r) => { if (!found && is(r)) found = r; });
		if (found)
			return found;
	}
	return undefined;
}

/* Of sightline view --at --row: a time, and an event or a gap of the row. */
function openAt(parts: URLSearchParams): void {
	const text = parts.get("row"), at = Number(parts.get("at") ?? NaN);
	const row = text ? rowOf(text) : undefined;

	if (text && !row)
		m.notice.value = `No row is called “${text}”.`;
	if (row) {
		m.unfold(row);
		m.current.value = row;
	}
	if (isNaN(at))
		return;
	const { t0, t1 } = shown();

	if (!parts.has("v"))
		show(at - (t1 - t0) / 2, at + (t1 - t0) / 2);
	if (row?.lanes.length)
		void pick(row.source, row.lanes[0], at, 0, true).then(bring);
	else
		bring({ source: 0, lane: -1, row, start: at, end: at, open: false, name: "", json: null, before: "", after: "" });
}

/* The chosen span, what is searched and filtered, the pane, the selected event. */
function readSelection(parts: URLSearchParams): void {
	const [r0, r1] = (parts.get("r") ?? "").split("_").map(Number);
	const [, key, at] = /^(.*)@(-?\d+)$/.exec(parts.get("s") ?? "") ?? [];

	if (isFinite(r0) && isFinite(r1) && r1 > r0)
		m.range.value = { t0: r0, t1: r1 };
	m.filter.value = (parts.get("f") ?? "").slice(0, 500);
	if (parts.get("q"))
		setSearch(parts.get("q")!.slice(0, 500));
	if (parts.get("e"))
		events.value = parts.get("e")!.slice(0, 500);
	if (key !== undefined)
		void select(key, Number(at));
	if (PANES.has(parts.get("o") ?? "")) {
		m.pane.value = parts.get("o")!;
		m.paneOpen.value = true;
	}
}

const PANES = new Set(["findings", "details", "events", "tables", "flame", "sql"]);

/* The event of a row that begins at a time, on whichever of its lanes. */
async function select(key: string, at: number): Promise<void> {
	let row: m.Row | undefined;
	const open = m.pane.value;

	m.everyRow((r) => { if (r.source + "/" + r.key === key) row = r; });
	for (const lane of row?.lanes ?? []) {
		const e = await fetchEvent(row!.source, lane, at, { dt: 0 }).catch(() => null);

		if (e && Math.abs(e.start - at) < 1) {
			m.unfold(row!);
			choose(e);
			m.pane.value = open;
			bring(e);
			return;
		}
	}
}

/* What is on the screen, for an address. */
function state(): URLSearchParams {
	const parts = new URLSearchParams();
	const { t0, t1 } = shown();
	const e = m.selected.value, r = m.range.value;

	parts.set("v", `${Math.round(t0)}_${Math.round(t1)}`);
	m.everyRow((row) => { if (row.pinned) parts.append("p", row.source + "/" + row.key); });
	for (const k of m.marks.value)
		parts.append("m", `${Math.round(k.t)}${k.t1 === undefined ? "" : `-${Math.round(k.t1)}`}_${k.text}`);
	if (r)
		parts.set("r", `${Math.round(r.t0)}_${Math.round(r.t1)}`);
	if (e?.json && e.row)
		parts.set("s", `${e.row.source}/${e.row.key}@${Math.round(e.start)}`);
	for (const [key, text] of [["q", m.search.value], ["f", m.filter.value], ["e", events.value]])
		if (text)
			parts.set(key, text);
	if (m.paneOpen.value)
		parts.set("o", m.pane.value);
	return parts;
}

export const copyLink = (): void => void copy(addressWith(state().toString()), "The link");

let timer = 0;
/* Until the address has been read, it is not written: a report may take its time to come. */
let isRead = false;

function write(): void {
	const parts = state();

	if (new URLSearchParams(location.hash.slice(1)).has("test"))
		parts.set("test", "");
	const text = "#" + parts;

	if (text.length < LONGEST && text !== location.hash)
		history.replaceState(null, "", location.pathname + text);
}

export function soon(): void {
	clearTimeout(timer);
	if (isRead)
		timer = setTimeout(write, 400) as unknown as number;
}

export function keepAddress(): void {
	isRead = true;
	effect(() => {
		m.marks.value;
		m.layoutTick.value;
		m.selected.value;
		m.range.value;
		m.search.value;
		m.filter.value;
		m.pane.value;
		m.paneOpen.value;
		events.value;
		soon();
	});
}
