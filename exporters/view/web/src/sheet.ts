/*
 * sheet.ts - the rasters of the rows in sight: one line of pixels for each lane. They are made when the zoom or the rows change; of
 * tiles that come, only their part. While the view is only moved, the lines are wider than the screen and another part is drawn.
 */
import * as colours from "./colours";
import * as theme from "./theme";
import * as m from "./model";
import type { Placed, Row, Source } from "./model";
import * as tiles from "./tiles";
import { RECT_AFTER, RECT_BEFORE, RECT_EXACT } from "./flags";
import { addTile, beginLine, endLine, pending, type Line } from "./raster";
import { view, shown } from "./view";

/* ---- which tiles ---- */

/* Pixels of tiles are at most as wide as pixels of the screen. */
export const level = (dpr: number, coarser = 0): number => Math.max(0, Math.min(54, Math.floor(Math.log2(view.scale / dpr)) + coarser));
export const tileSpan = (k: number): number => tiles.PX * 2 ** k;

export interface Reach { k: number; from: number; to: number }

export function reach(source: Source, k: number, t0: number, t1: number): Reach {
	const span = tileSpan(k);
	const first = Math.max(t0 - source.offset, source.start), last = Math.min(t1 - source.offset, source.end);

	return { k, from: Math.floor(first / span), to: Math.floor(last / span) };
}

export const categoryOfRow = (row: Row): string => row.kind === "thread" ? "state" : row.kind;
export const tilesOf = (row: Row, lane: number): tiles.LaneTiles => tiles.laneTiles(row.source, lane, categoryOfRow(row), row.counter);

/* ---- one lane ---- */

/* Each tile that is in sight, with where its first unit lies and how wide a unit is, in pixels of the canvas. */
type Visit = (tile: tiles.Tile | undefined, from: number, unit: number, lo: number, hi: number) => void;

/* @origin: the time at pixel 0. @asked: the range in which missing tiles are asked for. */
export function visit(of: tiles.LaneTiles, source: Source, r: Reach, origin: number, dpr: number, asked: Reach | null, f: Visit): void {
	const toPx = dpr / view.scale;
	const span = tileSpan(r.k);

	for (let index = r.from; index <= r.to; index++) {
		const t = index * span + source.offset;
		const lo = (t - origin) * toPx, hi = lo + span * toPx;
		const tile = tiles.tileAt(of, r.k, index, asked !== null && index >= asked.from && index <= asked.to);

		if (tile) {
			f(tile, lo, span * toPx / tiles.UNITS, lo, hi);
			continue;
		}
		if (standIns(of, source, r.k, index, origin, dpr, f, lo, hi))
			continue;
		f(undefined, lo, 0, lo, hi);
	}
}

function standIns(of: tiles.LaneTiles, source: Source, k: number, index: number, origin: number, dpr: number, f: Visit, lo: number, hi: number): boolean {
	const toPx = dpr / view.scale;
	const up = tiles.coarser(of, k, index);

	if (up) {
		const span = tileSpan(up.k);

		f(up.tile, (up.index * span + source.offset - origin) * toPx, span * toPx / tiles.UNITS, lo, hi);
		return true;
	}
	for (let down = 1; down <= 3 && k - down >= 0; down++) {
		const parts = 2 ** down, span = tileSpan(k - down);
		let any = false;

		for (let i = 0; i < parts; i++) {
			const tile = tiles.tileAt(of, k - down, index * parts + i, false);
			const from = ((index * parts + i) * span + source.offset - origin) * toPx;

			if (tile) {
				f(tile, from, span * toPx / tiles.UNITS, from, from + span * toPx);
				any = true;
			}
		}
		if (any)
			return true;
	}
	return false;
}

/* ---- strips: a line of pixels each ---- */

export interface Strip { id: string; row: Row; lanes: [number, string][]; y: number; height: number; exact: boolean; coarse: number }

export function stripsOf(p: Placed, y: number): Strip[] {
	const { row } = p;

	if (row.counter)
		return [];
	if (row.kind === "thread" || row.kind === "report" || !row.lanes.length) {
		const states = row.lanes.map((lane): Strip => ({ id: `${row.source}:${lane}`, row, lanes: [[lane, "state"]], y: y + 4, height: row.open || !row.kids.length ? p.height - 8 : 5, exact: true, coarse: 0 }));

		if (row.open || !row.kids.length)
			return states;
		const top = states.length ? 10 : 4;

		return [...states, { id: `${row.source}/${row.key}/${m.layoutTick.value}`, row, lanes: m.outline(row), y: y + top, height: p.height - top - 3, exact: false, coarse: 2 }];
	}
	const spare = p.height - p.lanes.length * p.lane;

	return p.lanes.map((lane, i): Strip => ({ id: `${row.source}:${lane}`, row, lanes: [[lane, row.kind]], y: y + spare / 2 + i * p.lane + 0.5, height: p.lane - 1, exact: true, coarse: 0 }));
}

