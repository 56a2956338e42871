/*
 * tiles.ts - tiles of the server: 256 pixels of 2^k ns each, by lane. Kept until 64 MB are full, the longest
 * unused go first. While a tile is on its way, one of a coarser or finer level stands in for it.
 */
import { compress, postBinary, Refused } from "./net";
import { isLocal, localOf, localTile, nameIdOf } from "./local";
import { encode, PX, readCurves, readTiles, UNITS, type Rects } from "./wire";
export { PX, UNITS };

export interface Tile extends Rects {
	/* name: slots, see names below */
	values: Float32Array | null;      /* of a counter: 256 smallest, largest, last */
	bytes: number;
	used: number;
	generation: number;
	final: boolean;
}

/* Limits; tests make them small. */
export const most = { bytes: 64 << 20, names: 20000, batch: 384 /* tiles in a request */, view: 250e3, later: 100e3 /* see ahead() */ };
const FLIGHTS = 3;
const REQUEST = 4096; /* tiles that the server takes at once */

/* ---- names ---- */

export interface Name { text: string; category: string; given: number; source: number; id: number }
export const names: Name[] = [{ text: "", category: "other", given: 0, source: 0, id: 0 }];
const slots = new Map<string, number>();
const free: number[] = [];
let renamed = Infinity;
let taking = 0; /* grows with each slot that is taken */

/* The first slot that has another name than when this was asked last. */
export function firstRenamed(): number {
	const first = renamed;

	renamed = Infinity;
	return first;
}

const keyOfName = (n: { source: number; category: string; id: number }): string => `${n.source} ${n.category} ${n.id}`;

let sweepAt = 0;

/* Names that no tile has any more: their slots are taken again. */
function sweepNames(): void {
	if (names.length - free.length <= Math.max(most.names, sweepAt))
		return;
	const used = new Uint8Array(names.length);

	for (const of of lanes.values())
		for (const level of of.levels)
			level?.forEach((tile) => tile.name.forEach((slot) => { used[slot] = 1; }));
	for (let slot = 1; slot < names.length; slot++)
		if (!used[slot] && slots.get(keyOfName(names[slot])) === slot) {
			slots.delete(keyOfName(names[slot]));
			free.push(slot);
		}
	sweepAt = 2 * (names.length - free.length);
}

function slotOf(source: number, category: string, id: number, text: string, given: number): number {
	const key = keyOfName({ source, category, id });
	let slot = slots.get(key);

	if (slot === undefined) {
		slot = free.pop() ?? names.length;
		if (slot < names.length)
			renamed = Math.min(renamed, slot);
		names[slot] = { text, category, given, source, id };
		slots.set(key, slot);
		taking++;
	}
	return slot;
}

/* ---- the cache ---- */

class LaneTiles {
	readonly levels: Map<number, Tile>[] = [];

	constructor(readonly source: number, readonly lane: number, readonly category: string, readonly counter: boolean) {}

	at(k: number): Map<number, Tile> {
		return this.levels[k] ??= new Map();
	}
}

const lanes = new Map<number, LaneTiles>();
const keyOf = (source: number, lane: number): number => source * 2 ** 32 + lane;
let bytes = 0;
let frame = 0;
let taken = 0;
let arrived: () => void = () => {};
let failed: (why: Refused | null) => void = () => {};
/* One request that fails is asked again: a server may be busy. Several in a row are shown. */
let failures = 0;
const FAILURES = 3;
/* Of each report: the end of its indexed part, and the generation of the index. */
export const progress: { edge: number; generation: number }[] = [];

/* @g is called when requests fail; with null when they succeed again. */
export function onTiles(f: () => void, g: (why: Refused | null) => void): void {
	arrived = f;
	failed = g;
}

export function laneTiles(source: number, lane: number, category: string, counter = false): LaneTiles {
	const key = keyOf(source, lane);
	let of = lanes.get(key);

	if (!of) {
		of = new LaneTiles(source, lane, category, counter);
		lanes.set(key, of);
	}
	return of;
}
export type { LaneTiles };

/* Grows with each answer. */
export const arrivals = (): number => taken;

/* Tiles of the last answers, for sheets that have drawn the answers before. */
interface Fresh { answer: number; lane: LaneTiles; k: number; index: number }
let fresh: Fresh[] = [];
export const arrivedSince = (answer: number): Fresh[] | null => fresh.length && fresh[0].answer > answer + 1 ? null : fresh.filter((f) => f.answer > answer);

export function nextFrame(): void {
	frame++;
}

const isStale = (source: number, tile: Tile): boolean => !tile.final && tile.generation !== progress[source]?.generation;

function evict(): void {
	if (bytes <= most.bytes)
		return;
	const all: { level: Map<number, Tile>; index: number; tile: Tile }[] = [];

	for (const of of lanes.values())
		for (const level of of.levels)
			if (level)
				for (const [index, tile] of level)
					all.push({ level, index, tile });
	all.sort((a, b) => a.tile.used - b.tile.used);
	for (const { level, index, tile } of all) {
		if (bytes <= most.bytes * 0.75 || tile.used >= frame - 1)
			break;
		level.delete(index);
		bytes -= tile.bytes;
	}
}

