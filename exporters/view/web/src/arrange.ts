/* arrange.ts - which row stands where, and which rows are open at first: those with most events, as far as there is room. */
import * as m from "./model";
import type { Row } from "./model";

const GPU = 0, PROCESS = 1e9, QUIET_GPU = 1.5e9, MACHINE = 2e9, FILES = 3e9;

/* Events of the row and of all rows below it; values of counters are none. */
export function weightOf(row: Row): number {
	return (row.counter || row.kind === "file" || row.kind === "lock" ? 0 : row.events) + row.kids.reduce((sum, k) => sum + weightOf(k), 0);
}

export const isProcess = (row: Row): boolean => row.kind === "process" || row.joined;

/* ---- short-lived processes in one closed group ---- */

const FOLD_SHARE = 0.01, FOLD_LEAST = 3;
const isFold = (row: Row): boolean => row.kind === "group";

function setLevel(row: Row): void {
	row.level = row.parent ? row.parent.level + 1 : 1;
	row.kids.forEach(setLevel);
}

function unfoldAll(rows: Row[], parent: Row | null): void {
	for (const group of rows.filter(isFold)) {
		rows.splice(rows.indexOf(group), 1, ...group.kids);
		group.kids.forEach((kid) => { kid.parent = parent; setLevel(kid); });
	}
	rows.forEach((row) => unfoldAll(row.kids, row));
}

let folds = 0;

function fold(rows: Row[], parent: Row | null, small: Row[], order: number): void {
	const names = [...new Set(small.map((r) => r.name))];
	const group = m.ownRow({
		key: `small/${parent?.key ?? ""}`, id: -1000 - folds++, source: small[0].source, parent, home: parent, kids: small, kind: "group", name: `${small.length} small processes`,
		about: names.slice(0, 4).join(", ") + (names.length > 4 ? ", …" : ""), order,
	});

	const gone = new Set(small), left = rows.filter((row) => !gone.has(row));

	small.forEach((row) => { row.parent = group; });
	rows.length = 0;
	for (const row of [...left, group])
		rows.push(row);
	setLevel(group);
}

/* ---- order ---- */

/* Within a process: its own calls, threads that work, threads that are idle, the tracer's rows, child processes. */
const LATE: Record<string, number> = { thread: 1e8, counter: 3e8, overhead: 4e8, marks: 4e8 };

const GPUS = 4096; /* more than a rank has */

function orderTop(row: Row, i: number): number {
	if (row.kind === "gpu")
		return Math.max(0, row.rank) * GPUS + (row.kids.some((k) => k.kind === "stream" && k.events > 0 || k.counter) || row.key.startsWith("gpu/") ? GPU : QUIET_GPU) + i;
	if (row.kind === "locks")
		return row.order;
	return (row.kind === "machine" ? MACHINE : row.kind === "files" ? FILES : PROCESS) + i;
}

function sort(rows: Row[], parent: Row | null, all: number): void {
	const weights = new Map(rows.map((r) => [r, weightOf(r)]));
	/* Ranks in their order, other processes by activity. */
	const processes = rows.filter(isProcess).sort((a, b) => a.rank >= 0 && b.rank >= 0 ? a.rank - b.rank : weights.get(b)! - weights.get(a)!);
	const most = Math.max(0, ...rows.filter((r) => r.kind === "thread" && !r.joined).map((r) => weights.get(r)!));
	const isTop = !parent || parent.kind === "report";

	rows.forEach((row, i) => {
		const idle = row.kind === "thread" && weights.get(row)! < most / 100;

		if (row.order < 0) /* counters of a GPU, above all else */
			return;
		row.order = isTop ? orderTop(row, i) : (LATE[row.kind] ?? 0) + (idle ? 1e8 : 0) + i;
	});
	processes.forEach((row, i) => { row.order = PROCESS + i; });
	const small = processes.filter((r) => weights.get(r)! < all * FOLD_SHARE);

	rows.forEach((row) => sort(row.kids, row, all));
	if (small.length >= FOLD_LEAST && small.length < processes.length + (isTop ? 0 : 1))
		fold(rows, parent, small, PROCESS + processes.length);
}

/* @rows: of one report, below @parent. */
export function arrange(rows: Row[], parent: Row | null): void {
	unfoldAll(rows, parent);
	sort(rows, parent, rows.reduce((sum, r) => sum + weightOf(r), 0));
}

/* ---- open at first ---- */

/* Above and below the rows: bar, map, axis, tabs of the lower pane, line of state. */
const AROUND = 160;
/* A process with more rows than there is room for is opened if so much of it is seen. */
const GLIMPSE = 4 * m.HEAD;

export function openFirst(rows: Row[], reports: number): void {
	const height = (row: Row): number => row.kids.reduce((sum, k) => sum + m.rowHeight(k), 0);
	/* A part of one that stands above what is open already would push that out of sight. */
	const opened: Row[] = [];
	const topOf = (row: Row): Row => row.parent && row.level > rows[0].level ? topOf(row.parent) : row;
	const isAbove = (row: Row): boolean => opened.some((o) => topOf(o).order > topOf(row).order);
	let room = (innerHeight - AROUND) / reports - rows.reduce((sum, r) => sum + m.rowHeight(r), 0);
	const queue: [Row, number][] = [];
	const offer = (all: Row[]): void => all.forEach((row) => {
		row.open = false;
		offer(row.kids);
	});
	const add = (all: Row[]): void => {
		for (const row of all)
			if (row.kids.length && !isFold(row))
				queue.push([row, weightOf(row)]);
		queue.sort((a, b) => b[1] - a[1]);
	};

	offer(rows);
	add(rows);
	for (let next = queue.shift(); next && room > 0; next = queue.shift()) {
		const [row, weight] = next;
		const cost = height(row);

		if (weight === 0 || (cost > room && (room < GLIMPSE || isAbove(row) || (row.kind === "thread" && !row.joined))))
			continue;
		row.open = true;
		opened.push(row);
		room -= cost;
		add(row.kids);
	}
}

/* ---- the time of programs ---- */

const OF_PROGRAM = new Set(["nvtx", "cuda", "library", "osrt", "syscall", "sample", "gil", "stream", "sync", "nvtx_gpu", "async"]);

/* From the first to the last event of programs: messages and counters of the machine do not stretch it. */
export function programSpan(rows: Row[], whole: [number, number]): [number, number] {
	const spans = { program: [Infinity, -Infinity], states: [Infinity, -Infinity] };
	const look = (row: Row): void => {
		const into = OF_PROGRAM.has(row.kind) ? spans.program : row.kind === "thread" ? spans.states : null;

		if (row.span && into) {
			into[0] = Math.min(into[0], row.span[0]);
			into[1] = Math.max(into[1], row.span[1]);
		}
		row.kids.forEach(look);
	};

	rows.forEach(look);
	const [t0, t1] = spans.program[0] < spans.program[1] ? spans.program : spans.states[0] < spans.states[1] ? spans.states : whole;

	return [Math.max(t0, whole[0]), Math.min(Math.max(t1, t0 + 1), whole[1])];
}
