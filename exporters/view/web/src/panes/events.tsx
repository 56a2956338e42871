/* events.tsx - single events: a filter, a sorted list of which lines in sight are in the page, how long they take, and what becomes of them. */
import { computed, signal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import * as m from "../model";
import { copy, fetchEvent, goTo, lanesIn } from "../actions";
import { swatch } from "../colours";
import { isFilter, lanesOf, parseFilter, queryOf, Wrong, type Filter } from "../filter";
import { post, waitsFor, type EventsJson } from "../net";
import { count, dur, percent, point } from "../format";
import { makeOwnRow } from "../ownrows";
import { download } from "../save";
import { RangeHead } from "./range";

type By = 0 | 1 | 2; /* start, duration, name */
interface Line { source: number; lane: number; start: number; length: number; name: string; row: m.Row | undefined }

export const filter = signal("");
const sort = signal<{ by: By; down: boolean }>({ by: 0, down: false });
const brush = signal<[number, number] | null>(null); /* of lengths, ns */
const answer = signal<{ lines: Line[]; total: number; sum: number; durations: number[] } | null>(null);
const failed = signal<Wrong | Error | null>(null);
const busy = signal(false);
const first = signal(0);
const HEIGHT = 22, SHOWN = 60, PAGE = 2000, CSV = 200000, STILL_MS = 150;
let stop: AbortController | null = null;

async function ask(f: Filter, most: number, given?: AbortSignal): Promise<{ lines: Line[]; total: number; sum: number; durations: number[] }> {
	const made = { lines: [] as Line[], total: 0, sum: 0, durations: new Array<number>(80).fill(0) };
	const range = m.range.value;

	for (const s of m.sources.value) {
		const chosen = m.range.value ? lanesIn(s.index, m.rangeRows.value) : [], wanted = lanesOf(s.index, f);

		if (!chosen || !wanted)
			continue;
		const lanes = chosen.length && wanted.length ? wanted.filter((l) => chosen.includes(l)) : chosen.length ? chosen : wanted;

		if (!lanes.length && (chosen.length || wanted.length))
			continue;
		const json = await post<EventsJson>("events", { r: s.index, ...queryOf(f), by: sort.value.by, down: sort.value.down ? 1 : 0, most },
			{ from: Math.floor((range?.t0 ?? s.start + s.offset) - s.offset), to: Math.ceil((range?.t1 ?? s.end + s.offset + 1) - s.offset), lanes }, given);

		for (let i = 0; i + 3 < json.events.length; i += 4) {
			const [lane, start, length, name] = json.events.slice(i, i + 4);

			made.lines.push({ source: s.index, lane, start: start + s.offset, length, name: json.names[name] ?? "", row: m.rowOfLane.value.get(s.index + ":" + lane) });
		}
		made.total += json.total;
		made.sum += json.sum;
		json.durations.forEach((n, i) => { made.durations[i] += n; });
	}
	return made;
}

/* The filter with the chosen part of the histogram. */
function wanted(): Filter {
	const f = parseFilter(filter.value);

	if (brush.value) {
		f.min = Math.max(f.min ?? 0, Math.floor(brush.value[0]));
		f.max = Math.min(f.max ?? Infinity, Math.ceil(brush.value[1]));
	}
	return f;
}

async function read(): Promise<void> {
	stop?.abort();
	const { signal: given } = stop = new AbortController();

	busy.value = true;
	failed.value = null;
	try {
		answer.value = await ask(wanted(), PAGE, given);
		first.value = 0;
	} catch (e) {
		if (given.aborted)
			return;
		failed.value = e as Error;
		if (!(e instanceof Wrong))
			answer.value = null;
	}
	busy.value = false;
}

/* ---- what becomes of them ---- */

const owner = (l: Line): string => {
	let up: m.Row | null | undefined = l.row;

	while (up && up.kind !== "thread" && up.kind !== "gpu" && up.kind !== "process")
		up = up.home;
	return up ? `${up.name}${up.ids ? ` (${up.ids})` : ""}` : "";
};
const kindOf = (l: Line): string => l.row ? m.KIND[l.row.kind] ?? l.row.kind : "";
const field = (text: string): string => /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;

/* Formulas of spreadsheets begin with these characters. */
const harmless = (text: string): string => /^[=+\-@\t]/.test(text) ? "'" + text : text;

export function csvOf(lines: Line[]): string {
	const many = m.sources.value.length > 1;
	const rows = lines.map((l) => [...(many ? [m.sources.value[l.source].path] : []), String(Math.round(l.start - m.sources.value[l.source].offset)), String(Math.round(l.length)), harmless(l.name), kindOf(l), harmless(owner(l))]);

	return [[...(many ? ["report"] : []), "start_ns", "duration_ns", "name", "kind", "of"], ...rows].map((r) => r.map(field).join(",")).join("\n") + "\n";
}

const all = async (): Promise<Line[]> => (await ask(wanted(), CSV)).lines;

async function saveCsv(): Promise<void> {
	download(new Blob([csvOf(await all())], { type: "text/csv" }), "events.csv");
}

async function makeRow(): Promise<void> {
	const lines = await all();

	for (const s of m.sources.value) {
		const mine = lines.filter((l) => l.source === s.index);

		if (mine.length)
			makeOwnRow(s.index, filter.value || "all events", mine.map((l) => ({ start: l.start - s.offset, end: l.start - s.offset + l.length, name: l.name, about: [["of", owner(l)], ["kind", kindOf(l)]] })));
	}
}

async function goToLine(l: Line): Promise<void> {
	const e = await fetchEvent(l.source, l.lane, l.start, { dt: 0 });

	if (e) {
		await goTo(e);
		m.pane.value = "events";
	}
}

/* ---- the pane ---- */

const edge = (i: number): number => 2 ** (i / 2);
const used = computed(() => {
	const list = answer.value?.durations ?? [];
	const from = list.findIndex((n) => n > 0), to = list.length - 1 - [...list].reverse().findIndex((n) => n > 0);

	return from < 0 ? null : { from, to, most: Math.max(...list) };
});

/* How many take how long; a drag chooses some of them. */
function Histogram() {
	const u = used.value;
	const drag = useRef(-1);

	if (!u)
		return null;
	const list = answer.value!.durations.slice(u.from, u.to + 1);
	const at = (e: MouseEvent & { currentTarget: Element }): number => {
		const box = e.currentTarget.getBoundingClientRect();

		return Math.max(0, Math.min(list.length - 1, Math.floor((e.clientX - box.left) / box.width * list.length)));
	};
	const choose = (a: number, b: number): void => { brush.value = [edge(u.from + Math.min(a, b)), edge(u.from + Math.max(a, b) + 1) - 1]; };

	return (
		<span class="histogram">
			<span class="quiet">{dur(edge(u.from))}</span>
			<svg width={Math.max(60, list.length * 9)} height="24" role="img" aria-label={`Lengths from ${dur(edge(u.from))} to ${dur(edge(u.to + 1))}`}
				onMouseDown={(e) => { drag.current = at(e); choose(drag.current, drag.current); e.preventDefault(); }} onMouseMove={(e) => { if (drag.current >= 0) choose(drag.current, at(e)); }}
				onMouseUp={() => { drag.current = -1; }} onMouseLeave={() => { drag.current = -1; }}>
				<rect width="100%" height="24" fill="transparent" />
				{list.map((n, i) => n > 0 && <rect x={`${100 * i / list.length}%`} width={`${92 / list.length}%`} y={24 - Math.max(2, 24 * Math.sqrt(n / u.most))} height={Math.max(2, 24 * Math.sqrt(n / u.most))}><title>{`${count(n)} from ${dur(edge(u.from + i))} to ${dur(edge(u.from + i + 1))}`}</title></rect>)}
			</svg>
			<span class="quiet">{dur(edge(u.to + 1))}</span>
			{brush.value && <button class="link" onClick={() => { brush.value = null; }}>all lengths</button>}
		</span>
	);
}

function Problem() {
	const e = failed.value;

	if (!e)
		return null;
	return <p class="error wrong" role="alert">{e instanceof Wrong ? <>{filter.value.slice(0, e.at)}<mark>{filter.value.slice(e.at, e.end)}</mark>{filter.value.slice(e.end)} – {e.message}</> : e.message}</p>;
}

const HEADS: [By | -1, string, boolean][] = [[2, "Name", false], [-1, "Kind", false], [-1, "Of", false], [0, "Start", true], [1, "Duration", true]];

export function Events() {
	useSignalEffect(() => {
		filter.value;
		sort.value;
		brush.value;
		m.range.value;
		m.rangeRows.value;
		let waits = true;
		const end = (): void => { if (waits) waitsFor(-1); waits = false; };
		const timer = setTimeout(() => { void read(); end(); }, STILL_MS);

		waitsFor(1);
		return () => { clearTimeout(timer); end(); };
	});
	const a = answer.value;
	const from = Math.max(0, Math.min(first.value, (a?.lines.length ?? 0) - SHOWN));
	const part = a?.lines.slice(from, from + SHOWN) ?? [];

	return (
		<div class="tables" onScroll={(e) => { const at = Math.floor(e.currentTarget.scrollTop / HEIGHT) - 15; if (Math.abs(at - first.value) > 8) first.value = Math.max(0, at); }}>
			<p class="line"><input id="events" class="wide" type="search" aria-label="Filter events" aria-invalid={failed.value instanceof Wrong} placeholder={'fsync dur>10ms kind:libc thread:worker arg:"/data"'} value={filter.value}
				onInput={(e) => { filter.value = e.currentTarget.value; brush.value = null; }} />
				{a && <span><b>{count(a.total)}</b> events, {dur(a.sum)}{a.total > 0 && `, mean ${dur(a.sum / a.total)}`}</span>}
				<Histogram />
				<button class="act" onClick={() => void saveCsv()} disabled={!a?.total}>CSV</button><button class="act" onClick={() => void all().then((lines) => copy(csvOf(lines), `${count(lines.length)} events`))} disabled={!a?.total}>Copy</button>
				<button class="act" onClick={() => void makeRow()} disabled={!a?.total}>Make this a row</button>
				{m.range.value ? <span>in <RangeHead /></span> : <span class="quiet">in the whole report</span>}{busy.value && <span class="quiet">reading…</span>}</p>
			<Problem />
			{a && <table class="names events" aria-rowcount={a.lines.length}>
				{a.total > a.lines.length && <caption>The first {count(a.lines.length)} of {count(a.total)} in this order; CSV has up to {count(CSV)}</caption>}
				<thead><tr><th class="swatch" aria-hidden="true" />{HEADS.map(([by, text, number]) => (
					<th scope="col" class={number ? "n" : ""} aria-sort={sort.value.by === by ? (sort.value.down ? "descending" : "ascending") : undefined}>
						{by < 0 ? text : <button onClick={() => { sort.value = { by: by as By, down: sort.value.by === by ? !sort.value.down : by === 1 }; }}>{text}{sort.value.by === by ? (sort.value.down ? " ▾" : " ▴") : ""}</button>}</th>
				))}<th scope="col" class="n">Share</th></tr></thead>
				<tbody>
					{from > 0 && <tr aria-hidden="true"><td colSpan={7} style={{ height: `${from * HEIGHT}px` }} /></tr>}
					{part.map((l) => (
						<tr><td class="swatch"><i style={{ background: swatch(l.name, l.row?.kind === "thread" ? "state" : l.row?.kind ?? "") }} /></td>
							<th scope="row"><button class="link" title={l.name} onClick={() => void goToLine(l)}>{l.name || "(no name)"}</button></th><td>{kindOf(l)}</td><td>{owner(l)}</td>
							<td class="n">{point(l.start, 1e-9)}</td><td class="n">{dur(l.length)}</td><td class="n">{percent(l.length, a.sum)}</td></tr>
					))}
					{from + part.length < a.lines.length && <tr aria-hidden="true"><td colSpan={7} style={{ height: `${(a.lines.length - from - part.length) * HEIGHT}px` }} /></tr>}
				</tbody>
			</table>}
		</div>
	);
}

export { isFilter };
