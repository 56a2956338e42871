/* model.ts - the state of the screen: the report, its tree of rows, the selection. Drawing and panes read it. */
import { signal, computed } from "@preact/signals";
import { amount } from "./format";
import type { EventJson } from "./net";

export interface Row {
	key: string;         /* the same in every run of the page: for the address */
	id: number;          /* the server's; -1: a group of the page's own */
	source: number;      /* number of the report */
	parent: Row | null;
	kids: Row[];
	level: number;
	kind: string;
	name: string;
	full: string;        /* the name in full: the tree may leave parts out */
	about: string;       /* in small letters behind the name: gives way first */
	ids: string;         /* likewise, always in full: pid, tid, rank */
	rank: number;        /* of a job; -1: none */
	pid: number;         /* -1: none */
	home: Row | null;    /* the server's parent; @parent may be a group of the page's own */
	given: boolean;      /* the name is a person's */
	joined: boolean;     /* a process and its main thread in one row, of kind "thread" */
	span: [number, number] | null; /* own times: first start, last end */
	lanes: number[];     /* the outermost first; of a thread: the one of its states */
	counter: boolean;
	unit: string;
	least: number;       /* of a counter */
	most: number;
	events: number;
	busy: number;
	open: boolean;
	pinned: boolean;
	hidden: boolean;
	order: number;
}

/* A row of the page's own. */
export const ownRow = (of: Partial<Row> & { key: string; kind: string; name: string; source: number; id: number }): Row => ({
	parent: null, home: null, kids: [], level: 1, full: of.name, about: "", ids: "", rank: -1, pid: -1, given: false, joined: false, span: null, lanes: [], counter: false, unit: "", least: 0, most: 1,
	events: 0, busy: 0, open: false, pinned: false, hidden: false, order: 0, ...of,
});

/* A row in its place on the screen. */
export interface Placed { row: Row; y: number; height: number; lanes: number[]; lane: number }

export interface Event {
	source: number;
	lane: number;
	row: Row | undefined;
	start: number;       /* on the common axis */
	end: number;
	open: boolean;       /* had not ended: @end is that of the report */
	name: string;
	json: EventJson | null; /* null: a gap, between @before and @after */
	before: string;
	after: string;
}
export interface Flow { source: number; kind: string; from: End; to: End }
export interface End { lane: number; start: number; end: number; name: string; table: string; rowid: number }
export interface Range { t0: number; t1: number }
/* @t1: of a note on a span; @source: the report beside which it is kept, 0 without it. */
export interface Mark { t: number; t1?: number; text: string; source?: number }

/* @wide: so long that a hatch over all rows would hide more than it shows; own times. */
export interface Loss { t0: number; t1: number; text: string; wide: boolean }

export interface Source {
	index: number;
	name: string;
	path: string;
	zero: string;     /* absolute ns of its time 0 */
	start: number;    /* its own times: first start, last end */
	end: number;
	program: [number, number]; /* likewise, of its programs alone: what is shown at first */
	offset: number;   /* own time + this = time on the common axis */
	indexed: number;  /* share that is indexed already */
	edge: number;     /* own time; all before it is indexed */
	live: boolean;
	generation: number;
	events: number;
	message: string;
	state: string;
	capabilities: Set<string>;
	lost: number;     /* events, and incomplete stacks */
	cut: number;      /* incomplete stacks of them */
	losses: Loss[]; /* in order, apart from each other */
}

export const sources = signal<Source[]>([]);
export const roots = signal<Row[]>([]);
/* Rows that the page makes, above all others: causes, findings, results of queries. */
export const ownRows = signal<Row[]>([]);
export const layoutTick = signal(0);   /* rows opened, hidden, pinned, filtered */
export const filter = signal("");
export const selected = signal<Event | null>(null);
export const flows = signal<Flow[]>([]);
export const range = signal<Range | null>(null);
export const rangeRows = signal<Set<Row> | null>(null);
export const measure = signal<Range | null>(null);
export const current = signal<Row | null>(null);
export const pane = signal<string>("details");
export const paneOpen = signal(false);
export const paneHeight = signal(Math.min(240, Math.round(innerHeight * 0.28)));
export const marks = signal<Mark[]>([]);
export const snap = signal(true);
export const follow = signal(false);
/* The way of the causes of the main thread through the rows. */
export const path = signal(false);
export const mode = signal<"pan" | "select" | "measure">("select");
export const notice = signal("");
export const spoken = signal("");
export const problem = signal<{ title: string; text: string } | null>(null);
export const hovered = signal<{ name: string; nameId: number } | null>(null);
export const search = signal("");
export const searchOpen = signal(false);
export const dialog = signal<"" | "help" | "goto" | "commands" | "note" | "rename">("");

