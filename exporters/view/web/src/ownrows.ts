/* ownrows.ts - rows of events that the page has itself: results of queries and filters, and the locks that threads wait for. */
import * as m from "./model";
import { dropLane, newLane, setLane } from "./local";
import { get, type LocksJson } from "./net";
import { dur } from "./format";
import { rowById } from "./load";

export interface OwnEvent { start: number; end: number; name: string; about?: [string, string][]; table?: string; rowid?: number }

const DEEPEST = 12;
let number = 0;

/* Events that overlap go to lanes of their own; beyond the last one there is no room. Own times of the report. */
function stacked(events: OwnEvent[]): OwnEvent[][] {
	const lanes: OwnEvent[][] = [];

	for (const e of [...events].sort((a, b) => a.start - b.start || b.end - a.end)) {
		const lane = lanes.find((l) => l[l.length - 1].end <= e.start);

		if (lane)
			lane.push(e);
		else if (lanes.length < DEEPEST)
			lanes.push([e]);
	}
	return lanes;
}

/* Gives a row lanes of such events. */
function fill(row: m.Row, lanes: OwnEvent[][]): void {
	row.lanes = lanes.map(newLane);
	lanes.forEach((list, i) => {
		const names = [...new Set(list.map((e) => e.name))], index = new Map(names.map((n, k) => [n, k]));

		setLane(row.source, row.lanes[i], {
			starts: Float64Array.from(list, (e) => e.start), ends: Float64Array.from(list, (e) => Math.max(e.end, e.start + 1)), kinds: Uint32Array.from(list, (e) => index.get(e.name)!),
			names: names.map((text) => ({ text, given: 0 })), about: (k) => ({ args: list[k].about ?? [], table: list[k].table ?? "", rowid: list[k].rowid ?? -1 }),
		});
	});
}

export function makeOwnRow(source: number, name: string, events: OwnEvent[]): m.Row {
	const row = m.ownRow({ key: `query/${number}`, id: -9000 - number++, source, kind: "query", name, pinned: true, events: events.length });

	fill(row, stacked(events));
	m.ownRows.value = [...m.ownRows.value, row];
	m.changed();
	return row;
}

export function closeOwnRow(row: m.Row): void {
	row.lanes.forEach((lane) => dropLane(row.source, lane));
	m.ownRows.value = m.ownRows.value.filter((r) => r !== row);
	m.changed();
}

/* ---- locks ---- */

const ORDER = 1.8e9; /* behind processes, above the machine */
const nameOf = (row: m.Row | undefined): string => row ? `${row.name}${row.ids ? ` (${row.ids})` : ""}` : "not known";

/* The owner's time on the first lane: waits that overlap have one owner. */
function owners(waits: (OwnEvent & { owner: string })[]): OwnEvent[] {
	const all: OwnEvent[] = [];

	for (const w of [...waits].sort((a, b) => a.start - b.start)) {
		const last = all[all.length - 1];

		if (!w.owner)
			continue;
		if (last && w.start < last.end) {
			if (last.name === w.owner)
				last.end = Math.max(last.end, w.end);
			else if (w.end > last.end)
				all.push({ start: last.end, end: w.end, name: w.owner });
		} else
			all.push({ start: w.start, end: w.end, name: w.owner });
	}
	return all;
}

function lockRow(source: number, l: LocksJson["locks"][0], group: m.Row, order: number): m.Row {
	const waits: (OwnEvent & { owner: string })[] = [];

	for (let i = 0; i + 4 < l.waits.length; i += 5) {
		const [rowid, start, end, waiter, owner] = l.waits.slice(i, i + 5);
		const by = owner ? `held by ${nameOf(rowById(source, owner))}` : "";

		waits.push({ start, end, name: `${nameOf(rowById(source, waiter))} waits`, owner: by, table: "OSRT_API", rowid, about: [["object", l.object], ["call", l.call], ["waits", nameOf(rowById(source, waiter))], ["held by", owner ? nameOf(rowById(source, owner)) : "not recorded"]] });
	}
	const row = m.ownRow({ key: `lock/${l.pid}/${l.object}`, id: -7000 - number++, source, parent: group, home: group, level: group.level + 1, kind: "lock", name: `${l.call} ${l.object}`, about: `${dur(l.ns)} waited`, ids: `pid ${l.pid}`, pid: l.pid, events: l.count, busy: l.ns, order });
	const held = owners(waits);

	fill(row, [...(held.length ? [held] : []), ...stacked(waits)]);
	return row;
}

/* A row for each object that threads wait for most: above its owner, below the threads that wait. */
export async function readLocks(source: number): Promise<void> {
	const json = await get<LocksJson>("locks", { r: source }).catch(() => null);

	if (!json?.locks.length)
		return;
	const root = m.roots.value.find((r) => r.kind === "report" && r.source === source) ?? null;
	const group = m.ownRow({ key: "locks", id: -7000 - number++, source, parent: root, home: root, level: root ? 2 : 1, kind: "locks", name: "locks and queues", about: json.more ? `the ${json.locks.length} waited for most, of ${json.locks.length + json.more}` : "", order: ORDER });

	group.kids = json.locks.map((l, i) => lockRow(source, l, group, i));
	if (root)
		root.kids = [...root.kids.filter((r) => r.kind !== "locks"), group];
	else
		m.roots.value = [...m.roots.value.filter((r) => r.kind !== "locks" || r.source !== source), group];
	m.changed();
}
