/*
 * raster.ts - rectangles of a lane to one line of pixels. The line is scaled to the height of the row when it is drawn,
 * so a frame costs the same for ten rectangles and for sixty thousand.
 *
 * A rectangle of a pixel or more covers whole pixels in its colour. Narrower rectangles share a pixel, which takes the colour of the
 * rectangle that covers most of it, and the more of it is covered the stronger. No rectangle is ever left out.
 */
import { RECT_AFTER, RECT_EXACT, RECT_INSTANT } from "./flags";
import type { Tile } from "./tiles";

const FAINTEST = 0.4;

let covered = new Float32Array(4096);
let heaviest = new Float32Array(4096);
let heaviestColour = new Uint32Array(4096);

function room(width: number): void {
	if (covered.length >= width)
		return;
	covered = new Float32Array(width * 2);
	heaviest = new Float32Array(width * 2);
	heaviestColour = new Uint32Array(width * 2);
}

/* @a over @b with @share of @a. Both opaque. */
export function mix(a: number, b: number, share: number): number {
	const s = Math.round(256 * share);
	const rb = ((a & 0xff00ff) * s + (b & 0xff00ff) * (256 - s)) >>> 8 & 0xff00ff;
	const g = ((a & 0xff00) * s + (b & 0xff00) * (256 - s)) >>> 8 & 0xff00;

	return (0xff000000 | rb | g) >>> 0;
}

export interface Line {
	out: Uint32Array; /* the pixels of the whole picture; this line begins at @at */
	at: number;
	width: number;
	page: number;     /* colour of the ground: where nothing is, the line lets it through */
}

/* A line, or the part of it from pixel @lo to @hi. */
export function beginLine(line: Line, lo = 0, hi = line.width): void {
	room(line.width);
	line.out.fill(0, line.at + lo, line.at + hi);
	covered.fill(0, lo, hi);
	heaviest.fill(0, lo, hi);
}

/*
 * One tile: its unit u lies at pixel @from + u * @unit. Only the part in [@lo, @hi) is drawn: a tile of another zoom level may
 * stand in for a part of itself. Of that, only pixels from @first to @end are written: neighbours share the pixel at their edge, so
 * that a part of a line has to be drawn from the tiles on both sides of it, whichever came first.
 */
export function addTile(line: Line, tile: Tile, from: number, unit: number, lo: number, hi: number, colours: Uint32Array, first = 0, end = line.width): void {
	const { out, at, page } = line;
	const left = Math.max(0, lo), right = Math.min(line.width, hi);

	for (let i = 0; i < tile.n; i++) {
		const l = Math.max(left, from + tile.x[i] * unit);
		const ends = from + (tile.x[i] + tile.w[i]) * unit, r = Math.min(right, ends);

		if (r < left || l >= right || r < l)
			continue;
		const colour = colours[tile.name[i]];
		const share = tile.occ[i] / 255;

		if (r - l >= 1) {
			const a = Math.round(l), b = Math.max(Math.round(r), a + 1);
			const x0 = Math.max(a, first), x1 = Math.min(b, end);

			if (x0 >= x1)
				continue;
			const full = tile.flags[i] & RECT_EXACT ? colour : mix(colour, page, FAINTEST + (1 - FAINTEST) * share);

			out.fill(full, at + x0, at + x1);
			/* An edge between neighbours, where there is room for one and the event ends in this part of the tile. */
			if (b - a >= 4 && b <= end && ends <= right && !(tile.flags[i] & RECT_AFTER))
				out[at + b - 1] = mix(full, page, 0.55);
			covered.fill(-1, x0, x1);
			continue;
		}
		const p = Math.min(Math.floor(l), line.width - 1);
		/* An event without length, as a sample or a mark, fills its pixel. */
		const weight = tile.flags[i] & RECT_INSTANT && tile.flags[i] & RECT_EXACT ? 1 : Math.max(r - l, 0.02) * (tile.flags[i] & RECT_EXACT ? 1 : Math.max(share, 0.02));

		if (p < first || p >= end || covered[p] < 0)
			continue;
		covered[p] += weight;
		if (weight > heaviest[p]) {
			heaviest[p] = weight;
			heaviestColour[p] = colour;
		}
	}
}

export function endLine(line: Line, lo = 0, hi = line.width): void {
	const { out, at, page } = line;

	for (let p = lo; p < hi; p++)
		if (covered[p] > 0)
			out[at + p] = mix(heaviestColour[p], page, FAINTEST + (1 - FAINTEST) * Math.min(1, covered[p]));
}

/* A part not read or not indexed yet: slanted lines would need height, so a dotted one. */
export function pending(line: Line, lo: number, hi: number, colour: number, first: number, end: number): void {
	for (let p = Math.max(first, Math.floor(lo)); p < Math.min(end, Math.floor(hi)); p++)
		if (p % 6 < 2)
			line.out[line.at + p] = mix(colour, line.page, 0.35);
}