export const live = computed(() => sources.value.some((s) => s.live));

/* Rows were opened, moved, hidden or pinned by hand: from then on they stay where they are. */
let byHand = false;

export const isArranged = (): boolean => byHand;
export function arranged(): void {
	byHand = true;
}

/* Kinds of rows, as people call them. */
export const KIND: Record<string, string> = {
	gpu: "GPU", stream: "stream", sync: "waits for the GPU", nvtx_gpu: "NVTX on the GPU", counter: "counter", process: "process", async: "NVTX start/end",
	marks: "marks", thread: "thread", state: "states", nvtx: "NVTX", cuda: "CUDA API", library: "libraries", osrt: "libc", syscall: "system calls",
	sample: "CPU samples", gil: "Python lock", overhead: "tracer and CUDA", machine: "machine", cpu: "CPU", files: "files",
	file: "file", report: "report", why: "causes", finding: "finding", query: "result of a query", lock: "lock", locks: "locks", group: "group",
};

/* ---- places of rows ---- */

export const LANE = 15, PAD = 3, HEAD = 22, COUNTER = 28, FINDING = 34;
const DEEPEST = 24;

function matches(row: Row, word: string): boolean {
	const [, key, value] = /^(name|pid|tid|kind|gpu):(.*)$/.exec(word) ?? [];
	const [, side, share] = /^busy([<>])([\d.]+)%?$/.exec(word) ?? [];

	if (share)
		return row.busy > 0 && (side === ">") === (100 * row.busy > Number(share) * (sources.value[row.source].end - sources.value[row.source].start));
	const kind = `${row.kind} ${KIND[row.kind] ?? ""}${row.joined ? " process" : ""}`.toLowerCase();
	const all = `${row.full} ${row.about} ${row.ids}${row.joined ? ` tid ${row.pid}` : ""} ${kind}`.toLowerCase();

	if (key === "kind")
		return kind.includes(value);
	if (key === "name")
		return row.full.toLowerCase().includes(value);
	if (key)
		return new RegExp(`\\b${key} ${value.replace(/\W/g, "")}\\b`).test(all);
	return all.includes(word);
}

/* A closed group shows its children's outermost lanes, one over the other. */
const SHOWN_CLOSED = 48;
const IN_OUTLINE = new Set(["stream", "nvtx", "cuda", "library", "osrt", "syscall", "async", "cpu", "gil", "lock"]);

export function outline(row: Row): [number, string][] {
	const lanes: [number, string][] = [];

	const look = (r: Row): void => {
		for (const kid of r.kids) {
			if (lanes.length >= SHOWN_CLOSED)
				return;
			if (IN_OUTLINE.has(kid.kind) && kid.lanes.length)
				lanes.push([kid.lanes[0], kid.kind]);
			look(kid);
		}
	};
	look(row);
	return lanes;
}

export function rowHeight(row: Row): number {
	if (row.counter)
		return COUNTER;
	if (row.kind === "finding")
		return FINDING;
	if (!row.lanes.length || row.kind === "thread")
		return HEAD;
	return Math.max(HEAD, Math.min(row.lanes.length, DEEPEST) * LANE + 2 * PAD);
}

/* The largest and the smallest value of all counters with a unit. */
const extremes = computed(() => {
	const of = new Map<string, { least: number; most: number }>();

	layoutTick.value;
	everyRow((row) => {
		if (!row.counter || !row.unit)
			return;
		const e = of.get(row.unit) ?? { least: 0, most: 0 };

		of.set(row.unit, { least: Math.min(e.least, row.least), most: Math.max(e.most, row.most) });
	});
	return of;
});

