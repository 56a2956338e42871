/* app.tsx - the page: bar, map and axis, rows, lower pane, line of state. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import * as m from "./model";
import * as theme from "./theme";
import { alignOnSelection, aligned } from "./align";
import { complain, hiddenRows, matches, searchNext, setSearch, unhideAll } from "./actions";
import { names as tileNames } from "./tiles";
import { openPane, startSearch } from "./keys";
import { hovered, listenAxis, listenMap, listenRows } from "./mouse";
import { amount, count, dur, percent, point, short } from "./format";
import { attach, measureStage, stage } from "./stage";
import { Names, PinnedNames, rowId, scrolled } from "./tree";
import { StepStrip } from "./steps";
import { inTheWay, setAside } from "./notes";
import { copyLink, soon } from "./url";
import { limits, shown, view } from "./view";
import { RECT_INSTANT, RECT_OPEN, RECT_SEVERAL } from "./flags";
import { tilesOf } from "./sheet";
import { Details } from "./panes/details";
import { Events, filter as events } from "./panes/events";
import { Findings } from "./panes/findings";
import { Tables } from "./panes/tables";
import { Flame } from "./panes/flame";
import { Sql } from "./panes/sql";
import { Dialogs } from "./panes/dialogs";

export const viewTick = signal(0);

/* ---- bar ---- */

function Search() {
	return (
		<div class="search" role="search">
			<input id="search" type="search" aria-label="Search names" placeholder="Search names  ( / )" value={m.search.value} onInput={(e) => setSearch(e.currentTarget.value)}
				onKeyDown={(e) => { if (e.code === "Enter") { void searchNext(e.shiftKey ? -1 : 1); e.preventDefault(); } }} />
			{matches.value >= 0 && m.search.value && <button class="hits" title="List them" onClick={() => { events.value = m.search.value; openPane("events"); }}>{short(matches.value)}</button>}
			<button aria-label="Previous match" title="Previous match (Shift+N)" onClick={() => void searchNext(-1)}>‹</button>
			<button aria-label="Next match" title="Next match (N)" onClick={() => void searchNext(1)}>›</button>
		</div>
	);
}

