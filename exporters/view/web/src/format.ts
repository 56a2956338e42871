/* format.ts - times, counts and bytes as people read them. All times are nanoseconds after the start of the report. */

const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

export function unitOf(ns: number): [number, string] {
	const size = Math.abs(ns);

	return UNITS.find(([u]) => size >= u) ?? UNITS[3];
}

/* A duration with four digits: 1.234 ms. */
export function dur(ns: number): string {
	if (!isFinite(ns))
		return "–";
	if (ns === 0)
		return "0 ns";
	if (Math.abs(ns) >= 60e9 && Math.abs(ns) < 1e18) {
		const s = Math.round(Math.abs(ns) / 1e9);
		const hours = Math.floor(s / 3600);
		const rest = `${String(Math.floor(s / 60) % 60).padStart(hours ? 2 : 1, "0")} min ${String(s % 60).padStart(2, "0")} s`;

		return (ns < 0 ? "−" : "") + (hours ? `${hours} h ` : "") + rest;
	}
	const [u, name] = unitOf(ns);
	const x = Math.abs(ns) / u;
	const digits = u === 1 && Number.isInteger(x) ? 0 : x < 9.9995 ? 3 : x < 99.995 ? 2 : x < 999.95 ? 1 : 0;

	return (ns < 0 ? "−" : "") + x.toFixed(digits) + " " + name;
}

/* A point in time with as many decimals as steps of @step need: 12.345 678 s. */
export function point(ns: number, step: number): string {
	const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
	const text = (Math.abs(ns) / 1e9).toFixed(decimals);
	const [whole, part] = text.split(".");
	const grouped = part ? whole + "." + part.replace(/(\d{3})(?=\d)/g, "$1\u2009") : whole;

	return (ns < 0 ? "−" : "") + grouped + " s";
}

export const exact = (ns: number): string => count(Math.round(ns)) + " ns";

export function count(x: number): string {
	return Number.isInteger(x) ? String(x).replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009") : x.toPrecision(4);
}

/* At most four characters and a letter: for places where there is little room. */
export function short(x: number): string {
	const size = Math.abs(x);

	for (const [u, name] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as [number, string][])
		if (size >= u)
			return (x / u).toPrecision(3).replace(/\.?0+$/, "") + name;
	return Number.isInteger(x) ? String(x) : x.toPrecision(3);
}

export function bytes(x: number): string {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let i = 0;

	for (; Math.abs(x) >= 999.5 && i + 1 < units.length; i++)
		x /= 1024;
	return (Number.isInteger(x) ? String(x) : x.toPrecision(3)) + " " + units[i];
}

/* The value of a counter in its unit. */
export function amount(x: number, unit: string): string {
	if (unit === "bytes")
		return bytes(x);
	if (unit === "bytes/s")
		return bytes(x) + "/s";
	return (Number.isInteger(x) ? count(x) : x.toPrecision(4)) + (unit ? " " + unit : "");
}

export const percent = (part: number, whole: number): string => whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "–";

/* "12.5ms", "3 s", "400" (ns), "1.5e6": nanoseconds, or NaN. */
export function parseTime(text: string): number {
	const m = /^\s*(-?[\d.\u2009 ]+(?:e[+-]?\d+)?)\s*(ns|us|µs|ms|s|min)?\s*$/i.exec(text);
	const scale: Record<string, number> = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, min: 60e9 };

	return m ? Number(m[1].replace(/[\u2009 ]/g, "")) * scale[(m[2] ?? "s").toLowerCase()] : NaN;
}

/* Steps of 1, 2, 5 times a power of ten. */
export function niceStep(least: number): number {
	const power = 10 ** Math.floor(Math.log10(least));

	for (const m of [1, 2, 5])
		if (m * power >= least * (1 - 1e-9))
			return m * power;
	return 10 * power;
}