export const cached = (): { bytes: number; names: number } => ({ bytes, names: names.length - free.length });

export function forget(source: number): void {
	for (const of of lanes.values())
		if (of.source === source) {
			for (const level of of.levels)
				level?.forEach((t) => { bytes -= t.bytes; });
			of.levels.length = 0;
		}
}

/* ---- asking ---- */

interface Wish { of: LaneTiles; k: number; index: number }
interface Flight { wishes: Wish[]; keys: Set<string>; stop: AbortController; priority: Priority }
/* Of tiles in sight; likely next; perhaps later, whose requests give way to any for tiles in sight. */
export type Priority = "now" | "next" | "later";

const wished = new Map<string, Wish>();
const asked = new Set<string>();
let flights: Flight[] = [];
let pausedUntil = 0;
/* Bytes of finished requests for this view; of the heads of a request and its answer; of a rectangle and a curve. */
let paid = 0;
const HEADS = 1200;
const worth = { rectangle: 4, curve: 300 };
const FEWEST = 500; /* rectangles that are worth a request */
export const requests = { count: 0, bytes: 0, aborted: 0, last: 0 };

const wishKey = (w: Wish): string => `${w.of.source} ${w.of.lane} ${w.k} ${w.index}`;

/* Grows when a lane of the page's own has other events. */
let renewed = 0;

export const localVersion = (): number => renewed;
export function renewLocal(source: number, lane: number): void {
	const of = lanes.get(keyOf(source, lane));

	if (of)
		of.levels.length = 0;
	renewed++;
}

function ownTile(of: LaneTiles, k: number, index: number): Tile | undefined {
	const events = localOf(of.source, of.lane);
	const known = of.levels[k]?.get(index);

	if (known || !events)
		return known;
	const made = localTile(events, k, index);
	const before = taking;
	const slot = made.kinds.map((kind) => slotOf(of.source, of.category, nameIdOf(events.names[kind]), events.names[kind].text, events.names[kind].given));
	const tile: Tile = { ...made, name: Uint32Array.from(slot), values: null, bytes: 200 + 12 * made.n, used: frame, generation: 0, final: true };

	of.at(k).set(index, tile);
	bytes += tile.bytes;
	/* The table of colours of this frame does not have new names yet. */
	if (taking > before) {
		renewed++;
		queueMicrotask(arrived);
	}
	return tile;
}

/* The tile, if it came; a missing or old tile is asked for with the next flush(). */
export function tileAt(of: LaneTiles, k: number, index: number, ask: boolean): Tile | undefined {
	const tile = isLocal(of.lane) ? ownTile(of, k, index) : of.levels[k]?.get(index);

	if (tile)
		tile.used = frame;
	if (isLocal(of.lane))
		return tile;
	if (ask && (!tile || isStale(of.source, tile))) {
		const wish = { of, k, index };

		wished.set(wishKey(wish), wish);
	}
	return tile;
}

/* A part of a coarser tile, with where it begins and ends in units of that tile. */
export function coarser(of: LaneTiles, k: number, index: number): { tile: Tile; k: number; index: number } | undefined {
	for (let up = 1; up <= 24 && k + up <= 54; up++) {
		const at = Math.floor(index / 2 ** up);
		const tile = of.levels[k + up]?.get(at);

		if (tile) {
			tile.used = frame;
			return { tile, k: k + up, index: at };
		}
	}
	return undefined;
}

export const wishes = (): number => wished.size;

/* Wishes that are not on their way, in groups: a request is for tiles or for curves of one report. */
function groups(): Wish[][] {
	const of = new Map<string, Wish[]>();

	for (const [wish, w] of wished) {
		const key = `${w.of.source} ${w.of.counter}`;
		const group = of.get(key);

		if (asked.has(wish))
			continue;
		if (group)
			group.push(w);
		else
			of.set(key, [w]);
	}
	return [...of.values()];
}

function stop(f: Flight): void {
	f.stop.abort();
	f.keys.forEach((k) => asked.delete(k));
	flights = flights.filter((g) => g !== f);
	requests.aborted++;
}

export function flush(): boolean {
	const now = performance.now();

	for (const f of [...flights])
		if (wished.size && (f.priority === "later" || !f.wishes.some((w) => wished.has(wishKey(w)))))
			stop(f);
	let left = false;

	if (now >= pausedUntil && flights.length < FLIGHTS) {
		const all = groups();
		const longest = Math.max(0, ...all.map((group) => group.length));

		/* A part of each kind first. */
		for (let from = 0; from < longest; from += most.batch)
			for (const group of all)
				if (flights.length < FLIGHTS && from < group.length)
					launch(group.slice(from, from + most.batch));
		left = longest > 0;
	}
	wished.clear();
	return left;
}

export function beginView(): void {
	paid = 0;
}

