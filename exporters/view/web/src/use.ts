/* use.ts - how busy a closed GPU or process is, as a curve over its row: the share of time in which a stream works, threads that run. */
import * as m from "./model";
import type { Placed, Row } from "./model";
import * as theme from "./theme";
import * as tiles from "./tiles";
import { level, reach, visit } from "./sheet";
import { shown, view } from "./view";

const COARSER = 2, MOST = 48 /* lanes */, STEP = 4 /* px of a point of the curve */;
let sums = new Float32Array(1024);

/* The lanes that are counted: of a GPU the outermost of each stream, of a process the states of its threads. */
function lanesOf(row: Row): [number, string][] {
	if (row.kind === "gpu")
		return row.kids.filter((k) => k.kind === "stream" && k.lanes.length).map((k) => [k.lanes[0], "stream"]);
	const threads = row.joined ? [row, ...row.kids.filter((k) => k.kind === "thread" && !k.joined)] : row.kind === "process" ? row.kids.filter((k) => k.kind === "thread") : [];

	return threads.filter((t) => t.lanes.length).map((t) => [t.lanes[0], "state"]);
}

const counts = (slot: number, category: string): boolean => category !== "state" || tiles.names[slot].text.startsWith("running");

/* Adds the time of each point of the curve that a lane is busy, in points. */
function add(row: Row, lane: number, category: string, dpr: number, points: number): void {
	const source = m.sources.value[row.source];
	const { t0, t1 } = shown();
	const r = reach(source, level(dpr, COARSER), t0, t1);

	visit(tiles.laneTiles(row.source, lane, category), source, r, t0, dpr, r, (tile, from, unit, lo, hi) => {
		for (let i = 0; tile && i < tile.n; i++) {
			if (!counts(tile.name[i], category))
				continue;
			const x0 = Math.max(from + tile.x[i] * unit, lo, 0) / dpr / STEP, x1 = Math.min(from + (tile.x[i] + tile.w[i]) * unit, hi) / dpr / STEP;
			const share = tile.occ[i] / 255;

			for (let k = Math.floor(x0); k < x1 && k < points; k++)
				sums[k] += share * Math.max(0, Math.min(k + 1, x1) - Math.max(k, x0));
		}
	});
}

export function drawUse(c: CanvasRenderingContext2D, p: Placed, y: number, dpr: number): void {
	const { row } = p;
	const lanes = row.open || !row.kids.length ? [] : lanesOf(row).slice(0, MOST);
	const points = Math.ceil(view.width / STEP);

	/* One thread alone is its states, which are drawn. */
	if (!lanes.length || (row.kind !== "gpu" && lanes.length < 2))
		return;
	if (sums.length < points)
		sums = new Float32Array(points * 2);
	sums.fill(0, 0, points);
	for (const [lane, category] of lanes)
		add(row, lane, category, dpr, points);
	let most = 1;

	for (let k = 0; k < points; k++) {
		if (row.kind === "gpu")
			sums[k] = Math.min(sums[k], 1);
		most = Math.max(most, sums[k]);
	}
	const high = p.height - 5;

	c.strokeStyle = theme.paint().text;
	c.globalAlpha = 0.75;
	c.lineWidth = 1;
	c.beginPath();
	for (let k = 0; k < points; k++) {
		const level = y + 2 + high * (1 - sums[k] / most) + 0.5;

		if (k === 0)
			c.moveTo(0, level);
		c.lineTo(k * STEP, level);
		c.lineTo((k + 1) * STEP, level);
	}
	c.stroke();
	c.globalAlpha = 1;
}
