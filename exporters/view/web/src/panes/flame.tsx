/* flame.tsx - stacks of the span as a flame graph: the width is the share, callers above what they call. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import * as m from "../model";
import * as theme from "../theme";
import { complain, lanesIn } from "../actions";
import { post, type FlameJson } from "../net";
import { count, dur, percent } from "../format";
import { FONT, prepare } from "../draw";
import { RangeHead, useRange } from "./range";

interface Node { name: string; module: string; total: number; self: number; parent: number; kids: number[]; depth: number; x: number }
interface Graph { nodes: Node[]; unit: string; deepest: number }

const graph = signal<Graph | null>(null);
const empty = signal("");
const root = signal(0);
const over = signal(-1);
const LINE = 18;
let stop: AbortController | null = null;

function build(json: FlameJson): Graph {
	const nodes: Node[] = json.nodes.map(([parent, name, module, total, self]) => ({ name, module, total, self, parent, kids: [], depth: 0, x: 0 }));
	let deepest = 0;

	nodes.forEach((n, i) => { if (i && nodes[n.parent]) nodes[n.parent].kids.push(i); });
	nodes.forEach((n, i) => {
		if (i)
			n.depth = nodes[n.parent].depth + 1;
		deepest = Math.max(deepest, n.depth);
		n.kids.sort((a, b) => nodes[b].total - nodes[a].total);
		let x = n.x;

		for (const k of n.kids) {
			nodes[k].x = x;
			x += nodes[k].total;
		}
	});
	if (nodes[0])
		nodes[0].name = nodes[0].name || "all";
	return { nodes, unit: json.unit, deepest };
}

/* Callers below what they call: the tree of the functions that take the time themselves. */
function inverted(json: FlameJson): FlameJson {
	const nodes: FlameJson["nodes"] = [[-1, "all", "", json.total, 0]];
	const kids = new Map<string, number>();

	json.nodes.forEach(([, , , , self], i) => {
		if (i === 0 || self <= 0)
			return;
		let at = 0;

		for (let up = i; up > 0; up = json.nodes[up][0]) {
			const [, name, module] = json.nodes[up];
			const key = `${at} ${name} ${module}`;
			let to = kids.get(key);

			if (to === undefined) {
				to = nodes.push([at, name, module, 0, 0]) - 1;
				kids.set(key, to);
			}
			nodes[to][3] += self;
			at = to;
		}
		nodes[at][4] += self;
	});
	return { ...json, nodes };
}

const isPython = (module: string): boolean => /\.py$|^python|\.py:/.test(module);

/* Without frames of other languages: what they take is their Python caller's. */
function pythonOnly(json: FlameJson): FlameJson {
	const nodes: FlameJson["nodes"] = [[...json.nodes[0]]];
	const to = [0], kids = new Map<string, number>();

	json.nodes.forEach(([parent, name, module, total, self], i) => {
		if (i === 0)
			return;
		const up = to[parent];

		if (!isPython(module)) {
			to[i] = up;
			nodes[up][4] += self;
			return;
		}
		const key = `${up} ${name} ${module}`;
		let own = kids.get(key);

		if (own === undefined) {
			own = nodes.push([up, name, module, 0, 0]) - 1;
			kids.set(key, own);
		}
		nodes[own][3] += total;
		nodes[own][4] += self;
		to[i] = own;
	});
	return { ...json, nodes };
}

const answer = signal<FlameJson | null>(null);
const of = signal(0);        /* report */
const weight = signal<"flame" | "flame_calls">("flame");
const shape = signal({ inverted: false, python: false });
const wanted = signal("");

function redraw(): void {
	let json = answer.value;

	if (!json)
		return;
	if (shape.value.python)
		json = pythonOnly(json);
	if (shape.value.inverted)
		json = inverted(json);
	root.value = 0;
	over.value = -1;
	graph.value = build(json);
}