/*
 * Requests tiles that are not in sight yet, the likeliest first. Far from the server they may take the rest of most.view bytes for
 * this view, at priority "later" most.later: the server stops at as many rectangles as that is worth by the answers before.
 */
export function ahead(priority: Priority): void {
	const left = Math.min(most.view - paid, priority === "later" ? most.later : Infinity);

	if (!compress()) {
		flush();
		return;
	}
	const all = groups();
	const total = all.reduce((sum, group) => sum + group.length, 0);

	wished.clear();
	for (const group of all) {
		const room = left * group.length / total;

		if (group[0].of.counter && room >= worth.curve)
			launch(group.slice(0, Math.min(room / worth.curve, REQUEST)), priority);
		else if (!group[0].of.counter && room >= FEWEST * worth.rectangle)
			launch(group.slice(0, REQUEST), priority, Math.floor(room / worth.rectangle));
	}
}

export const idle = (): boolean => flights.length === 0 && performance.now() >= pausedUntil;

/* @limit: of rectangles. */
function launch(wishes: Wish[], priority: Priority = "now", limit?: number): void {
	const { source, counter } = wishes[0].of;
	const flight: Flight = { wishes, keys: new Set(wishes.map(wishKey)), stop: new AbortController(), priority };

	flight.keys.forEach((k) => asked.add(k));
	flights.push(flight);
	const edge = progress[source]?.edge ?? Infinity;

	requests.count++;
	const body = encode(wishes.map((w) => ({ lane: w.of.lane, k: w.k, index: w.index })));

	postBinary(counter ? "counters" : "tiles", { r: source, most: limit }, body, flight.stop.signal).then(({ bytes, sent }) => {
		requests.bytes += bytes.byteLength;
		requests.last = performance.now();
		paid += sent + body.byteLength + HEADS;
		const came = (counter ? takeCurves : takeTiles)(wishes, bytes, edge, sent);

		taken++;
		if (failures >= FAILURES)
			failed(null);
		failures = 0;
		fresh = [...fresh.slice(-8 * most.batch), ...came.map((w) => ({ answer: taken, lane: w.of, k: w.k, index: w.index }))];
		evict();
		sweepNames();
	}).catch((e) => {
		if (flight.stop.signal.aborted)
			return;
		const why = e instanceof Refused ? e : new Refused(0, String(e));

		pausedUntil = performance.now() + 500 * Math.min(++failures, 8);
		setTimeout(arrived, 550 * Math.min(failures, 8));
		if (failures === FAILURES || why.status === 401)
			failed(why);
	}).finally(() => {
		if (flights.includes(flight)) {
			flight.keys.forEach((k) => asked.delete(k));
			flights = flights.filter((f) => f !== flight);
		}
		arrived();
	});
}

function keep(w: Wish, tile: Tile): void {
	const level = w.of.at(w.k);

	bytes += tile.bytes - (level.get(w.index)?.bytes ?? 0);
	level.set(w.index, tile);
}

const ends = (w: Wish): number => (w.index + 1) * PX * 2 ** w.k;
const EMPTY8 = new Uint8Array(0), EMPTY16 = new Uint16Array(0), EMPTY32 = new Uint32Array(0);

/* Returns the wishes whose tiles came. */
function takeTiles(wishes: Wish[], bytes: ArrayBuffer, edge: number, sent: number): Wish[] {
	const answer = readTiles(bytes, wishes.length);
	const { ids, given, texts } = answer.names;
	const known = new Map<string, Uint32Array>();

	if (answer.rectangles > FEWEST)
		worth.rectangle = sent / answer.rectangles;
	return wishes.filter((wish, i) => {
		const { source, category } = wish.of;
		const tile = answer.tiles[i];
		let map = known.get(category);

		if (!tile)
			return false;
		if (!map) {
			map = Uint32Array.from(ids, (id, j) => slotOf(source, category, id, texts[j], given[j]));
			known.set(category, map);
		}
		for (let j = 0; j < tile.n; j++)
			tile.name[j] = map[tile.name[j]] ?? 0;
		keep(wish, { ...tile, values: null, bytes: 200 + 12 * tile.n, used: frame, generation: answer.generation, final: ends(wish) <= edge });
		return true;
	});
}

function takeCurves(wishes: Wish[], bytes: ArrayBuffer, edge: number, sent: number): Wish[] {
	const { generation, curves } = readCurves(bytes, wishes.length);

	worth.curve = sent / wishes.length;
	wishes.forEach((wish, i) => keep(wish, {
		n: 0, x: EMPTY16, w: EMPTY16, name: EMPTY32, count: EMPTY16, occ: EMPTY8, flags: EMPTY8, values: curves[i],
		bytes: 3200, used: frame, generation, final: ends(wish) <= edge,
	}));
	return wishes;
}

/* How many events a rectangle stands for; a lower bound above 4,096. */
export const countOf = (tile: Tile, i: number): number => tile.count[i] < 4096 ? tile.count[i] : Math.round(2 ** (12 + (tile.count[i] - 4096) / 1024));
