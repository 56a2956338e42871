/* overlay.ts - the layer over the rows: the chosen span, the measured span, the selected event, arrows, marks. */
import * as m from "./model";
import * as theme from "./theme";
import { dur, point } from "./format";
import { FONT, prepare } from "./draw";
import { pathIn } from "./causes";
import { rowById } from "./load";
import { placeOfRow, placesOf, stage } from "./stage";
import { shown, view, xOf } from "./view";
import type { End, Flow } from "./model";

export const pointer = { x: -1, y: -1, inside: false, snapped: NaN };

function band(c: CanvasRenderingContext2D, t0: number, t1: number, height: number, fill: string, edge: string): void {
	const x0 = xOf(t0), x1 = xOf(t1);

	if (x1 < 0 || x0 > view.width)
		return;
	c.fillStyle = fill;
	c.fillRect(x0, 0, Math.max(1, x1 - x0), height);
	c.fillStyle = edge;
	c.fillRect(Math.round(x0), 0, 1, height);
	c.fillRect(Math.round(x1), 0, 1, height);
}

function tag(c: CanvasRenderingContext2D, text: string, x: number, y: number, fill: string, ink: string): void {
	const wide = c.measureText(text).width + 10;
	const left = Math.max(2, Math.min(x - wide / 2, view.width - wide - 2));

	c.fillStyle = fill;
	c.beginPath();
	c.roundRect(left, y, wide, 18, 4);
	c.fill();
	c.fillStyle = ink;
	c.fillText(text, left + 5, y + 9.5);
}

function outline(c: CanvasRenderingContext2D, end: { source: number; lane: number; start: number; end: number }, colour: string): void {
	for (const place of placesOf(end.source, end.lane)) {
		const x0 = xOf(end.start), x1 = Math.max(xOf(end.end), x0 + 2);

		if (x1 < 0 || x0 > view.width)
			continue;
		clipped(c, place.pinned, () => {
			c.strokeStyle = colour;
			c.lineWidth = 2;
			c.strokeRect(Math.max(x0, -4), place.y, Math.min(x1, view.width + 4) - Math.max(x0, -4), place.height);
		});
	}
}

/* Rows below the pinned ones are cut off by them. */
function clipped(c: CanvasRenderingContext2D, pinned: boolean, draw: () => void): void {
	const top = pinned ? 0 : m.pinned.value.height;

	c.save();
	c.beginPath();
	c.rect(0, top, view.width, pinned ? m.pinned.value.height : stage.height);
	c.clip();
	draw();
	c.restore();
}

function arrow(c: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
	const bend = Math.max(16, Math.min(Math.abs(x1 - x0) / 2, 120));

	c.beginPath();
	c.moveTo(x0, y0);
	c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
	c.stroke();
	c.beginPath();
	c.moveTo(x1 + 1, y1);
	c.lineTo(x1 - 7, y1 - 4);
	c.lineTo(x1 - 7, y1 + 4);
	c.fill();
}

/* From the nearest place of one end to the nearest of the other: pinned rows are places, too. */
function drawFlow(c: CanvasRenderingContext2D, flow: Flow): void {
	const colour = flow.kind === "wakeup" ? theme.paint().wake : theme.paint().arrow;
	const middle = (p: { y: number; height: number }): number => p.y + p.height / 2;
	const from = placesOf(flow.source, flow.from.lane), to = placesOf(flow.source, flow.to.lane);
	const at = (end: End, isFrom: boolean): number => xOf(isFrom && flow.kind !== "wakeup" ? Math.min(end.start, end.end) : end.start);

	c.strokeStyle = c.fillStyle = colour;
	c.lineWidth = 1.5;
	for (const a of from)
		for (const b of to)
			if ((a.pinned || !from.some((p) => p.pinned) || !b.pinned) && (b.pinned || !to.some((p) => p.pinned) || !a.pinned))
				arrow(c, at(flow.from, true), middle(a), at(flow.to, false), middle(b));
	outline(c, { source: flow.source, ...flow.to }, colour);
	outline(c, { source: flow.source, ...flow.from }, colour);
}

