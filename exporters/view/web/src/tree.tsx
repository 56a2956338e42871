/* tree.tsx - the names beside the rows: a tree, of which only what is in sight is in the page. */
import { signal } from "@preact/signals";
import * as m from "./model";
import type { Placed, Row } from "./model";
import { hide, pin, reorder, toggle } from "./actions";
import { closeOwnRow } from "./ownrows";
import { cssOf, findings, goToFinding, type Finding } from "./causes";
import { count, dur, percent } from "./format";
import { stage } from "./stage";

export const scrolled = signal({ top: 0, height: 400 });
const dragged = signal<Row | null>(null);
const target = signal<Row | null>(null);

export const rowId = (row: Row): string => `row-${row.source}-${row.id < 0 ? "r" + -row.id : row.id}`;

const siblingsOf = (row: Row): Row[] => row.parent ? row.parent.kids : m.roots.value;

function title(row: Row): string {
	const of = [row.about, row.ids].filter(Boolean).join(" ");
	const parts = [`${row.joined ? "process" : m.KIND[row.kind] ?? row.kind}: ${row.full}${of ? ` (${of})` : ""}`];

	if (row.events)
		parts.push(`${count(row.events)} events` + (row.busy ? `, busy ${dur(row.busy)}` : ""));
	return parts.join("\n");
}

const CUT = new Set(["gpu", "file"]);

/* Of names that differ in how they end, as those of GPUs and files do, the middle gives way. */
function Cut({ name }: { name: string }) {
	const [, front, end] = /^(.+)(.{9})$/su.exec(name) ?? [];

	return end ? <span class="cut"><span>{front}</span><span>{end}</span></span> : <>{name}</>;
}

function Item({ placed, top, pinned }: { placed: Placed; top: number; pinned: boolean }) {
	const { row } = placed;
	const isCurrent = m.current.value === row;
	const siblings = siblingsOf(row);
	const at = siblings.indexOf(row) + 1; /* 0: a row of the page's own */
	const group = row.kids.length > 0;

	return (
		<div role="treeitem" id={pinned ? undefined : rowId(row)} class={`row${group || row.kind === "thread" ? " group" : ""}${isCurrent ? " current" : ""}${row.kind === "why" || row.kind === "query" ? " own" : ""}${target.value === row ? " target" : ""}`}
			style={{ top: `${placed.y - top}px`, height: `${placed.height}px`, paddingLeft: `${4 + (pinned ? 0 : (row.level - 1) * 11)}px` }} title={title(row)}
			aria-level={row.level} aria-expanded={group ? row.open : undefined} aria-selected={isCurrent} aria-setsize={at > 0 ? siblings.length : undefined} aria-posinset={at > 0 ? at : undefined}
			draggable onDragStart={() => { dragged.value = row; }} onDragEnd={() => { dragged.value = target.value = null; }}
			onDragOver={(e) => { if (dragged.value && dragged.value.parent === row.parent) { e.preventDefault(); target.value = row; } }}
			onDrop={(e) => { e.preventDefault(); if (dragged.value && dragged.value !== row) reorder(dragged.value, row); target.value = null; }}
			onClick={() => { m.current.value = row; }} onDblClick={() => toggle(row)}>
			{group ? <button class="twist" tabIndex={-1} aria-label={row.open ? "Close" : "Open"} onClick={(e) => { e.stopPropagation(); toggle(row); m.current.value = row; }}>{row.open ? "▾" : "▸"}</button>
				: <span class="twist" />}
			<span class="name">{pinned && row.parent && <span class="about">{row.parent.name} › </span>}{!pinned && CUT.has(row.kind) ? <Cut name={row.name} /> : row.name}{row.counter && <span class="scale">{m.scaleText(row)}</span>}</span>
			{row.about && <span class="about">{row.about}</span>}
			{row.ids && <span class="about ids">{row.ids}</span>}
			<span class="tools">
				{row.kind !== "query" && row.kind !== "why" && <button tabIndex={-1} aria-label={row.pinned ? "Unpin" : "Pin"} title={row.pinned ? "Unpin (P)" : "Pin (P)"} class={row.pinned ? "on" : ""} onClick={(e) => { e.stopPropagation(); pin(row); }}>⚲</button>}
				{row.kind === "query" && <button tabIndex={-1} aria-label="Close" title="Close" onClick={(e) => { e.stopPropagation(); closeOwnRow(row); }}>✕</button>}
				{!pinned && <button tabIndex={-1} aria-label="Hide" title="Hide (H)" onClick={(e) => { e.stopPropagation(); hide(row); }}>✕</button>}
			</span>
		</div>
	);
}

/* A finding: its line leads to its worst place. */
function FindingItem({ placed, finding, number }: { placed: Placed; finding: Finding; number: number }) {
	const { row } = placed;
	const { json } = finding;

	return (
		<div role="treeitem" aria-level={1} class="row finding own" style={{ top: `${placed.y}px`, height: `${placed.height}px` }} title={row.full}>
			<button class="link" tabIndex={-1} onClick={() => goToFinding(finding)} disabled={json.start === undefined}>
				<i style={{ background: cssOf(json) }} /><span class="nr">{number}</span>
				<span class="what"><b>{percent(json.share, 1)}</b> {json.text}</span><span class="where">{row.about}</span>
			</button>
		</div>
	);
}

export function PinnedNames() {
	const of = new Map(findings.value.map((f) => [f.own, f]));
	let number = 0;

	if (of.size)
		return <>{m.pinned.value.rows.map((p) => {
			const f = of.get(p.row);

			return f ? <FindingItem key={p.row.key} placed={p} finding={f} number={++number} /> : <Item key={p.row.key + p.row.source} placed={p} top={0} pinned />;
		})}</>;
	return <>{m.pinned.value.rows.map((p) => <Item key={p.row.key + p.row.source} placed={p} top={0} pinned />)}</>;
}

export function Names() {
	const { top, height } = scrolled.value;
	const rows = m.placed.value.rows.filter((p) => p.y + p.height > top - 60 && p.y < top + Math.max(height, stage.height) + 60);

	return <>{rows.map((p) => <Item key={p.row.key + p.row.source} placed={p} top={0} pinned={false} />)}</>;
}
