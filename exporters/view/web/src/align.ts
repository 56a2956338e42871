/* align.ts - two reports one above the other: the second moves until a chosen event begins at the same time in both. */
import { signal } from "@preact/signals";
import * as m from "./model";
import { complain, say } from "./actions";
import { shift } from "./load";
import { get, type SearchJson } from "./net";
import { dur } from "./format";

export const aligned = signal("");

/* How many events of the name begin before @t in the rows of the same kind. */
async function nth(source: number, name: string, which: number): Promise<number | null> {
	let t = m.sources.value[source].start - 1;

	for (let i = 0; i <= which; i++) {
		const json = await get<SearchJson>("search", { r: source, q: "=" + name, t, dir: 1 });

		if (!json.found || !json.event)
			return null;
		t = json.event.start;
	}
	return t;
}

const MOST_STEPS = 500;

async function before(source: number, name: string, t: number): Promise<number> {
	let at = t, n = 0;

	for (; n < MOST_STEPS; n++) {
		const json = await get<SearchJson>("search", { r: source, q: "=" + name, t: at, dir: -1 });

		if (!json.found || !json.event)
			break;
		at = json.event.start;
	}
	return n;
}

/* The selected event is the n-th of its name: the n-th in every other report moves to the same time. */
export async function alignOnSelection(): Promise<void> {
	const e = m.selected.value;

	if (!e?.json)
		return complain(new Error("Select an event first, such as a step: the other report moves to where its event of that name begins at the same time."));
	try {
		const own = Math.round(e.start - m.sources.value[e.source].offset);
		const n = await before(e.source, e.name, own);

		for (const s of m.sources.value)
			if (s.index !== e.source) {
				const t = await nth(s.index, e.name, n) ?? await nth(s.index, e.name, 0);

				if (t === null)
					throw new Error(`${s.path} has no event called “${e.name}”.`);
				shift(s.index, e.start - t);
				aligned.value = `Aligned on ${e.name.slice(0, 30)}`;
				say(`Moved by ${dur(e.start - t)}`);
			}
	} catch (error) {
		complain(error);
	}
}
