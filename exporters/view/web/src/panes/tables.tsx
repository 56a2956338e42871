/* tables.tsx - what is in the chosen span: by name, with count, total, mean, median, least and most. */
import { signal } from "@preact/signals";
import * as m from "../model";
import { complain, lanesIn, searchNext, setSearch } from "../actions";
import { swatch } from "../colours";
import { post, type NameRow, type SelectJson } from "../net";
import { amount, count, dur, percent } from "../format";
import { RangeHead, useRange } from "./range";

type Column = "name" | "kind" | "count" | "total" | "mean" | "median" | "min" | "max" | "sd";
interface Answer { source: number; json: SelectJson }

const answers = signal<Answer[] | null>(null);
const busy = signal(false);
const sort = signal<{ by: Column; down: boolean }>({ by: "total", down: true });
const only = signal("");
const first = signal(0);
const LINE = 24, SHOWN = 60;
let stop: AbortController | null = null;

async function read(t0: number, t1: number): Promise<void> {
	stop?.abort();
	const { signal: given } = stop = new AbortController();

	busy.value = true;
	try {
		const all: Answer[] = [];

		for (const s of m.sources.value) {
			const lanes = lanesIn(s.index, m.rangeRows.value);

			if (lanes)
				all.push({ source: s.index, json: await post<SelectJson>("select", { r: s.index },
					{ from: Math.floor(t0 - s.offset), to: Math.ceil(t1 - s.offset), lanes, table: "names" }, given) });
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

const COLUMNS: [Column, string, boolean][] = [["name", "Name", false], ["kind", "Kind", false], ["count", "Count", true], ["total", "Total", true],
	["mean", "Mean", true], ["median", "Median", true], ["min", "Least", true], ["max", "Most", true], ["sd", "Std. dev.", true]];

const compare = (a: NameRow, b: NameRow, by: Column): number => typeof a[by] === "string" ? String(a[by]).localeCompare(String(b[by])) : Number(a[by]) - Number(b[by]);

function Head() {
	return (
		<thead><tr><th class="swatch" aria-hidden="true" />{COLUMNS.map(([key, text, number]) => (
			<th scope="col" class={number ? "n" : ""} aria-sort={sort.value.by === key ? (sort.value.down ? "descending" : "ascending") : undefined}>
				<button onClick={() => { sort.value = { by: key, down: sort.value.by === key ? !sort.value.down : number }; }}>{text}{sort.value.by === key ? (sort.value.down ? " ▾" : " ▴") : ""}</button>
			</th>
		))}<th scope="col" class="n">Share</th></tr></thead>
	);
}

function Line({ row, span }: { row: NameRow; span: number }) {
	return (
		<tr>
			<td class="swatch"><i style={{ background: swatch(row.name, row.kind === "thread" ? "state" : row.kind) }} /></td>
			<th scope="row"><button class="link" title={row.name} onClick={() => { setSearch("=" + row.name); void searchNext(1); }}>{row.name || "(no name)"}</button></th>
			<td>{m.KIND[row.kind] ?? row.kind}</td><td class="n">{count(row.count)}</td><td class="n">{dur(row.total)}</td><td class="n">{dur(row.mean)}</td>
			<td class="n">{row.exact_median === false ? "≈ " : ""}{dur(row.median)}</td><td class="n">{dur(row.min)}</td><td class="n">{dur(row.max)}</td><td class="n">{dur(row.sd)}</td>
			<td class="n">{percent(row.total, span)}</td>
		</tr>
	);
}

function Table({ answer }: { answer: Answer }) {
	const { json } = answer;
	const text = only.value.toLowerCase();
	const rows = json.rows.filter((r) => !text || r.name.toLowerCase().includes(text) || (m.KIND[r.kind] ?? r.kind).toLowerCase().includes(text));
	const { by, down } = sort.value;

	rows.sort((a, b) => compare(a, b, by) * (down ? -1 : 1));
	const from = Math.max(0, Math.min(first.value, rows.length - SHOWN));
	const part = rows.slice(from, from + SHOWN);

	return (
		<>
			<table class="names" aria-rowcount={rows.length}>
				<caption>{m.sources.value.length > 1 && <b>{m.sources.value[answer.source].path} </b>}{count(json.events)} events, {rows.length} names{json.more ? ", more not shown" : ""}</caption>
				<Head />
				<tbody>
					{from > 0 && <tr aria-hidden="true"><td colSpan={11} style={{ height: `${from * LINE}px` }} /></tr>}
					{part.map((r) => <Line row={r} span={json.to - json.from} />)}
					{from + part.length < rows.length && <tr aria-hidden="true"><td colSpan={11} style={{ height: `${(rows.length - from - part.length) * LINE}px` }} /></tr>}
				</tbody>
			</table>
			{json.counters && json.counters.length > 0 && (
				<table class="names"><caption>Counters</caption><thead><tr><th>Name</th><th class="n">Least</th><th class="n">Most</th><th class="n">Mean</th></tr></thead>
					<tbody>{json.counters.map((c) => {
						const unit = m.rowOfLane.value.get(answer.source + ":" + c.lane)?.unit ?? "";

						return <tr><th scope="row">{c.name}</th><td class="n">{amount(c.min, unit)}</td><td class="n">{amount(c.max, unit)}</td><td class="n">{amount(c.mean, unit)}</td></tr>;
					})}</tbody></table>
			)}
		</>
	);
}

export function Tables() {
	useRange(read, () => { answers.value = null; });
	if (!m.range.value)
		return <p class="hint">Drag over rows to choose a span, over the axis for all rows; <kbd>E</kbd> takes what is on the screen.</p>;
	return (
		<div class="tables" onScroll={(e) => { const at = Math.floor(e.currentTarget.scrollTop / LINE) - 15; if (Math.abs(at - first.value) > 8) first.value = Math.max(0, at); }}>
			<p class="line"><RangeHead /> <input aria-label="Only names with" placeholder="only names with…" value={only.value} onInput={(e) => { only.value = e.currentTarget.value; }} />
				{busy.value && <span class="quiet"> reading…</span>}</p>
			{answers.value?.map((a) => <Table answer={a} />)}
			{answers.value?.length === 0 && <p class="hint">These rows hold no events of their own: choose rows with events, or all rows.</p>}
		</div>
	);
}