export interface Box { x0: number; x1: number; slot: number; flags: number; count: number; occupied: number }

/* Rectangles of a lane from @t0 to @t1, in CSS pixels from @t0: the parts of an event that lies in several tiles are one. */
export function boxes(strip: Strip, dpr: number, t0: number, t1: number, f: (box: Box) => void): void {
	const [lane, category] = strip.lanes[0];
	const source = m.sources.value[strip.row.source];
	const wide = (t1 - t0) / view.scale;
	let box: Box | null = null;

	visit(tiles.laneTiles(strip.row.source, lane, category), source, reach(source, level(dpr), t0, t1), t0, dpr, null, (tile, from, unit, lo, hi) => {
		for (let i = 0; tile && i < tile.n; i++) {
			const flags = tile.flags[i];
			const l = Math.max(from + tile.x[i] * unit, lo) / dpr, r = Math.min(from + (tile.x[i] + tile.w[i]) * unit, hi) / dpr;

			if (r < l || r < 0 || l > wide)
				continue;
			if (box && flags & RECT_EXACT && flags & RECT_BEFORE && box.flags & RECT_AFTER && box.slot === tile.name[i] && l - box.x1 < 1.5) {
				box.x1 = r;
				box.flags = (box.flags & ~RECT_AFTER) | (flags & RECT_AFTER);
				continue;
			}
			if (box)
				f(box);
			box = { x0: l, x1: r, slot: tile.name[i], flags, count: tiles.countOf(tile, i), occupied: tile.occ[i] / 255 };
		}
	});
	if (box)
		f(box);
}

/* ---- rasters ---- */

export interface Counted { rectangles: number; labels: number; missing: number }
export const counted: Counted = { rectangles: 0, labels: 0, missing: 0 };

/* A name that may have room, or an error to mark; times, as the view moves. */
export interface Label { t0: number; t1: number; slot: number }
const LABEL = 24;

export class Sheet {
	readonly canvas = document.createElement("canvas");
	labels: Label[][] = [];
	private readonly context = this.canvas.getContext("2d")!;
	private picture: ImageData | null = null;
	private pixels = new Uint32Array(0);
	private key = "";
	private answer = 0;
	private scale = 0;
	private t0 = 0;
	private t1 = 0;

	/* Lines of the strips that reach over the screen at least. */
	prepare(strips: Strip[], dpr: number): void {
		const { t0, t1 } = shown();
		const table = colours.table();
		const key = `${view.width} ${dpr} ${colours.version()} ${tiles.localVersion()} ${m.sources.value.map((s) => `${s.generation} ${s.edge} ${s.offset}`)} ${strips.map((s) => s.id)}`;

		if (key === this.key && this.scale === view.scale && t0 >= this.t0 && t1 <= this.t1 && this.addNew(strips, dpr, table)) {
			this.ask(strips, dpr);
			return;
		}
		/* While the view moves, more than the part in sight is drawn. */
		const more = this.scale === view.scale ? (t1 - t0) / 2 : 0;

		this.key = key;
		this.answer = tiles.arrivals();
		this.scale = view.scale;
		this.t0 = t0 - more;
		this.t1 = t1 + more;
		this.make(strips, dpr, table);
	}

	/* Asks for missing tiles in every frame: a tile not asked for any more is not waited for either. */
	private ask(strips: Strip[], dpr: number): void {
		const { t0, t1 } = shown();

		for (const strip of strips) {
			const r = reach(m.sources.value[strip.row.source], level(dpr, strip.coarse), t0, t1);

			for (const [lane, category] of strip.lanes)
				for (let index = r.from; index <= r.to; index++)
					tiles.tileAt(tiles.laneTiles(strip.row.source, lane, category), r.k, index, true);
		}
	}

