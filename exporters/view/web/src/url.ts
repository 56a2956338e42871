/* url.ts - the view, bookmarks and pinned rows in the fragment of the address. */
import { effect } from "@preact/signals";
import * as m from "./model";
import { changed } from "./model";
import { limits, show, shown } from "./view";

const LONGEST = 8000;

export function readAddress(): void {
	const parts = new URLSearchParams(location.hash.slice(1));
	const [t0, t1] = (parts.get("v") ?? "").split("_").map(Number);
	const pins = new Set(parts.getAll("p"));

	if (pins.size) {
		m.everyRow((r) => { r.pinned = pins.has(r.source + "/" + r.key); });
		changed();
	}
	m.marks.value = parts.getAll("m").map((text) => {
		const i = text.indexOf("_");

		return { t: Number(i < 0 ? text : text.slice(0, i)), text: i < 0 ? "" : text.slice(i + 1).slice(0, 200) };
	}).filter((k) => isFinite(k.t)).slice(0, 100);
	if (isFinite(t0) && isFinite(t1) && t1 > t0 && t1 > limits.t0 && t0 < limits.t1)
		show(t0, t1);
}

let timer = 0;
/* Until the address has been read, it is not written: a report may take its time to come. */
let isRead = false;

function write(): void {
	const parts = new URLSearchParams();
	const { t0, t1 } = shown();
	const old = new URLSearchParams(location.hash.slice(1));

	if (old.has("test"))
		parts.set("test", "");
	parts.set("v", `${Math.round(t0)}_${Math.round(t1)}`);
	m.everyRow((r) => { if (r.pinned) parts.append("p", r.source + "/" + r.key); });
	for (const k of m.marks.value)
		parts.append("m", `${Math.round(k.t)}_${k.text}`);
	const text = "#" + parts;

	if (text.length < LONGEST && text !== location.hash)
		history.replaceState(null, "", location.pathname + text);
}

export function soon(): void {
	clearTimeout(timer);
	if (isRead)
		timer = setTimeout(write, 400) as unknown as number;
}

export function keepAddress(): void {
	isRead = true;
	effect(() => {
		m.marks.value;
		m.layoutTick.value;
		soon();
	});
}
