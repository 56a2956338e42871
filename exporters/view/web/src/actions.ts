/* actions.ts - actions on events and spans, called by keys, the mouse and panes. */
import { signal } from "@preact/signals";
import * as m from "./model";
import type { End, Event, Flow, Row } from "./model";
import { isFilter, lanesOf, parseFilter, queryOf, Wrong, type Filter } from "./filter";
import { get, post, Refused, waitsFor, type EndJson, type EventJson, type EventsJson, type FlowJson, type SearchJson } from "./net";
import { rowById } from "./load";
import { dur, point } from "./format";
import { edges, limits, reveal, show, showAll, showWithin, shown, view } from "./view";
import { isLocal, localEvent } from "./local";
import { scrollTo } from "./stage";
import { isPale, searched } from "./colours";

export const say = (text: string): void => { m.spoken.value = text; };

export function complain(e: unknown): void {
	if (e instanceof DOMException && e.name === "AbortError")
		return;
	m.notice.value = e instanceof Error ? e.message : String(e);
}

const endOf = (source: number, start: number, length: number): number => length < 0 ? m.sources.value[source].end : start + length;
const offsetOf = (source: number): number => m.sources.value[source]?.offset ?? 0;

export function toEvent(source: number, json: EventJson): Event {
	const offset = offsetOf(source);
	const row = m.rowOfLane.value.get(source + ":" + json.lane) ?? rowById(source, json.row);

	return {
		source, lane: json.lane, row, start: json.start + offset, end: endOf(source, json.start, json.dur) + offset, open: json.dur < 0, name: json.name, json,
		before: "", after: "",
	};
}

function toEnd(source: number, json: EndJson): End {
	const offset = offsetOf(source);

	return { lane: json.lane, start: json.start + offset, end: endOf(source, json.start, json.dur) + offset, name: json.name, table: json.table, rowid: json.rowid };
}

/* ---- selecting ---- */

let selecting = 0;

function spoken(e: Event): string {
	return e.json ? `${e.name}, ${e.open ? "not ended" : dur(e.end - e.start)}, at ${point(e.start, 1e-9)}, in ${e.row?.name ?? ""}` : `gap of ${dur(e.end - e.start)}`;
}

export function choose(e: Event | null): void {
	selecting++;
	m.selected.value = e;
	m.flows.value = [];
	if (!e)
		return;
	if (e.row)
		m.current.value = e.row;
	m.paneOpen.value = true;
	m.pane.value = "details";
	say(spoken(e));
	if (e.json && e.json.rowid >= 0)
		void readFlows(e, selecting);
}

async function readFlows(e: Event, turn: number): Promise<void> {
	try {
		const json = await get<FlowJson>("flow", { r: e.source, table: e.json!.table, rowid: e.json!.rowid });

		if (turn === selecting)
			m.flows.value = json.arrows.map((a) => ({ source: e.source, kind: a.kind, from: toEnd(e.source, a.from), to: toEnd(e.source, a.to) }));
	} catch (error) {
		if (!(error instanceof Refused && (error.status === 404 || error.status === 501)))
			complain(error);
	}
}

export const fetchEvent = async (source: number, lane: number, t: number, more: { dt?: number; dir?: number }): Promise<Event | null> => {
	if (isLocal(lane)) {
		const json = localEvent(source, lane, Math.round(t - offsetOf(source)), more.dt ?? 0, more.dir ?? 0);

		return json && toEvent(source, json);
	}
	try {
		return toEvent(source, await get<EventJson>("event", { r: source, lane, t: Math.round(t - offsetOf(source)), ...more }));
	} catch (e) {
		if (e instanceof Refused && e.status === 404)
			return null;
		throw e;
	}
};

/* Fetches an event without selecting it; a failure is silent. */
export const peek = (source: number, lane: number, t: number, dt: number): Promise<Event | null> =>
	fetchEvent(source, lane, t, { dt: Math.ceil(dt) }).catch(() => null);

/* A gap between two events is an event like any other: it can be measured and has a reason. */
async function gapAt(source: number, lane: number, t: number): Promise<Event> {
	const [before, after] = await Promise.all([fetchEvent(source, lane, t, { dir: -1 }), fetchEvent(source, lane, t, { dir: 1 })]);
	const s = m.sources.value[source];

	return {
		source, lane, row: m.rowOfLane.value.get(source + ":" + lane), start: before && before.end <= t ? before.end : s.start + s.offset,
		end: after ? after.start : s.end + s.offset, open: false, name: "gap", json: null, before: before?.name ?? "", after: after?.name ?? "",
	};
}

