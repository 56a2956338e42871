/* save.ts - the picture as PNG or SVG, the span as Chrome's JSON. */
import * as m from "./model";
import * as theme from "./theme";
import { complain, lanesIn } from "./actions";
import { postBlob, Refused } from "./net";
import { dur, point } from "./format";
import { stage, MINIMAP, AXIS } from "./stage";
import { shown, view } from "./view";

export function download(blob: Blob, name: string): void {
	const a = document.createElement("a");
	const url = URL.createObjectURL(blob);

	a.href = url;
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const base = (): string => (m.sources.value[0]?.path ?? "timeline").replace(/.*\//, "").replace(/\.sqlite$/, "");

interface Line { text: string; y: number; x: number; bold: boolean }

const nameOf = (row: m.Row): string => row.counter ? `${row.name}, ${m.scaleText(row)}` : row.ids ? `${row.name}  ${row.ids}` : row.name;

/* Names of rows in sight, with their places below the axis. */
function rowNames(): Line[] {
	const lines: Line[] = [];
	const pins = m.pinned.value;

	for (const p of pins.rows)
		lines.push({ text: nameOf(p.row), x: 8, y: p.y + p.height / 2, bold: true });
	for (const p of m.placed.value.rows) {
		const y = p.y - stage.scrollTop + p.height / 2;

		if (y > 4 && y < stage.height - 4)
			lines.push({ text: nameOf(p.row), x: 8 + 12 * (p.row.level - 1), y: y + pins.height, bold: p.row.kids.length > 0 });
	}
	return lines;
}

const CAPTION = 24;

/* Which report and which time it is. */
function caption(g: CanvasRenderingContext2D): void {
	const { t0, t1 } = shown();
	const title = m.sources.value.map((s) => s.name === s.path.replace(/.*\//, "") ? s.name : `${s.name} · ${s.path.replace(/.*\//, "")}`).join(" | ");

	g.fillStyle = theme.paint().text;
	g.font = "600 12px system-ui, sans-serif";
	g.textBaseline = "middle";
	g.fillText(`${title} · ${point(t0, view.scale)} to ${point(t1, view.scale)}, ${dur(t1 - t0)}`, 8, CAPTION / 2, stage.gutter + view.width - 16);
}

function picture(): HTMLCanvasElement {
	const c = stage.canvases!;
	const dpr = stage.dpr;
	const out = document.createElement("canvas");
	const pins = m.pinned.value.height;
	const height = CAPTION + MINIMAP + AXIS + pins + stage.height;

	out.width = (stage.gutter + view.width) * dpr;
	out.height = height * dpr;
	const g = out.getContext("2d")!;

	g.scale(dpr, dpr);
	g.fillStyle = theme.css(theme.paint().page);
	g.fillRect(0, 0, stage.gutter + view.width, height);
	caption(g);
	g.translate(0, CAPTION);
	const put = (canvas: HTMLCanvasElement, y: number, h: number): void => {
		if (h > 0)
			g.drawImage(canvas, stage.gutter, y, view.width, h);
	};

	put(c.minimap, 0, MINIMAP);
	put(c.axis, MINIMAP, AXIS);
	put(c.pins, MINIMAP + AXIS, pins);
	put(c.rows, MINIMAP + AXIS + pins, stage.height);
	put(c.overlay, MINIMAP + AXIS, pins + stage.height);
	g.fillStyle = theme.paint().text;
	g.textBaseline = "middle";
	g.beginPath();
	g.rect(0, 0, stage.gutter - 4, height);
	g.clip();
	for (const line of rowNames()) {
		g.font = `${line.bold ? "600 " : ""}12px system-ui, sans-serif`;
		g.fillText(line.text, line.x, MINIMAP + AXIS + line.y);
	}
	return out;
}

export async function savePng(): Promise<void> {
	const blob = await new Promise<Blob | null>((done) => picture().toBlob(done, "image/png"));

	if (blob)
		download(blob, base() + ".png");
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/* Names as text, the drawn rows as a picture inside. */
export function saveSvg(): void {
	const height = CAPTION + MINIMAP + AXIS + m.pinned.value.height + stage.height, width = stage.gutter + view.width;
	const { t0, t1 } = shown();
	const names = rowNames().map((l) => `<text x="${l.x}" y="${CAPTION + MINIMAP + AXIS + l.y + 4}"${l.bold ? ' font-weight="600"' : ""}>${escaped(l.text)}</text>`);
	const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">
<title>${escaped(base())}: ${Math.round(t0)} to ${Math.round(t1)} ns</title>
<image width="${width}" height="${height}" href="${picture().toDataURL("image/png")}"/>
<g fill="none" stroke="none">${names.join("")}</g>
</svg>
`;

	download(new Blob([svg], { type: "image/svg+xml" }), base() + ".svg");
}

/* The notes in the span are instants of the trace. */
async function withNotes(blob: Blob, s: m.Source, t0: number, t1: number): Promise<Blob> {
	const notes = m.marks.value.filter((k) => (k.source ?? 0) === s.index && k.t < t1 && (k.t1 ?? k.t) >= t0);

	if (!notes.length)
		return blob;
	const json = JSON.parse(await blob.text()) as { traceEvents: unknown[] };

	for (const k of notes)
		json.traceEvents.push({ ph: k.t1 === undefined ? "i" : "X", s: "g", name: k.text || "note", cat: "note", pid: 0, tid: 0, ts: (k.t - s.offset) / 1000, ...(k.t1 === undefined ? {} : { dur: (k.t1 - k.t) / 1000 }) });
	return new Blob([JSON.stringify(json)], { type: "application/json" });
}

export async function saveChrome(): Promise<void> {
	const { t0, t1 } = m.range.value ?? shown();

	try {
		for (const s of m.sources.value) {
			const lanes = lanesIn(s.index, m.rangeRows.value);

			if (lanes)
				download(await withNotes(await postBlob("save", { r: s.index }, { from: Math.floor(t0 - s.offset), to: Math.ceil(t1 - s.offset), lanes }), s, t0, t1), base() + ".json");
		}
	} catch (e) {
		complain(e instanceof Refused && e.status === 501 ? new Error("This version of sightline view cannot save that: sightline export --format=chrome can.") : e);
	}
}
