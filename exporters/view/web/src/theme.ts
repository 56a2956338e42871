/* theme.ts - colours. A name has the same colour in every report; its category gives the family it is taken from. */
import { signal } from "@preact/signals";

export type Choice = "auto" | "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");
const kept = (): Choice => {
	try {
		return (localStorage.getItem("sightline-theme") as Choice) ?? "auto";
	} catch {
		return "auto";
	}
};

export const choice = signal<Choice>(kept());
export const dark = signal(false);

function apply(): void {
	dark.value = choice.value === "auto" ? system.matches : choice.value === "dark";
	document.documentElement.dataset.theme = dark.value ? "dark" : "light";
}
export function choose(value: Choice): void {
	choice.value = value;
	try {
		localStorage.setItem("sightline-theme", value);
	} catch { /* a private window: it holds until the page is closed */ }
	apply();
}
system.addEventListener("change", apply);
apply();

/* ---- OKLCH to sRGB ---- */

const gamma = (x: number): number => x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
const byte = (x: number): number => Math.max(0, Math.min(255, Math.round(255 * gamma(Math.max(0, Math.min(1, x))))));

export interface Colour { r: number; g: number; b: number }

export function oklch(l: number, c: number, h: number): Colour {
	const a = c * Math.cos(h * Math.PI / 180);
	const b = c * Math.sin(h * Math.PI / 180);
	const x = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const y = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const z = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;

	return {
		r: byte(4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z),
		g: byte(-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z),
		b: byte(-0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z),
	};
}

export const css = (c: Colour): string => `rgb(${c.r},${c.g},${c.b})`;
/* As in an ImageData on a little-endian machine. */
export const pack = (c: Colour): number => (0xff000000 | c.b << 16 | c.g << 8 | c.r) >>> 0;
export const unpack = (p: number): Colour => ({ r: p & 255, g: p >> 8 & 255, b: p >> 16 & 255 });

const linear = (x: number): number => x <= 0.04045 * 255 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4;
export const luminance = (c: Colour): number => 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
export function contrast(a: Colour, b: Colour): number {
	const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);

	return (x + 0.05) / (y + 0.05);
}
/* The more legible of black and white: at least 4.5:1 on any colour. */
export const inkOn = (c: Colour): string => luminance(c) > 0.179 ? "#000" : "#fff";

/* ---- families ---- */

/* Hue from, width of the band, chroma. A wide band sets names apart, a narrow one shows the kind of thing. */
interface Family { hue: number; band: number; chroma: number; shift: number }
const FAMILIES: Record<string, Family> = {
	kernel: { hue: 200, band: 150, chroma: 0.105, shift: 0 },
	gpu_memcpy: { hue: 150, band: 30, chroma: 0.12, shift: 0.02 },
	gpu_memset: { hue: 105, band: 14, chroma: 0.1, shift: 0.02 },
	gpu_sync: { hue: 40, band: 20, chroma: 0.09, shift: -0.03 },
	nvtx: { hue: 60, band: 300, chroma: 0.075, shift: 0.03 },
	cuda: { hue: 60, band: 40, chroma: 0.115, shift: 0 },
	library: { hue: 180, band: 40, chroma: 0.09, shift: 0 },
	osrt: { hue: 265, band: 70, chroma: 0.085, shift: 0 },
	syscall: { hue: 330, band: 40, chroma: 0.075, shift: 0 },
	sample: { hue: 38, band: 50, chroma: 0.1, shift: 0.02 },
	python: { hue: 95, band: 40, chroma: 0.1, shift: 0 },
	file: { hue: 230, band: 40, chroma: 0.08, shift: 0 },
	overhead: { hue: 25, band: 12, chroma: 0.14, shift: -0.04 },
	other: { hue: 250, band: 60, chroma: 0.03, shift: 0 },
};
/* States of a thread mean something by themselves: lightness (light, dark), chroma, hue. A wait without a reason is pale. */
const STATES: [RegExp, number, number, number, number][] = [
	[/^running/i, 0.72, 0.58, 0.15, 148],
	[/^runnable/i, 0.82, 0.7, 0.14, 95],
	[/^blocked/i, 0.7, 0.6, 0.16, 35],
	[/^stopped/i, 0.7, 0.6, 0.1, 330],
	[/^ended/i, 0.6, 0.45, 0.01, 250],
	[/./, 0.91, 0.33, 0.012, 250],
];

