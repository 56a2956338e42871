/*
 * local.ts - lanes that the page has itself, of events that are in none of the server's: causes, results of queries. Their tiles are made
 * here, as the server makes them: 256 pixels of 2^k ns.
 */
import { RECT_AFTER, RECT_BEFORE, RECT_EXACT, RECT_SEVERAL } from "./flags";
import type { EventJson } from "./net";
import type { Rects } from "./wire";

/* Events in order of time, none of which overlaps another; own times of the report. */
export interface LocalEvents {
	starts: Float64Array;
	ends: Float64Array;
	kinds: Uint32Array;    /* of each event: an index into @names */
	names: { text: string; given: number /* 1 << 24 | RGB; 0: none */ }[];
	about: (i: number) => Partial<EventJson>; /* what the details of an event have */
}

const FIRST = 2 ** 31, PX = 256, UNITS = 4096;
const lanes = new Map<string, LocalEvents>();
let next = FIRST;

const nameIds = new Map<string, number>();

/* A number for a text and its colour, the same for the same ones. */
export function nameIdOf(n: { text: string; given: number }): number {
	const key = `${n.given} ${n.text}`;
	const id = nameIds.get(key) ?? nameIds.size;

	nameIds.set(key, id);
	return id;
}

export const isLocal = (lane: number): boolean => lane >= FIRST;
export const localOf = (source: number, lane: number): LocalEvents | undefined => lanes.get(`${source} ${lane}`);

export function newLane(): number {
	return next++;
}
export function setLane(source: number, lane: number, events: LocalEvents): void {
	lanes.set(`${source} ${lane}`, events);
}
export function dropLane(source: number, lane: number): void {
	lanes.delete(`${source} ${lane}`);
}

/* The first event that ends after @t. */
function firstAfter(e: LocalEvents, t: number): number {
	let lo = 0, hi = e.ends.length;

	while (lo < hi) {
		const mid = (lo + hi) >> 1;

		if (e.ends[mid] <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

export interface LocalRects extends Rects { kinds: number[] }

/* Events narrower than a pixel share one, under the name with most of its time. */
export function localTile(e: LocalEvents, k: number, index: number): LocalRects {
	const px = 2 ** k, from = index * PX * px, to = from + PX * px;
	const out: { x: number; w: number; kind: number; count: number; occ: number; flags: number }[] = [];
	const small = { px: -1, count: 0, covered: 0, of: new Map<number, number>() };
	const flush = (): void => {
		if (!small.count)
			return;
		const [kind, most] = [...small.of].reduce((a, b) => b[1] > a[1] ? b : a);

		out.push({ x: small.px * 16, w: 16, kind, count: small.count, occ: Math.max(1, Math.min(255, Math.round(255 * small.covered / px))), flags: most * 2 < small.covered ? RECT_SEVERAL : 0 });
		Object.assign(small, { px: -1, count: 0, covered: 0, of: new Map() });
	};

	for (let i = firstAfter(e, from); i < e.starts.length && e.starts[i] < to; i++) {
		const start = Math.max(e.starts[i], from), end = Math.min(e.ends[i], to);

		if (e.ends[i] - e.starts[i] >= px) {
			flush();
			const x = Math.round((start - from) / px * 16), w = Math.max(1, Math.round((end - from) / px * 16) - x);

			out.push({ x: Math.min(x, UNITS - 1), w, kind: e.kinds[i], count: 1, occ: 255, flags: RECT_EXACT | (e.starts[i] < from ? RECT_BEFORE : 0) | (e.ends[i] > to ? RECT_AFTER : 0) });
			continue;
		}
		const at = Math.min(PX - 1, Math.floor((start - from) / px));

		if (small.px !== at)
			flush();
		small.px = at;
		small.count++;
		small.covered += end - start;
		small.of.set(e.kinds[i], (small.of.get(e.kinds[i]) ?? 0) + end - start);
	}
	flush();
	return {
		n: out.length, x: Uint16Array.from(out, (r) => r.x), w: Uint16Array.from(out, (r) => r.w), name: Uint32Array.from(out, (r) => r.kind), count: Uint16Array.from(out, (r) => Math.min(r.count, 4095)),
		occ: Uint8Array.from(out, (r) => r.occ), flags: Uint8Array.from(out, (r) => r.flags), kinds: out.map((r) => r.kind),
	};
}

/* As the server's message event: at a time, not farther than @dt; the next or the one before. */
export function localEvent(source: number, lane: number, t: number, dt: number, dir: number): EventJson | null {
	const e = localOf(source, lane);

	if (!e)
		return null;
	let i: number;

	if (dir > 0) {
		i = firstAfter(e, t);
		while (i < e.starts.length && e.starts[i] <= t)
			i++;
	} else if (dir < 0) {
		i = Math.min(firstAfter(e, t), e.starts.length - 1);
		while (i >= 0 && e.starts[i] >= t)
			i--;
	} else {
		i = firstAfter(e, t);
		if (i === e.starts.length || e.starts[i] > t) {
			const before = i > 0 ? t - e.ends[i - 1] : Infinity, after = i < e.starts.length ? e.starts[i] - t : Infinity;

			if (Math.min(before, after) > dt)
				return null;
			i = before < after ? i - 1 : i;
		}
	}
	if (i < 0 || i >= e.starts.length)
		return null;
	return {
		lane, row: 0, start: e.starts[i], dur: e.ends[i] - e.starts[i], name: e.names[e.kinds[i]].text, name_id: e.kinds[i], table: "", rowid: -1, instant: false, columns: [], args: [], stack: [],
		process: "", thread: "", ...e.about(i),
	};
}
