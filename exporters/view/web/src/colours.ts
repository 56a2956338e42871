/* colours.ts - the colour of each name, ready for pixels; brighter under the pointer, pale beside names that match a search. */
import * as theme from "./theme";
import { firstRenamed, names } from "./tiles";
import { mix } from "./raster";

let base = new Uint32Array(1024);
let now = new Uint32Array(1024);
let made = 0;
let forDark: boolean | null = null;
let hover = "";
let hit = "";
let painted = 0;

/* The category of events in a kind of row; in a stream by the name of the event. */
export function categoryOf(kind: string, name: string): string {
	if (kind === "stream")
		return /memcpy|peer|htod|dtoh|dtod|copy/i.test(name) ? "gpu_memcpy" : /memset|fill/i.test(name) ? "gpu_memset" : "kernel";
	if (kind === "nvtx_gpu" || kind === "async")
		return "nvtx";
	if (kind === "sync")
		return "gpu_sync";
	if (kind === "gil")
		return "python";
	if (kind === "cpu")
		return "kernel";
	if (kind === "file")
		return "osrt";
	return kind;
}

const colourOf = (i: number): theme.Colour => {
	const n = names[i];

	if (n.given & 0x1000000)
		return given(n.given);
	return theme.nameColour(n.text, categoryOf(n.category, n.text), theme.dark.value);
};

/* A colour of the program's choice keeps its hue; too dark or too light for the page, it moves to where it can be seen. */
function given(rgb: number): theme.Colour {
	let c = { r: rgb >> 16 & 255, g: rgb >> 8 & 255, b: rgb & 255 };
	const ground = theme.paint().page;

	for (let i = 0; i < 12 && theme.contrast(c, ground) < 1.35; i++) {
		const to = theme.dark.value ? 255 : 0;

		c = { r: c.r + (to - c.r) * 0.12 | 0, g: c.g + (to - c.g) * 0.12 | 0, b: c.b + (to - c.b) * 0.12 | 0 };
	}
	return c;
}

function grow(): void {
	if (base.length >= names.length)
		return;
	const size = Math.max(names.length, base.length * 2);
	const more = new Uint32Array(size), moreNow = new Uint32Array(size);

	more.set(base);
	moreNow.set(now);
	base = more;
	now = moreNow;
}

const wanted = (i: number): number => {
	const page = theme.pack(theme.paint().page);

	if (hover && names[i].text === hover)
		return mix(theme.dark.value ? 0xffffffff : 0xff000000, base[i], 0.28);
	if (hit && !names[i].text.toLowerCase().includes(hit))
		return mix(base[i], page, 0.36);
	return base[i];
};

/* The table for this frame, by slot. */
export function table(): Uint32Array {
	grow();
	const all = forDark !== theme.dark.value;

	if (all) {
		forDark = theme.dark.value;
		made = 0;
		painted++;
	}
	made = Math.min(made, firstRenamed());
	for (let i = made; i < names.length; i++) {
		base[i] = i ? theme.pack(colourOf(i)) : theme.pack(theme.oklch(theme.dark.value ? 0.5 : 0.8, 0.01, 250));
		now[i] = wanted(i);
	}
	made = names.length;
	return now;
}

function repaint(): void {
	table();
	for (let i = 0; i < made; i++)
		now[i] = wanted(i);
	painted++;
}

export function highlight(name: string): boolean {
	if (name === hover)
		return false;
	hover = name;
	repaint();
	return true;
}

/* Are the names that do not match a search pale? */
export const isPale = (): boolean => hit !== "";

export function searched(text: string): void {
	hit = text.toLowerCase();
	repaint();
}

export const version = (): number => painted;
export const cssOf = (slot: number): string => theme.css(theme.unpack(table()[slot]));
export const inkOf = (slot: number): string => theme.inkOn(theme.unpack(table()[slot]));
/* The colour of a name in a table of the page, as on the timeline. */
export const swatch = (name: string, kind: string): string => theme.css(theme.nameColour(name, categoryOf(kind, name), theme.dark.value));
