/* main.tsx - start: the token and the report are asked for as ./net is read, which comes first. */
import { link, measureLink, Refused } from "./net";
import { render } from "preact";
import { App, viewChanged } from "./app";
import { followEnd } from "./actions";
import { listenCauses, pathIn, readCauses } from "./causes";
import { load, onGrowth } from "./load";
import * as keys from "./keys";
import { listenKeys } from "./keys";
import { FONT, fitted } from "./draw";
import { localOf } from "./local";
import * as m from "./model";
import { counted } from "./sheet";
import * as colours from "./colours";
import * as format from "./format";
import { frames, invalidate, placesOf, settled, stage, start, wholePicture } from "./stage";
import * as theme from "./theme";
import { cached, forget, most, names, onTiles, requests } from "./tiles";
import { keepNotes } from "./notes";
import { keepAddress, readAddress } from "./url";
import * as view from "./view";

function failed(e: unknown): void {
	const refused = e instanceof Refused ? e : null;

	if (refused?.status === 401)
		m.problem.value = { title: "This page needs its key", text: "Open the address that sightline view printed, with all that follows the #. The key is kept for this tab only." };
	else
		m.problem.value = { title: "The report cannot be shown", text: refused?.message ?? String(e) };
}

/* For tests only, where the address says so: #test. */
function testHook(): void {
	if (!new URLSearchParams(location.hash.slice(1)).has("test"))
		return;
	(window as unknown as { __view: unknown }).__view = { model: m, view, stage, frames, counted, cached, forget, most, requests, link, settled, whole: wholePicture, invalidate, colours, format, names, theme, places: placesOf, keys, fitted, font: FONT, local: localOf, pathIn };
}

async function main(): Promise<void> {
	measureLink();
	testHook();
	render(<App />, document.getElementById("app")!);
	onTiles(() => invalidate(), (why) => {
		if (why?.status === 401)
			failed(why);
		else
			m.notice.value = why?.message ?? "";
	});
	start();
	view.onView(() => {
		invalidate();
		viewChanged();
	});
	listenKeys();
	onGrowth(followEnd);
	try {
		await load(() => { invalidate(); viewChanged(); }, (index) => void readCauses(index));
		listenCauses();
		readAddress();
		keepAddress();
		void keepNotes();
		document.title = `${m.sources.value.map((s) => s.path.replace(/.*\//, "")).join(", ")} – Sightline`;
		m.current.value ??= m.placed.value.rows[0]?.row ?? null;
		document.querySelector<HTMLElement>(".scroll")?.focus();
	} catch (e) {
		failed(e);
	}
}

void main();