/* The ground is marked where the rows are that it is about; the edges go through all. */
function drawRange(c: CanvasRenderingContext2D, range: { t0: number; t1: number }, height: number): void {
	const paint = theme.paint();
	const rows = m.rangeRows.value;
	const pins = m.pinned.value.height;

	if (!rows)
		return band(c, range.t0, range.t1, height, paint.select, paint.pick);
	band(c, range.t0, range.t1, height, "transparent", paint.pick);
	c.fillStyle = paint.select;
	const x0 = Math.max(xOf(range.t0), -1), x1 = Math.min(xOf(range.t1), view.width + 1);

	for (const p of m.placed.value.rows)
		if (rows.has(p.row))
			clipped(c, false, () => c.fillRect(x0, p.y + pins - stage.scrollTop, Math.max(1, x1 - x0), p.height));
	for (const p of m.pinned.value.rows)
		if (rows.has(p.row))
			c.fillRect(x0, p.y, Math.max(1, x1 - x0), p.height);
}

const HOPS = 4000, THIN = 0.7 /* px */;

/* The critical path: along the row of the thread that the main thread's time is due to, across where it goes over to another one. */
function drawPath(c: CanvasRenderingContext2D): void {
	const { t0, t1 } = shown();
	const pins = m.pinned.value.height;
	let last: { x: number; y: number } | null = null;
	let n = 0;

	c.strokeStyle = theme.paint().arrow;
	c.lineWidth = 2.5;
	c.save();
	c.beginPath();
	c.rect(0, pins, view.width, stage.height);
	c.clip();
	c.beginPath();
	for (const p of pathIn(t0, t1)) {
		const row = rowById(p.source, p.row), place = row && placeOfRow(row);
		const x0 = Math.max(xOf(p.start), -4), x1 = Math.min(xOf(p.end), view.width + 4);

		if (!place || (x1 - x0 < THIN && last) || ++n > HOPS)
			continue;
		const y = place.y + pins - stage.scrollTop + Math.min(place.height, m.HEAD) - 3;

		if (last)
			c.lineTo(x0, last.y);
		else
			c.moveTo(x0, y);
		c.lineTo(x0, y);
		c.lineTo(x1, y);
		last = { x: x1, y };
	}
	c.stroke();
	c.restore();
}

export function drawOverlay(canvas: HTMLCanvasElement, dpr: number): void {
	const height = stage.height + m.pinned.value.height;
	const c = prepare(canvas, view.width, height, dpr);
	const paint = theme.paint();
	const range = m.range.value, measure = m.measure.value, selected = m.selected.value;

	c.clearRect(0, 0, view.width, height);
	c.font = FONT;
	c.textBaseline = "middle";
	if (range) {
		drawRange(c, range, height);
		tag(c, dur(range.t1 - range.t0), (Math.max(xOf(range.t0), 0) + Math.min(xOf(range.t1), view.width)) / 2, 4, paint.pick, theme.dark.value ? "#000" : "#fff");
	}
	for (const mark of m.marks.value) {
		const x = Math.round(xOf(mark.t));

		if (mark.t1 !== undefined)
			band(c, mark.t, mark.t1, height, paint.select, paint.pick);
		c.fillStyle = paint.pick;
		c.fillRect(x, 0, 1.5, height);
		if (mark.text)
			tag(c, mark.text.length > 60 ? mark.text.slice(0, 59) + "…" : mark.text, x, height - 24, paint.pick, theme.dark.value ? "#000" : "#fff");
	}
	if (selected)
		outline(c, selected, selected.json ? (theme.dark.value ? "#fff" : "#000") : paint.pick);
	if (m.path.value)
		drawPath(c);
	m.flows.value.forEach((f) => drawFlow(c, f));
	if (measure) {
		const x0 = xOf(measure.t0), x1 = xOf(measure.t1);

		c.fillStyle = paint.wake;
		c.fillRect(Math.round(x0), 0, 1, height);
		c.fillRect(Math.round(x1), 0, 1, height);
		c.fillRect(Math.min(x0, x1), 30, Math.abs(x1 - x0), 1.5);
		tag(c, dur(Math.abs(measure.t1 - measure.t0)), (x0 + x1) / 2, 34, paint.wake, theme.dark.value ? "#000" : "#fff");
	}
	drawPointer(c, height);
}

function drawPointer(c: CanvasRenderingContext2D, height: number): void {
	const paint = theme.paint();

	if (!pointer.inside)
		return;
	const x = isNaN(pointer.snapped) ? pointer.x : xOf(pointer.snapped);

	c.fillStyle = isNaN(pointer.snapped) ? paint.cursor : paint.wake;
	c.fillRect(Math.round(x), 0, 1, height);
	tag(c, point(view.start + x * view.scale, view.scale), x, height - 22, paint.group, paint.text);
}
