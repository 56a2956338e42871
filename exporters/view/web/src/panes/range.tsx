/* range.tsx - what panes on the chosen span share: when they read, and the line that has the span. */
import { useSignalEffect } from "@preact/signals";
import * as m from "../model";
import { dur, point } from "../format";
import { waitsFor } from "../net";
import { shown } from "../view";

const STILL_MS = 120;

/* Reads when the span, or its rows, have not changed for a moment; @none: there is no span any more. */
export function useRange(read: (t0: number, t1: number) => Promise<void>, none: () => void): void {
	useSignalEffect(() => {
		const r = m.range.value;

		m.rangeRows.value;
		if (r) {
			let waits = true;
			const end = (): void => { if (waits) waitsFor(-1); waits = false; };
			const timer = setTimeout(() => { void read(r.t0, r.t1); end(); }, STILL_MS);

			waitsFor(1);
			return () => { clearTimeout(timer); end(); };
		}
		none();
		return undefined;
	});
}

export function RangeHead() {
	const range = m.range.value;
	const rows = m.rangeRows.value;
	const at = range ?? shown();

	return (
		<span class="span">{range ? <><b>{dur(at.t1 - at.t0)}</b> from {point(at.t0, (at.t1 - at.t0) / 1000)}</> : <>no span chosen</>}
			{range && <>, {rows ? <>{rows.size} {rows.size === 1 ? "row" : "rows"} <button class="link" onClick={() => { m.rangeRows.value = null; }}>take all rows</button></> : "all rows"}</>}</span>
	);
}