function Bar() {
	const s = m.sources.value[0];
	const many = m.sources.value.length > 1;

	return (
		<header class="bar">
			<h1 title={s?.path}>{many ? m.sources.value.map((x) => x.path.replace(/.*\//, "")).join(" · ") : s?.name ?? "Sightline"}</h1>
			<span class="sub">{s && !many && s.name !== s.path.replace(/.*\//, "") ? s.path.replace(/.*\//, "") : ""}</span>
			<span class="grow" />
			{many && <button class="act" onClick={() => void alignOnSelection()} title="Move the other report so that its event of the same name begins at the same time">{aligned.value || "Align on selection"}</button>}
			{m.live.value && <button class={`act${m.follow.value ? " on" : ""}`} aria-pressed={m.follow.value} onClick={() => { m.follow.value = !m.follow.value; }}>● live</button>}
			<button class={`act wide${m.mode.value === "measure" ? " on" : ""}`} aria-pressed={m.mode.value === "measure"} title="Measure (M)" onClick={() => { m.mode.value = m.mode.value === "measure" ? "select" : "measure"; m.measure.value = null; }}>Measure</button>
			<button class="act wide" title="Copy a link to this view, for another browser (U)" onClick={copyLink}>Copy link</button>
			<button class="act wide" title="All commands (Ctrl+K)" onClick={() => { m.dialog.value = "commands"; }}>Commands</button>
			<button class="act" title="Keys (?)" aria-label="Help" onClick={() => { m.dialog.value = "help"; }}>?</button>
			<Search />
		</header>
	);
}

/* ---- tip ---- */

function Tip() {
	const h = hovered.value;

	viewTick.value;
	if (!h)
		return null;
	const { hit } = h;
	const left = Math.min(stage.gutter + h.x + 14, innerWidth - 330), below = h.y + 90 < stage.height + m.pinned.value.height;
	const style = below ? { left: `${left}px`, top: `${h.y + 18}px` } : { left: `${left}px`, bottom: `${stage.height + m.pinned.value.height - h.y + 10}px` };

	if (hit.row.counter)
		return <div class="tip" style={style}><b>{hit.row.name}</b><span>{counterAt(hit.row, hit.t)}</span></div>;
	const name = tileNames[hit.slot];

	return (
		<div class="tip" style={style}>
			<b>{name?.text || (hit.exact ? "(no name)" : "several names")}</b>
			{h.event ? <span>{h.event.json?.instant ? "instant" : h.event.open ? "did not end" : dur(h.event.end - h.event.start)} at {point(h.event.start, Math.min(view.scale, 1e3))}</span>
				: hit.exact ? <span>{hit.flags & RECT_INSTANT ? "instant" : hit.flags & RECT_OPEN ? "did not end" : (hit.clipped ? "at least " : "") + dur(Math.max(1, Math.round(hit.t1 - hit.t0)))} at {point(hit.t0, view.scale)}</span>
				: <span>{count(hit.count)} events in {dur(hit.t1 - hit.t0)}, {percent(hit.occupied, 1)} covered{hit.flags & RECT_SEVERAL ? ", no name has half of it" : ""}</span>}
			{argsFirst(h.event?.json?.args ?? []).map(([k, v]) => <span class="quiet">{k}: {v}</span>)}
			<span class="quiet">{hit.row.name}</span>
		</div>
	);
}

/* Whose work it is stands in the row: the shape of a kernel, bytes, paths come first. */
const LAST = new Set(["device", "context", "stream", "correlation"]);
const argsFirst = (args: [string, string][]): [string, string][] => [...args.filter(([k]) => !LAST.has(k)), ...args.filter(([k]) => LAST.has(k))].slice(0, 6);

function counterAt(row: m.Row, t: number): string {
	const of = tilesOf(row, row.lanes[0]);
	const own = t - m.sources.value[row.source].offset;

	for (let k = 0; k < of.levels.length; k++) {
		const width = 2 ** k;
		const tile = of.levels[k]?.get(Math.floor(own / (256 * width)));
		const px = Math.floor(own / width) - 256 * Math.floor(own / (256 * width));

		if (tile?.values && 2 ** k >= view.scale / stage.dpr / 2)
			return isNaN(tile.values[512 + px]) ? "no reading yet" : amount(tile.values[512 + px], row.unit);
	}
	return "";
}

/* ---- stage ---- */

function Filter() {
	const hidden = (m.layoutTick.value, hiddenRows().length);

	return (
		<div class="corner">
			<input id="filter" type="search" aria-label="Filter rows" placeholder="Filter rows: libc, busy>1%" title="Words of names, name:, kind:, pid:, tid:, gpu:, busy>1%, busy<1% (I)" value={m.filter.value} onInput={(e) => { m.filter.value = e.currentTarget.value; }} />
			{hidden > 0 && <button class="link" onClick={unhideAll}>{hidden} hidden: show</button>}
		</div>
	);
}

function Stage() {
	const map = useRef<HTMLCanvasElement>(null), axis = useRef<HTMLCanvasElement>(null), pins = useRef<HTMLCanvasElement>(null), rows = useRef<HTMLCanvasElement>(null);
	const overlay = useRef<HTMLCanvasElement>(null), scroll = useRef<HTMLDivElement>(null), body = useRef<HTMLDivElement>(null);

	useEffect(() => {
		attach({ minimap: map.current!, axis: axis.current!, pins: pins.current!, rows: rows.current!, overlay: overlay.current!, scroll: scroll.current! });
		listenRows(body.current!, overlay.current!);
		listenAxis(axis.current!);
		listenMap(map.current!);
		const watch = new ResizeObserver(() => {
			fitGutter();
			measureStage();
			if (scroll.current)
				scrolled.value = { top: scroll.current.scrollTop, height: scroll.current.clientHeight };
		});

		watch.observe(scroll.current!);
		return () => watch.disconnect();
	}, []);
	const scrolledTo = (): void => {
		stage.scrollTop = scroll.current!.scrollTop;
		scrolled.value = { top: stage.scrollTop, height: scroll.current!.clientHeight };
		measureStage();
	};
	const p = m.placed.value;

	return (
		<main class={`stage ${m.mode.value}`}>
			<Strip />
			<div class="head"><Filter /><div class="heads"><canvas ref={map} class="map" role="img" aria-label="The whole report, with what is shown" /><canvas ref={axis} class="axis" aria-hidden="true" /></div></div>
			<div class="body" ref={body}>
				<div class="pins" style={{ height: `${m.pinned.value.height}px` }} role="tree" aria-label="Pinned rows"><PinnedNames /><canvas ref={pins} aria-hidden="true" /></div>
				<div class="scroll" ref={scroll} role="tree" tabIndex={0} aria-label="Rows" aria-activedescendant={m.current.value ? rowId(m.current.value) : undefined} onScroll={scrolledTo}>
					<div class="stick"><canvas ref={rows} aria-hidden="true" /></div>
					<div class="space" style={{ height: `${p.height}px` }}><Names /></div>
					{m.filter.value && !p.rows.length && <p class="hint nomatch" role="status">No row matches the filter.</p>}
				</div>
				<canvas ref={overlay} class="overlay" aria-hidden="true" />
				<Tip />
			</div>
			<Grip />
		</main>
	);
}

/* As wide as the rows are. */
function Strip() {
	viewTick.value;
	return <StepStrip width={view.width} />;
}

function fitGutter(): void {
	stage.gutter = innerWidth < 520 ? 104 : innerWidth < 900 ? 180 : gutter.value;
	document.documentElement.style.setProperty("--gutter", stage.gutter + "px");
}
const gutter = signal(270);

/* Between names and rows: drag, or arrow keys, for more room. */
function Grip() {
	const set = (px: number): void => {
		gutter.value = Math.max(120, Math.min(px, 640));
		fitGutter();
		measureStage();
	};

	return <div class="grip" role="separator" tabIndex={0} aria-label="Width of the names" aria-orientation="vertical" aria-valuenow={gutter.value} aria-valuemin={120} aria-valuemax={640}
		onKeyDown={(e) => { if (e.code === "ArrowLeft" || e.code === "ArrowRight") { set(gutter.value + (e.code === "ArrowLeft" ? -20 : 20)); e.stopPropagation(); e.preventDefault(); } }}
		onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); }} onPointerMove={(e) => { if (e.currentTarget.hasPointerCapture(e.pointerId)) set(e.clientX); }} />;
}

/* ---- lower pane ---- */

const PANES: [string, string, () => preact.JSX.Element][] = [["findings", "Findings", Findings], ["details", "Details", Details], ["events", "Events", Events], ["tables", "Tables", Tables], ["flame", "Flame graph", Flame], ["sql", "SQL", Sql]];

function Pane() {
	const at = PANES.find(([id]) => id === m.pane.value) ?? PANES[0];
	const Content = at[2];
	const set = (px: number): void => { m.paneHeight.value = Math.max(80, Math.min(px, innerHeight - 200)); };

	return (
		<section class={`pane${m.paneOpen.value ? "" : " shut"}`} style={{ height: m.paneOpen.value ? `${m.paneHeight.value}px` : undefined }} aria-label="Lower pane">
			<div class="pull" role="separator" tabIndex={0} aria-label="Height of the pane" aria-valuenow={m.paneHeight.value}
				onKeyDown={(e) => { if (e.code === "ArrowUp" || e.code === "ArrowDown") { set(m.paneHeight.value + (e.code === "ArrowUp" ? 20 : -20)); e.stopPropagation(); e.preventDefault(); } }}
				onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); }} onPointerMove={(e) => { if (e.currentTarget.hasPointerCapture(e.pointerId)) set(innerHeight - e.clientY - 22); }} />
			<div class="tabs">
				<div role="tablist" aria-label="Panes">{PANES.map(([id, text]) => <button role="tab" id={`tab-${id}`} aria-selected={id === at[0]} aria-controls={m.paneOpen.value ? "panel" : undefined} onClick={() => openPane(id)}>{text}</button>)}</div>
				<span class="grow" />
				<button class="shutter" aria-label={m.paneOpen.value ? "Close the pane" : "Open the pane"} title="Q" onClick={() => { m.paneOpen.value = !m.paneOpen.value; }}>{m.paneOpen.value ? "▾" : "▴"}</button>
			</div>
			{m.paneOpen.value && <div class="panel" id="panel" role="tabpanel" aria-labelledby={`tab-${at[0]}`}><Content /></div>}
		</section>
	);
}

