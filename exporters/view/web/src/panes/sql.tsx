/* sql.tsx - the console: any SELECT on the report. A result with start and end columns leads to the timeline. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Editor } from "../console/sql";
import * as m from "../model";
import * as theme from "../theme";
import { get, post, type SqlJson } from "../net";
import { count } from "../format";
import { makeOwnRow } from "../ownrows";
import { showWithin } from "../view";

const result = signal<SqlJson | null>(null);
const failed = signal("");
const busy = signal(false);
const source = signal(0);
const first = signal(0);
/* Offered where the report has their table. */
const OFFERS: [string, string, string][] = [
	["Calls of libc, most time first", "OSRT_API", "SELECT name.value AS name, count(*) AS calls, sum(o.\"end\" - o.start) AS ns\nFROM OSRT_API o JOIN StringIds name ON name.id = o.nameId\nGROUP BY 1 ORDER BY ns DESC LIMIT 20"],
	["Kernels, most time first", "CUPTI_ACTIVITY_KIND_KERNEL", "SELECT name.value AS name, count(*) AS kernels, sum(k.\"end\" - k.start) AS ns\nFROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds name ON name.id = k.shortName\nGROUP BY 1 ORDER BY ns DESC LIMIT 20"],
	["Calls of CUDA, most time first", "CUPTI_ACTIVITY_KIND_RUNTIME", "SELECT name.value AS name, count(*) AS calls, sum(r.\"end\" - r.start) AS ns\nFROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds name ON name.id = r.nameId\nGROUP BY 1 ORDER BY ns DESC LIMIT 20"],
	["The longest NVTX ranges", "NVTX_EVENTS", "SELECT coalesce(n.text, name.value) AS name, n.start, n.\"end\", n.\"end\" - n.start AS ns\nFROM NVTX_EVENTS n LEFT JOIN StringIds name ON name.id = n.textId\nWHERE n.\"end\" IS NOT NULL ORDER BY ns DESC LIMIT 50"],
	["The longest gaps between kernels", "CUPTI_ACTIVITY_KIND_KERNEL", "SELECT 'gap' AS name, last AS start, start AS \"end\", start - last AS ns\nFROM (SELECT start, max(\"end\") OVER (PARTITION BY deviceId ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last\n      FROM CUPTI_ACTIVITY_KIND_KERNEL)\nWHERE start > last ORDER BY ns DESC LIMIT 50"],
	["The slowest reads of files", "OSRT_API", "SELECT name.value || ' ' || path.value AS name, o.start, o.\"end\", o.\"end\" - o.start AS ns\nFROM OSRT_API o JOIN StringIds name ON name.id = o.nameId JOIN StringIds path ON path.id = o.pathId\nWHERE name.value LIKE '%read%' ORDER BY ns DESC LIMIT 50"],
	["Tables of the report", "sqlite_master", "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1"],
];
const offers = signal<typeof OFFERS>([]);
const kept = signal("");
const HISTORY = "sightline-sql", HISTORY_MOST = 30;
const stored = (): string[] => {
	try {
		const list: unknown = JSON.parse(localStorage.getItem(HISTORY) ?? "[]");

		return Array.isArray(list) ? list.filter((x) => typeof x === "string") : [];
	} catch {
		return [];
	}
};
const past = signal<string[]>(stored());

function remember(text: string): void {
	past.value = [text, ...past.value.filter((x) => x !== text)].slice(0, HISTORY_MOST);
	try {
		localStorage.setItem(HISTORY, JSON.stringify(past.value));
	} catch { /* a private window: it holds until the page is closed */ }
}

async function readOffers(): Promise<Record<string, string[]>> {
	const { tables } = await get<{ tables: Record<string, string[]> }>("schema", { r: source.value }).catch(() => ({ tables: {} as Record<string, string[]> }));

	const has = async (table: string): Promise<boolean> => table === "sqlite_master" || (table in tables && (await post<SqlJson>("sql", { r: source.value }, `SELECT 1 FROM ${table} LIMIT 1`).catch(() => null))?.rows.length === 1);
	const there = await Promise.all(OFFERS.map(([, table]) => has(table)));

	offers.value = OFFERS.filter((_, i) => there[i]);
	kept.value ||= offers.value[0][2];
	return tables;
}

const LINE = 22, SHOWN = 60;

async function run(text: string): Promise<void> {
	kept.value = text;
	remember(text);
	busy.value = true;
	failed.value = "";
	try {
		result.value = await post<SqlJson>("sql", { r: source.value }, text);
		first.value = 0;
	} catch (e) {
		failed.value = e instanceof Error ? e.message : String(e);
		result.value = null;
	}
	busy.value = false;
}

/* Absolute times of the report to the axis: exact, before they become numbers. */
function goToRow(json: SqlJson, row: unknown[]): void {
	const at = (name: string): unknown => row[json.columns.findIndex((c) => c.toLowerCase() === name)];
	const s = m.sources.value[source.value];
	const own = (v: unknown): number => Number(BigInt(String(v)) - BigInt(s.zero)) + s.offset;

	try {
		const start = own(at("start")), end = at("end") === null || at("end") === undefined ? start : own(at("end"));

		m.range.value = { t0: start, t1: Math.max(end, start + 1) };
		m.rangeRows.value = null;
		showWithin(start, end);
	} catch { /* not a time */ }
}