/* FNV-1a: the same in every browser and report. */
export function hash(text: string): number {
	let h = 0x811c9dc5;

	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	h ^= h >>> 15;
	h = Math.imul(h, 0x2c1b3c6d);
	return (h ^ h >>> 12) >>> 0;
}

export function familyOf(category: string): string {
	const c = category.toLowerCase();

	if (c in FAMILIES)
		return c;
	if (/kernel|graph/.test(c))
		return "kernel";
	if (/memcpy/.test(c))
		return "gpu_memcpy";
	if (/memset/.test(c))
		return "gpu_memset";
	if (/nvtx|annotation|range|mark/.test(c))
		return "nvtx";
	if (/cuda|driver|runtime/.test(c))
		return "cuda";
	if (/gil|gc|python/.test(c))
		return "python";
	if (/blas|dnn|nccl|mpi|openacc|librar|fft|sparse|solver|cufile/.test(c))
		return "library";
	if (/syscall/.test(c))
		return "syscall";
	if (/osrt|libc/.test(c))
		return "osrt";
	if (/sample/.test(c))
		return "sample";
	if (/sync/.test(c))
		return "gpu_sync";
	if (/overhead|diagnostic|lost/.test(c))
		return "overhead";
	return "other";
}

/* Without template arguments, addresses, numbers of calls and steps: the same function has the same colour. */
function stem(name: string, category: string): string {
	const short = name.replace(/, \w+ ?= ?.*$|<.*>|\(.*\)|0x[0-9a-f]+/g, "");

	return category === "kernel" ? short : short.replace(/\d+/g, "#");
}

export function nameColour(name: string, category: string, isDark: boolean): Colour {
	const base = isDark ? 0.62 : 0.76;

	if (category === "state" || category === "sched") {
		const [, light, dim, chroma, hue] = STATES.find(([re]) => re.test(name)) ?? STATES[STATES.length - 1];

		return oklch(isDark ? dim : light, chroma, hue);
	}
	/* For Python's lock: held or waited for. */
	if (category === "python" && /^wait/i.test(name))
		return oklch(isDark ? 0.6 : 0.72, 0.14, 45);
	const f = FAMILIES[familyOf(category)];
	const h = hash(stem(name, category));
	const at = (h % 1009) / 1009;
	const tone = ((h >>> 12) % 5 - 2) * 0.022;

	return oklch(base + f.shift + tone, f.chroma, (f.hue + f.band * at) % 360);
}

/* ---- of the canvas ---- */

export interface Paint {
	page: Colour; row: string; rowOdd: string; group: string; line: string; text: string; quiet: string; cursor: string; select: string;
	arrow: string; wake: string; pick: string; loss: string; faint: string; counter: string; counterEdge: string;
}
const LIGHT: Paint = {
	page: { r: 255, g: 255, b: 255 }, row: "#ffffff", rowOdd: "#ffffff", group: "#f1f4f7", line: "#e3e8ed", text: "#1c2128", quiet: "#57606a",
	cursor: "#8a949e", select: "rgba(11,92,173,0.14)", arrow: "#b3261e", wake: "#7a3fd0", pick: "#0b5cad", loss: "rgba(179,38,30,0.45)", faint: "#f6f8fa",
	counter: "rgba(47,111,208,0.30)", counterEdge: "#2f6fd0",
};
const DARK: Paint = {
	page: { r: 16, g: 21, b: 27 }, row: "#10151b", rowOdd: "#10151b", group: "#1a212a", line: "#242d37", text: "#e4e9ef", quiet: "#9ca8b5",
	cursor: "#7d8a97", select: "rgba(122,184,255,0.18)", arrow: "#ff8a80", wake: "#c3a6ff", pick: "#7ab8ff", loss: "rgba(255,138,128,0.45)", faint: "#161c24",
	counter: "rgba(110,168,255,0.30)", counterEdge: "#6ea8ff",
};
export const paint = (): Paint => dark.value ? DARK : LIGHT;
