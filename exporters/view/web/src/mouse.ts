/* mouse.ts - wheel, drag, click and hover over the rows, the axis and the map. */
import * as m from "./model";
import type { Event, Row } from "./model";
import { bring, choose, peek, pick, setRange } from "./actions";
import { highlight } from "./colours";
import { names } from "./tiles";
import type { Hit } from "./draw";
import { mapT } from "./axis";
import { pointer } from "./overlay";
import { hitAt, invalidate, spot, stage } from "./stage";
import { pan, show, shown, tOf, view, xOf, zoom, showWithin } from "./view";
import { signal } from "@preact/signals";

export const hovered = signal<{ hit: Hit; x: number; y: number; event: Event | null } | null>(null);

const SNAP = 6, MOVED = 4;

/* The edge of an event within a few pixels of @x in the row at @y. */
function snapped(x: number, y: number): number {
	if (!m.snap.value)
		return NaN;
	let best = SNAP + 1, t = NaN;

	for (const dx of [0, -SNAP / 2, SNAP / 2, -SNAP, SNAP]) {
		const h = hitAt(x + dx, y);

		if (!h || h.slot < 0)
			continue;
		for (const edge of [h.t0, h.t1]) {
			const away = Math.abs(xOf(edge) - x);

			if (away < best) {
				best = away;
				t = edge;
			}
		}
	}
	return t;
}

interface Drag { kind: "span" | "pan" | "measure"; x: number; y: number; t: number; moved: boolean; lastX: number; lastY: number }
let drag: Drag | null = null;

const place = (e: MouseEvent, el: Element): { x: number; y: number } => {
	const box = el.getBoundingClientRect();

	return { x: e.clientX - box.left, y: e.clientY - box.top };
};

function rowsBetween(y0: number, y1: number): Set<Row> | null {
	const rows = new Set<Row>();
	const step = 4;

	for (let y = Math.min(y0, y1); y <= Math.max(y0, y1) + step; y += step) {
		const s = spot(Math.min(y, Math.max(y0, y1)));

		if (s.placed)
			rows.add(s.placed.row);
	}
	return rows.size ? rows : null;
}

function down(e: MouseEvent, el: Element): void {
	const { x, y } = place(e, el);

	if (x < 0 || (e.button !== 0 && e.button !== 1))
		return;
	e.preventDefault();
	const snap = snapped(x, y);
	const kind = e.button === 1 || (e.shiftKey && m.mode.value !== "measure") || m.mode.value === "pan" ? "pan" : m.mode.value === "measure" ? "measure" : "span";

	drag = { kind, x, y, t: isNaN(snap) ? tOf(x) : snap, moved: false, lastX: x, lastY: e.clientY };
	hovered.value = null;
}

function move(e: MouseEvent, el: Element): void {
	const { x, y } = place(e, el);

	pointer.x = x;
	pointer.y = y;
	pointer.inside = x >= 0 && y >= 0 && x <= view.width;
	pointer.snapped = drag || m.mode.value === "measure" ? snapped(x, y) : NaN;
	if (drag)
		dragTo(e, x, y);
	else
		hover(x, y);
	invalidate(false);
}

function dragTo(e: MouseEvent, x: number, y: number): void {
	const d = drag!;

	d.moved ||= Math.abs(x - d.x) > MOVED || (d.kind === "pan" && Math.abs(y - d.y) > MOVED);
	if (!d.moved)
		return;
	const t = isNaN(pointer.snapped) ? tOf(x) : pointer.snapped;

	if (d.kind === "pan") {
		pan(d.lastX - x);
		stage.canvases!.scroll.scrollTop += d.lastY - e.clientY;
	} else if (d.kind === "measure")
		m.measure.value = { t0: d.t, t1: t };
	else {
		m.range.value = { t0: Math.min(d.t, t), t1: Math.max(d.t, t) };
		m.rangeRows.value = null;
	}
	d.lastX = x;
	d.lastY = e.clientY;
}

function up(e: MouseEvent, el: Element): void {
	const d = drag;

	drag = null;
	if (!d)
		return;
	const { x, y } = place(e, el);

	if (d.moved) {
		const r = m.range.value;

		if (d.kind === "span" && r)
			setRange(r.t0, r.t1, rowsBetween(d.y, y));
		if (d.kind === "measure")
			m.mode.value = "select";
		return;
	}
	if (e.button === 0)
		void click(x, y);
}

async function click(x: number, y: number): Promise<void> {
	const h = hitAt(x, y);
	const s = spot(y);

	m.range.value = null;
	m.rangeRows.value = null;
	if (s.placed)
		m.current.value = s.placed.row;
	if (!h || h.row.counter)
		return choose(null);
	m.paneOpen.value = true;
	bring(await pick(h.row.source, h.lane, h.slot >= 0 && h.exact ? Math.max(h.t0, Math.min(h.t, h.t1)) : h.t, 3 * view.scale, true));
}

/* Timer for the exact times of the event under the pointer, once it rests there. */
let resting = 0;
/* Timer after which all events of the same name light up: a pointer that only crosses events changes nothing. */
let lighting = 0;

