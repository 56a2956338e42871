/*
 * steps.tsx - one bar for each step of the program, above the map: its height is the time, its colour the reason that takes most of it. The
 * steps of a second report stand behind it.
 */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import * as m from "./model";
import * as theme from "./theme";
import { bring, choose, fetchEvent, say } from "./actions";
import { cssOf } from "./causes";
import { prepare } from "./draw";
import { dur } from "./format";
import { get, type StepsJson } from "./net";
import { rowById } from "./load";
import { showWithin, view } from "./view";

interface Step { start: number; end: number; reason: number }
export interface Steps { source: number; name: string; row: number; list: Step[]; reasons: StepsJson["reasons"]; median: number; p95: number; spread: number; most: number }

export const steps = signal<Steps[]>([]);
export const at = signal(-1);
export const HEIGHT = 40;
const LEAST = 3;      /* fewer are no steps */
const OUTLIER = 3.5;  /* deviations from the median, by the median of deviations */

const sorted = (list: number[]): number[] => [...list].sort((a, b) => a - b);
const quantile = (list: number[], q: number): number => {
	const i = (list.length - 1) * q, low = Math.floor(i);

	return list[low] + (list[Math.min(low + 1, list.length - 1)] - list[low]) * (i - low);
};

const length = (s: Step): number => s.end - s.start;

export async function readSteps(source: number): Promise<void> {
	const json = await get<StepsJson>("steps", { r: source }).catch(() => null);
	const list: Step[] = [];

	for (let i = 0; json && i + 2 < json.steps.length; i += 3)
		list.push({ start: json.steps[i], end: json.steps[i + 1], reason: json.steps[i + 2] });
	const others = steps.value.filter((s) => s.source !== source);

	if (json && list.length >= LEAST) {
		const all = sorted(list.map(length)), median = quantile(all, 0.5);

		others.push({
			source, name: json.name.replace(/^:/, ""), row: json.row, list, reasons: json.reasons, median, p95: quantile(all, 0.95), most: all[all.length - 1],
			/* As a normal distribution has it: 1.4826 times the median of deviations. */
			spread: 1.4826 * quantile(sorted(all.map((x) => Math.abs(x - median))), 0.5),
		});
	}
	steps.value = others.sort((a, b) => a.source - b.source);
}

const isOutlier = (s: Steps, i: number): boolean => length(s.list[i]) > s.median + OUTLIER * Math.max(s.spread, s.median / 100);

/* Shows a step, with the event that it is. */
export async function goToStep(i: number): Promise<void> {
	const s = steps.value[0];
	const step = s?.list[i];

	if (!step)
		return;
	at.value = i;
	const offset = m.sources.value[s.source].offset;
	const row = rowById(s.source, s.row)?.kids.find((k) => k.kind === "nvtx" || k.kind === "async");

	showWithin(step.start + offset, step.end + offset);
	for (const lane of row?.lanes ?? []) {
		const e = await fetchEvent(s.source, lane, step.start + offset, { dt: 0 }).catch(() => null);

		if (e?.json && e.json.start === step.start) {
			if (e.row)
				m.unfold(e.row);
			choose(e);
			bring(e);
			break;
		}
	}
	say(textOf(s, i));
}

/* The step beside the one that is chosen, else beside the middle of the screen. */
export function nextStep(by: number): boolean {
	const s = steps.value[0];

	if (!s)
		return false;
	const offset = m.sources.value[s.source].offset, middle = view.start + view.width * view.scale / 2 - offset;
	const here = at.value >= 0 ? at.value : s.list.findIndex((x) => x.end > middle);

	void goToStep(Math.max(0, Math.min(s.list.length - 1, here + by)));
	return true;
}

const textOf = (s: Steps, i: number): string => `Step ${i + 1} of ${s.list.length}, ${dur(length(s.list[i]))}${isOutlier(s, i) ? ", an outlier" : ""}${s.list[i].reason >= 0 ? `, mostly ${s.reasons[s.list[i].reason].text}` : ""}`;

