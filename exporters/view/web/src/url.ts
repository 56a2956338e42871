/* url.ts - the view, bookmarks and pinned rows in the fragment of the address. */
import { effect } from "@preact/signals";
import * as m from "./model";
import { bring, pick } from "./actions";
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
		const i = text.indexOf("_");

		return { t: Number(i < 0 ? text : text.slice(0, i)), text: i < 0 ? "" : text.slice(i + 1).slice(0, 200) };
	}).filter((k) => isFinite(k.t)).slice(0, 100);
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

let timer = 0;
/* Until the address has been read, it is not written: a report may take its time to come. */
let isRead = false;

function write(): void {
	const parts = new URLSearchParams();
	const { t0, t1 } = shown();
	const old = new URLSearchParams(location.hash.slice(1));

	if (old.has("test"))
		parts.set("test", "");
	parts.set("v", `${Math.round(t0)}_${Math.round(t1)}`);
	m.everyRow((r) => { if (r.pinned) parts.append("p", r.source + "/" + r.key); });
	for (const k of m.marks.value)
		parts.append("m", `${Math.round(k.t)}_${k.text}`);
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
		soon();
	});
}
