/* net.ts - requests to the server that this page came from, and to nothing else. */

export class Refused extends Error {
	constructor(readonly status: number, message: string) {
		super(message);
	}
}

const STORE = "sightline-token";
let token = "";

/* The token comes in the fragment, which is never sent; it moves to this tab's storage, out of the address. */
function takeToken(): void {
	const parts = new URLSearchParams(location.hash.slice(1));
	const given = parts.get("t");
	const kept = <T,>(f: () => T): T | null => { try { return f(); } catch { return null; } };

	token = given ?? kept(() => sessionStorage.getItem(STORE)) ?? "";
	if (given) {
		/* A browser may take a while to write to storage: the first request is sent before. */
		setTimeout(() => kept(() => sessionStorage.setItem(STORE, given)), 0);
		parts.delete("t");
		history.replaceState(null, "", location.pathname + (parts.size ? "#" + parts : ""));
	}
}

/* The address of the page with its key: for another browser, as long as the server lives. */
export const addressWith = (state: string): string => `${location.origin}${location.pathname}#t=${token}${state ? "&" + state : ""}`;

/* The distance of the server: times of small requests, and bytes per second. */
export const link = { rtt: 0, rate: Infinity };
export const compress = (): boolean => link.rtt > 8 || link.rate < 20e6 / 1000;

/* From how long the files of the page took, before the first tiles are asked for: the server needs next to nothing for them. */
export function measureLink(): void {
	const files = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")] as PerformanceResourceTiming[];
	const times = files.map((f) => f.responseStart - f.requestStart).filter((t) => t > 0);

	if (times.length)
		link.rtt = Math.min(...times);
}

type Query = Record<string, string | number | undefined>;

/* ---- requests on their way ---- */

/* Requests, but for tiles and news of the report; and waits of the page before it makes a request. */
let pending = 0;
let whenDone: () => void = () => {};

export const isBusy = (): boolean => pending > 0;
export const onDone = (f: () => void): void => { whenDone = f; };
export function waitsFor(by: 1 | -1): void {
	pending += by;
	if (pending === 0)
		whenDone();
}

/* The use of the answer begins before the request counts as done. */
async function counted<T>(path: string, run: () => Promise<T>): Promise<T> {
	if (path === "live")
		return run();
	waitsFor(1);
	try {
		return await run();
	} finally {
		setTimeout(() => waitsFor(-1), 0);
	}
}

async function ask(path: string, query: Query, init: RequestInit): Promise<Response> {
	const given = Object.entries(query).filter(([, v]) => v !== undefined).map(([k, v]) => [k, String(v)]);
	const url = "/v1/" + path + (given.length ? "?" + new URLSearchParams(given as [string, string][]) : "");
	let answer: Response;

	try {
		answer = await fetch(url, { ...init, headers: { ...init.headers, Authorization: "Bearer " + token }, cache: "no-store", credentials: "omit" });
	} catch (e) {
		if (init.signal?.aborted)
			throw e;
		throw new Refused(0, "The server does not answer. It ends with the command that started it.");
	}
	if (!answer.ok) {
		let text = `${answer.status} ${answer.statusText}`;

		try {
			text = (await answer.json()).error ?? text;
		} catch { /* not JSON: the status has it */ }
		throw new Refused(answer.status, text);
	}
	return answer;
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
	return counted(path, async () => (await ask(path, query, { signal })).json());
}

export async function post<T>(path: string, query: Query, body: unknown, signal?: AbortSignal): Promise<T> {
	const text = typeof body === "string" ? body : JSON.stringify(body);
	const type = typeof body === "string" ? "text/plain" : "application/json";

	return counted(path, async () => (await ask(path, query, { method: "POST", body: text, headers: { "Content-Type": type }, signal })).json());
}

export async function postBlob(path: string, query: Query, body: unknown): Promise<Blob> {
	return counted(path, async () => (await ask(path, query, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } })).blob());
}

/* @sent: bytes of the answer on the way, without its head. */
export async function postBinary(path: string, query: Query, body: ArrayBuffer, signal?: AbortSignal): Promise<{ bytes: ArrayBuffer; sent: number }> {
	const began = performance.now();
	const answer = await ask(path, { ...query, z: compress() ? 1 : undefined },
		{ method: "POST", body, headers: { "Content-Type": "application/octet-stream" }, signal });
	const first = performance.now();
	const bytes = await answer.arrayBuffer();
	const ms = performance.now() - first;

	if (bytes.byteLength > 1 << 15 && ms > 1)
		link.rate = bytes.byteLength / ms;
	link.rtt = link.rtt ? link.rtt * 0.8 + (first - began) * 0.2 : first - began;
	return { bytes, sent: Number(answer.headers.get("Content-Length") ?? bytes.byteLength) };
}