function askExact(h: Hit): void {
	clearTimeout(resting);
	if (!h.exact || h.row.counter)
		return;
	resting = setTimeout(() => {
		void peek(h.row.source, h.lane, Math.max(h.t0, Math.min(h.t, h.t1)), 3 * view.scale).then((e) => {
			const now = hovered.value;

			if (e && now && now.hit.lane === h.lane && now.hit.slot === h.slot && Math.abs(now.hit.t0 - h.t0) < view.scale)
				hovered.value = { ...now, event: e };
		});
	}, 90) as unknown as number;
}

function hover(x: number, y: number): void {
	const h = pointer.inside ? hitAt(x, y) : null;
	const name = h && h.slot >= 0 && h.row.kind !== "thread" ? names[h.slot].text : "";

	const before = hovered.value;
	const same = h && before && before.hit.lane === h.lane && before.hit.slot === h.slot && before.hit.row === h.row && Math.abs(before.hit.t0 - h.t0) < view.scale;

	hovered.value = h && (h.slot >= 0 || h.row.counter) ? { hit: h, x, y, event: same ? before.event : null } : null;
	if (h && !same)
		askExact(h);
	clearTimeout(lighting);
	lighting = setTimeout(() => { if (highlight(name)) invalidate(); }, 50) as unknown as number;
}

function leave(): void {
	pointer.inside = false;
	hovered.value = null;
	clearTimeout(lighting);
	if (highlight(""))
		invalidate();
	invalidate(false);
}

function wheel(e: WheelEvent, el: Element): void {
	const { x } = place(e, el);
	const unit = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;

	if (e.ctrlKey || e.metaKey) {
		e.preventDefault();
		zoom(Math.exp(Math.max(-200, Math.min(200, e.deltaY * unit)) / 300), Math.max(0, x));
	} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
		e.preventDefault();
		pan((e.shiftKey && !e.deltaX ? e.deltaY : e.deltaX) * unit);
	}
}

async function twice(e: MouseEvent, el: Element): Promise<void> {
	const { x, y } = place(e, el);
	const h = hitAt(x, y);

	if (!h || h.slot < 0)
		return;
	const event = await pick(h.row.source, h.lane, h.exact ? Math.max(h.t0, Math.min(h.t, h.t1)) : h.t, 3 * view.scale, false);

	if (event)
		showWithin(event.start, event.end);
}

/* @area: the part of the stage with rows; @over: the overlay, whose corner is the origin. */
export function listenRows(area: HTMLElement, over: HTMLElement): void {
	area.addEventListener("mousedown", (e) => down(e, over));
	area.addEventListener("mousemove", (e) => { if (!drag) move(e, over); });
	area.addEventListener("mouseleave", () => { if (!drag) leave(); });
	area.addEventListener("wheel", (e) => wheel(e, over), { passive: false });
	area.addEventListener("dblclick", (e) => void twice(e, over));
	addEventListener("mousemove", (e) => { if (drag) move(e, over); });
	addEventListener("mouseup", (e) => up(e, over));
}

/* ---- axis and map ---- */

export function listenAxis(axis: HTMLElement): void {
	let from = NaN;

	axis.addEventListener("mousedown", (e) => { from = tOf(place(e, axis).x); });
	addEventListener("mousemove", (e) => {
		if (!isNaN(from))
			m.range.value = { t0: Math.min(from, tOf(place(e, axis).x)), t1: Math.max(from, tOf(place(e, axis).x)) };
	});
	addEventListener("mouseup", (e) => {
		const to = tOf(place(e, axis).x);

		if (!isNaN(from) && Math.abs(to - from) > MOVED * view.scale)
			setRange(from, to, null);
		from = NaN;
	});
	axis.addEventListener("wheel", (e) => {
		e.preventDefault();
		zoom(Math.exp(Math.max(-200, Math.min(200, e.deltaY)) / 300), place(e, axis).x);
	}, { passive: false });
}

/* Inside the frame: moves it. Elsewhere: a new one. */
export function listenMap(map: HTMLElement): void {
	let grip: { t: number; moves: boolean } | null = null;

	map.addEventListener("mousedown", (e) => {
		const t = mapT(place(e, map).x);
		const at = shown();
		const whole = at.t1 - at.t0;

		e.preventDefault();
		grip = { t, moves: t >= at.t0 && t <= at.t1 && whole < 0.9 * (mapT(view.width) - mapT(0)) };
	});
	addEventListener("mousemove", (e) => {
		if (!grip)
			return;
		const t = mapT(place(e, map).x);

		if (grip.moves) {
			pan((t - grip.t) / view.scale);
			grip.t = t;
		} else if (Math.abs(t - grip.t) > 3 * (mapT(1) - mapT(0)))
			show(Math.min(t, grip.t), Math.max(t, grip.t));
	});
	addEventListener("mouseup", (e) => {
		if (grip && !grip.moves && Math.abs(mapT(place(e, map).x) - grip.t) <= 3 * (mapT(1) - mapT(0))) {
			const half = (shown().t1 - shown().t0) / 2;

			show(grip.t - half, grip.t + half);
		}
		grip = null;
	});
}
