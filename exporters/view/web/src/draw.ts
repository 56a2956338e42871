/* draw.ts - rows to a canvas: grounds, rasters, names on wide rectangles, counters, parts not indexed yet, losses. */
import * as colours from "./colours";
import * as theme from "./theme";
import * as m from "./model";
import type { Placed, Row } from "./model";
import * as tiles from "./tiles";
import { RECT_AFTER, RECT_BEFORE, RECT_EXACT } from "./flags";
import { boxes, counted, level, reach, stripsOf, tilesOf, visit, type Label, type Sheet, type Strip } from "./sheet";
import { drawUse } from "./use";
import { view, shown, xOf } from "./view";

export const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const LABEL = 24;

export interface Grid { step: number; first: number }

/* ---- names ---- */

const widths = new Map<string, number>();

/* Beginnings that many names share: where there is little room, the rest is left. */
const COMMON = /^(?:void )?(?:at::native::(?:\(anonymous namespace\)::)?|aten::|c10::|cuda(?=[A-Z])|cu(?=[A-Z][a-z])|cudnn(?=[A-Z])|cublas(?=[A-Z])|nccl(?=[A-Z])|torch::)/;
const SHORTEST = 6; /* letters of a name that is cut */

export function fitted(c: CanvasRenderingContext2D, text: string, room: number): string {
	let width = widths.get(text);

	if (width === undefined) {
		if (widths.size > 20000)
			widths.clear();
		width = c.measureText(text).width;
		widths.set(text, width);
	}
	if (width <= room)
		return text;
	const rest = text.replace(COMMON, "");

	if (rest && rest !== text)
		return fitted(c, rest, room);
	const fits = Math.floor(text.length * (room - 12) / width);

	return fits < SHORTEST ? "" : text.slice(0, fits) + "…";
}

function label(c: CanvasRenderingContext2D, strip: Strip, it: Label): void {
	const name = tiles.names[it.slot];
	const from = Math.max(xOf(it.t0), 0), to = Math.min(xOf(it.t1), view.width);

	if (to - from < LABEL)
		return;
	const text = strip.height < 10 || !name ? "" : fitted(c, name.text, to - from - 8);

	if (!text)
		return;
	counted.labels++;
	c.fillStyle = colours.inkOf(it.slot);
	c.fillText(text, from + 4, strip.y + strip.height / 2 + 0.5);
}

/* ---- counters ---- */

interface Step { x: number; wide: number; high: number; low: number }

/* Runs of pixels with values; pixels between runs have none. */
function runsOf(row: Row, dpr: number): Step[][] {
	const source = m.sources.value[row.source];
	const { t0, t1 } = shown();
	const runs: Step[][] = [];
	let known = false;

	const r = reach(source, level(dpr), t0, t1);

	visit(tilesOf(row, row.lanes[0]), source, r, view.start, dpr, r, (tile, from, unit, lo, hi) => {
		const px = unit * 16;
		const first = Math.max(0, Math.floor((Math.max(lo, 0) - from) / px)), last = Math.min(tiles.PX, Math.ceil((Math.min(hi, view.width * dpr) - from) / px));

		known &&= tile?.values != null;
		for (let i = first; tile?.values && i < last; i++) {
			const isKnown = !isNaN(tile.values[i]);

			if (isKnown && !known)
				runs.push([]);
			if (isKnown)
				runs[runs.length - 1].push({ x: (from + i * px) / dpr, wide: px / dpr, high: tile.values[tiles.PX + i], low: tile.values[i] });
			known = isKnown;
		}
	});
	return runs;
}

