/* stage.ts - the canvases and the one loop that draws them: at most once per frame, and only when something changed. */
import { effect } from "@preact/signals";
import * as m from "./model";
import * as theme from "./theme";
import * as tiles from "./tiles";
import { drawRows, hit, prefetch, type Grid, type Hit } from "./draw";
import { counted, Sheet } from "./sheet";
import { drawAxis, drawMinimap } from "./axis";
import { drawOverlay } from "./overlay";
import { niceStep } from "./format";
import { isBusy, onDone } from "./net";
import { onView, shown, view, resize } from "./view";
import type { Placed, Row } from "./model";

export interface Canvases {
	minimap: HTMLCanvasElement; axis: HTMLCanvasElement; pins: HTMLCanvasElement; rows: HTMLCanvasElement; overlay: HTMLCanvasElement; scroll: HTMLElement;
}

export const MINIMAP = 34, AXIS = 24;
export const stage = { gutter: 260, scrollTop: 0, height: 400, dpr: 1, canvases: null as Canvases | null, firstPicture: 0 /* ms after navigation */ };
export const frames: number[] = [];
const sheets = { pins: new Sheet(), rows: new Sheet() };
let queued = false;
let whole = true;
let pictured = false;
let lacking = 0; /* tiles that the last picture had to do without, or with older ones */
let waiting: (() => void)[] = [];
let viewed = { key: "", start: 0, way: 1 as 1 | -1, ahead: [] as tiles.Priority[] /* priorities not fetched ahead of time yet */ };

export function invalidate(all = true): void {
	whole ||= all;
	if (queued)
		return;
	queued = true;
	requestAnimationFrame(frame);
}

export function grid(): Grid {
	const { t0 } = shown();
	const step = Math.max(niceStep(view.scale * 110), 1);

	return { step, first: Math.ceil(t0 / step) * step };
}

function drawAll(c: Canvases, dpr: number): void {
	const g = grid();
	const pins = m.pinned.value, rows = m.placed.value;

	tiles.nextFrame();
	counted.labels = 0;
	drawMinimap(c.minimap, dpr);
	drawAxis(c.axis, g, dpr);
	drawRows(sheets.pins, c.pins, pins.rows, 0, pins.height, g, dpr);
	drawRows(sheets.rows, c.rows, rows.rows, stage.scrollTop, stage.height, g, dpr);
}

function frame(): void {
	const c = stage.canvases;
	const began = performance.now();

	queued = false;
	if (!c)
		return;
	const all = whole;

	whole = false;
	if (all) {
		beginView();
		drawAll(c, stage.dpr);
		lacking = tiles.wishes();
	}
	drawOverlay(c.overlay, stage.dpr);
	/* The next frame begins when this one is on the screen. */
	if (!pictured && counted.rectangles > 0) {
		pictured = true;
		requestAnimationFrame(() => { stage.firstPicture = performance.now(); });
	}
	const more = tiles.flush();

	frames.push(performance.now() - began);
	if (frames.length > 2000)
		frames.splice(0, 1000);
	if (!more && tiles.idle())
		settle();
}

/* A view that is not the one before. */
function beginView(): void {
	const key = `${view.start} ${view.scale} ${view.width} ${stage.scrollTop} ${m.layoutTick.value} ${m.sources.value.map((s) => s.generation)}`;

	if (key === viewed.key)
		return;
	viewed = { key, start: view.start, way: view.start < viewed.start ? -1 : 1, ahead: ["next", "later"] };
	tiles.beginView();
}

/* All tiles in sight are there: time for the tiles likely next. */
function settle(): void {
	const parts = [{ ...m.pinned.value, top: 0 }, { rows: m.placed.value.rows, top: stage.scrollTop, height: stage.height }];

	for (let priority = viewed.ahead.shift(); priority; priority = viewed.ahead.shift()) {
		prefetch(priority, parts, viewed.way, stage.dpr);
		tiles.ahead(priority);
		if (!tiles.idle())
			return;
	}
	if (isBusy())
		return;
	for (const done of waiting.splice(0))
		done();
}

/* For tests: the picture is whole, though tiles may still be fetched ahead of time. */
export const wholePicture = async (): Promise<void> => {
	do
		await new Promise((done) => { invalidate(); requestAnimationFrame(done); });
	while (lacking > 0);
};

