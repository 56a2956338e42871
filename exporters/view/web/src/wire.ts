/* wire.ts - requests for tiles and curves, and their answers: exporters/view/answers/wire.h has the columns. */
import { PX_HOLD, PX_STEP, RECT_EXACT } from "./flags";
import { Refused } from "./net";

export const PX = 256, UNITS = PX * 16; /* of a tile; 1/16 px */
const TILES = 0x54564c53, CURVES = 0x43564c53, VERSION = 2;
const LEFT_OUT = 65535;

export interface Rects {
	n: number;
	x: Uint16Array; w: Uint16Array;   /* 1/16 px */
	name: Uint32Array;                /* place in the names of the answer; 65535: none */
	count: Uint16Array; occ: Uint8Array; flags: Uint8Array;
}
export interface Names { ids: Uint32Array; given: Uint32Array; texts: string[] }
/* null: left out */
export interface TilesAnswer { generation: number; rectangles: number; tiles: (Rects | null)[]; names: Names }
export interface CurvesAnswer { generation: number; curves: Float32Array[] } /* of each 256 smallest, largest, last */

/* Tiles that follow each other are one record. */
export function encode(tiles: { lane: number; k: number; index: number }[]): ArrayBuffer {
	const records: { lane: number; k: number; index: number; more: number }[] = [];

	for (const { lane, k, index } of tiles) {
		const last = records[records.length - 1];

		if (last && last.lane === lane && last.k === k && last.index + last.more + 1 === index && last.more < 255)
			last.more++;
		else
			records.push({ lane, k, index, more: 0 });
	}
	const body = new DataView(new ArrayBuffer(16 * records.length));

	records.forEach((r, i) => {
		body.setUint32(16 * i, r.lane, true);
		body.setUint8(16 * i + 4, r.k);
		body.setUint8(16 * i + 5, r.more);
		body.setBigInt64(16 * i + 8, BigInt(r.index), true);
	});
	return body.buffer;
}

class Columns {
	private readonly all: Uint8Array;
	private at = 32;

	constructor(private readonly answer: ArrayBuffer) {
		this.all = new Uint8Array(answer);
	}

	bytes(n: number): Uint8Array {
		this.at += n;
		return this.all.subarray(this.at - n, this.at);
	}

	/* The low bytes of all, then the higher ones. */
	words(n: number): Uint16Array {
		const low = this.bytes(n), high = this.bytes(n), to = new Uint16Array(n);

		for (let i = 0; i < n; i++)
			to[i] = low[i] | high[i] << 8;
		return to;
	}

	reals(n: number): Float32Array {
		const [a, b, c, d] = [this.bytes(n), this.bytes(n), this.bytes(n), this.bytes(n)], to = new Uint32Array(n);

		for (let i = 0; i < n; i++)
			to[i] = a[i] | b[i] << 8 | c[i] << 16 | d[i] << 24;
		return new Float32Array(to.buffer);
	}

	names(n: number): Names {
		const from = this.at + 3 & ~3;
		const ids = new Uint32Array(this.answer, from, n), given = new Uint32Array(this.answer, from + 4 * n, n);
		const offsets = new Uint32Array(this.answer, from + 8 * n, n + 1);
		const texts = this.all.subarray(from + 12 * n + 4);
		const utf8 = new TextDecoder();

		return { ids, given, texts: Array.from(ids, (_, i) => utf8.decode(texts.subarray(offsets[i], offsets[i + 1]))) };
	}
}

function head(answer: ArrayBuffer, magic: number, tiles: number): Uint32Array {
	const words = answer.byteLength >= 32 ? new Uint32Array(answer, 0, 8) : new Uint32Array(8);

	if (words[0] !== magic || words[1] !== VERSION || words[3] !== tiles)
		throw new Refused(0, "The server answers in another version: reload the page.");
	return words;
}

/* @cnt: of the tiles that were asked for. */
export function readTiles(answer: ArrayBuffer, cnt: number): TilesAnswer {
	const [, , generation, , n, m, , merged] = head(answer, TILES, cnt);
	const columns = new Columns(answer);
	const perTile = columns.words(cnt);
	const gap = columns.words(n), len = columns.words(n), name = columns.words(n), flags = columns.bytes(n);
	const count = columns.words(merged), filled = columns.bytes(merged);
	const names = columns.names(m);
	let from = 0, other = 0;

	const tiles = Array.from(perTile, (many): Rects | null => {
		if (many === LEFT_OUT)
			return null;
		const to = from + many;
		const of: Rects = {
			n: many, x: new Uint16Array(many), w: len.slice(from, to), name: Uint32Array.from(name.subarray(from, to)),
			count: new Uint16Array(many), occ: new Uint8Array(many), flags: flags.slice(from, to),
		};
		let end = 0;

		for (let i = 0; i < many; i++) {
			of.x[i] = end + gap[from + i];
			end = of.x[i] + of.w[i];
			const exact = of.flags[i] & RECT_EXACT;

			of.count[i] = exact ? 1 : count[other];
			of.occ[i] = exact ? 255 : filled[other];
			other += exact ? 0 : 1;
		}
		from = to;
		return of;
	});

	return { generation, rectangles: n, tiles, names };
}

export function readCurves(answer: ArrayBuffer, cnt: number): CurvesAnswer {
	const [, , generation, , steps, alls] = head(answer, CURVES, cnt);
	const columns = new Columns(answer);
	const px = columns.bytes(PX * cnt), step = columns.reals(steps), all = columns.reals(3 * alls);
	let s = 0, a = 0;

	const curves = Array.from({ length: cnt }, (_, tile) => {
		const of = new Float32Array(3 * PX);
		let before = NaN;

		for (let i = 0; i < PX; i++) {
			const kind = px[PX * tile + i];
			let least = before, most = before, last = before;

			if (kind === PX_STEP) {
				last = step[s++];
				const from = isNaN(before) ? last : before;

				least = from < last ? from : last;
				most = from > last ? from : last;
			} else if (kind !== PX_HOLD) {
				[least, most, last] = all.subarray(a, a + 3);
				a += 3;
			}
			of[i] = least;
			of[PX + i] = most;
			of[2 * PX + i] = last;
			before = last;
		}
		return of;
	});

	return { generation, curves };
}