/* ---- line of state ---- */

function State() {
	const all = m.sources.value;

	viewTick.value;
	const at = shown();
	const events = all.reduce((sum, s) => sum + s.events, 0);
	const lost = all.reduce((sum, s) => sum + s.lost - s.cut, 0), cut = all.reduce((sum, s) => sum + s.cut, 0);
	const building = all.find((s) => s.indexed < 1);

	return (
		<footer class="state">
			<span title="What is on the screen">{point(at.t0, view.scale)} <span class="quiet">to</span> {point(at.t1, view.scale)} <b>{dur(at.t1 - at.t0)}</b></span>
			<span class="quiet">of {dur(limits.t1 - limits.t0)}, {count(events)} events</span>
			{lost > 0 && <span class="error" title={all.flatMap((s) => s.losses.map((l) => l.text)).slice(0, 20).join("\n")}>{count(lost)} lost</span>}
			{cut > 0 && <span class="quiet" title="CPU samples and calls whose stacks lack their outer callers; no event is missing">{count(cut)} incomplete stacks</span>}
			{building && <span class="progress"><progress max={1} value={building.indexed} aria-label="Indexed" /> {Math.floor(100 * building.indexed)} % indexed</span>}
			<span class="grow" />
			{m.snap.value ? null : <span class="quiet">does not snap</span>}
			<span class="quiet hint">W/S zoom · A/D move · ↑↓ rows · ←→ events · ? help</span>
		</footer>
	);
}