	/* Draws the parts that came since. False: all has to be drawn anew. */
	private addNew(strips: Strip[], dpr: number, table: Uint32Array): boolean {
		if (this.answer === tiles.arrivals())
			return true;
		const fresh = tiles.arrivedSince(this.answer);

		if (!fresh)
			return false;
		const byLane = new Map<tiles.LaneTiles, { k: number; index: number }[]>();

		for (const f of fresh)
			byLane.set(f.lane, [...(byLane.get(f.lane) ?? []), f]);
		strips.forEach((strip, i) => {
			const k = level(dpr, strip.coarse);
			const parts = strip.lanes.flatMap(([lane, category]) => (byLane.get(tiles.laneTiles(strip.row.source, lane, category)) ?? []).filter((f) => f.k === k));

			if (parts.length)
				this.again(strip, i, parts.map((f) => f.index), dpr, table);
		});
		this.answer = tiles.arrivals();
		return true;
	}

	/* The tiles @parts of one line, with all that lies in them; the pixels at their edges are their neighbours', too. */
	private again(strip: Strip, i: number, parts: number[], dpr: number, table: Uint32Array): void {
		const width = this.picture!.width;
		const k = level(dpr, strip.coarse);
		const source = m.sources.value[strip.row.source];
		const all = reach(source, k, this.t0, this.t1);
		const line: Line = { out: this.pixels, at: i * width, width, page: theme.pack(theme.paint().page) };
		const px = (t: number): number => Math.floor((t - this.t0) / view.scale * dpr);

		for (const index of new Set(parts)) {
			const from = index * tileSpan(k) + source.offset;
			const left = Math.max(0, px(from)), right = Math.min(width, px(from + tileSpan(k)) + 1);

			if (left < right)
				this.line(strip, line, dpr, table, { k, from: Math.max(all.from, index - 1), to: Math.min(all.to, index + 1) }, left, right);
		}
		if (strip.exact)
			this.labels[i] = this.namesOf(strip, dpr);
		this.context.putImageData(this.picture!, 0, 0, 0, i, width, 1);
	}

	private room(width: number, lines: number): void {
		if (this.picture && this.picture.width === width && this.picture.height >= lines)
			return;
		const height = Math.max(lines, 64, this.picture && this.picture.width === width ? this.picture.height * 2 : 0);

		this.picture = new ImageData(width, height);
		this.pixels = new Uint32Array(this.picture.data.buffer);
		this.canvas.width = width;
		this.canvas.height = height;
	}

	private make(strips: Strip[], dpr: number, table: Uint32Array): void {
		const width = Math.ceil((this.t1 - this.t0) / view.scale * dpr);
		const ground = theme.pack(theme.paint().page);

		Object.assign(counted, { rectangles: 0, missing: 0 });
		this.room(width, Math.max(strips.length, 1));
		strips.forEach((strip, i) => {
			const r = reach(m.sources.value[strip.row.source], level(dpr, strip.coarse), this.t0, this.t1);

			this.line(strip, { out: this.pixels, at: i * width, width, page: ground }, dpr, table, r, 0, width);
		});
		this.labels = strips.map((strip) => this.namesOf(strip, dpr));
		if (strips.length)
			this.context.putImageData(this.picture!, 0, 0, 0, 0, width, strips.length);
	}

	/* Asks for missing tiles only where they are in sight: the line reaches farther. */
	private line(strip: Strip, line: Line, dpr: number, table: Uint32Array, r: Reach, left: number, right: number): void {
		const source = m.sources.value[strip.row.source];
		const { t0, t1 } = shown();
		const inSight = reach(source, r.k, t0, t1);
		const quiet = theme.dark.value ? 0xffa0a0a0 : 0xff909090;

		beginLine(line, left, right);
		for (const [lane, category] of strip.lanes)
			visit(tiles.laneTiles(strip.row.source, lane, category), source, r, this.t0, dpr, inSight, (tile, from, unit, lo, hi) => {
				if (tile) {
					counted.rectangles += tile.n;
					addTile(line, tile, from, unit, lo, hi, table, left, right);
					return;
				}
				counted.missing++;
				if (strip.exact)
					pending(line, lo, hi, quiet, left, right);
			});
		endLine(line, left, right);
	}

	private namesOf(strip: Strip, dpr: number): Label[] {
		const all: Label[] = [];

		if (strip.exact)
			boxes(strip, dpr, this.t0, this.t1, (box) => {
				if (box.flags & RECT_EXACT && box.x1 - box.x0 >= LABEL)
					all.push({ t0: this.t0 + box.x0 * view.scale, t1: this.t0 + box.x1 * view.scale, slot: box.slot });
			});
		return all;
	}

	draw(c: CanvasRenderingContext2D, strips: Strip[], dpr: number): void {
		const from = (view.start - this.t0) / view.scale * dpr;

		c.imageSmoothingEnabled = false;
		strips.forEach((s, i) => c.drawImage(this.canvas, from, i, view.width * dpr, 1, 0, s.y, view.width, s.height));
	}
}
