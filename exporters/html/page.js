/* page.js - charts, sorting, folding. The page can be read without any of it. */
(function () {
"use strict";

const root = document.documentElement;
const all = (what, from) => [...(from || document).querySelectorAll(what)];
root.classList.add("js");

/* ---- numbers for people; the same spellings as in the tables ---- */

function digits(x) {
	const size = Math.abs(x);

	if (x === Math.floor(x) && size < 1000)
		return String(x);
	return x.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

function bytes(x) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let i = 0;

	for (; Math.abs(x) >= 999.5 && i + 1 < units.length; i++)
		x /= 1024;
	return digits(x) + " " + units[i];
}

const formats = {
	percent: (x) => digits(+x.toFixed(1)) + " %",
	count: (x) => String(+x.toFixed(2)),
	bytes: bytes,
	rate: (x) => bytes(x) + "/s",
	watt: (x) => digits(x) + " W",
};

/* Seconds, with as many decimals as steps of @step need. */
function time(x, step, largest) {
	const [size, unit] = largest >= 1 ? [1, "s"] : largest >= 1e-3 ? [1e-3, "ms"] :
		largest >= 1e-6 ? [1e-6, "\u00b5s"] : [1e-9, "ns"];
	const decimals = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));

	return (x / size).toFixed(Math.min(decimals, 9)) + " " + unit;
}

/* ---- charts ---- */

const made = [];
const colour = (i) => getComputedStyle(root).getPropertyValue("--c" + i).trim();
const paint = (name) => () => getComputedStyle(root).getPropertyValue(name).trim();

/* What the cursor is at, in words. */
function tip(lines) {
	const box = document.createElement("div");

	box.className = "tip";
	box.hidden = true;
	return {
		hooks: {
			init: (u) => u.over.append(box),
			setCursor: (u) => {
				const i = u.cursor.idx;

				box.hidden = i == null || u.cursor.left < 0 || !u.over.matches(":hover");
				if (box.hidden)
					return;
				box.replaceChildren();
				for (const [text, k] of lines(u, i)) {
					const line = document.createElement(k == null ? "b" : "span");

					if (k != null)
						line.className = "k" + k;
					line.textContent = text;
					box.append(line);
				}
				const right = u.cursor.left > u.over.clientWidth / 2;

				box.style.left = right ? "" : u.cursor.left + 14 + "px";
				box.style.right = right ? u.over.clientWidth - u.cursor.left + 14 + "px" : "";
				box.style.top = "4px";
			},
		},
	};
}

function axis(more) {
	return Object.assign({
		stroke: paint("--quiet"),
		grid: {stroke: paint("--faint"), width: 1},
		ticks: {stroke: paint("--line"), width: 1, size: 4},
		font: "12px system-ui, sans-serif",
		gap: 4,
	}, more);
}

function value_axis(chart) {
	const powers = [];

	for (let i = 0; i < 62; i++)
		powers.push(2 ** i);
	return axis(Object.assign({
		size: 74,
		space: 26,
		values: (u, splits) => splits.map(formats[chart.unit]),
	}, chart.unit === "bytes" || chart.unit === "rate" ? {incrs: powers} : {}));
}

/* Zero at the bottom; the top as the page sets it, unless there is more than rounding above it. */
function value_range(chart) {
	return (u, least, most) => [0, most <= chart.max * 1.01 ? Math.max(chart.max, most) : most * 1.05 || 1];
}

/* Stacked values: each series stands on those before it. */
function pile(chart, shown) {
	const sum = new Array(chart.series[0].values.length).fill(0);

	return chart.series.map((s, k) => {
		if (shown[k])
			s.values.forEach((v, i) => { sum[i] += v; });
		return sum.slice();
	});
}

function time_chart(chart, place, page) {
	const stacked = chart.kind.includes("stacked");
	const shown = chart.series.map(() => true);
	const xs = [];
	const largest = Math.max(Math.abs(page.from), Math.abs(page.from + page.bins * page.width));

	/* A step per bin; the last one needs its end. */
	for (let i = 0; i <= page.bins; i++)
		xs.push(page.from + i * page.width);
	for (const s of chart.series)
		s.values.push(s.values[s.values.length - 1]);
	/* Of a stack the highest is painted first: the lower ones cover what is theirs. */
	const order = stacked ? (list) => list.reverse() : (list) => list;
	const data = () => [xs, ...order(stacked ? pile(chart, shown) : chart.series.map((s) => s.values))];
	const at = (u, i) => [
		[time(xs[i], page.width, largest)],
		...chart.series.map((s, k) => [s.name + ": " + (s.values[i] == null ? "not known" : formats[chart.unit](s.values[i])), s.colour])
			.filter((line, k) => shown[k]),
	];
	const u = new uPlot({
		width: place.clientWidth,
		height: chart.kind.includes("stacked") ? 220 : 150,
		legend: {show: false},
		padding: [8, 22, 0, 0],
		cursor: {y: false, points: {show: false}, sync: {key: "time"}, drag: {x: true, y: false}},
		scales: {x: {time: false}, y: {range: value_range(chart)}},
		axes: [
			axis({
				size: 30,
				space: 80,
				values: (u, splits, k, space, step) => splits.map((x) => time(x, step, largest)),
			}),
			value_axis(chart),
		],
		series: [{}, ...order(chart.series.map((s) => ({
			label: s.name,
			stroke: () => colour(s.colour),
			fill: s.fill ? () => colour(s.colour) + (stacked ? "" : "40") : undefined,
			width: stacked ? 0 : 1.25,
			paths: uPlot.paths.stepped({align: 1}),
			points: {show: false},
		})))],
		plugins: [tip(at)],
	}, data(), place);

	return {u, toggle: (k) => {
		shown[k] = !shown[k];
		if (stacked)
			u.setData(data(), false);
		u.setSeries(stacked ? chart.series.length - k : k + 1, {show: shown[k]});
		return shown[k];
	}};
}

