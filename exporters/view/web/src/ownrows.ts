/* ownrows.ts - rows of events that the user chose: results of queries and of filters, above all others until they are closed. */
import * as m from "./model";
import { dropLane, newLane, setLane } from "./local";

export interface OwnEvent { start: number; end: number; name: string; about?: [string, string][] }

const DEEPEST = 12;
let number = 0;

/* Events that overlap go to lanes of their own; beyond the last one there is no room. Own times of the report. */
export function makeOwnRow(source: number, name: string, events: OwnEvent[]): m.Row {
	const lanes: OwnEvent[][] = [];

	for (const e of [...events].sort((a, b) => a.start - b.start || b.end - a.end)) {
		const lane = lanes.find((l) => l[l.length - 1].end <= e.start);

		if (lane)
			lane.push(e);
		else if (lanes.length < DEEPEST)
			lanes.push([e]);
	}
	const row = m.ownRow({ key: `query/${number}`, id: -9000 - number++, source, kind: "query", name, lanes: lanes.map(newLane), pinned: true, events: events.length });

	lanes.forEach((list, i) => {
		const names = [...new Set(list.map((e) => e.name))], index = new Map(names.map((n, k) => [n, k]));

		setLane(source, row.lanes[i], {
			starts: Float64Array.from(list, (e) => e.start), ends: Float64Array.from(list, (e) => Math.max(e.end, e.start + 1)), kinds: Uint32Array.from(list, (e) => index.get(e.name)!),
			names: names.map((text) => ({ text, given: 0 })), about: (k) => ({ args: list[k].about ?? [] }),
		});
	});
	m.ownRows.value = [...m.ownRows.value, row];
	m.changed();
	return row;
}

export function closeOwnRow(row: m.Row): void {
	row.lanes.forEach((lane) => dropLane(row.source, lane));
	m.ownRows.value = m.ownRows.value.filter((r) => r !== row);
	m.changed();
}
