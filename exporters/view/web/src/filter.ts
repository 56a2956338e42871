/*
 * filter.ts - one language for events: the search field and the pane of events have it.
 *
 *   read                   a word: part of the name          name:fsync  =step  "two words"  name:/^mem(cpy|set)/
 *   kind:libc              kind of the row                   thread:worker  process:python3  pid:4711  tid:4712  gpu:0  stream:7
 *   dur>10ms  dur<=1s      length                            arg:"/data"  text in the path of a call
 *   -name:poll             not
 */
import * as m from "./model";
import type { Row } from "./model";
import { parseTime } from "./format";

interface RowTest { key: string; value: string; not: boolean }

export interface Filter {
	names: string[]; /* for the server: "text", "=text", "~text", "/text", "!" in front: not */
	rows: RowTest[];
	min?: number;
	max?: number;
	arg?: string;
}
export class Wrong extends Error {
	/* @at, @end: the part of the text that is wrong. */
	constructor(message: string, readonly at: number, readonly end: number) {
		super(message);
	}
}

const KEYS = ["name", "kind", "thread", "process", "pid", "tid", "gpu", "stream", "dur", "arg"];
const TOKEN = /\s*(?:(-?)([a-z]+)(:|<=|>=|<|>|=)("(?:[^"\\]|\\.)*"?|\/(?:[^/\\]|\\.)*\/?|\S*)|(-?)([=~]?"(?:[^"\\]|\\.)*"?|\S+))/gy;

const unquoted = (text: string): string => text.startsWith('"') ? text.slice(1).replace(/"$/, "").replace(/\\(.)/g, "$1") : text;

function nearest(key: string): string {
	const alike = (a: string, b: string): number => [...a].filter((c) => b.includes(c)).length - Math.abs(a.length - b.length);

	return KEYS.reduce((best, k) => alike(key, k) > alike(key, best) ? k : best);
}

function addName(f: Filter, value: string, not: boolean, at: number, end: number): void {
	let text = value;

	if (value.startsWith("/")) {
		if (value.length < 2 || !value.endsWith("/"))
			throw new Wrong("An expression ends with /.", at, end);
		text = "/" + value.slice(1, -1);
	} else {
		const how = /^[=~]/.exec(value)?.[0] ?? "";

		text = how + unquoted(value.slice(how.length));
	}
	f.names.push((not ? "!" : "") + text.replace(/\n/g, " "));
}

function addLength(f: Filter, op: string, value: string, at: number, end: number): void {
	const ns = parseTime(value);

	if (isNaN(ns) || op === ":" || op === "=")
		throw new Wrong("A length is written like dur>10ms or dur<=1.5s.", at, end);
	if (op.startsWith(">"))
		f.min = Math.max(f.min ?? -Infinity, Math.ceil(ns) + (op === ">" && Number.isInteger(ns) ? 1 : 0));
	else
		f.max = Math.min(f.max ?? Infinity, Math.floor(ns) - (op === "<" && Number.isInteger(ns) ? 1 : 0));
}

/* Throws Wrong, with the place. */
export function parseFilter(text: string): Filter {
	const f: Filter = { names: [], rows: [] };
	const rest = text.trimEnd();

	for (TOKEN.lastIndex = 0; TOKEN.lastIndex < rest.length;) {
		const from = TOKEN.lastIndex;
		const t = TOKEN.exec(rest);

		if (!t)
			throw new Wrong("This is not understood.", from, rest.length);
		const at = from + t[0].length - t[0].trimStart().length, end = from + t[0].length;
		const [, minus, key, op, value, minusWord, word] = t;

		if (key === undefined) {
			addName(f, word, minusWord === "-", at, end);
			continue;
		}
		/* A name may have a colon: at::native::add. */
		if (!KEYS.includes(key) && (value.startsWith(":") || op === "=" || value === "")) {
			addName(f, `${key}${op}${value}`, minus === "-", at, end);
			continue;
		}
		if (!KEYS.includes(key))
			throw new Wrong(`There is no “${key}:”. Did you mean “${nearest(key)}:”?`, at, at + key.length + minus.length);
		if (value === "" || value === '"')
			throw new Wrong(`“${key}${op}” needs a value.`, at, end);
		if (key === "name")
			addName(f, value, minus === "-", at, end);
		else if (key === "dur")
			addLength(f, op, value, at, end);
		else if (key === "arg")
			f.arg = unquoted(value);
		else
			f.rows.push({ key, value: unquoted(value).toLowerCase(), not: minus === "-" });
	}
	return f;
}

/* Is it more than a part of a name? */
export const isFilter = (text: string): boolean => /(^|\s)-?(name|kind|thread|process|pid|tid|gpu|stream|dur|arg)(:|<|>)\S|(^|\s)-\S/.test(text);

/* ---- rows ---- */

function ancestor(row: Row, is: (r: Row) => boolean): Row | undefined {
	for (let up: Row | null = row; up; up = up.home)
		if (is(up))
			return up;
	return undefined;
}

function passes(row: Row, t: RowTest): boolean {
	switch (t.key) {
	case "kind": return `${row.kind === "thread" ? "state states" : row.kind} ${m.KIND[row.kind] ?? ""}`.toLowerCase().includes(t.value);
	case "thread": return !!ancestor(row, (r) => r.kind === "thread")?.full.toLowerCase().includes(t.value);
	case "process": return !!ancestor(row, (r) => r.kind === "process" || r.joined)?.full.toLowerCase().includes(t.value);
	case "pid": return String(row.pid) === t.value;
	case "tid": return !!ancestor(row, (r) => r.kind === "thread" && (new RegExp(`tid ${t.value.replace(/\D/g, "")}$`).test(r.ids) || (r.joined && String(r.pid) === t.value)));
	case "gpu": return !!ancestor(row, (r) => r.kind === "gpu" && r.full.toLowerCase().startsWith(`gpu ${t.value}`));
	default: return row.kind === "stream" && row.full.toLowerCase().replace(/^stream /, "") === t.value;
	}
}

/* Lanes of a report that the filter looks at: [] means all, null none. */
export function lanesOf(source: number, f: Filter): number[] | null {
	if (!f.rows.length)
		return [];
	const lanes: number[] = [];

	m.everyRow((row) => {
		if (row.source === source && !row.counter && row.lanes.length && f.rows.every((t) => passes(row, t) !== t.not) && (row.kind !== "file" || f.rows.some((t) => t.key === "kind")))
			lanes.push(...row.lanes);
	});
	return lanes.length ? lanes : null;
}

export const queryOf = (f: Filter): Record<string, string | number | undefined> => ({ name: f.names.join("\n") || undefined, min: f.min, max: f.max, arg: f.arg });