async function read(t0: number, t1: number): Promise<void> {
	stop?.abort();
	const { signal: given } = stop = new AbortController();

	try {
		const there = m.sources.value.filter((x) => lanesIn(x.index, m.rangeRows.value));
		const s = there.find((x) => x.index === of.value) ?? there[0];

		if (!s)
			return;
		of.value = s.index;
		const json = await post<FlameJson>("select", { r: s.index }, { from: Math.floor(t0 - s.offset), to: Math.ceil(t1 - s.offset), lanes: lanesIn(s.index, m.rangeRows.value), table: weight.value }, given);

		answer.value = json;
		redraw();
		empty.value = json.total > 0 ? "" : "There are no stacks in this span: neither CPU samples nor calls with stacks.";
	} catch (e) {
		if (!given.aborted)
			complain(e);
	}
}

const amountOf = (g: Graph, v: number): string => g.unit === "ns" ? dur(v) : `${count(v)} ${g.unit}`;

interface Box { i: number; x: number; w: number; y: number }

/* What is at least half a pixel wide, below the node that fills the width; its callers above it. */
function layout(g: Graph, width: number): Box[] {
	const top = g.nodes[root.value];
	const boxes: Box[] = [];

	for (let up = top.parent; up >= 0 && g.nodes[up]; up = g.nodes[up].parent)
		boxes.push({ i: up, x: 0, w: width, y: g.nodes[up].depth * LINE });
	const scale = top.total > 0 ? width / top.total : 0;
	const todo = [root.value];

	for (let i = todo.pop(); i !== undefined; i = todo.pop()) {
		const n = g.nodes[i];
		const w = n.total * scale;

		if (w < 0.5)
			continue;
		boxes.push({ i, x: (n.x - top.x) * scale, w, y: n.depth * LINE });
		todo.push(...n.kids);
	}
	return boxes;
}

function draw(canvas: HTMLCanvasElement, g: Graph): Box[] {
	const width = canvas.parentElement!.clientWidth - 2;
	const c = prepare(canvas, width, (g.deepest + 1) * LINE + 2, Math.min(devicePixelRatio || 1, 3));
	const boxes = layout(g, width);

	c.clearRect(0, 0, width, canvas.height);
	c.font = FONT;
	c.textBaseline = "middle";
	const find = wanted.value.toLowerCase();

	for (const b of boxes) {
		const n = g.nodes[b.i];
		const colour = b.i === 0 ? theme.oklch(theme.dark.value ? 0.4 : 0.85, 0.01, 250) : theme.nameColour(n.name, isPython(n.module) ? "python" : "sample", theme.dark.value);

		c.globalAlpha = find && b.i > 0 && !n.name.toLowerCase().includes(find) ? 0.3 : 1;
		c.fillStyle = theme.css(colour);
		c.fillRect(b.x, b.y, Math.max(b.w - 0.6, 0.4), LINE - 1);
		if (b.i === over.value) {
			c.strokeStyle = theme.paint().text;
			c.strokeRect(b.x + 0.5, b.y + 0.5, b.w - 1.5, LINE - 2);
		}
		if (b.w < 28)
			continue;
		const fits = Math.floor((b.w - 8) / 6);

		c.fillStyle = theme.inkOn(colour);
		c.fillText(n.name.length > fits ? n.name.slice(0, Math.max(1, fits - 1)) + "…" : n.name, b.x + 4, b.y + LINE / 2, b.w - 6);
	}
	return boxes;
}

