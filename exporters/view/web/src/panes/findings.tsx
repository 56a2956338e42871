/* findings.tsx - what takes most time, in order: how much, what for, at which line, what a change would save, and the way to its worst place. */
import { cssOf, findings, gainOf, goToFinding, looking, placeOf } from "../causes";
import * as m from "../model";
import { dur, percent } from "../format";

const quoted = (path: string): string => /^[\w./+-]+$/.test(path) ? path : `'${path.replace(/'/g, "'\\''")}'`;

/* The command that opens the page at a place. */
export const commandTo = (path: string, row: string, t0: number, t1: number): string => `sightline view ${quoted(path)} --at ${(t0 / 1e9).toFixed(6)}s${row ? ` --row ${row}` : ""} --span ${(t0 / 1e9).toFixed(6)}s-${(t1 / 1e9).toFixed(6)}s`;

export function Findings() {
	const many = m.sources.value.length > 1;

	if (!findings.value.length)
		return <p class="hint" role="status">{looking.value || "Causes are looked for once the report is indexed."}</p>;
	return (
		<div class="findings">
			<table>
				<thead><tr><th class="n">Share</th><th class="n">Time</th><th>Cause</th><th>A change here</th><th>Worst place</th></tr></thead>
				<tbody>{findings.value.map((f) => (
					<tr>
						<td class="n">{percent(f.json.share, 1)}</td><td class="n">{dur(f.json.ns)}</td>
						<td class="cause"><i style={{ background: cssOf(f.json) }} />{many && <b>{m.sources.value[f.source].path.replace(/.*\//, "")} </b>}{f.json.text}{placeOf(f.json) && <>: <code>{placeOf(f.json)}</code></>}
							{f.json.what && f.json.what !== placeOf(f.json) && <span class="quiet"> {f.json.what}</span>} <span class="quiet">· {f.json.thread}</span></td>
						<td>{gainOf(f.json) || <span class="quiet">not known</span>}</td>
						<td>{f.json.start !== undefined && f.json.end !== undefined
							? <button class="link" title={commandTo(m.sources.value[f.source].path, "", f.json.start, f.json.end)} onClick={() => goToFinding(f)}>{dur(f.json.end - f.json.start)} at {(f.json.start / 1e9).toFixed(6)} s</button>
							: <span class="quiet">–</span>}</td>
					</tr>
				))}</tbody>
			</table>
		</div>
	);
}