export async function pick(source: number, lane: number, t: number, dt: number, gaps: boolean): Promise<Event | null> {
	const turn = ++selecting;

	try {
		const e = await fetchEvent(source, lane, t, { dt: Math.ceil(dt) }) ?? (gaps ? await gapAt(source, lane, t) : null);

		if (turn === selecting)
			choose(e);
		return e;
	} catch (error) {
		complain(error);
		return null;
	}
}

/* Scrolls to an event once the rows that were opened, and the pane, have their places on the page. */
export function bring(e: Event | null): void {
	waitsFor(1);
	requestAnimationFrame(() => requestAnimationFrame(() => {
		if (e?.row)
			scrollTo(e.row);
		waitsFor(-1);
	}));
}

export async function goTo(e: Event, near = true): Promise<void> {
	if (e.row)
		m.unfold(e.row);
	if (near)
		reveal(e.start, e.end);
	else
		showWithin(e.start, e.end);
	choose(e);
	bring(e);
}

export async function goToEnd(source: number, end: End): Promise<void> {
	try {
		const e = await fetchEvent(source, end.lane, end.start, { dt: 0 });

		if (e)
			await goTo(e);
	} catch (error) {
		complain(error);
	}
}

/* Next or previous event of the row; without a selection, from the middle of the screen. */
export async function step(dir: number): Promise<void> {
	const e = m.selected.value;
	const row = m.current.value ?? e?.row;
	const { t0, t1 } = shown();
	const lane = e && e.row === row ? e.lane : row?.lanes[0];

	if (!row || lane === undefined)
		return say("Choose a row with events first.");
	const from = e && e.row === row ? (e.json ? e.start : dir > 0 ? e.end - 1 : e.start) : (t0 + t1) / 2;

	try {
		const next = await fetchEvent(row.source, lane, from, { dir });

		if (next)
			await goTo(next);
		else
			say(dir > 0 ? "This is the last event of the row." : "This is the first event of the row.");
	} catch (error) {
		complain(error);
	}
}

/* The next event of the same name in the same row: steps of a loop. */
export async function sameName(dir: number): Promise<void> {
	const e = m.selected.value;

	if (!e?.json)
		return say("Select an event first: its next step is the next one of its name.");
	const folded = e.name.replace(/= -?\d+/g, "= #");

	await jump(folded === e.name ? "=" + e.name : "~" + folded, dir, e.start, e.source, String(e.lane));
}

/* Does the arrow leave the event? That of a wake-up leaves it at any time of the waker's state. */
export function leaves(flow: Flow, e: Event): boolean {
	const arrives = flow.to.lane === e.lane && Math.abs(flow.to.start - e.start) < 1;

	return !arrives && flow.from.lane === e.lane && flow.from.start >= e.start - 1 && flow.from.start <= e.end;
}

export async function alongArrow(dir: number): Promise<void> {
	const e = m.selected.value;
	const next = e && (dir > 0 ? m.flows.value.find((f) => leaves(f, e))?.to : m.flows.value.find((f) => !leaves(f, e))?.from);

	if (e && next)
		await goToEnd(e.source, next);
	else
		say("No arrow leads there.");
}

/* ---- searching ---- */

/* Events that match in all, -1: not asked yet. */
export const matches = signal(-1);

/* The next event that a filter lets through; the total is of the whole report. */
async function jumpFiltered(f: Filter, dir: number, from: number, source: number): Promise<boolean> {
	const s = m.sources.value[source];
	const lanes = lanesOf(source, f);

	if (!lanes)
		return false;
	const at = Math.round(from - s.offset);
	const body = (t0: number, t1: number): object => ({ from: Math.floor(t0), to: Math.ceil(t1), lanes });
	/* Events that overlap the span count, too: an earlier start comes first. */
	const near = await post<EventsJson>("events", { r: source, ...queryOf(f), by: 0, down: dir > 0 ? 0 : 1, most: 500 }, dir > 0 ? body(at + 1, s.end + 1) : body(s.start, at));
	const all = await post<EventsJson>("events", { r: source, ...queryOf(f), most: 0 }, body(s.start, s.end + 1));

	matches.value = all.total;
	for (let i = 0; i + 3 < near.events.length; i += 4) {
		const [lane, start] = near.events.slice(i, i + 2);

		if (dir > 0 ? start <= at : start >= at)
			continue;
		const e = await fetchEvent(source, lane, start + s.offset, { dt: 0 });

		if (e)
			await goTo(e);
		return e !== null;
	}
	return false;
}

