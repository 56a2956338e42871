/* axis.ts - the axis of time, and the map of the whole report above it. */
import * as colours from "./colours";
import * as m from "./model";
import * as theme from "./theme";
import * as tiles from "./tiles";
import { dur, point } from "./format";
import { FONT, hatch, prepare, type Grid } from "./draw";
import { addTile, beginLine, endLine, type Line } from "./raster";
import { limits, shown, view, xOf } from "./view";

/* Ticks as far apart as their texts need; deep in a long report, distances from the left-most whole tick. */
export function drawAxis(canvas: HTMLCanvasElement, grid: Grid, dpr: number): void {
	const c = prepare(canvas, view.width, 24, dpr);
	const paint = theme.paint();
	const { t1 } = shown();
	const deep = Math.max(Math.abs(grid.first), 1) / grid.step > 2000;
	const anchor = deep ? Math.floor(grid.first / (grid.step * 100)) * grid.step * 100 : 0;

	c.font = FONT;
	c.textBaseline = "middle";
	c.fillStyle = paint.group;
	c.fillRect(0, 0, view.width, 24);
	let free = 0;

	if (deep) {
		const text = point(anchor, grid.step * 100) + " +";

		c.fillStyle = paint.text;
		c.fillText(text, 4, 12);
		free = 4 + c.measureText(text).width + 10;
	}
	for (let t = grid.first; t <= t1; t += grid.step) {
		const x = Math.round(xOf(t));
		const text = deep ? dur(Math.round(t - anchor)) : axisText(t, grid.step);

		c.fillStyle = paint.cursor;
		c.fillRect(x, 17, 1, 7);
		if (x + 4 < free)
			continue;
		c.fillStyle = paint.quiet;
		c.fillText(text, x + 4, 11);
	}
	c.fillStyle = paint.line;
	c.fillRect(0, 23, view.width, 1);
	for (const source of m.sources.value)
		for (const loss of source.losses)
			if (loss.wide) {
				const from = Math.max(xOf(loss.t0 + source.offset), 0);

				c.fillStyle = hatch(c, paint.loss);
				c.fillRect(from, 0, Math.min(xOf(loss.t1 + source.offset), view.width) - from, 4);
			}
}

function axisText(t: number, step: number): string {
	if (Math.round(t) === 0)
		return "0";
	const { t0, t1 } = shown();
	const size = Math.max(Math.abs(t1), Math.abs(t0));
	const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
	const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));

	return (t / unit).toFixed(decimals).replace("-", "−") + " " + name;
}

/* ---- the map ---- */

let strip: HTMLCanvasElement | null = null;

export const mapX = (t: number): number => view.width * (t - limits.t0) / (limits.t1 - limits.t0);
export const mapT = (x: number): number => limits.t0 + (limits.t1 - limits.t0) * x / view.width;

/* Rows in the overview: the busiest ones, one thin line for each. */
const LINES = 8;

function busiest(): { source: number; lane: number; category: string }[] {
	const all: { source: number; lane: number; category: string; weight: number; kind: number }[] = [];

	m.everyRow((row) => {
		if (row.lanes.length && !row.counter && row.events && row.kind !== "overhead" && row.kind !== "marks" && row.kind !== "sample")
			all.push({ source: row.source, lane: row.lanes[0], category: row.kind === "thread" ? "state" : row.kind, weight: row.busy, kind: row.kind === "stream" ? 0 : row.kind === "thread" ? 2 : 1 });
	});
	const states = all.filter((a) => a.kind === 2).slice(0, 2);
	const rest = all.filter((a) => a.kind !== 2).sort((a, b) => a.kind - b.kind || b.weight - a.weight);

	return [...rest.slice(0, LINES - states.length), ...states];
}

let chosen: ReturnType<typeof busiest> = [];
let chosenFor = -1;
let stripKey = "";