function Problem() {
	const p = m.problem.value!;

	return <main class="problem"><h1>{p.title}</h1><p>{p.text}</p></main>;
}

function Messages() {
	const s = m.sources.value.filter((x) => x.message);

	return (
		<>
			{s.map((x) => <p class="message" role="status">{x.message}</p>)}
			{inTheWay.value && <p class="message" role="status">{inTheWay.value.text} <button class="link" onClick={() => void setAside()}>Set them aside and save new ones</button></p>}
			{m.notice.value && <p class="message" role="alert">{m.notice.value} <button class="link" onClick={() => { m.notice.value = ""; }}>close</button></p>}
		</>
	);
}

function Nothing() {
	const s = m.sources.value[0];

	if (m.roots.value.length || !s)
		return null;
	if (s.state === "building")
		return <div class="nothing"><h2>Indexing the report</h2><p>The first picture comes with the first part of it. It is kept beside the report: the next time it opens at once.</p>
			<progress max={1} value={s.indexed} aria-label="Indexed" /></div>;
	return <div class="nothing"><h2>{s.state === "failed" ? "The report cannot be shown" : "Nothing to show"}</h2>{s.message && <p>{s.message[0].toUpperCase() + s.message.slice(1)}.</p>}
		{s.state !== "failed" && <p>The program may have ended before anything was recorded, or the range to capture never began. <code>sightline info</code> lists what is in the report.</p>}</div>;
}

export function App() {
	if (m.problem.value)
		return <Problem />;
	return (
		<>
			<Bar />
			<Messages />
			<Nothing />
			<Stage />
			<Pane />
			<State />
			<div class="spoken" aria-live="polite">{m.spoken.value}</div>
			<Dialogs />
		</>
	);
}

/* Once per frame at most: what stands in the texts around the rows. */
let due = false;
export function viewChanged(): void {
	if (due)
		return;
	due = true;
	requestAnimationFrame(() => {
		due = false;
		viewTick.value++;
		soon();
	});
}

export { complain, startSearch, theme };