function histogram(chart, place) {
	const cnt = chart.labels.length - 1;
	const xs = Array.from({length: cnt}, (v, i) => i);
	const pair = chart.series.length > 1;
	const edges = (u) => {
		const every = Math.max(1, Math.ceil(cnt * 64 / Math.max(64, u.width - 98)));

		return chart.labels.map((v, i) => i).filter((i) => i % every === 0).map((i) => i - 0.5);
	};
	const at = (u, i) => [
		[chart.apart && i === 0 ? chart.labels[0] : chart.labels[i] + " \u2013 " + chart.labels[i + 1]],
		...chart.series.map((s) => [formats[chart.unit](s.values[i]) + " " + s.name, s.colour]),
	];
	const u = new uPlot({
		width: place.clientWidth,
		height: 240,
		legend: {show: false},
		padding: [8, 24, 0, 0],
		cursor: {x: false, y: false, points: {show: false}, drag: {x: false, y: false}},
		scales: {x: {time: false, range: [-0.6, cnt - 0.4]}, y: {range: value_range(chart)}},
		axes: [
			axis({size: 30, splits: edges, grid: {show: false}, values: (u, splits) => splits.map((x) => chart.labels[x + 0.5])}),
			value_axis(chart),
		],
		series: [{}, ...chart.series.map((s, k) => ({
			label: s.name,
			stroke: () => colour(s.colour),
			fill: () => colour(s.colour),
			width: 0,
			paths: uPlot.paths.bars({size: [pair ? 0.42 : 0.8, 80], align: pair ? (k ? 1 : -1) : 0}),
			points: {show: false},
		}))],
		plugins: [tip(at)],
	}, [xs, ...chart.series.map((s) => s.values)], place);

	return {u, toggle: (k) => {
		u.setSeries(k + 1, {show: !u.series[k + 1].show});
		return u.series[k + 1].show;
	}};
}

/* What the colours mean; a click takes a series out and puts it back. */
function legend(chart, drawn, figure) {
	const list = document.createElement("div");

	list.className = "legend";
	chart.series.forEach((s, k) => {
		const button = document.createElement("button");

		button.type = "button";
		button.className = "k" + s.colour;
		button.textContent = s.name;
		button.setAttribute("aria-pressed", "true");
		button.addEventListener("click", () => button.setAttribute("aria-pressed", String(drawn.toggle(k))));
		list.append(button);
	});
	figure.querySelector("figcaption").append(list);
}

function draw_charts() {
	const text = document.getElementById("data");
	const page = text && JSON.parse(text.textContent);

	if (!page || typeof uPlot === "undefined")
		return;
	for (const chart of page.charts) {
		const figure = document.getElementById(chart.id);
		const place = figure.querySelector(".plot");
		const drawn = chart.kind === "histogram" ? histogram(chart, place) : time_chart(chart, place, page);

		legend(chart, drawn, figure);
		made.push(drawn.u);
		new ResizeObserver(() => {
			if (place.clientWidth && place.clientWidth !== drawn.u.width)
				drawn.u.setSize({width: place.clientWidth, height: drawn.u.height});
		}).observe(place);
	}
	const again = () => made.forEach((u) => u.redraw());

	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
	/* Paper is light. */
	addEventListener("beforeprint", () => { root.classList.add("print"); again(); });
	addEventListener("afterprint", () => { root.classList.remove("print"); again(); });
}

/* ---- tables ---- */

function key(row, column) {
	const cell = row.cells[column];

	return cell.dataset.v !== undefined ? parseFloat(cell.dataset.v) : cell.textContent.trim();
}