function Canvas({ g }: { g: Graph }) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const boxes = useRef<Box[]>([]);
	const at = (e: MouseEvent): number => boxes.current.find((b) => e.offsetX >= b.x && e.offsetX < b.x + b.w && e.offsetY >= b.y && e.offsetY < b.y + LINE)?.i ?? -1;
	const widest = (parent: number): number => g.nodes[parent]?.kids[0] ?? -1;

	const key = (e: KeyboardEvent): void => {
		const i = over.value < 0 ? root.value : over.value;
		const around = g.nodes[g.nodes[i].parent]?.kids ?? [];
		const beside = (by: number): number => around[around.indexOf(i) + by] ?? i;
		const to: Record<string, number> = { ArrowDown: widest(i), ArrowUp: g.nodes[i].parent, ArrowRight: beside(1), ArrowLeft: beside(-1) };

		if (e.code in to) {
			if (to[e.code] >= 0)
				over.value = to[e.code];
		} else if (e.code === "Enter")
			root.value = i;
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	};
	useEffect(() => { if (canvas.current) boxes.current = draw(canvas.current, g); });
	root.value;
	over.value;
	wanted.value;
	theme.dark.value;
	m.paneHeight.value;
	return <canvas ref={canvas} class="flame" tabIndex={0} role="img" aria-label="Flame graph: arrow keys walk, Enter makes a function fill the width" onKeyDown={key}
		onMouseMove={(e) => { over.value = at(e); }} onMouseLeave={() => { over.value = -1; }} onClick={(e) => { const i = at(e); if (i >= 0) root.value = i; }} />;
}

/* The share of the whole whose stacks have a function of that name. */
function found(g: Graph): number {
	const find = wanted.value.toLowerCase();
	const inside = new Set<number>();
	let sum = 0;

	g.nodes.forEach((n, i) => {
		if (inside.has(n.parent))
			inside.add(i);
		else if (i > 0 && n.name.toLowerCase().includes(find)) {
			inside.add(i);
			sum += n.total;
		}
	});
	return sum;
}

function Tools({ g }: { g: Graph }) {
	const again = (): void => { if (m.range.value) void read(m.range.value.t0, m.range.value.t1); };
	const toggle = (key: "inverted" | "python"): void => {
		shape.value = { ...shape.value, [key]: !shape.value[key] };
		redraw();
	};

	return (
		<>
			{m.sources.value.length > 1 && <select aria-label="Report" value={of.value} onChange={(e) => { of.value = Number(e.currentTarget.value); again(); }}>{m.sources.value.map((s) => <option value={s.index}>{s.path.replace(/.*\//, "")}</option>)}</select>}
			<select aria-label="Weight" value={weight.value} onChange={(e) => { weight.value = e.currentTarget.value as "flame"; again(); }}><option value="flame">CPU samples</option><option value="flame_calls">time of calls</option></select>
			<button class={`act${shape.value.inverted ? " on" : ""}`} aria-pressed={shape.value.inverted} onClick={() => toggle("inverted")}>Inverted</button>
			<button class={`act${shape.value.python ? " on" : ""}`} aria-pressed={shape.value.python} onClick={() => toggle("python")}>Python only</button>
			<input type="search" aria-label="Find a function" placeholder="find a function" value={wanted.value} onInput={(e) => { wanted.value = e.currentTarget.value; }} />
			{wanted.value && <span class="quiet">{percent(found(g), g.nodes[0].total)}</span>}
		</>
	);
}

export function Flame() {
	useRange(read, () => { graph.value = null; });
	const g = graph.value;

	if (!m.range.value)
		return <p class="hint">Drag over rows of threads to choose a span: its stacks come here.</p>;
	if (empty.value || !g)
		return <p class="hint">{empty.value || "Reading…"}</p>;
	const n = g.nodes[over.value >= 0 ? over.value : root.value];

	return (
		<div class="flamebox">
			<p class="line"><RangeHead /> · <b>{n?.name}</b> <span class="quiet">{n?.module}</span> {n && <>{amountOf(g, n.total)}, {percent(n.total, g.nodes[0].total)} · self {amountOf(g, n.self)}</>}
				<Tools g={g} />
				{root.value !== 0 && <> <button class="link" onClick={() => { root.value = 0; }}>whole graph</button></>}</p>
			<Canvas g={g} />
		</div>
	);
}