function drawn(): Promise<void> {
	invalidate();
	return new Promise((done) => waiting.push(done));
}

/*
 * For tests: when the picture is drawn of all tiles that it needs, no request is on its way, and none follows from the picture:
 * effects of components run a frame after they are in the page.
 */
export async function settled(): Promise<void> {
	for (let quiet = 0; quiet < 2; quiet++) {
		await drawn();
		await new Promise((done) => setTimeout(done, 0));
		if (queued || isBusy() || !tiles.idle())
			quiet = -1;
	}
}

export function attach(canvases: Canvases): void {
	stage.canvases = canvases;
	measureStage();
}

export function measureStage(): void {
	const c = stage.canvases;

	if (!c)
		return;
	stage.dpr = Math.min(Math.max(devicePixelRatio || 1, 1), 3);
	stage.height = c.scroll.clientHeight;
	resize(c.scroll.clientWidth - stage.gutter);
	invalidate();
}

export function start(): void {
	onView(() => invalidate());
	onDone(() => invalidate(false));
	effect(() => {
		m.placed.value;
		m.pinned.value;
		m.sources.value;
		m.current.value;
		theme.dark.value;
		invalidate();
	});
	effect(() => {
		m.selected.value;
		m.flows.value;
		m.range.value;
		m.rangeRows.value;
		m.measure.value;
		m.marks.value;
		m.path.value;
		m.mode.value;
		invalidate(false);
	});
}

/* ---- points ---- */

export interface Spot { placed: Placed | null; yIn: number; inPins: boolean }

/* @y: from the top of the pinned rows. */
export function spot(y: number): Spot {
	const pins = m.pinned.value;
	const inPins = y < pins.height;
	const at = inPins ? y : y - pins.height + stage.scrollTop;
	const rows = inPins ? pins.rows : m.placed.value.rows;
	let lo = 0, hi = rows.length;

	while (lo < hi) {
		const mid = (lo + hi) >> 1;

		if (rows[mid].y + rows[mid].height <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	const placed = at >= 0 ? rows[lo] ?? null : null;

	return { placed, yIn: placed ? at - placed.y : 0, inPins };
}

export function hitAt(x: number, y: number): Hit | null {
	const s = spot(y);

	return s.placed && x >= 0 && x <= view.width ? hit(s.placed, s.yIn, x, stage.dpr) : null;
}

/* Where a lane is on the screen: its middle from the top of the pinned rows; pinned rows first. All of its places. */
export function placesOf(source: number, lane: number): { y: number; height: number; pinned: boolean; row: Row }[] {
	const row = m.rowOfLane.value.get(source + ":" + lane);
	const found: { y: number; height: number; pinned: boolean; row: Row }[] = [];

	if (!row)
		return found;
	const pins = m.pinned.value;
	const add = (p: Placed, shift: number, pinned: boolean): void => {
		const i = Math.max(0, p.lanes.indexOf(lane));
		const spare = p.height - p.lanes.length * p.lane;

		if (p.row.kind === "thread")
			found.push({ y: p.y + shift + 4, height: p.row.open || !p.row.kids.length ? p.height - 8 : 5, pinned, row: p.row });
		else
			found.push({ y: p.y + shift + spare / 2 + i * p.lane + 0.5, height: p.lane - 1, pinned, row: p.row });
	};
	for (const p of pins.rows)
		if (p.row === row)
			add(p, 0, true);
	const main = placeOfRow(row);

	if (main)
		add(main, pins.height - stage.scrollTop, false);
	return found;
}

/* The row, or the nearest closed group above it that stands for it. */
export function placeOfRow(row: Row): Placed | undefined {
	const rows = m.placed.value.rows;

	for (let up: Row | null = row; up; up = up.parent) {
		const p = rows.find((q) => q.row === up);

		if (p)
			return p;
	}
	return undefined;
}

export function scrollTo(row: Row): void {
	const p = placeOfRow(row);
	const el = stage.canvases?.scroll;

	if (!p || !el)
		return;
	if (p.y < el.scrollTop + 4)
		el.scrollTop = p.y - 4;
	else if (p.y + p.height > el.scrollTop + stage.height - 4)
		el.scrollTop = p.y + p.height - stage.height + 4;
}