/* What is empty stands last, whichever the direction. */
function compare(a, b, up) {
	if (a === "" || b === "")
		return (a === "") - (b === "");
	const order = typeof a === "number" && typeof b === "number" ? a - b :
		String(a).localeCompare(String(b), undefined, {numeric: true});

	return up ? order : -order;
}

function sortable(table) {
	const body = table.tBodies[0];
	const rows = [...body.rows];

	all("thead th", table).forEach((head, column) => {
		const number = rows.some((row) => row.cells[column].classList.contains("n"));
		const button = document.createElement("button");

		head.classList.toggle("n", number);
		button.type = "button";
		button.append(...head.childNodes);
		head.append(button);
		/* First the largest number or the first word, then the other way round, then as it was. */
		button.addEventListener("click", () => {
			const turns = number ? ["descending", "ascending", null] : ["ascending", "descending", null];
			const turn = turns[turns.indexOf(head.getAttribute("aria-sort")) + 1] || turns[0];
			const next = head.getAttribute("aria-sort") === turns[1] ? null : turn;

			all("th[aria-sort]", table).forEach((th) => th.removeAttribute("aria-sort"));
			if (next)
				head.setAttribute("aria-sort", next);
			body.append(...(next ? [...rows].sort((a, b) =>
				compare(key(a, column), key(b, column), next === "ascending")) : rows));
		});
	});
}

/* ---- flame graph: a click on a frame makes it as wide as the page ---- */

function zoomable(graph) {
	const frames = all("svg", graph).map((box) => ({
		box,
		x: parseFloat(box.getAttribute("x")),
		w: parseFloat(box.getAttribute("width")),
		y: parseFloat(box.getAttribute("y")),
	}));
	let zoomed = null;

	function zoom(to) {
		const x = to ? to.x : 0, w = to ? to.w : 100;

		for (const f of frames) {
			const above = to && f.y < to.y && f.x <= x + 1e-6 && f.x + f.w >= x + w - 1e-6;
			const below = f.x >= x - 1e-6 && f.x + f.w <= x + w + 1e-6 && (!to || f.y >= to.y);
			const wide = above ? 100 : f.w * 100 / w;

			f.box.classList.toggle("gone", !above && !below);
			f.box.setAttribute("x", (above ? 0 : (f.x - x) * 100 / w) + "%");
			f.box.setAttribute("width", wide + "%");
			if (wide > 1.5 && !f.box.querySelector("text")) {
				const text = document.createElementNS("http://www.w3.org/2000/svg", "text");

				text.setAttribute("x", 4);
				text.setAttribute("y", 13);
				text.textContent = f.box.querySelector("title").textContent.split("\n")[0];
				f.box.append(text);
			}
		}
		zoomed = to;
	}
	for (const f of frames)
		f.box.addEventListener("click", () => zoom(f === zoomed ? null : f));
	searchable(graph, frames);
}

/* What does not match fades; how much does: a match below another is part of it. */
function searchable(graph, frames) {
	const line = document.createElement("p"), input = document.createElement("input");
	const found = document.createElement("output");

	input.type = "search";
	input.placeholder = "Find functions";
	input.setAttribute("aria-label", "Find functions");
	line.className = "flame-search";
	line.append(input, " ", found);
	graph.parentElement.before(line);
	input.addEventListener("input", () => {
		const word = input.value.trim().toLowerCase(), hits = [];

		for (const f of frames) {
			const name = f.box.querySelector("title").textContent.split("\n")[0].toLowerCase();
			const hit = word && name.includes(word);

			f.box.classList.toggle("miss", Boolean(word) && !hit);
			if (hit && !hits.some((h) => f.y > h.y && f.x >= h.x - 1e-6 && f.x + f.w <= h.x + h.w + 1e-6))
				hits.push(f);
		}
		found.textContent = word ? hits.reduce((sum, f) => sum + f.w, 0).toFixed(1) + " %" : "";
	});
}

/* ---- the rest ---- */

/* Long names show two lines until they are clicked. */
function foldable(name) {
	if (name.scrollHeight <= name.clientHeight + 2)
		return;
	name.classList.add("long");
	name.addEventListener("click", () => {
		if (!String(getSelection()))
			name.classList.toggle("open");
	});
}

/* The contents mark the section in view. */
function follow() {
	const links = new Map(all("nav a").map((a) => [a.getAttribute("href").slice(1), a]));
	const seen = new Set();
	const watch = new IntersectionObserver((entries) => {
		for (const e of entries)
			seen[e.isIntersecting ? "add" : "delete"](e.target.id);
		const first = [...links.keys()].find((id) => seen.has(id));

		links.forEach((a, id) => a.toggleAttribute("aria-current", id === first));
	}, {rootMargin: "-15% 0px -60% 0px"});

	all("main > section").forEach((section) => watch.observe(section));
}

draw_charts();
all(".scroll table").forEach(sortable);
all(".flame").forEach(zoomable);
all(".name").forEach(foldable);
follow();
})();
