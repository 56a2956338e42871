/* draw.ts - rows to a canvas: grounds, rasters, names on what is wide enough, counters, what is not indexed, losses. */
import * as colours from "./colours";
import * as theme from "./theme";
import * as m from "./model";
import { amount } from "./format";
import type { Placed, Row, Source } from "./model";
import * as tiles from "./tiles";
import { addTile, beginLine, endLine, pending, EXACT, type Line } from "./raster";
import { view, shown, xOf } from "./view";

export const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const LABEL = 24;

export interface Grid { step: number; first: number }

/* ---- which tiles ---- */

/* Pixels of tiles are at most as wide as those of the screen. */
export const level = (dpr: number, coarser = 0): number => Math.max(0, Math.min(54, Math.floor(Math.log2(view.scale / dpr)) + coarser));
const tileSpan = (k: number): number => tiles.PX * 2 ** k;

interface Reach { k: number; from: number; to: number }

function reach(source: Source, k: number, t0: number, t1: number): Reach {
	const span = tileSpan(k);
	const first = Math.max(t0 - source.offset, source.start), last = Math.min(t1 - source.offset, source.end);

	return { k, from: Math.floor(first / span), to: Math.floor(last / span) };
}

export const categoryOfRow = (row: Row): string => row.kind === "thread" ? "state" : row.kind;
export const tilesOf = (row: Row, lane: number): tiles.LaneTiles => tiles.laneTiles(row.source, lane, categoryOfRow(row), row.counter);

/* ---- one lane ---- */

/* Each tile that is in sight, with where its first unit lies and how wide a unit is, in pixels of the canvas. */
type Visit = (tile: tiles.Tile | undefined, from: number, unit: number, lo: number, hi: number) => void;

export function visit(of: tiles.LaneTiles, source: Source, r: Reach, dpr: number, ask: boolean, f: Visit): void {
	const toPx = dpr / view.scale;
	const span = tileSpan(r.k);

	for (let index = r.from; index <= r.to; index++) {
		const t = index * span + source.offset;
		const lo = (t - view.start) * toPx, hi = lo + span * toPx;
		const tile = tiles.tileAt(of, r.k, index, ask);

		if (tile) {
			f(tile, lo, span * toPx / tiles.UNITS, lo, hi);
			continue;
		}
		if (standIns(of, source, r.k, index, dpr, f, lo, hi))
			continue;
		f(undefined, lo, 0, lo, hi);
	}
}

