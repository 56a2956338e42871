/* causes.ts - the answer of sightline why as the first rows: where the time of the main thread and of each GPU went, and what takes most of it. */
import { signal } from "@preact/signals";
import * as m from "./model";
import type { Event, Row } from "./model";
import { get, waitsFor, type CauseJson, type FindingJson, type FindingsJson, type TrackJson } from "./net";
import { dropLane, newLane, setLane, type LocalEvents } from "./local";
import { renewLocal } from "./tiles";
import { bring, choose, complain, fetchEvent } from "./actions";
import { dur, percent } from "./format";
import { rowById } from "./load";
import { readLocks } from "./ownrows";
import { readSteps } from "./steps";
import { COLOURS, TONES } from "./reasons";
import { stage } from "./stage";
import { onView, showWithin, shown } from "./view";

/* Towards white, or towards black below 0, as in the page of sightline report. */
function toned(rgb: number, by: number): number {
	const part = (shift: number): number => {
		const c = rgb >> shift & 255;

		return Math.round(by > 0 ? c + (255 - c) * by : c * (1 + by)) << shift;
	};

	return part(16) | part(8) | part(0);
}
export const colourOf = (c: { colour: string; reason: string }): number => toned(COLOURS[c.colour] ?? COLOURS.UNKNOWN, (TONES[c.reason.toLowerCase()] ?? 0) / 100);
export const cssOf = (c: { colour: string; reason: string }): string => "#" + colourOf(c).toString(16).padStart(6, "0");

/* ---- state ---- */

interface Track { source: number; row: number; lane: number; from: number; to: number; t0: number; t1: number; thinned: boolean; json: TrackJson | null; own: Row }

export interface Finding { source: number; json: FindingJson; own: Row }

export const findings = signal<Finding[]>([]);
/* Shown while causes are looked for, or instead of them. */
export const looking = signal("");
let tracks: Track[] = [];
const done = new Map<number, number>(); /* by report: the generation that was asked about */
const SHOWN = 3;

/* ---- texts ---- */

export const placeOf = (f: CauseJson & { line?: string }): string => f.line || f.place || f.what || f.thread || "";
export const headOf = (f: FindingJson): string => `${percent(f.share, 1)} ${f.text}`;

export function gainOf(f: FindingJson): string {
	if (f.upper === undefined)
		return "";
	return f.lower ? `would save ${dur(f.lower)} to ${dur(f.upper)}` : `would save at most ${dur(f.upper)}`;
}

/* ---- lanes ---- */

function eventsOf(json: TrackJson, only?: (c: CauseJson) => boolean): LocalEvents {
	const starts: number[] = [], ends: number[] = [], kinds: number[] = [];

	for (let i = 0; i + 3 < json.slices.length; i += 2) {
		const kind = json.slices[i + 1];

		if (kind < 0 || (only && !only(json.kinds[kind])))
			continue;
		starts.push(json.slices[i]);
		ends.push(json.slices[i + 2]);
		kinds.push(kind);
	}
	return {
		starts: Float64Array.from(starts), ends: Float64Array.from(ends), kinds: Uint32Array.from(kinds),
		names: json.kinds.map((c) => ({ text: c.text ? [c.text, c.place || c.what].filter(Boolean).join(": ") : "", given: c.text ? 0x1000000 | colourOf(c) : 0 })),
		about: (i) => {
			const c = json.kinds[kinds[i]];

			return { thread: c.thread, args: [["reason", c.text], ["what", c.what], ["place", c.place ?? ""]].filter(([, v]) => v) as [string, string][] };
		},
	};
}

const isOf = (f: FindingJson) => (c: CauseJson): boolean => c.text === f.text && c.place === f.place && (f.place !== "" || (c.call === f.call && c.thread === f.thread));

function fill(t: Track, json: TrackJson): void {
	Object.assign(t, { json, t0: json.from, t1: json.to, thinned: json.thinned });
	setLane(t.source, t.lane, eventsOf(json));
	renewLocal(t.source, t.lane);
	for (const f of findings.value)
		if (f.source === t.source && t === tracks.find((x) => x.source === t.source)) {
			setLane(f.source, f.own.lanes[0], eventsOf(json, isOf(f.json)));
			renewLocal(f.source, f.own.lanes[0]);
		}
	m.changed();
}

async function readTrack(t: Track, from: number, to: number): Promise<void> {
	try {
		fill(t, await get<TrackJson>("track", { r: t.source, row: t.row, from: Math.floor(from), to: Math.ceil(to) }));
	} catch (e) {
		complain(e);
	}
}

/* ---- rows ---- */

let numbers = 0;