/* One line for each of the chosen rows; made again when more of these rows is indexed. */
function makeStrip(width: number, dpr: number): HTMLCanvasElement {
	const table = colours.table();
	const key = `${width} ${m.layoutTick.value} ${tiles.arrivals()} ${colours.version()} ${limits.t0} ${limits.t1} ${m.sources.value.map((s) => `${s.generation} ${s.offset}`)}`;

	if (strip && key === stripKey)
		return strip;
	const picture = new ImageData(width, chosen.length);
	const pixels = new Uint32Array(picture.data.buffer);
	const page = theme.pack(theme.paint().page);

	stripKey = key;
	chosen.forEach((line, i) => mapLine({ out: pixels, at: i * width, width, page }, line, dpr, table));
	strip ??= document.createElement("canvas");
	strip.width = width;
	strip.height = chosen.length;
	strip.getContext("2d")!.putImageData(picture, 0, 0);
	return strip;
}

export function drawMinimap(canvas: HTMLCanvasElement, dpr: number): void {
	const height = 34;
	const c = prepare(canvas, view.width, height, dpr);
	const paint = theme.paint();
	const width = canvas.width;

	if (chosenFor !== m.layoutTick.value) {
		chosenFor = m.layoutTick.value;
		chosen = busiest();
	}
	c.fillStyle = paint.faint;
	c.fillRect(0, 0, view.width, height);
	if (chosen.length) {
		const lines = makeStrip(width, dpr);

		c.imageSmoothingEnabled = false;
		const step = (height - 6) / chosen.length;

		chosen.forEach((_, i) => c.drawImage(lines, 0, i, width, 1, 0, 3 + i * step, view.width, Math.max(1, step - 1)));
	}
	extras(c, height);
	const at = shown();
	const x0 = mapX(at.t0), x1 = Math.max(mapX(at.t1), x0 + 2);

	c.globalAlpha = 0.6;
	c.fillStyle = paint.group;
	c.fillRect(0, 0, x0, height);
	c.fillRect(x1, 0, view.width - x1, height);
	c.globalAlpha = 1;
	c.strokeStyle = paint.pick;
	c.lineWidth = 1.5;
	c.strokeRect(Math.max(x0, 0) + 0.75, 0.75, Math.max(2, Math.min(x1, view.width) - Math.max(x0, 0) - 1.5), height - 1.5);
}

function extras(c: CanvasRenderingContext2D, height: number): void {
	const paint = theme.paint();

	for (const s of m.sources.value) {
		for (const loss of s.losses) {
			c.fillStyle = hatch(c, paint.loss);
			c.fillRect(mapX(loss.t0 + s.offset), 0, Math.max(2, mapX(loss.t1 + s.offset) - mapX(loss.t0 + s.offset)), loss.wide ? 4 : height);
		}
		if (s.edge < s.end) {
			c.fillStyle = hatch(c, paint.cursor);
			c.fillRect(mapX(s.edge + s.offset), 0, view.width, height);
		}
	}
	c.fillStyle = paint.pick;
	for (const mark of m.marks.value)
		c.fillRect(mapX(mark.t) - 1, 0, 2, height);
}

function mapLine(line: Line, what: { source: number; lane: number; category: string }, dpr: number, table: Uint32Array): void {
	const source = m.sources.value[what.source];
	const scale = (limits.t1 - limits.t0) / view.width / dpr;
	const k = Math.max(0, Math.min(54, Math.floor(Math.log2(scale))));
	const span = tiles.PX * 2 ** k;
	const of = tiles.laneTiles(what.source, what.lane, what.category);

	const first = Math.max(source.start, limits.t0 - source.offset), last = Math.min(source.end, limits.t1 - source.offset);

	beginLine(line);
	for (let i = Math.floor(first / span); i <= Math.floor((last - 1) / span); i++) {
		const tile = tiles.tileAt(of, k, i, true) ?? undefined;
		const from = (i * span + source.offset - limits.t0) / scale;

		if (tile)
			addTile(line, tile, from, span / scale / tiles.UNITS, from, from + span / scale, table);
	}
	endLine(line);
}