/* Where the row of a counter ends at the bottom and at the top: one scale for one unit; shares are drawn out of all. */
export function scaleOf(row: Row): { least: number; most: number } {
	const shared = row.unit === "%" ? { least: Math.min(row.least, 0), most: Math.max(row.most, 100) } : extremes.value.get(row.unit);
	const least = Math.min(shared?.least ?? row.least, 0), most = shared?.most ?? row.most;

	return { least, most: most > least ? most : least + 1 };
}

/* The scale as text, below the name. */
export function scaleText(row: Row): string {
	const { least, most } = scaleOf(row);

	return `${least < 0 ? amount(least, row.unit) : "0"} to ${amount(most, row.unit)}`;
}

const ordered = (rows: Row[]): Row[] => [...rows].sort((a, b) => a.order - b.order);

/*
 * Rows that the filter lets through: matching rows, all rows below them, and the way to them. Each of @words may match the row
 * or a row above it, as the name of a thread and "kind:syscall".
 */
function kept(row: Row, words: string[], into: Set<Row>): boolean {
	const left = words.filter((word) => !matches(row, word));
	let any = left.length === 0;

	for (const kid of row.kids)
		any = kept(kid, left, into) || any;
	if (any)
		into.add(row);
	return any;
}

function walk(rows: Row[], keep: Set<Row> | null, into: Placed[]): void {
	for (const row of ordered(rows)) {
		if (row.hidden || (keep && !keep.has(row)))
			continue;
		const height = rowHeight(row);

		into.push({ row, y: 0, height, lanes: row.lanes.slice(0, DEEPEST), lane: LANE });
		if (row.open || keep)
			walk(row.kids, keep, into);
	}
}

export const placed = computed(() => {
	layoutTick.value;
	const keep = filter.value.trim() ? new Set<Row>() : null;

	if (keep)
		for (const row of roots.value)
			kept(row, filter.value.toLowerCase().split(/\s+/).filter(Boolean), keep);
	const all: Placed[] = [];

	walk(roots.value, keep, all);
	let y = 0;

	for (const p of all) {
		p.y = y;
		y += p.height;
	}
	return { rows: all, height: y };
});

export const pinned = computed(() => {
	layoutTick.value;
	const all: Placed[] = [];
	let y = 0;

	const look = (rows: Row[]): void => {
		for (const row of rows) {
			if (row.pinned) {
				const height = rowHeight(row);

				all.push({ row, y, height, lanes: row.lanes.slice(0, DEEPEST), lane: LANE });
				y += height;
			}
			look(row.kids);
		}
	};
	for (const row of ownRows.value)
		if (!row.hidden) {
			const height = rowHeight(row);

			all.push({ row, y, height, lanes: row.lanes, lane: row.lanes.length > 1 ? LANE : height - 2 * PAD });
			y += height;
		}
	look(roots.value);
	return { rows: all, height: y };
});

export function everyRow(f: (row: Row) => void, rows: Row[] = roots.value): void {
	for (const row of rows) {
		f(row);
		everyRow(f, row.kids);
	}
}

export const rowOfLane = computed(() => {
	const of = new Map<string, Row>();

	layoutTick.value;
	ownRows.value.forEach((row) => row.lanes.forEach((lane) => of.set(row.source + ":" + lane, row)));
	everyRow((row) => row.lanes.forEach((lane) => of.set(row.source + ":" + lane, row)));
	return of;
});

/* A name of a person's choice; "": the one that the row had. */
export function rename(row: Row, name: string): void {
	row.given = name !== "" && name !== row.full;
	row.name = row.given ? name : row.full;
}

export function changed(): void {
	layoutTick.value++;
}

/* Opens the rows above @row, so that it has a place. */
export function unfold(row: Row): void {
	arranged();
	for (let up = row.parent; up; up = up.parent)
		up.open = true;
	row.hidden = false;
	changed();
}