async function jump(q: string, dir: number, from: number, source: number, lanes?: string): Promise<boolean> {
	try {
		if (isFilter(q))
			return await jumpFiltered(parseFilter(q), dir, from, source);
		const json = await get<SearchJson>("search", { r: source, q, t: Math.round(from - offsetOf(source)), dir, lanes });

		if (!/^[=~]/.test(q) || !lanes)
			matches.value = json.total;
		if (!json.found || !json.event)
			return false;
		const end = toEnd(source, json.event);
		const e = await fetchEvent(source, end.lane, end.start, { dt: 0 });

		if (e)
			await goTo(e);
		return true;
	} catch (error) {
		complain(error);
		return false;
	}
}

/* The next match after the selected event, else on the screen; in each report, from the one that is selected. */
export async function searchNext(dir: number): Promise<void> {
	const q = m.search.value.trim();

	if (!q)
		return;
	const e = m.selected.value;
	const { t0, t1 } = shown();
	const from = e ? e.start : dir > 0 ? t0 - 1 : t1;
	const order = m.sources.value.map((s) => s.index).sort((a, b) => Number(b === e?.source) - Number(a === e?.source));

	for (const source of order)
		if (await jump(q, dir, from, source)) {
			m.notice.value = "";
			return;
		}
	for (const source of order) /* around the end */
		if (matches.value > 0 && await jump(q, dir, dir > 0 ? edges.t0 - 1 : edges.t1 + 1, source)) {
			say("Around the end of the report.");
			return;
		}
	say(`Nothing is called ${q}.`);
	if (isFilter(q) && wrong(q))
		return;
	m.notice.value = matches.value > 0 ? "" : `Nothing is called “${q}”.`;
	setTimeout(() => { if (m.notice.value.includes(`“${q}”`)) m.notice.value = ""; }, 5000);
}

/* Shows the wrong part of a filter. */
function wrong(q: string): boolean {
	try {
		parseFilter(q);
	} catch (e) {
		m.notice.value = e instanceof Wrong ? `${q.slice(0, e.at)}▸${q.slice(e.at, e.end)}◂${q.slice(e.end)}: ${e.message}` : String(e);
		return true;
	}
	return false;
}