function standIns(of: tiles.LaneTiles, source: Source, k: number, index: number, dpr: number, f: Visit, lo: number, hi: number): boolean {
	const toPx = dpr / view.scale;
	const up = tiles.coarser(of, k, index);

	if (up) {
		const span = tileSpan(up.k);

		f(up.tile, (up.index * span + source.offset - view.start) * toPx, span * toPx / tiles.UNITS, lo, hi);
		return true;
	}
	for (let down = 1; down <= 3 && k - down >= 0; down++) {
		const parts = 2 ** down, span = tileSpan(k - down);
		let any = false;

		for (let i = 0; i < parts; i++) {
			const tile = tiles.tileAt(of, k - down, index * parts + i, false);
			const from = ((index * parts + i) * span + source.offset - view.start) * toPx;

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

/* ---- rasters ---- */

let picture: ImageData | null = null;
let pixels = new Uint32Array(0);
const sheet = document.createElement("canvas");
const sheetContext = sheet.getContext("2d", { willReadFrequently: false })!;

function sheetOf(width: number, lines: number): void {
	if (picture && picture.width === width && picture.height >= lines)
		return;
	const height = Math.max(lines, 64, picture && picture.width === width ? picture.height * 2 : 0);

	picture = new ImageData(width, height);
	pixels = new Uint32Array(picture.data.buffer);
	sheet.width = width;
	sheet.height = height;
}

interface Strip { row: Row; lanes: [number, string][]; y: number; height: number; exact: boolean; coarse: number }

function stripsOf(p: Placed, y: number): Strip[] {
	const { row } = p;

	if (row.counter)
		return [];
	if (row.kind === "thread" || row.kind === "report" || !row.lanes.length) {
		const states = row.lanes.map((lane): Strip => ({ row, lanes: [[lane, "state"]], y: y + 4, height: row.open || !row.kids.length ? p.height - 8 : 5, exact: true, coarse: 0 }));

		if (row.open || !row.kids.length)
			return states;
		const top = states.length ? 10 : 4;

		return [...states, { row, lanes: m.outline(row), y: y + top, height: p.height - top - 3, exact: false, coarse: 2 }];
	}
	const spare = p.height - p.lanes.length * p.lane;

	return p.lanes.map((lane, i): Strip => ({ row, lanes: [[lane, row.kind]], y: y + spare / 2 + i * p.lane + 0.5, height: p.lane - 1, exact: true, coarse: 0 }));
}

export interface Counted { rectangles: number; labels: number; missing: number }
export const counted: Counted = { rectangles: 0, labels: 0, missing: 0 };

function rasterize(strips: Strip[], width: number, dpr: number): void {
	const table = colours.table();
	const ground = theme.pack(theme.paint().page);
	const quiet = theme.dark.value ? 0xffa0a0a0 : 0xff909090;
	const { t0, t1 } = shown();

	strips.forEach((strip, i) => {
		const line: Line = { out: pixels, at: i * width, width, page: ground };
		const source = m.sources.value[strip.row.source];

		beginLine(line);
		for (const [lane, category] of strip.lanes) {
			const of = tiles.laneTiles(strip.row.source, lane, category);

			visit(of, source, reach(source, level(dpr, strip.coarse), t0, t1), dpr, true, (tile, from, unit, lo, hi) => {
				if (!tile) {
					counted.missing++;
					if (strip.exact)
						pending(line, lo, hi, quiet);
					return;
				}
				counted.rectangles += tile.n;
				addTile(line, tile, from, unit, lo, hi, table);
			});
		}
		endLine(line);
	});
}

/* ---- names ---- */

const widths = new Map<string, number>();

function fitted(c: CanvasRenderingContext2D, text: string, room: number): string {
	let width = widths.get(text);

	if (width === undefined) {
		if (widths.size > 20000)
			widths.clear();
		width = c.measureText(text).width;
		widths.set(text, width);
	}
	if (width <= room)
		return text;
	const fits = Math.floor(text.length * (room - 12) / width);

	return fits < 2 ? "" : text.slice(0, fits) + "…";
}

interface Box { x0: number; x1: number; slot: number; flags: number; count: number; occupied: number }

const BEGAN_BEFORE = 32, GOES_ON = 64;

/* Rectangles of a lane that are in sight, in CSS pixels: the parts of an event that lies in several tiles are one. */
function boxes(strip: Strip, dpr: number, f: (box: Box) => void): void {
	const [lane, category] = strip.lanes[0];
	const source = m.sources.value[strip.row.source];
	const { t0, t1 } = shown();
	let box: Box | null = null;

	visit(tiles.laneTiles(strip.row.source, lane, category), source, reach(source, level(dpr), t0, t1), dpr, false, (tile, from, unit, lo, hi) => {
		for (let i = 0; tile && i < tile.n; i++) {
			const flags = tile.flags[i];
			const l = Math.max(from + tile.x[i] * unit, lo) / dpr, r = Math.min(from + (tile.x[i] + tile.w[i]) * unit, hi) / dpr;

			if (r < l || r < 0 || l > view.width)
				continue;
			if (box && flags & EXACT && flags & BEGAN_BEFORE && box.flags & GOES_ON && box.slot === tile.name[i] && l - box.x1 < 1.5) {
				box.x1 = r;
				box.flags = (box.flags & ~GOES_ON) | (flags & GOES_ON);
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

function label(c: CanvasRenderingContext2D, strip: Strip, box: Box): void {
	const name = tiles.names[box.slot];
	const from = Math.max(box.x0, 0), to = Math.min(box.x1, view.width);

	if (!(box.flags & EXACT) || to - from < LABEL)
		return;
	if (box.flags & 8) {
		c.fillStyle = theme.paint().arrow;
		c.fillRect(from, strip.y + strip.height - 2, to - from, 2);
	}
	const text = strip.height < 10 || !name ? "" : fitted(c, name.text, to - from - 8);

	if (!text)
		return;
	counted.labels++;
	c.fillStyle = colours.inkOf(box.slot);
	c.fillText(text, from + 4, strip.y + strip.height / 2 + 0.5);
}

/* ---- counters ---- */

function drawCounter(c: CanvasRenderingContext2D, p: Placed, y: number, dpr: number): void {
	const { row } = p;
	const source = m.sources.value[row.source];
	const { t0, t1 } = shown();
	const paint = theme.paint();
	const least = Math.min(row.least, 0), most = row.most > least ? row.most : least + 1;
	const height = p.height - 8;
	const yOf = (v: number): number => y + 4 + height * (1 - (v - least) / (most - least));
	const edge: [number, number, number][] = [];

	visit(tilesOf(row, row.lanes[0]), source, reach(source, level(dpr), t0, t1), dpr, true, (tile, from, unit, lo, hi) => {
		if (!tile?.values)
			return;
		const px = unit * 16;
		const first = Math.max(0, Math.floor((Math.max(lo, 0) - from) / px)), last = Math.min(tiles.PX, Math.ceil((Math.min(hi, view.width * dpr) - from) / px));

		for (let i = first; i < last; i++)
			if (!isNaN(tile.values[i]))
				edge.push([(from + i * px) / dpr, tile.values[tiles.PX + i], tile.values[i]]);
	});
	if (!edge.length)
		return;
	const wide = Math.max(1 / dpr, 2 ** level(dpr) / view.scale);
	const zero = yOf(Math.max(least, 0));

	c.fillStyle = paint.counter;
	c.beginPath();
	c.moveTo(edge[0][0], zero);
	for (const [x, high] of edge) {
		c.lineTo(x, yOf(high));
		c.lineTo(x + wide, yOf(high));
	}
	c.lineTo(edge[edge.length - 1][0] + wide, zero);
	c.fill();
	c.fillStyle = paint.counterEdge;
	for (const [x, high, low] of edge)
		c.fillRect(x, yOf(high) - 0.5, wide + 0.2, Math.max(1, yOf(low) - yOf(high) + 1));
	c.lineWidth = 3;
	c.lineJoin = "round";
	c.strokeStyle = theme.css(paint.page);
	c.strokeText(amount(row.most, row.unit), 4, y + 9);
	c.fillStyle = paint.quiet;
	c.fillText(amount(row.most, row.unit), 4, y + 9);
}

/* ---- the whole ---- */

export function prepare(canvas: HTMLCanvasElement, width: number, height: number, dpr: number): CanvasRenderingContext2D {
	const w = Math.max(1, Math.round(width * dpr)), h = Math.max(1, Math.round(height * dpr));

	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = width + "px";
		canvas.style.height = height + "px";
	}
	const c = canvas.getContext("2d")!;

	c.setTransform(dpr, 0, 0, dpr, 0, 0);
	return c;
}

let hatchTile: HTMLCanvasElement | null = null;
let hatchColour = "";

export function hatch(c: CanvasRenderingContext2D, colour: string): CanvasPattern | string {
	if (!hatchTile || hatchColour !== colour) {
		hatchTile = document.createElement("canvas");
		hatchTile.width = hatchTile.height = 8;
		const h = hatchTile.getContext("2d")!;

		h.strokeStyle = colour;
		h.lineWidth = 1.5;
		h.beginPath();
		for (const d of [-8, 0, 8]) {
			h.moveTo(d - 2, 10);
			h.lineTo(d + 10, -2);
		}
		h.stroke();
		hatchColour = colour;
	}
	return c.createPattern(hatchTile, "repeat") ?? colour;
}

function grounds(c: CanvasRenderingContext2D, rows: Placed[], top: number, height: number, grid: Grid): void {
	const paint = theme.paint();

	c.fillStyle = paint.row;
	c.fillRect(0, 0, view.width, height);
	for (const p of rows) {
		const y = p.y - top;

		if (p.row.kids.length || p.row.kind === "thread") {
			c.fillStyle = paint.group;
			c.fillRect(0, y, view.width, p.height);
		}
		if (p.row === m.current.value) {
			c.fillStyle = paint.select;
			c.fillRect(0, y, view.width, p.height);
		}
	}
	c.fillStyle = paint.line;
	for (let t = grid.first; t <= shown().t1; t += grid.step)
		c.fillRect(Math.round(xOf(t)), 0, 1, height);
	for (const p of rows)
		c.fillRect(0, p.y - top + p.height - 1, view.width, 1);
}

function unread(c: CanvasRenderingContext2D, rows: Placed[], top: number): void {
	for (const p of rows) {
		const source = m.sources.value[p.row.source];
		const from = xOf(source.edge + source.offset), to = xOf(source.end + source.offset);

		if (to > from && from < view.width && source.edge < source.end) {
			c.fillStyle = hatch(c, theme.paint().line);
			c.fillRect(Math.max(from, 0), p.y - top, Math.min(to, view.width) - Math.max(from, 0), p.height);
		}
	}
}

function losses(c: CanvasRenderingContext2D, height: number): void {
	for (const source of m.sources.value)
		for (const loss of source.losses) {
			const from = xOf(loss.t0 + source.offset), to = Math.max(xOf(loss.t1 + source.offset), from + 2);

			if (to < 0 || from > view.width)
				continue;
			c.fillStyle = hatch(c, theme.paint().loss);
			c.fillRect(from, 0, to - from, height);
		}
}

export function drawRows(canvas: HTMLCanvasElement, all: Placed[], top: number, height: number, grid: Grid, dpr: number): void {
	const c = prepare(canvas, view.width, height, dpr);
	const rows = all.filter((p) => p.y + p.height > top && p.y < top + height);
	const strips = rows.flatMap((p) => stripsOf(p, p.y - top)).filter((s) => s.y + s.height > 0 && s.y < height);
	const width = canvas.width;

	c.font = FONT;
	c.textBaseline = "middle";
	grounds(c, rows, top, height, grid);
	sheetOf(width, strips.length);
	rasterize(strips, width, dpr);
	if (strips.length) {
		sheetContext.putImageData(picture!, 0, 0, 0, 0, width, strips.length);
		c.imageSmoothingEnabled = false;
		strips.forEach((s, i) => c.drawImage(sheet, 0, i, width, 1, 0, s.y, view.width, s.height));
	}
	for (const p of rows)
		if (p.row.counter)
			drawCounter(c, p, p.y - top, dpr);
	for (const s of strips)
		if (s.exact)
			boxes(s, dpr, (box) => label(c, s, box));
	unread(c, rows, top);
	losses(c, height);
}

/* ---- ahead of time ---- */

/* What is likely next: a screen to both sides, and one level up. */
export function prefetch(all: Placed[], top: number, height: number, dpr: number): void {
	const { t0, t1 } = shown();
	const wide = t1 - t0;

	for (const p of all) {
		if (p.y + p.height < top || p.y > top + height || (!p.row.lanes.length && p.row.open))
			continue;
		const source = m.sources.value[p.row.source];

		for (const lane of p.lanes) {
			const of = tilesOf(p.row, lane);

			for (const k of [level(dpr), level(dpr) + 2]) {
				const r = reach(source, k, t0 - wide, t1 + wide);

				for (let i = r.from; i <= r.to; i++)
					tiles.tileAt(of, k, i, true);
			}
		}
	}
}

/* ---- what lies at a point ---- */

export interface Hit {
	row: Row; lane: number; t: number; y: number; height: number;
	slot: number; count: number; occupied: number; exact: boolean; t0: number; t1: number; clipped: boolean; flags: number; /* slot -1: nothing there */
}

export function hit(p: Placed, yIn: number, x: number, dpr: number): Hit | null {
	const { row } = p;
	const strip = stripsOf(p, 0).find((s) => s.exact && yIn >= s.y - 1 && yIn <= s.y + s.height + 1);
	const t = view.start + x * view.scale;

	if (!strip)
		return null;
	const found: Hit = { row, lane: strip.lanes[0][0], t, y: strip.y, height: strip.height, slot: -1, count: 0, occupied: 0, exact: false, t0: t, t1: t, clipped: false, flags: 0 };
	let nearest = 3;

	boxes(strip, dpr, (box) => {
		const away = x < box.x0 ? box.x0 - x : x > box.x1 ? x - box.x1 : 0;

		if (away >= nearest)
			return;
		nearest = away || 0.001;
		Object.assign(found, {
			slot: box.slot, count: box.count, occupied: box.occupied, flags: box.flags, exact: (box.flags & EXACT) !== 0,
			clipped: (box.flags & (BEGAN_BEFORE | GOES_ON)) !== 0, t0: view.start + box.x0 * view.scale, t1: view.start + box.x1 * view.scale,
		});
	});
	return found;
}