/* Bars of more steps than pixels: the longest one of each pixel. */
function draw(canvas: HTMLCanvasElement, all: Steps[], width: number): void {
	const c = prepare(canvas, width, HEIGHT, Math.min(devicePixelRatio || 1, 3));
	const [s, other] = all;
	const most = Math.max(s.most, other?.most ?? 0), cnt = Math.max(s.list.length, other?.list.length ?? 0);
	const step = width / cnt, wide = Math.max(1, step - (step > 4 ? 1 : 0));
	const high = (ns: number): number => Math.max(1, (HEIGHT - 6) * ns / most);
	const paint = theme.paint();

	c.fillStyle = paint.faint;
	c.fillRect(0, 0, width, HEIGHT);
	for (let i = 0; i < (other?.list.length ?? 0); i++) {
		c.fillStyle = paint.cursor;
		c.globalAlpha = 0.45;
		c.fillRect(i * step, HEIGHT - high(length(other.list[i])), wide, high(length(other.list[i])));
	}
	c.globalAlpha = 1;
	s.list.forEach((x, i) => {
		const h = high(length(x)), inset = other ? wide * 0.2 : 0;

		c.fillStyle = x.reason >= 0 ? cssOf(s.reasons[x.reason]) : paint.cursor;
		c.fillRect(i * step + inset, HEIGHT - h, Math.max(1, wide - 2 * inset), h);
		if (isOutlier(s, i)) {
			c.fillStyle = paint.arrow;
			c.fillRect(i * step + wide / 2 - 2, Math.max(0, HEIGHT - h - 5), 4, 4);
		}
		if (i === at.value) {
			c.strokeStyle = paint.text;
			c.lineWidth = 1.5;
			c.strokeRect(i * step + 0.75, 0.75, Math.max(2, wide - 1.5), HEIGHT - 1.5);
		}
	});
	c.fillStyle = paint.text;
	c.globalAlpha = 0.5;
	c.fillRect(0, HEIGHT - high(s.median), width, 1);
	c.globalAlpha = 1;
}

export function StepStrip({ width }: { width: number }) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const all = steps.value;

	at.value;
	theme.dark.value;
	useEffect(() => { if (canvas.current && all.length) draw(canvas.current, all, width); });
	if (!all.length)
		return null;
	const [s, other] = all;
	const spot = (e: MouseEvent): number => Math.min(s.list.length - 1, Math.floor(e.offsetX / width * Math.max(s.list.length, other?.list.length ?? 0)));
	const key = (e: KeyboardEvent): void => {
		const to: Record<string, number> = { ArrowRight: at.value + 1, ArrowLeft: Math.max(0, at.value - 1), Home: 0, End: s.list.length - 1 };

		if (!(e.code in to))
			return;
		void goToStep(Math.min(to[e.code], s.list.length - 1));
		e.preventDefault();
		e.stopPropagation();
	};

	return (
		<div class="strip" style={{ height: `${HEIGHT}px` }}>
			<div class="stats" title={`The bars are as high as the ${s.list.length} steps “${s.name}” are long, in the colour of what takes most of them; the line is the median.`}><b>{s.list.length} steps “{s.name}”</b>
				<span class="quiet">median {dur(s.median)}, p95 {dur(s.p95)}, ± {dur(s.spread)}{other && <>; after: {dur(other.median)}</>}</span></div>
			<canvas ref={canvas} tabIndex={0} role="slider" aria-label="Steps: arrow keys go to the next one" aria-valuemin={1} aria-valuemax={s.list.length} aria-valuenow={at.value + 1} aria-valuetext={at.value >= 0 ? textOf(s, at.value) : "none chosen"}
				onKeyDown={key} onClick={(e) => void goToStep(spot(e))} onMouseMove={(e) => { const i = spot(e); e.currentTarget.title = i >= 0 ? textOf(s, i) : ""; }} />
		</div>
	);
}
