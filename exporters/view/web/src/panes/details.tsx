/* details.tsx - all there is about the selected event, or about a gap. */
import { signal, useSignalEffect } from "@preact/signals";
import * as m from "../model";
import type { Event, Flow, Row } from "../model";
import { complain, copy, goToEnd, leaves } from "../actions";
import { cssOf, goToPlace } from "../causes";
import { get, Refused, type CauseJson, type PartJson, type WhyJson } from "../net";
import { count, dur, exact, percent, point } from "../format";
import { showWithin } from "../view";

/* ---- why it waited ---- */

const why = signal<{ for: Event; answer: WhyJson | null; failed: string } | null>(null);

/* The server's number of the row whose time is asked about: of the thread that a row belongs to, of a GPU's own. */
function rowOfTime(e: Event): number | undefined {
	const { row } = e;

	if (!row || row.kind === "stream" || row.kind === "nvtx_gpu" || row.kind === "sync" || row.kind === "gpu" || row.kind === "why")
		return row?.id;
	for (let up: Row | null = row; up; up = up.home)
		if (up.kind === "thread")
			return up.id;
	return row.id;
}

const EXPLAINED = new Set(["thread", "sync", "gil", "osrt", "syscall", "cuda", "library", "nvtx", "why", "nvtx_gpu"]);

/* Time of a thread or of a GPU: gaps, states but running, calls, ranges. */
const waits = (e: Event): boolean => e.end > e.start && (!e.json || EXPLAINED.has(e.row?.kind ?? "")) && !(e.row?.kind === "thread" && /^running/.test(e.name));

export async function askWhy(e: Event): Promise<void> {
	why.value = { for: e, answer: null, failed: "" };
	try {
		const offset = m.sources.value[e.source].offset;
		const row = rowOfTime(e);
		const answer = await get<WhyJson>("why", row === undefined
			? { r: e.source, lane: e.lane, t: Math.round((e.start + e.end) / 2 - offset) }
			: { r: e.source, row, from: Math.floor(e.start - offset), to: Math.ceil(e.end - offset) });

		why.value = { for: e, answer, failed: "" };
	} catch (error) {
		const text = error instanceof Refused && (error.status === 404 || error.status === 501) ? error.message : "";

		if (!text)
			complain(error);
		why.value = { for: e, answer: null, failed: text || "There was no answer." };
	}
}

const onWay = (c: CauseJson): string => [c.text, c.what].filter(Boolean).join(" ");

/* A line: how much, what for, whose; each leads to its longest stretch, and every wait on the way to its thread. */
function Part({ source, part: p }: { source: number; part: PartJson }) {
	const what = p.line || p.what;
	const go = (row?: number): void => { if (p.start !== undefined && p.end !== undefined) void goToPlace(source, row ?? p.row ?? 0, p.start, p.end); };

	return (
		<li><span class="bar"><span style={{ width: `${Math.max(1, 100 * p.share)}%`, background: cssOf(p) }} /></span><b>{dur(p.ns)}</b><span class="quiet">{percent(p.share, 1)}</span>
			<span>{p.text} <button class="link" disabled={p.start === undefined} onClick={() => go()}>{what || p.thread || "show"}</button>
				{p.line && p.what && p.what !== p.line && <span class="quiet"> {p.what}{p.more > 0 && `, and ${count(p.more)} more`}</span>}
				{p.thread && what !== p.thread && <span class="quiet"> · {p.thread}</span>}{p.sure < 0.995 && <span class="quiet"> · {Math.round(p.sure * 100)} % sure</span>}
				{p.way.map((h) => <span class="way">← <button class="link" onClick={() => go(h.row)}>{h.thread}</button> <span class="quiet">{onWay(h)}</span></span>)}</span></li>
	);
}

function Why({ event }: { event: Event }) {
	const w = why.value;

	if (w?.for !== event)
		return <p><button class="act" onClick={() => void askWhy(event)}>Why did this take so long?</button></p>;
	if (w.failed)
		return <p class="quiet">{w.failed}</p>;
	if (!w.answer)
		return <p class="quiet">Reading…</p>;
	return (
		<div class="why">
			<h3>{event.json ? `Why this took ${dur(event.end - event.start)}` : `What ${w.answer.thread || "the thread"} waited for in this gap`}</h3>
			<p>{w.answer.text}</p>
			<ul>{w.answer.parts.map((p) => <Part source={event.source} part={p} />)}</ul>
		</div>
	);
}

/* ---- arrows ---- */

const KINDS: Record<string, [string, string]> = { launch: ["started by", "started"], wakeup: ["woken by", "woke"], lock: ["the lock is held by", "held a lock that is waited for by"] };

function Arrow({ flow, event }: { flow: Flow; event: Event }) {
	const out = leaves(flow, event);
	const end = out ? flow.to : flow.from;
	const row = m.rowOfLane.value.get(flow.source + ":" + end.lane);
	const away = flow.kind === "wakeup" ? flow.to.start - flow.from.start : out ? end.start - event.start : event.start - end.start;

	return (
		<li><span class="quiet">{(KINDS[flow.kind] ?? ["from", "to"])[out ? 1 : 0]}</span>{" "}
			<button class="link" onClick={() => void goToEnd(flow.source, end)}>{row?.kind === "thread" ? `${row.name}, ${row.ids}` : end.name || "event"}</button>
			<span class="quiet">{row?.kind === "thread" ? "" : ` ${row?.name}`}{away ? `, ${dur(Math.abs(away))} ${out ? "later" : "earlier"}` : ""}</span></li>
	);
}

