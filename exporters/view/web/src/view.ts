/* view.ts - the span of time on the screen, and the way back to earlier spans. No drawing here. */

export interface Span { t0: number; t1: number }

export const SCALE_MIN = 0.02; /* ns per pixel */

/* scale: ns per CSS pixel. */
export const view = { start: 0, scale: 1, width: 1000 };
/* The time of the programs, and the time of all events: messages may lie outside of the first. */
export const limits: Span = { t0: 0, t1: 1 };
export const edges: Span = { t0: 0, t1: 1 };

const back: Span[] = [];
const forth: Span[] = [];
const listeners: (() => void)[] = [];
const listener = (): void => listeners.forEach((f) => f());
let settled = 0;

export const onView = (f: () => void): void => { listeners.push(f); };
export const xOf = (t: number): number => (t - view.start) / view.scale;
export const tOf = (x: number): number => view.start + x * view.scale;
export const shown = (): Span => ({ t0: view.start, t1: view.start + view.width * view.scale });

/* A screen's width stays within reach of the report: a quarter of it may lie beside. */
function clamp(): void {
	const whole = wholeSpan();

	view.scale = Math.max(SCALE_MIN, Math.min(view.scale, whole * 1.1 / view.width));
	const width = view.width * view.scale;
	const slack = Math.max(width * 0.25, 0);

	view.start = Math.max(edges.t0 - slack, Math.min(view.start, edges.t1 + slack - width));
	if (width >= whole * 1.02)
		view.start = edges.t0 - (width - whole) / 2;
}

const wholeSpan = (): number => Math.max(edges.t1 - edges.t0, 1);

/* Steps of one movement count as one in the history. */
function remember(): void {
	const now = performance.now();

	if (now - settled > 700) {
		const last = back[back.length - 1];
		const at = shown();

		if (!last || last.t0 !== at.t0 || last.t1 !== at.t1)
			back.push(at);
		if (back.length > 200)
			back.shift();
		forth.length = 0;
	}
	settled = now;
}

export function zoom(factor: number, x: number): void {
	remember();
	const t = tOf(x);

	view.scale *= factor;
	view.scale = Math.max(SCALE_MIN, Math.min(view.scale, wholeSpan() * 1.1 / view.width));
	view.start = t - x * view.scale;
	clamp();
	listener();
}

export function pan(pixels: number): void {
	remember();
	view.start += pixels * view.scale;
	clamp();
	listener();
}

function place(t0: number, t1: number): void {
	view.scale = Math.max((t1 - t0) / view.width, SCALE_MIN);
	view.start = (t0 + t1) / 2 - view.width * view.scale / 2;
	clamp();
	listener();
}

export function show(t0: number, t1: number): void {
	settled = 0;
	remember();
	settled = 0;
	place(t0, t1);
}

/* With room on both sides, so that the edges are seen. */
export function showWithin(t0: number, t1: number): void {
	/* An instant is seen among its neighbours. */
	const room = t1 - t0 > 1 ? (t1 - t0) * 0.15 : 1000;

	show(t0 - room, t1 + room);
}

/* @keep: the view before is worth coming back to. */
export function showAll(keep = true): void {
	const room = (limits.t1 - limits.t0) * 0.01;

	if (keep)
		show(limits.t0 - room, limits.t1 + room);
	else
		place(limits.t0 - room, limits.t1 + room);
}

export function showsAll(): boolean {
	const at = shown();

	return at.t0 <= limits.t0 && at.t1 >= limits.t1;
}

/* The shortest way for @t0..@t1 to be in sight: none, when it is. */
export function reveal(t0: number, t1: number): void {
	const at = shown();

	if (t1 - t0 > at.t1 - at.t0)
		showWithin(t0, t1);
	else if (t0 < at.t0 || t1 > at.t1) {
		const half = (at.t1 - at.t0) / 2;
		const middle = (t0 + t1) / 2;

		show(middle - half, middle + half);
	}
}

function step(from: Span[], to: Span[]): boolean {
	const span = from.pop();

	if (!span)
		return false;
	to.push(shown());
	settled = 0;
	place(span.t0, span.t1);
	return true;
}
export const undo = (): boolean => step(back, forth);
export const redo = (): boolean => step(forth, back);

export function resize(width: number): void {
	if (width === view.width || width < 1)
		return;
	view.scale *= view.width / width;
	view.width = width;
	clamp();
	listener();
}

export function setLimits(program: Span, all: Span): void {
	Object.assign(limits, { t0: program.t0, t1: Math.max(program.t1, program.t0 + 1) });
	Object.assign(edges, { t0: Math.min(all.t0, limits.t0), t1: Math.max(all.t1, limits.t1) });
}