export function setSearch(text: string): void {
	m.search.value = text;
	m.notice.value = "";
	matches.value = -1;
	searched(isFilter(text) ? "" : text.startsWith("~") ? text.slice(1).replace(/#.*/, "") : text.startsWith("=") ? text.slice(1) : text);
}

/* ---- clipboard ---- */

/* @what: the text as people call it. */
export async function copy(text: string, what: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
		m.notice.value = `${what} is copied.`;
	} catch {
		m.notice.value = `The browser does not let the page copy: ${text}`;
		return;
	}
	setTimeout(() => { if (m.notice.value === `${what} is copied.`) m.notice.value = ""; }, 2500);
}

/* ---- the view ---- */

/* The selection; again: all. */
export function fit(): void {
	const what = m.range.value ?? (m.selected.value ? { t0: m.selected.value.start, t1: m.selected.value.end } : null);
	const at = shown();
	const isThere = what && Math.abs(what.t0 - what.t1) > (at.t1 - at.t0) * 0.6 && what.t0 >= at.t0 && what.t1 <= at.t1;

	if (what && !isThere)
		showWithin(what.t0, what.t1);
	else
		showAll();
}

export function moveRow(by: number): void {
	const rows = m.placed.value.rows;
	const i = rows.findIndex((p) => p.row === m.current.value);
	const next = rows[Math.max(0, Math.min(rows.length - 1, i < 0 ? 0 : i + by))];

	if (next) {
		m.current.value = next.row;
		scrollTo(next.row);
	}
}

export function toggle(row: Row | null, open?: boolean): void {
	if (!row?.kids.length)
		return;
	m.arranged();
	row.open = open ?? !row.open;
	m.changed();
}

export function pin(row: Row | null): void {
	if (!row)
		return;
	m.arranged();
	row.pinned = !row.pinned;
	m.changed();
	say(row.pinned ? `${row.name} is pinned` : `${row.name} is not pinned any more`);
}

export function hide(row: Row | null): void {
	if (!row)
		return;
	const rows = m.placed.value.rows;
	const i = rows.findIndex((p) => p.row === row);

	m.arranged();
	row.hidden = true;
	m.current.value = rows[i + 1]?.row ?? rows[i - 1]?.row ?? null;
	m.changed();
	say(`${row.name} is hidden`);
}

export function hiddenRows(): Row[] {
	const all: Row[] = [];

	m.everyRow((r) => { if (r.hidden) all.push(r); });
	return all;
}

export function unhideAll(): void {
	m.everyRow((r) => { r.hidden = false; });
	m.changed();
}

/* Up or down among its siblings. */
export function reorder(row: Row, before: Row | null): void {
	const siblings = (row.parent ? row.parent.kids : m.roots.value).slice().sort((a, b) => a.order - b.order).filter((r) => r !== row);
	const at = before ? siblings.indexOf(before) : siblings.length;

	m.arranged();
	siblings.splice(at < 0 ? siblings.length : at, 0, row);
	siblings.forEach((r, i) => { r.order = i; });
	m.changed();
}

export function shiftRow(row: Row | null, by: number): void {
	if (!row)
		return;
	const siblings = (row.parent ? row.parent.kids : m.roots.value).filter((r) => !r.hidden).sort((a, b) => a.order - b.order);
	const to = siblings.indexOf(row) + by;

	if (to >= 0 && to < siblings.length)
		reorder(row, by < 0 ? siblings[to] : siblings[to + 1] ?? null);
}

export function collapseAll(): void {
	const any = m.roots.value.some((r) => r.open);

	m.arranged();
	m.everyRow((r) => { r.open = !any && r.kids.length > 0 && r.level < 3; });
	m.roots.value.forEach((r) => { r.open = r.kind === "report" || !any; });
	m.changed();
}

export function escape(): void {
	if (m.dialog.value)
		m.dialog.value = "";
	else if (m.notice.value)
		m.notice.value = "";
	else if (m.mode.value === "measure" || m.measure.value) {
		m.mode.value = "select";
		m.measure.value = null;
	} else if (isPale())
		searched("");
	else if (m.range.value) {
		m.range.value = null;
		m.rangeRows.value = null;
	} else if (m.selected.value)
		choose(null);
	else if (m.search.value)
		setSearch("");
	else
		m.filter.value = "";
}

export function bookmark(text = ""): void {
	const { t0, t1 } = shown();
	const span = m.range.value;
	const t = span?.t0 ?? m.selected.value?.start ?? (t0 + t1) / 2;

	m.marks.value = [...m.marks.value.filter((k) => Math.abs(k.t - t) > view.scale || k.t1 !== span?.t1), { t, ...(span ? { t1: span.t1 } : {}), text, source: m.selected.value?.source ?? 0 }].sort((a, b) => a.t - b.t);
	say(span ? "Note on the span set" : "Note set");
}

/* Lanes of the chosen rows, and of all rows below closed ones, for the tables of a span. */
export function lanesIn(source: number, rows: Set<Row> | null): number[] | null {
	if (!rows)
		return [];
	const lanes = new Set<number>();
	const add = (r: Row): void => {
		r.lanes.forEach((l) => lanes.add(l));
		if (!r.open)
			r.kids.forEach(add);
	};

	rows.forEach((r) => { if (r.source === source) add(r); });
	return lanes.size ? [...lanes] : null;
}

export function setRange(t0: number, t1: number, rows: Set<Row> | null): void {
	m.range.value = { t0: Math.min(t0, t1), t1: Math.max(t0, t1) };
	m.rangeRows.value = rows;
	m.paneOpen.value = true;
	if (m.pane.value !== "flame")
		m.pane.value = "tables";
	say(`Span of ${dur(Math.abs(t1 - t0))} selected`);
}

let measuredFrom: Event | null = null;

/* By keys: from the start of one event to the start of another; of one event alone, to its end. */
export function measureFromSelection(): void {
	const e = m.selected.value;

	if (!e)
		return say("Select an event first: the measure begins there.");
	if (!measuredFrom) {
		measuredFrom = e;
		m.measure.value = { t0: e.start, t1: e.end };
		return say(`Measuring from ${point(e.start, 1e-9)}`);
	}
	const to = measuredFrom === e ? e.end : e.start;

	m.measure.value = { t0: measuredFrom.start, t1: to };
	say(`${dur(Math.abs(to - measuredFrom.start))} between them`);
	measuredFrom = null;
}

export function followEnd(oldEnd: number): void {
	if (!m.follow.value)
		return;
	const at = shown();
	const by = limits.t1 - oldEnd;

	show(at.t0 + by, at.t1 + by);
}