/* ---- messages ---- */

export interface RowJson {
	id: number; parent: number; kind: string; name: string; key: string; sort: number;
	pid?: number; tid?: number; rank?: number; cpu?: number; device?: number; context?: number; stream?: number;
	unit?: string; lanes: number[]; events: number; busy?: number; span?: [number, number]; color?: number; min?: number; max?: number;
}
export interface ReportShort {
	generation: number; unchanged?: boolean; state: "building" | "ready" | "failed" | "live";
	progress: number; indexed_to: number; stable_to?: number; span: [number, number]; events: number; message?: string;
}
export interface ReportJson extends ReportShort {
	r: number; reports: { path: string; title: string; state: string }[]; path: string; title: string; nsys: boolean; size: number; t0: string;
	live: boolean; lost: number; lost_spans?: [number, number, number, string][]; capabilities: string[]; rows: RowJson[];
}
export interface EventJson {
	lane: number; row: number; start: number; dur: number; name: string; name_id: number; table: string; rowid: number; instant: boolean;
	columns: [string, string | number | null, string][]; args: [string, string][];
	stack: { symbol: string; module: string; file: string; line: number; kernel: boolean; python?: boolean }[]; process: string; thread: string;
}
export interface EndJson { lane: number; row: number; start: number; dur: number; name: string; table: string; rowid: number }
export interface FlowJson { arrows: { kind: string; from: EndJson; to: EndJson }[]; more?: boolean }
export interface NameRow {
	name: string; name_id: number; folded: boolean; row?: number; kind: string; count: number; cut: number; total: number; mean: number; median: number; min: number; max: number; sd: number;
	exact_median?: boolean;
	self?: number; /* without what is nested in the same row */
	p?: number; /* of being the same as in the other report, by the test of compare */
}
export interface SelectJson {
	from: number; to: number; events: number; covered: number; rows: NameRow[]; more?: boolean;
	counters?: { lane: number; name: string; min: number; max: number; mean: number }[];
}
/* events: lane, start, duration, name, by turns; durations: how many by length, two to a doubling. */
export interface EventsJson { total: number; sum: number; events: number[]; names: Record<number, string>; durations: number[] }
export interface FlameJson { unit: string; total: number; nodes: [number, string, string, number, number][] }
export interface SearchJson { found: boolean; event?: EndJson; total: number; names?: [string, number][] }
/* @row: of the thread; 0: it has none. */
export interface CauseJson { reason: string; colour: string; text: string; what: string; call: string; place: string; thread?: string; row?: number }
export interface PartJson extends CauseJson {
	ns: number; share: number; line: string; more: number; sure: number; start?: number; end?: number /* the longest stretch */; way: CauseJson[];
}
export interface WhyJson { thread: string; from: number; to: number; text: string; parts: PartJson[] }
/* slices: start, kind (-1: none), by turns; the last one is the end. */
export interface TrackJson { from: number; to: number; thinned: boolean; slices: number[]; kinds: (CauseJson & { ns: number })[] }
export interface FindingJson extends CauseJson {
	ns: number; share: number; sure: number; line: string; start?: number; end?: number; lower?: number; upper?: number; severity?: string;
}
/* steps: start, end, number of the reason (-1: none), by turns. @row: of the thread. */
export interface StepsJson { name: string; row: number; steps: number[]; reasons: { reason: string; colour: string; text: string }[] }
export interface FindingsJson { ns: number; tracks: { row: number; device: number; from: number; to: number }[]; findings: FindingJson[] }
/* waits: row of OSRT_API, start, end, rows of the waiting thread and of the owner (0: not known), by turns. */
export interface LocksJson { locks: { object: string; call: string; pid: number; ns: number; count: number; waits: number[] }[]; more: number }
export interface NotesJson { state: "none" | "ours" | "other" | "damaged"; path: string; notes?: unknown }
export interface SqlJson { columns: string[]; rows: unknown[][]; more: boolean; ms: number }

/* ---- the first request ---- */

/* The rows are asked for before the page is set up. */
takeToken();
let early: Promise<ReportJson> | null = get<ReportJson>("report", { r: 0 });

early.catch(() => {}); /* the caller of firstReport() gets the error */
export function firstReport(): Promise<ReportJson> {
	const first = early ?? get<ReportJson>("report", { r: 0 });

	early = null;
	return first;
}