/* ---- the pane ---- */

function Columns({ event }: { event: Event }) {
	const json = event.json!;

	return (
		<details class="raw"><summary>Columns of {json.table}, row {json.rowid}</summary><table class="pairs">
			<tbody>{json.columns.map(([name, value, text]) => (
				<tr><th scope="row">{name}</th><td>{value === null ? <span class="quiet">NULL</span> : String(value)}</td>
					<td class="quiet">{text && text !== String(value) && text !== "raw" ? text : ""}</td></tr>
			))}</tbody>
		</table></details>
	);
}

const python = signal(false);

/* The last two parts of a path; the whole is in its title. */
const short = (path: string): string => path.split("/").slice(-2).join("/");

function Stack({ event }: { event: Event }) {
	const json = event.json!;
	const hasPython = json.stack.some((f) => f.python);
	const frames = hasPython && python.value ? json.stack.filter((f) => f.python) : json.stack;
	const place = (f: typeof frames[0]): string => f.file ? f.file + (f.line > 0 ? ":" + f.line : "") : f.module;

	return (
		<div class="stack"><h3>Called from
			{hasPython && <label class="quiet"><input type="checkbox" checked={python.value} onChange={(e) => { python.value = e.currentTarget.checked; }} /> Python only</label>}
			<button class="link" onClick={() => void copy(frames.map((f) => `${f.symbol || "?"} ${place(f)}`).join("\n"), "The stack")}>copy</button></h3>
			<ol>{frames.map((f) => (
				<li title={f.file || f.module}><span class={f.kernel ? "kernel" : ""}>{f.symbol || "?"}</span> <span class="quiet">{f.file ? `${short(f.file)}${f.line > 0 ? ":" + f.line : ""}` : short(f.module)}</span></li>
			))}</ol>
		</div>
	);
}

function Head({ event }: { event: Event }) {
	return (
		<div class="facts">
			<h2>{event.json ? event.name || "(no name)" : "Gap"}</h2>
			<dl>
				<div><dt>{event.open ? "Until the end" : "Duration"}</dt><dd>{event.json?.instant ? "instant" : <>{dur(event.end - event.start)} <span class="quiet exact">{exact(event.end - event.start)}</span></>}</dd></div>
				<div><dt>Start</dt><dd>{point(event.start, 1e-9)}</dd></div>
				{!event.json?.instant && <div><dt>End</dt><dd>{event.open ? "did not end" : point(event.end, 1e-9)}</dd></div>}
				<div><dt>Row</dt><dd>{event.row?.name ?? "–"}{m.KIND[event.row?.kind ?? ""] !== event.row?.name && <span class="quiet"> {m.KIND[event.row?.kind ?? ""]}</span>}</dd></div>
				{event.json?.thread && <div><dt>Thread</dt><dd>{event.json.thread}</dd></div>}
				{event.json?.process && <div><dt>{event.row?.parent?.kind === "gpu" ? "GPU" : "Process"}</dt><dd>{event.json.process}</dd></div>}
				{!event.json && <div><dt>Between</dt><dd>{event.before || "the start"} <span class="quiet">and</span> {event.after || "the end"}</dd></div>}
			</dl>
			<p class="acts">
				<button class="act" onClick={() => showWithin(event.start, event.end)}>Zoom to it</button>
				<button class="act" onClick={() => { m.range.value = { t0: event.start, t1: event.end }; m.rangeRows.value = null; m.pane.value = "tables"; }}>Tables of this span</button>
			</p>
		</div>
	);
}

export function Details() {
	const event = m.selected.value;

	useSignalEffect(() => {
		const e = m.selected.value;

		/* A wait is asked about at once. */
		if (e && waits(e) && why.peek()?.for !== e && m.sources.peek()[e.source]?.capabilities.has("why"))
			void askWhy(e);
	});
	if (!event)
		return <p class="hint">Click an event, or choose a row with <kbd>↓</kbd> and walk through its events with <kbd>→</kbd>. <kbd>?</kbd> shows all keys.</p>;
	const args = event.json?.args ?? [];

	return (
		<div class="details">
			<div>
				<Head event={event} />
			</div>
			<div class="beside">
				{waits(event) && <Why event={event} />}
				{m.flows.value.length > 0 && <div class="arrows"><h3>Arrows</h3><ul>{m.flows.value.map((f) => <Arrow flow={f} event={event} />)}</ul></div>}
			</div>
			{args.length > 0 && <table class="pairs"><caption>Arguments</caption><tbody>{args.map(([k, v]) => <tr><th scope="row">{k}</th><td>{v}</td></tr>)}</tbody></table>}
			{event.json && event.json.stack.length > 0 && <Stack event={event} />}
			{event.json && event.json.columns.length > 0 && <Columns event={event} />}
		</div>
	);
}
