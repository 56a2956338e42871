/* tables.tsx - what is in the chosen span: by name, with count, total, mean, median, least and most. */
import { signal } from "@preact/signals";
import * as m from "../model";
import { complain, lanesIn, searchNext, setSearch } from "../actions";
import { swatch } from "../colours";
import { rowById } from "../load";
import { post, waitsFor, type NameRow, type SelectJson } from "../net";
import { amount, count, dur, percent } from "../format";
import { RangeHead, useRange } from "./range";

type Column = "name" | "kind" | "count" | "total" | "self" | "mean" | "median" | "min" | "max" | "sd";
interface Answer { source: number; json: SelectJson }

const answers = signal<Answer[] | null>(null);
const busy = signal(false);
const sort = signal<{ by: Column; down: boolean }>({ by: "total", down: true });
const only = signal("");
/* "": all kinds but states, which are the time of a thread once more. */
const kind = signal("");
const byThread = signal(false);
const first = signal(0);
const LINE = 24, SHOWN = 60;
let stop: AbortController | null = null;

async function read(t0: number, t1: number): Promise<void> {
	stop?.abort();
	const { signal: given } = stop = new AbortController();

	busy.value = true;
	try {
		const all: Answer[] = [];
		const spans = m.sources.value.map((s) => ({ r: s.index, from: Math.floor(t0 - s.offset), to: Math.ceil(t1 - s.offset), lanes: lanesIn(s.index, m.rangeRows.value) })).filter((s) => s.lanes);

		for (const { r, from, to, lanes } of spans) {
			/* The first is tested against the second, if there are two. */
			const other = spans.length === 2 && r === spans[0].r ? { other: spans[1].r, other_from: spans[1].from, other_to: spans[1].to, other_lanes: spans[1].lanes } : {};

			all.push({ source: r, json: await post<SelectJson>("select", { r }, { from, to, lanes, table: "names", by: byThread.value ? "thread" : "name", ...other }, given) });
		}
		answers.value = all;
		busy.value = false;
	} catch (e) {
		if (!given.aborted) {
			busy.value = false;
			complain(e);
		}
	}
}

/* The same span, in another way. */
function again(): void {
	const r = m.range.value;

	if (!r)
		return;
	waitsFor(1);
	void read(r.t0, r.t1).finally(() => waitsFor(-1));
}

const COLUMNS: [Column, string, boolean][] = [["name", "Name", false], ["kind", "Kind", false], ["count", "Count", true], ["total", "Total", true], ["self", "Self", true],
	["mean", "Mean", true], ["median", "Median", true], ["min", "Least", true], ["max", "Most", true], ["sd", "Std. dev.", true]];

const compare = (a: NameRow, b: NameRow, by: Column): number => typeof a[by] === "string" ? String(a[by]).localeCompare(String(b[by])) : Number(a[by] ?? 0) - Number(b[by] ?? 0);

const KINDS = ["stream", "nvtx", "nvtx_gpu", "cuda", "library", "osrt", "syscall", "file", "gil", "async", "sync", "cpu", "overhead", "marks", "sample", "state"];
const kindText = (k: string): string => k === "thread" || k === "state" ? "states of threads" : m.KIND[k] ?? k;

/* Kinds of rows that have events here, as buttons: one kind of time at once. */
function Kinds({ all }: { all: NameRow[] }) {
	const there = [...new Set(all.map((r) => r.kind))].sort((a, b) => KINDS.indexOf(a) - KINDS.indexOf(b));

	if (there.length < 2)
		return null;
	return (
		<span class="kinds" role="group" aria-label="Kinds of events">{["", ...there].map((k) => (
			<button class={`act${kind.value === k ? " on" : ""}`} aria-pressed={kind.value === k} onClick={() => { kind.value = k; first.value = 0; }}>{k ? kindText(k) : "All"}</button>
		))}</span>
	);
}

const ofKind = (rows: NameRow[]): NameRow[] => rows.filter((r) => kind.value && rows.some((x) => x.kind === kind.value) ? r.kind === kind.value : r.kind !== "state" || rows.every((x) => x.kind === "state"));
/* Ranges on the GPU are apart by stream: a range may have a part on each. */
const whereOf = (source: number, r: NameRow): string => kindText(r.kind) + (r.row ? `, ${rowText(source, r.row)}` : "");
/* By thread: its name and number. */
function rowText(source: number, id: number): string {
	const row = rowById(source, id), name = row?.name.replace(/^NVTX:? ?/, "") ?? "";

	return byThread.value && row?.ids ? `${name} (${row.ids})` : name;
}
const shown = (source: number, rows: NameRow[]): NameRow[] => {
	const text = only.value.toLowerCase();

	return ofKind(rows).filter((r) => !text || r.name.toLowerCase().includes(text) || whereOf(source, r).toLowerCase().includes(text));
};