function drawCounter(c: CanvasRenderingContext2D, p: Placed, y: number, dpr: number): void {
	const { row } = p;
	const paint = theme.paint();
	const { least, most } = m.scaleOf(row);
	const height = p.height - 8;
	const yOf = (v: number): number => y + 4 + height * (1 - (v - least) / (most - least));
	const zero = yOf(Math.max(least, 0));

	for (const run of runsOf(row, dpr)) {
		c.fillStyle = paint.counter;
		c.beginPath();
		c.moveTo(run[0].x, zero);
		for (const { x, wide, high } of run) {
			c.lineTo(x, yOf(high));
			c.lineTo(x + wide, yOf(high));
		}
		c.lineTo(run[run.length - 1].x + run[run.length - 1].wide, zero);
		c.fill();
		c.fillStyle = paint.counterEdge;
		run.forEach(({ x, wide, high, low }, i) => {
			/* From the end of the pixel before. */
			const top = yOf(Math.max(high, run[i - 1]?.low ?? high)), bottom = yOf(Math.min(low, run[i - 1]?.high ?? low));

			c.fillRect(x, top - 0.5, wide + 0.2, Math.max(1, bottom - top + 1));
		});
	}
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

/* Over all rows of their report; long ones are marked on the axis alone. */
function losses(c: CanvasRenderingContext2D, rows: Placed[], top: number, height: number): void {
	for (const source of m.sources.value)
		for (const loss of source.losses) {
			const from = xOf(loss.t0 + source.offset), to = Math.max(xOf(loss.t1 + source.offset), from + 2);
			const of = rows.filter((p) => p.row.source === source.index);

			if (loss.wide || to < 0 || from > view.width || !of.length)
				continue;
			const first = of[0].y - top, last = of[of.length - 1];

			c.fillStyle = hatch(c, theme.paint().loss);
			c.fillRect(from, first, to - from, Math.min(height, last.y + last.height - top) - first);
		}
}

export function drawRows(sheet: Sheet, canvas: HTMLCanvasElement, all: Placed[], top: number, height: number, grid: Grid, dpr: number): void {
	const c = prepare(canvas, view.width, height, dpr);
	const rows = all.filter((p) => p.y + p.height > top && p.y < top + height);
	const strips = rows.flatMap((p) => stripsOf(p, p.y - top)).filter((s) => s.y + s.height > 0 && s.y < height);

	c.font = FONT;
	c.textBaseline = "middle";
	grounds(c, rows, top, height, grid);
	sheet.prepare(strips, dpr);
	sheet.draw(c, strips, dpr);
	for (const p of rows)
		if (p.row.counter)
			drawCounter(c, p, p.y - top, dpr);
	for (const p of rows)
		drawUse(c, p, p.y - top, dpr);
	strips.forEach((s, i) => sheet.labels[i].forEach((it) => label(c, s, it)));
	unread(c, rows, top);
	losses(c, rows, top, height);
}

/* ---- ahead of time ---- */

/* The rows drawn on a sheet. */
export interface Part { rows: Placed[]; top: number; height: number }

/*
 * Asks for tiles likely next: half a screen to the side that the view moves to. For "later", the likeliest first: half a screen to
 * the other side; two levels up, which also stands in for missing tiles; the rest of a screen to both sides. @way: 1: later in time,
 * -1: earlier.
 */
export function prefetch(priority: tiles.Priority, parts: Part[], way: 1 | -1, dpr: number): void {
	const { t0, t1 } = shown();
	const half = (t1 - t0) / 2;
	const [near, far] = way > 0 ? [t1, t0 - half] : [t0 - half, t1];
	const spans = priority === "next" ? [[near, near + half, 0]]
		: [[far, far + half, 0], [t0 - half, t1 + half, 2], [t0 - 2 * half, t1 + 2 * half, 2], [t0 - 2 * half, t1 + 2 * half, 0]];
	const lanes: { of: tiles.LaneTiles; source: m.Source; coarse: number }[] = [];

	for (const { rows, top, height } of parts)
		for (const p of rows) {
			const source = m.sources.value[p.row.source];

			if (p.y + p.height <= top || p.y >= top + height)
				continue;
			if (p.row.counter)
				lanes.push({ of: tilesOf(p.row, p.row.lanes[0]), source, coarse: 0 });
			for (const strip of stripsOf(p, p.y - top))
				if (strip.y + strip.height > 0 && strip.y < height)
					for (const [lane, category] of strip.lanes)
						lanes.push({ of: tiles.laneTiles(p.row.source, lane, category), source, coarse: strip.coarse });
		}
	for (const [from, to, up] of spans)
		for (const { of, source, coarse } of lanes) {
			const r = reach(source, level(dpr, coarse + up), from, to);

			for (let i = r.from; i <= r.to; i++)
				tiles.tileAt(of, r.k, i, true);
		}
}

/* ---- the event at a point ---- */

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

	boxes(strip, dpr, view.start, view.start + view.width * view.scale, (box) => {
		const away = x < box.x0 ? box.x0 - x : x > box.x1 ? x - box.x1 : 0;

		if (away >= nearest)
			return;
		nearest = away || 0.001;
		Object.assign(found, {
			slot: box.slot, count: box.count, occupied: box.occupied, flags: box.flags, exact: (box.flags & RECT_EXACT) !== 0,
			clipped: (box.flags & (RECT_BEFORE | RECT_AFTER)) !== 0, t0: view.start + box.x0 * view.scale, t1: view.start + box.x1 * view.scale,
		});
	});
	return found;
}