/* Times of a result, as a row above the others. */
function asRow(json: SqlJson): void {
	const column = (name: string): number => json.columns.findIndex((c) => c.toLowerCase() === name);
	const [start, end, name] = ["start", "end", "name"].map(column);
	const zero = BigInt(m.sources.value[source.value].zero);
	const events = json.rows.filter((r) => r[start] !== null).map((r) => {
		const at = Number(BigInt(String(r[start])) - zero);

		return {
			start: at, end: end >= 0 && r[end] !== null ? Number(BigInt(String(r[end])) - zero) : at + 1, name: name >= 0 ? String(r[name]) : "row",
			about: json.columns.map((c, i): [string, string] => [c, String(r[i])]),
		};
	});

	makeOwnRow(source.value, `SQL: ${events.length} rows`, events);
}

function Result({ json }: { json: SqlJson }) {
	const timed = json.columns.some((c) => c.toLowerCase() === "start");
	const from = Math.max(0, Math.min(first.value, json.rows.length - SHOWN));
	const part = json.rows.slice(from, from + SHOWN);

	return (
		<table class="names sql">
			<caption>{count(json.rows.length)} {json.rows.length === 1 ? "row" : "rows"}{json.more ? ", more not shown" : ""}, {json.ms} ms
				{timed && json.rows.length > 0 && <> · <button class="link" onClick={() => asRow(json)}>make this a row</button></>}</caption>
			<thead><tr>{timed && <th />}{json.columns.map((c, i) => <th scope="col" class={typeof json.rows[0]?.[i] === "number" ? "n" : ""}>{c}</th>)}</tr></thead>
			<tbody>
				{from > 0 && <tr aria-hidden="true"><td style={{ height: `${from * LINE}px` }} /></tr>}
				{part.map((row) => <tr>{timed && <td><button class="link" title="Show on the timeline" onClick={() => goToRow(json, row)}>show</button></td>}
					{row.map((v) => <td class={typeof v === "number" ? "n" : ""}>{v === null ? <span class="quiet">NULL</span> : String(v)}</td>)}</tr>)}
				{from + part.length < json.rows.length && <tr aria-hidden="true"><td style={{ height: `${(json.rows.length - from - part.length) * LINE}px` }} /></tr>}
			</tbody>
		</table>
	);
}

/* The editor's script; without it a plain field does the same. */
async function makeEditor(host: HTMLElement): Promise<Editor> {
	const path = "./sql.js";
	const tables = await readOffers();
	const { mount } = await import(path) as typeof import("../console/sql");
	const editor: Editor = mount(host, kept.value, tables, theme.dark.value, () => void run(editor.text()));

	return editor;
}

export function Sql() {
	const host = useRef<HTMLDivElement>(null);
	const editor = useRef<Editor | null>(null);
	const plain = useRef<HTMLTextAreaElement>(null);
	const noEditor = useRef(signal(false)).current;
	const set = (q: string): void => {
		kept.value = q;
		editor.current?.set(q);
		if (plain.current)
			plain.current.value = q;
	};
	const text = (): string => editor.current?.text() ?? plain.current?.value ?? kept.value;

	useEffect(() => {
		if (host.current)
			makeEditor(host.current).then((made) => { editor.current = made; }, () => { noEditor.value = true; });
		return () => { kept.value = text(); };
	}, []);
	const isDark = theme.dark.value;

	useEffect(() => editor.current?.theme(isDark), [isDark]);
	return (
		<div class="sqlpane">
			<div class="left">
				{noEditor.value ? <textarea ref={plain} aria-label="SQL statement" defaultValue={kept.value} /> : <div ref={host} class="editor" />}
				<p class="line"><button class="act" id="run-sql" onClick={() => void run(text())} disabled={busy.value}>Run <kbd>Ctrl+Enter</kbd></button>
					<select aria-label="Queries to begin with" onChange={(e) => { set(e.currentTarget.value); e.currentTarget.selectedIndex = 0; }}><option>Queries…</option>
						{offers.value.map(([text, , q]) => <option value={q}>{text}</option>)}
						{past.value.length > 0 && <optgroup label="Run before">{past.value.map((q) => <option value={q}>{q.replace(/\s+/g, " ").slice(0, 60)}</option>)}</optgroup>}</select>
					{m.sources.value.length > 1 && <select aria-label="Report" onChange={(e) => { source.value = Number(e.currentTarget.value); }}>{m.sources.value.map((s) => <option value={s.index}>{s.path}</option>)}</select>}
					{busy.value && <span class="quiet">running…</span>}</p>
			</div>
			<div class="right" tabIndex={0} onScroll={(e) => { const at = Math.floor(e.currentTarget.scrollTop / LINE) - 15; if (Math.abs(at - first.value) > 8) first.value = Math.max(0, at); }}>
				{failed.value && <p class="error" role="alert">{failed.value}</p>}
				{result.value && <Result json={result.value} />}
			</div>
		</div>
	);
}