function Head({ columns, last }: { columns: [Column, string, boolean][]; last: string[] }) {
	return (
		<thead><tr><th class="swatch" aria-hidden="true" />{columns.map(([key, text, number]) => (
			<th scope="col" class={number ? "n" : ""} aria-sort={sort.value.by === key ? (sort.value.down ? "descending" : "ascending") : undefined}>
				<button onClick={() => { sort.value = { by: key, down: sort.value.by === key ? !sort.value.down : number }; }}>{text}{sort.value.by === key ? (sort.value.down ? " ▾" : " ▴") : ""}</button>
			</th>
		))}{last.map((text) => <th scope="col" class="n">{text}</th>)}</tr></thead>
	);
}

/* The way to the events behind a line. */
function open(r: NameRow): void {
	setSearch((r.folded ? "~" : "=") + r.name);
	void searchNext(1);
}

const Name = ({ row }: { row: NameRow }) => (
	<th scope="row"><button class="link" title={row.name} onClick={() => open(row)}>{row.name || "(no name)"}</button></th>
);
const Swatch = ({ row }: { row: NameRow }) => <td class="swatch"><i style={{ background: swatch(row.name, row.kind === "thread" ? "state" : row.kind) }} /></td>;

const SELF = "Without the time of what is nested in the same row; – where too much is nested to look at each";

function Line({ row, source, all }: { row: NameRow; source: number; all: number }) {
	return (
		<tr>
			<Swatch row={row} />
			<Name row={row} />
			<td>{whereOf(source, row)}</td><td class="n">{count(row.count)}{row.cut > 0 && <span class="quiet" title="Events that an edge of the span cuts: they count in the total alone"> ({count(row.cut)} cut)</span>}</td>
			<td class="n">{dur(row.total)}</td><td class="n" title={SELF}>{row.self === undefined ? "–" : dur(row.self)}</td><td class="n">{row.cut === row.count ? "≥ " : ""}{dur(row.mean)}</td>
			<td class="n">{row.exact_median === false && row.cut < row.count ? "≈ " : ""}{dur(row.median)}</td><td class="n">{dur(row.min)}</td><td class="n">{dur(row.max)}</td><td class="n">{dur(row.sd)}</td>
			<td class="n">{percent(row.total, all)}</td>
		</tr>
	);
}

/* Lines in sight only: @line draws one. */
function Lines({ rows, columns, line }: { rows: NameRow[]; columns: number; line: (r: NameRow) => preact.JSX.Element }) {
	const from = Math.max(0, Math.min(first.value, rows.length - SHOWN));
	const part = rows.slice(from, from + SHOWN);

	return (
		<tbody>
			{from > 0 && <tr aria-hidden="true"><td colSpan={columns} style={{ height: `${from * LINE}px` }} /></tr>}
			{part.map(line)}
			{from + part.length < rows.length && <tr aria-hidden="true"><td colSpan={columns} style={{ height: `${(rows.length - from - part.length) * LINE}px` }} /></tr>}
		</tbody>
	);
}

const sorted = (rows: NameRow[]): NameRow[] => rows.sort((a, b) => compare(a, b, sort.value.by) * (sort.value.down ? -1 : 1));

/* Of a counter: whose it is, and its name. */
function counterName(source: number, c: { lane: number; name: string }): string {
	const row = m.rowOfLane.value.get(source + ":" + c.lane);
	const of = row?.parent;

	return of ? `${of.name}${of.ids ? ` (${of.ids})` : ""}: ${row.name}` : c.name;
}

function Counters({ answer }: { answer: Answer }) {
	const { counters } = answer.json;

	if (!counters?.length)
		return null;
	return (
		<table class="names"><caption>Counters</caption><thead><tr><th>Name</th><th class="n">Least</th><th class="n">Most</th><th class="n">Mean</th></tr></thead>
			<tbody>{counters.map((c) => {
				const unit = m.rowOfLane.value.get(answer.source + ":" + c.lane)?.unit ?? "";

				return <tr><th scope="row">{counterName(answer.source, c)}</th><td class="n">{amount(c.min, unit)}</td><td class="n">{amount(c.max, unit)}</td><td class="n">{amount(c.mean, unit)}</td></tr>;
			})}</tbody></table>
	);
}