function makeTrack(source: number, t: FindingsJson["tracks"][0]): Track {
	const of = rowById(source, t.row);
	const lane = newLane();
	const own = m.ownRow({
		key: `why/${of?.key ?? t.row}`, id: t.row, source, kind: "why", name: t.device < 0 ? of?.joined ? "main thread" : of?.name ?? "main thread" : `GPU ${t.device}`,
		about: m.sources.value.length > 1 ? m.sources.value[source].path.replace(/.*\//, "") : t.device < 0 ? of?.name ?? "" : "", ids: t.device < 0 ? of?.ids ?? "" : "", /* several processes may use a GPU */
		pid: of?.pid ?? -1, lanes: [lane], span: [t.from, t.to], events: 1, pinned: true,
	});

	own.full = `Where the time of ${own.name} went`;
	return { source, row: t.row, lane, from: t.from, to: t.to, t0: t.from, t1: t.to, thinned: false, json: null, own };
}

function makeFinding(source: number, json: FindingJson): Finding {
	const own = m.ownRow({ key: `finding/${numbers}`, id: -5000 - numbers++, source, kind: "finding", name: headOf(json), about: placeOf(json), lanes: [newLane()], pinned: true });

	own.full = [`${dur(json.ns)}, ${headOf(json)}`, placeOf(json), gainOf(json)].filter(Boolean).join("\n");
	return { source, json, own };
}

/* Tiles come first. */
async function firstPicture(): Promise<void> {
	const began = performance.now();

	waitsFor(1);
	while (!stage.firstPicture && performance.now() - began < 2000)
		await new Promise((done) => setTimeout(done, 20));
	setTimeout(() => waitsFor(-1), 0);
}

/* Of a report that is ready, once for each index. */
export async function readCauses(source: number): Promise<void> {
	const s = m.sources.value[source];

	if (s.state !== "ready" || !s.capabilities.has("why") || done.get(source) === s.generation)
		return;
	done.set(source, s.generation);
	looking.value = "Looking for causes…";
	await firstPicture();
	try {
		const json = await get<FindingsJson>("findings", { r: source });
		const mine = json.tracks.map((t) => makeTrack(source, t));

		tracks.filter((t) => t.source === source).forEach((t) => dropLane(source, t.lane));
		tracks = [...tracks.filter((t) => t.source !== source), ...mine];
		findings.value = [...findings.value.filter((f) => f.source !== source), ...json.findings.map((f) => makeFinding(source, f))];
		looking.value = json.findings.length ? "" : "Nothing stands out.";
		const one = m.sources.value.length === 1;
		const own = m.sources.value.flatMap((x) => [...tracks.filter((t) => t.source === x.index).map((t) => t.own), ...(one ? findings.value.filter((f) => f.source === x.index).slice(0, SHOWN).map((f) => f.own) : [])]);

		m.ownRows.value = [...own, ...m.ownRows.value.filter((r) => r.kind !== "why" && r.kind !== "finding")];
		m.changed();
		await Promise.all([...mine.map((t) => readTrack(t, t.from, t.to)), readSteps(source), readLocks(source)]);
	} catch (e) {
		looking.value = e instanceof Error ? e.message : String(e);
	}
}

/* A part of a track that was thinned out is read again where it is looked at closely. */
const STILL_MS = 150, CLOSER = 4;
let timer = 0;

export function listenCauses(): void {
	onView(() => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			const at = shown();

			for (const t of tracks) {
				const offset = m.sources.value[t.source]?.offset ?? 0;
				const t0 = Math.max(t.from, at.t0 - offset), t1 = Math.min(t.to, at.t1 - offset), wide = t1 - t0;
				const isFar = t0 < t.t0 || t1 > t.t1, isClose = t.thinned && wide * CLOSER < t.t1 - t.t0;

				if (wide > 0 && (isFar || isClose))
					void readTrack(t, Math.max(t.from, t0 - wide), Math.min(t.to, t1 + wide));
			}
		}, STILL_MS) as unknown as number;
	});
}

/* The critical path in a span: whose time each part of the main thread's time is, by the common axis. */
export function pathIn(t0: number, t1: number): { source: number; row: number; start: number; end: number }[] {
	const t = tracks[0];
	const parts: { source: number; row: number; start: number; end: number }[] = [];

	if (!t?.json)
		return parts;
	const { slices, kinds } = t.json, { offset } = m.sources.value[t.source];
	let lo = 0, hi = slices.length / 2 - 1;

	while (lo < hi) { /* the last slice that begins before the span */
		const mid = (lo + hi + 1) >> 1;

		if (slices[2 * mid] + offset <= t0)
			lo = mid;
		else
			hi = mid - 1;
	}
	for (let i = 2 * lo; i + 3 < slices.length && slices[i] + offset < t1; i += 2) {
		const row = slices[i + 1] >= 0 ? kinds[slices[i + 1]].row ?? 0 : 0, last = parts[parts.length - 1];

		if (last && last.row === row && last.end === slices[i] + offset)
			last.end = slices[i + 2] + offset;
		else if (row)
			parts.push({ source: t.source, row, start: slices[i] + offset, end: slices[i + 2] + offset });
	}
	return parts;
}

/* ---- links ---- */

/* Shows a time in the row of a thread, and asks why: @row is the server's number. */
export async function goToPlace(source: number, row: number, start: number, end: number): Promise<void> {
	const offset = m.sources.value[source].offset;
	const to = rowById(source, row);

	if (to)
		m.unfold(to);
	showWithin(start + offset, end + offset);
	const lane = to?.lanes[0];
	const found = lane === undefined ? null : await fetchEvent(source, lane, (start + end) / 2 + offset, { dt: 0 }).catch(() => null);
	const whole: Event = {
		source, lane: lane ?? -1, row: to, start: start + offset, end: end + offset, open: false, name: "span", json: null, before: "", after: "",
	};

	/* A state that is that long is the wait itself. */
	const e = found && Math.abs(found.end - found.start - (end - start)) < (end - start) / 10 ? found : whole;

	choose(e);
	bring(e);
}

export const goToFinding = (f: Finding): void => {
	if (f.json.start !== undefined && f.json.end !== undefined)
		void goToPlace(f.source, f.json.row ?? 0, f.json.start, f.json.end);
};
