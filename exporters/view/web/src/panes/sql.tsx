/* sql.tsx - the console: any SELECT on the report. A result with start and end columns leads to the timeline. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Editor } from "../console/sql";
import * as m from "../model";
import * as theme from "../theme";
import { get, post, type SqlJson } from "../net";
import { count } from "../format";
import { showWithin } from "../view";

const result = signal<SqlJson | null>(null);
const failed = signal("");
const busy = signal(false);
const source = signal(0);
const first = signal(0);
const kept = signal("SELECT name.value AS name, count(*) AS calls, sum(o.\"end\" - o.start) AS ns\nFROM OSRT_API o JOIN StringIds name ON name.id = o.nameId\nGROUP BY 1 ORDER BY ns DESC LIMIT 20");
const LINE = 22, SHOWN = 60;

async function run(text: string): Promise<void> {
	kept.value = text;
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

function Result({ json }: { json: SqlJson }) {
	const timed = json.columns.some((c) => c.toLowerCase() === "start");
	const from = Math.max(0, Math.min(first.value, json.rows.length - SHOWN));
	const part = json.rows.slice(from, from + SHOWN);

	return (
		<table class="names sql">
			<caption>{count(json.rows.length)} {json.rows.length === 1 ? "row" : "rows"}{json.more ? ", more not shown" : ""}, {json.ms} ms</caption>
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
	const schema = await get<{ tables: Record<string, string[]> }>("schema", { r: source.value }).catch(() => ({ tables: {} }));
	const { mount } = await import(path) as typeof import("../console/sql");
	const editor: Editor = mount(host, kept.value, schema.tables, theme.dark.value, () => void run(editor.text()));

	return editor;
}

export function Sql() {
	const host = useRef<HTMLDivElement>(null);
	const editor = useRef<Editor | null>(null);
	const plain = useRef<HTMLTextAreaElement>(null);
	const noEditor = useRef(signal(false)).current;
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