function Table({ answer }: { answer: Answer }) {
	const { json } = answer;
	const rows = sorted(shown(answer.source, json.rows));
	const totals = new Map<string, number>();

	for (const r of json.rows)
		totals.set(r.kind, (totals.get(r.kind) ?? 0) + r.total);
	return (
		<>
			<table class="names" aria-rowcount={rows.length}>
				<caption>{m.sources.value.length > 1 && <b>{m.sources.value[answer.source].path} </b>}{count(rows.reduce((sum, r) => sum + r.count, 0))} events, {rows.length} names{json.more ? ", more not shown" : ""}</caption>
				<Head columns={COLUMNS} last={["Share of its kind"]} />
				<Lines rows={rows} columns={12} line={(r) => <Line row={r} source={answer.source} all={totals.get(r.kind) ?? 0} />} />
			</table>
			<Counters answer={answer} />
		</>
	);
}

/* ---- two reports, line by line ---- */

/* Threads have other numbers in another run. */
const keyOf = (source: number, r: NameRow): string => `${r.kind} ${r.name} ${r.row ? rowById(source, r.row)?.name ?? "" : ""}`;

/* Of compare: a difference with a greater probability counts as chance. */
const ALPHA = 0.05;
const differs = (r: NameRow): boolean => r.p !== undefined && r.p < ALPHA;
const testText = (r: NameRow): string => r.p === undefined ? "not tested: fewer than four whole events in one of the reports" :
	`p ${r.p < 0.001 ? "< 0.001" : `= ${r.p.toFixed(3)}`}: ${differs(r) ? "more than chance" : "may be chance"} (Mann-Whitney, over single events)`;

const change = (a: number, b: number): string => a > 0 ? `${b >= a ? "+" : "−"}${Math.abs(100 * (b - a) / a).toFixed(1)} %` : "new";

function Both({ before, after }: { before: Answer; after: Answer }) {
	const of = new Map(after.json.rows.map((r) => [keyOf(after.source, r), r]));
	const known = new Set(before.json.rows.map((r) => keyOf(before.source, r)));
	const all = [...before.json.rows, ...after.json.rows.filter((r) => !known.has(keyOf(after.source, r))).map((r) => ({ ...r, count: 0, cut: 0, total: 0, mean: 0, median: 0, min: 0, max: 0, sd: 0 }))];
	const rows = sorted(shown(before.source, all));
	const columns: [Column, string, boolean][] = [["name", "Name", false], ["kind", "Kind", false], ["count", "Count", true], ["total", "Total", true], ["median", "Median", true]];

	return (
		<table class="names" aria-rowcount={rows.length}>
			<caption><b>{m.sources.value[before.source].path}</b> and <b>{m.sources.value[after.source].path}</b>, {rows.length} names</caption>
			<Head columns={columns} last={["Count after", "Total after", "Median after", "Change of total", "Change of median"]} />
			<Lines rows={rows} columns={11} line={(r) => {
				const b = of.get(keyOf(before.source, r));

				return (
					<tr>
						<Swatch row={r} /><Name row={r} /><td>{whereOf(before.source, r)}</td><td class="n">{count(r.count)}</td><td class="n">{dur(r.total)}</td><td class="n">{dur(r.median)}</td>
						<td class="n">{count(b?.count ?? 0)}</td><td class="n">{dur(b?.total ?? 0)}</td><td class="n">{dur(b?.median ?? 0)}</td><td class="n">{b ? change(r.total, b.total) : "gone"}</td>
						<td class={`n${differs(r) ? " sure" : " quiet"}`} title={testText(r)}>{b && r.count ? `${r.p !== undefined && !differs(r) ? "~" : ""}${change(r.median, b.median)}` : "–"}</td>
					</tr>
				);
			}} />
		</table>
	);
}

export function Tables() {
	useRange(read, () => { answers.value = null; });
	if (!m.range.value)
		return <p class="hint">Drag over rows to choose a span, over the axis for all rows; <kbd>E</kbd> takes what is on the screen.</p>;
	const all = answers.value ?? [];

	return (
		<div class="tables" onScroll={(e) => { const at = Math.floor(e.currentTarget.scrollTop / LINE) - 15; if (Math.abs(at - first.value) > 8) first.value = Math.max(0, at); }}>
			<p class="line"><RangeHead /> <input aria-label="Only names with" placeholder="only names with…" value={only.value} onInput={(e) => { only.value = e.currentTarget.value; }} />
				<Kinds all={all.flatMap((a) => a.json.rows)} />
				<button class={`act${byThread.value ? " on" : ""}`} aria-pressed={byThread.value} title="A line for each thread or GPU" onClick={() => { byThread.value = !byThread.value; again(); }}>By thread</button>
				{busy.value && <span class="quiet"> reading…</span>}</p>
			{all.length === 2 ? <><Both before={all[0]} after={all[1]} />{all.map((a) => <Counters answer={a} />)}</> : all.map((a) => <Table answer={a} />)}
			{answers.value?.length === 0 && <p class="hint">These rows hold no events of their own: choose rows with events, or all rows.</p>}
		</div>
	);
}
