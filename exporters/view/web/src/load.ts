/* load.ts - the report's rows as a tree, and their changes while the report is indexed or grows. */
import { firstReport, get, Refused, type ReportJson, type ReportShort, type RowJson } from "./net";
import * as m from "./model";
import type { Row, Source } from "./model";
import { progress } from "./tiles";
import { limits, setLimits, showAll, showsAll } from "./view";
import { arrange, openFirst, programSpan } from "./arrange";
import { count } from "./format";

const byId: Map<number, Row>[] = [];

/* A GPU's name ends with the process that uses it: it stands behind the name, with its number. */
const OF_PROCESS = / of ([^(]+) \(\d+\)$/;

const about = (json: RowJson): string => json.kind === "gpu" && json.pid !== undefined ? OF_PROCESS.exec(json.name)?.[1] ?? "" : "";

function idsOf(json: RowJson): string {
	const rank = json.rank !== undefined ? `rank ${json.rank}, ` : "";

	switch (json.kind) {
	case "process": return json.pid !== undefined ? `${rank}pid ${json.pid}` : "";
	case "thread": return json.tid !== undefined ? `tid ${json.tid}` : "";
	case "gpu": return json.pid !== undefined ? `${rank}pid ${json.pid}` : "";
	default: return "";
	}
}

/* The server's name may end with the number that is shown behind it. */
function nameOf(json: RowJson): string {
	const number = json.kind === "thread" ? json.tid : json.pid;
	const plain = json.name || m.KIND[json.kind] || json.kind;
	const name = json.kind === "gpu" ? plain.replace(/^(GPU \d+): NVIDIA (?:GeForce )?(?=.)/, "$1: ").replace(OF_PROCESS, "") : json.kind === "counter" ? plain.replace(/ \[Throughput %\]$/, "") : plain;

	return number !== undefined ? name.replace(new RegExp(`\\s*\\(${number}\\)$`), "") : name;
}

const fullName = (json: RowJson): string => json.kind === "gpu" ? json.name.replace(OF_PROCESS, "") : nameOf(json);

function make(json: RowJson, source: number, parent: Row | null): Row {
	return {
		key: json.key, id: json.id, source, parent, home: parent, kids: [], level: parent ? parent.level + 1 : 1, kind: json.kind, name: nameOf(json), full: fullName(json), about: about(json),
		ids: idsOf(json), rank: json.rank ?? -1, pid: json.pid ?? -1, given: false, joined: false, span: json.span ?? null,
		lanes: json.lanes, counter: json.kind === "counter", unit: json.unit ?? "", least: json.min ?? 0, most: json.max ?? 1, events: json.events ?? 0,
		busy: json.busy ?? 0, open: false, pinned: false, hidden: false, order: json.sort,
	};
}

const GPU = /^GPU (\d+)(?:, (process \d+))?: /;

/* The machine's counters of a GPU stand together, above the rows of processes on it. */
function gpuOf(json: RowJson, source: number, top: Row[], root: Row | null): Row | null {
	const n = Number(GPU.exec(json.name)?.[1] ?? NaN);

	if (isNaN(n))
		return null;
	const siblings = root ? root.kids : top;
	const known = siblings.find((r) => r.source === source && r.key === `gpu/${n}`);

	if (known)
		return known;
	const row = make({ id: -2 - n, parent: 0, kind: "gpu", name: `GPU ${n}`, key: `gpu/${n}`, sort: n, lanes: [], events: 0 }, source, root);

	row.ids = "counters";
	row.order = n - 1e6;
	siblings.push(row);
	return row;
}

function place(json: RowJson, source: number, top: Row[], root: Row | null): void {
	const of = byId[source];
	const known = of.get(json.id);

	if (known) {
		renew(known, json);
		return;
	}
	const parent = of.get(json.parent) ?? null;

	/* The states of a thread are drawn in the row of the thread itself, the main thread in that of its process. */
	if (json.kind === "state" && parent?.kind === "thread") {
		of.set(json.id, parent);
		renew(parent, json);
		return;
	}
	if (json.kind === "thread" && parent?.kind === "process" && json.tid === parent.pid) {
		Object.assign(parent, { kind: "thread", joined: true, id: json.id });
		of.set(json.id, parent);
		return;
	}
	const gpu = parent?.kind === "machine" && json.kind === "counter" ? gpuOf(json, source, top, root) : null;
	const row = make(json, source, gpu ?? parent ?? root);

	if (gpu)
		row.name = row.full = row.name.replace(GPU, (_all, _n, process) => process ? `${process[0].toUpperCase()}${process.slice(1)}: ` : "");
	of.set(json.id, row);
	const siblings = gpu ? gpu.kids : parent ? parent.kids : root ? root.kids : top;

	/* Behind its siblings, until all are arranged. */
	row.order = 5e9 + siblings.length;
	siblings.push(row);
}

/* A row that is known has other values now. The rows of a process, its main thread and that thread's states may be one. */
function renew(row: Row, json: RowJson): void {
	if (json.kind === "state" && row.kind === "thread") {
		Object.assign(row, { lanes: json.lanes, events: json.events ?? 0, span: json.span ?? null });
		return;
	}
	if (row.joined && json.kind === "thread")
		return;
	if (!row.counter)
		Object.assign(row, { name: row.given ? row.name : nameOf(json), full: fullName(json) });
	if (row.kind === "thread")
		return;
	Object.assign(row, { lanes: json.lanes, events: json.events ?? 0, busy: json.busy ?? 0, least: json.min ?? row.least, most: json.max ?? row.most, span: json.span ?? row.span });
}

/* Spans that overlap are one, long ones apart from short ones. */
function lossesOf(spans: [number, number, number, string][], longest: number): m.Loss[] {
	const made: m.Loss[] = [];

	for (const wide of [false, true]) {
		let last: m.Loss | undefined;

		for (const [t0, t1, n, what] of spans.filter((s) => s[1] - s[0] > longest === wide).sort((a, b) => a[0] - b[0])) {
			const text = `${count(n)} lost: ${what}`;

			if (last && t0 <= last.t1) {
				last.t1 = Math.max(last.t1, t1);
				last.text += "\n" + text;
			} else
				made.push(last = { t0, t1, text, wide });
		}
	}
	return made;
}

/* Stacks without their outer callers are no lost events. */
export const isCut = (what: string): boolean => /outer callers|\bstacks?\b.*\b(cut|short)/i.test(what);

function say(json: ReportShort & { lost?: number }, source: Source): void {
	source.message = json.message ?? "";
}

function short(source: Source, json: ReportShort): void {
	source.state = json.state;
	source.indexed = json.state === "building" ? json.progress : 1;
	source.edge = json.state === "building" ? json.indexed_to : json.state === "live" ? json.indexed_to : json.span[1];
	source.generation = json.generation;
	source.start = json.span[0];
	source.end = Math.max(json.span[1], json.span[0] + 1);
	source.events = json.events ?? source.events;
	progress[source.index] = { edge: json.stable_to ?? source.edge, generation: json.generation };
}

function spanOfAll(): void {
	const all = m.sources.value.filter((s) => s.end > s.start);

	if (all.length)
		setLimits({ t0: Math.min(...all.map((s) => s.program[0] + s.offset)), t1: Math.max(...all.map((s) => s.program[1] + s.offset)) },
			{ t0: Math.min(...all.map((s) => s.start + s.offset)), t1: Math.max(...all.map((s) => s.end + s.offset)) });
}

function take(json: ReportJson, many: boolean): void {
	const index = json.r;
	const old = m.sources.value[index];
	const source: Source = old ?? {
		index, name: json.title || json.path, path: json.path, zero: json.t0, start: 0, end: 1, program: [0, 1], offset: 0, indexed: 0, edge: 0, live: false, generation: -1,
		events: 0, message: "", state: json.state, capabilities: new Set(), lost: 0, cut: 0, losses: [],
	};
	const top = [...m.roots.value];
	let root: Row | null = null;

	byId[index] ??= new Map();
	if (many) {
		root = top.find((r) => r.kind === "report" && r.source === index) ?? null;
		if (!root) {
			root = make({ id: -1, parent: 0, kind: "report", name: json.path.replace(/.*\//, ""), key: "report/" + index, sort: index, lanes: [], events: 0 }, index, null);
			root.about = json.title;
			root.open = true;
			root.order = index * 1e12;
			top.push(root);
		}
	}
	short(source, json);
	say(json, source);
	/* Before the first event is read, there is no time 0 yet. */
	source.zero = json.t0;
	source.live = json.live;
	source.capabilities = new Set(json.capabilities);
	source.lost = json.lost;
	source.cut = (json.lost_spans ?? []).reduce((sum, [, , n, what]) => sum + (isCut(what) ? n : 0), 0);
	source.losses = lossesOf((json.lost_spans ?? []).filter(([, , , what]) => !isCut(what)), (source.end - source.start) / 4);
	const before = byId[index].size;

	for (const row of json.rows)
		place(row, index, top, root);
	const rows = root ? root.kids : top;

	source.program = programSpan(rows, [source.start, source.end]);
	/* Of a report that grows, rows that are there keep their places. */
	if (!m.isArranged() && (json.state !== "live" || byId[index].size > before)) {
		arrange(rows, root);
		if (json.state !== "live" || before === 0)
			openFirst(rows, json.reports.length);
	}
	const all = [...m.sources.value];

	all[index] = source;
	m.sources.value = all;
	m.roots.value = top;
	m.changed();
	if (source.state === "ready")
		whenReady(index);
}

export function rowById(source: number, id: number): Row | undefined {
	return byId[source]?.get(id);
}

let redraw: () => void = () => {};
/* Called when the index of a report is whole. */
let whenReady: (index: number) => void = () => {};

export async function load(draw: () => void, ready: (index: number) => void): Promise<void> {
	redraw = draw;
	whenReady = ready;
	const first = await firstReport();
	const many = first.reports.length > 1;

	const others = await Promise.all(first.reports.slice(1).map((_, i) => get<ReportJson>("report", { r: i + 1 })));

	for (const json of [first, ...others])
		take(json, many);
	spanOfAll();
	showAll(false);
	m.sources.value.forEach((s) => void watch(s.index, many));
}

/* As long as a report is indexed or grows, the server answers when there is more. */
async function watch(index: number, many: boolean): Promise<void> {
	let wait = 500;

	for (;;) {
		const source = m.sources.value[index];

		if (!source.live && (source.state === "ready" || source.state === "failed"))
			return;
		try {
			const news = await get<ReportShort>("live", { r: index, gen: source.generation });
			const full = news.unchanged === false || news.generation !== source.generation ? await get<ReportJson>("report", { r: index }) : null;
			/* The present span of the screen, which may have moved since the request. */
			const end = limits.t1;
			const all = showsAll();

			if (full)
				take(full, many);
			else {
				short(source, news);
				m.sources.value = [...m.sources.value];
			}
			spanOfAll();
			if (all && limits.t1 !== end)
				showAll(false);
			else
				grown(end);
			wait = 500;
		} catch (e) {
			if (e instanceof Refused && e.status === 0)
				m.notice.value = e.message;
			await new Promise((done) => setTimeout(done, wait));
			wait = Math.min(wait * 2, 10000);
		}
		redraw();
	}
}

let follower: (oldEnd: number) => void = () => {};

export const onGrowth = (f: (oldEnd: number) => void): void => { follower = f; };
function grown(oldEnd: number): void {
	if (limits.t1 !== oldEnd)
		follower(oldEnd);
}

export function shift(index: number, offset: number): void {
	m.sources.value[index].offset = offset;
	m.sources.value = [...m.sources.value];
	spanOfAll();
	redraw();
}
