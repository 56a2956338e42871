/* keys.ts - every command once: its words, its keys, its action. Help and the list of commands are made from it. */
import { signal } from "@preact/signals";
import * as a from "./actions";
import * as m from "./model";
import { scrollTo } from "./stage";
import { pointer } from "./overlay";
import { pan, redo, showAll, undo, view, zoom, showWithin } from "./view";
import * as theme from "./theme";
import { searched } from "./colours";
import { nextStep } from "./steps";
import { copyLink } from "./url";
import { saveChrome, savePng, saveSvg } from "./save";

export interface Command { group: string; keys: string[]; label: string; run: (e: { shiftKey: boolean }) => void; repeat?: boolean }

const times = (e: { shiftKey: boolean }): number => e.shiftKey ? 5 : 1;
const middle = (): number => pointer.inside ? pointer.x : view.width / 2;
const focusInput = (id: string): void => { (document.getElementById(id) as HTMLInputElement | null)?.focus(); };

export function openPane(name: string): void {
	m.pane.value = name;
	m.paneOpen.value = true;
}

export function startSearch(): void {
	m.searchOpen.value = true;
	setTimeout(() => focusInput("search"), 0);
}

/*
 * W, A, S, D, digits and keys without a character are places on the keyboard (KeyboardEvent.code). All other keys are the characters
 * that the keyboard types; a letter whose key is one of the four places has its usual place instead.
 */
export const commands: Command[] = [
	{ group: "View", keys: ["KeyW"], label: "Zoom in at the pointer (Shift: 5×)", run: (e) => zoom(0.8 ** times(e), middle()), repeat: true },
	{ group: "View", keys: ["KeyS"], label: "Zoom out (Shift: 5×)", run: (e) => zoom(1.25 ** times(e), middle()), repeat: true },
	{ group: "View", keys: ["KeyA"], label: "Move to earlier times (Shift: 5×)", run: (e) => pan(-view.width * 0.08 * times(e)), repeat: true },
	{ group: "View", keys: ["KeyD"], label: "Move to later times (Shift: 5×)", run: (e) => pan(view.width * 0.08 * times(e)), repeat: true },
	{ group: "View", keys: ["KeyF"], label: "Fit the selection; again: everything", run: () => a.fit() },
	{ group: "View", keys: ["Digit0", "Home"], label: "Show everything", run: () => showAll() },
	{ group: "View", keys: ["KeyG"], label: "Go to a time", run: () => { m.dialog.value = "goto"; } },
	{ group: "View", keys: ["Ctrl+KeyZ"], label: "Back to the view before", run: () => { if (!undo()) a.say("There is no earlier view."); } },
	{ group: "View", keys: ["Ctrl+KeyY"], label: "Forth again", run: () => { if (!redo()) a.say("There is no later view."); } },
	{ group: "View", keys: ["KeyL"], label: "Follow a report that grows", run: () => { m.follow.value = !m.follow.value; a.say(m.follow.value ? "Following" : "Not following"); } },
	{ group: "Events", keys: ["ArrowRight"], label: "Next event in the row", run: () => void a.step(1), repeat: true },
	{ group: "Events", keys: ["ArrowLeft"], label: "Previous event in the row", run: () => void a.step(-1), repeat: true },
	{ group: "Events", keys: ["Enter"], label: "Details; a closed group opens", run: () => enter() },
	{ group: "Events", keys: ["BracketRight"], label: "Along the arrow", run: () => void a.alongArrow(1) },
	{ group: "Events", keys: ["BracketLeft"], label: "Back along the arrow", run: () => void a.alongArrow(-1) },
	{ group: "Events", keys: ["KeyX"], label: "Critical path of the main thread: show or hide", run: () => { m.path.value = !m.path.value; a.say(m.path.value ? "The critical path is drawn" : "No path"); } },
	{ group: "Events", keys: ["Period"], label: "Next step: the next event of this name in the row", run: () => void a.sameName(1), repeat: true },
	{ group: "Events", keys: ["Comma"], label: "Previous step", run: () => void a.sameName(-1), repeat: true },
	{ group: "Events", keys: ["Shift+Period"], label: "Next step of the strip", run: () => { if (!nextStep(1)) a.say("The report has no steps."); }, repeat: true },
	{ group: "Events", keys: ["Shift+Comma"], label: "Previous step of the strip", run: () => { if (!nextStep(-1)) a.say("The report has no steps."); }, repeat: true },
	{ group: "Events", keys: ["KeyZ"], label: "Zoom to the selected event", run: () => { const e = m.selected.value; if (e) showWithin(e.start, e.end); } },
	{ group: "Events", keys: ["Escape"], label: "Back: dialog, measure, span, selection, search", run: () => a.escape() },
	{ group: "Search", keys: ["Slash", "Ctrl+KeyF"], label: "Search names", run: () => startSearch() },
	{ group: "Search", keys: ["KeyN"], label: "Next match (Shift: previous)", run: (e) => void a.searchNext(e.shiftKey ? -1 : 1), repeat: true },
	{ group: "Span", keys: ["KeyR"], label: "Select a span by dragging", run: () => { m.mode.value = "select"; a.say("Drag to select a span"); } },
	{ group: "Span", keys: ["KeyM"], label: "Measure by dragging", run: () => { m.mode.value = m.mode.value === "measure" ? "select" : "measure"; m.measure.value = null; } },
	{ group: "Span", keys: ["Shift+KeyM"], label: "Measure from the selected event; again: to the next selected one", run: () => a.measureFromSelection() },
	{ group: "Span", keys: ["KeyT"], label: "Snap to edges: on or off", run: () => { m.snap.value = !m.snap.value; a.say(m.snap.value ? "Snaps to edges" : "Does not snap"); } },
	{ group: "Span", keys: ["KeyE"], label: "Select what is on the screen as a span", run: () => a.setRange(view.start, view.start + view.width * view.scale, null) },
	{ group: "Rows", keys: ["ArrowDown"], label: "Next row", run: () => a.moveRow(1), repeat: true },
	{ group: "Rows", keys: ["ArrowUp"], label: "Previous row", run: () => a.moveRow(-1), repeat: true },
	{ group: "Rows", keys: ["PageDown"], label: "Ten rows down", run: () => a.moveRow(10), repeat: true },
	{ group: "Rows", keys: ["PageUp"], label: "Ten rows up", run: () => a.moveRow(-10), repeat: true },
	{ group: "Rows", keys: ["Space"], label: "Open or close the row", run: () => toggleRow() },
	{ group: "Rows", keys: ["KeyC"], label: "Close all; again: open", run: () => a.collapseAll() },
	{ group: "Rows", keys: ["KeyP"], label: "Pin the row at the top", run: () => a.pin(m.current.value) },
	{ group: "Rows", keys: ["KeyH"], label: "Hide the row", run: () => a.hide(m.current.value) },
	{ group: "Rows", keys: ["Shift+KeyH"], label: "Show all hidden rows", run: () => a.unhideAll() },
	{ group: "Rows", keys: ["Alt+ArrowUp"], label: "Move the row up", run: () => a.shiftRow(m.current.value, -1), repeat: true },
	{ group: "Rows", keys: ["Alt+ArrowDown"], label: "Move the row down", run: () => a.shiftRow(m.current.value, 1), repeat: true },
	{ group: "Rows", keys: ["F2"], label: "Name the row", run: () => { if (m.current.value) m.dialog.value = "rename"; } },
	{ group: "Rows", keys: ["KeyI"], label: "Filter rows", run: () => focusInput("filter") },
	{ group: "Page", keys: ["KeyQ"], label: "Lower pane: show or hide", run: () => { m.paneOpen.value = !m.paneOpen.value; } },
	{ group: "Page", keys: ["Digit6"], label: "Findings", run: () => openPane("findings") },
	{ group: "Page", keys: ["Digit5"], label: "Events: a list with a filter", run: () => { openPane("events"); setTimeout(() => focusInput("events"), 0); } },
	{ group: "Page", keys: ["Digit1"], label: "Details", run: () => openPane("details") },
	{ group: "Page", keys: ["Digit2"], label: "Tables of the span", run: () => openPane("tables") },
	{ group: "Page", keys: ["Digit3"], label: "Flame graph of the span", run: () => openPane("flame") },
	{ group: "Page", keys: ["Digit4"], label: "SQL", run: () => openPane("sql") },
	{ group: "Page", keys: ["KeyB"], label: "A note here, or on the chosen span", run: () => { m.dialog.value = "note"; } },
	{ group: "Page", keys: ["KeyU"], label: "Copy a link to this view", run: () => copyLink() },
	{ group: "Page", keys: ["Ctrl+KeyK"], label: "All commands", run: () => { m.dialog.value = "commands"; } },
	{ group: "Page", keys: ["Shift+Slash"], label: "This help", run: () => { m.dialog.value = m.dialog.value === "help" ? "" : "help"; } },
	{ group: "Page", keys: [], label: "Theme: light", run: () => theme.choose("light") },
	{ group: "Page", keys: [], label: "Theme: dark", run: () => theme.choose("dark") },
	{ group: "Page", keys: [], label: "Theme: as the system", run: () => theme.choose("auto") },
	{ group: "Save", keys: [], label: "Save the picture as PNG", run: () => void savePng() },
	{ group: "Save", keys: [], label: "Save the picture as SVG", run: () => saveSvg() },
	{ group: "Save", keys: [], label: "Save the span as Chrome JSON, which ui.perfetto.dev reads", run: () => void saveChrome() },
];

function toggleRow(): void {
	const row = m.current.value;

	if (row && !row.kids.length && row.parent) {
		m.current.value = row.parent;
		a.toggle(row.parent, false);
		scrollTo(row.parent);
	} else
		a.toggle(row);
}

function enter(): void {
	const row = m.current.value;

	if (m.selected.value)
		openPane("details");
	else if (row?.kids.length && !row.open)
		a.toggle(row);
	else
		void a.step(1);
}

const PLACES = new Set(["KeyW", "KeyA", "KeyS", "KeyD"]);
const CHARACTERS: Record<string, string> = { "]": "BracketRight", "[": "BracketLeft", ".": "Period", ",": "Comma", "/": "Slash", "?": "Shift+Slash", ">": "Shift+Period", "<": "Shift+Comma" };
const byKey = new Map(commands.flatMap((c) => c.keys.map((k) => [k, c] as const)));

/* Keys by their usual names, the likeliest first: of a character, then of the place that it was typed at. */
export function chords(e: KeyboardEvent): string[] {
	const isAltGr = e.getModifierState("AltGraph");
	const ctrl = (e.ctrlKey || e.metaKey) && !isAltGr, alt = e.altKey && !isAltGr;
	const plain = !ctrl && !alt;
	const heads = (ctrl ? "Ctrl+" : "") + (alt ? "Alt+" : "");
	const shift = heads + (e.shiftKey ? "Shift+" : "");
	const letter = /^[a-z]$/i.test(e.key) ? "Key" + e.key.toUpperCase() : "";
	const isPlace = plain && PLACES.has(e.code);

	if (plain && e.key in CHARACTERS)
		return [CHARACTERS[e.key]];
	/* A place that types something else is not the place of "/" or ".". */
	const place = /^(Slash|Period|Comma|Bracket)/.test(e.code) ? [] : [shift + e.code, ...(plain ? [e.code] : [])];
	const typed = letter && !isPlace && !(plain && PLACES.has(letter)) ? [shift + letter, ...(plain ? [letter] : [])] : [];

	return ctrl && letter ? [shift + letter] : [...typed, ...place];
}

export const commandOf = (e: KeyboardEvent): Command | undefined => chords(e).map((k) => byKey.get(k)).find(Boolean);

/* What the keys of this keyboard type, by place; empty where the browser keeps that to itself. */
export const layout = signal(new Map<string, string>());

export function readLayout(): void {
	const keyboard = (navigator as unknown as { keyboard?: { getLayoutMap(): Promise<Map<string, string>> } }).keyboard;

	keyboard?.getLayoutMap().then((map) => { layout.value = new Map(map); }, () => {});
}

/* The letter on the key that a command with this letter has. */
function letterOf(letter: string): string {
	const at = (code: string): string => (layout.value.get(code) ?? code.slice(3)).toUpperCase();
	const taken = [...PLACES].find((code) => at(code) === letter);

	return PLACES.has("Key" + letter) || taken ? at("Key" + letter) : letter;
}

/* The label of a key on this keyboard. */
export const keyName = (key: string): string => key.replace(/^((?:Shift\+|Alt\+)?)Key(.)$/, (_all, head: string, letter: string) => head + letterOf(letter)).replace(/Key|Digit/, "")
	.replace("BracketRight", "]").replace("BracketLeft", "[").replace("Shift+Period", ">").replace("Shift+Comma", "<").replace("Period", ".")
	.replace("Comma", ",").replace("Shift+Slash", "?").replace("Slash", "/").replace("Escape", "Esc").replace("ArrowRight", "→").replace("ArrowLeft", "←")
	.replace("ArrowUp", "↑").replace("ArrowDown", "↓").replace("PageDown", "PgDn").replace("PageUp", "PgUp");

function typing(e: KeyboardEvent): boolean {
	const el = e.composedPath()[0];

	return el instanceof HTMLElement && (/^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) || el.isContentEditable);
}

export function listenKeys(): void {
	readLayout();
	addEventListener("keydown", (e) => {
		if (typing(e)) {
			/* Leaves the field and keeps its text: N goes to the next match. */
			if (e.code === "Escape" && !m.dialog.value && !e.defaultPrevented) {
				e.preventDefault();
				searched("");
				document.querySelector<HTMLElement>(".scroll")?.focus();
			}
			return;
		}
		const el = e.target as HTMLElement;

		if ((e.code === "Enter" || e.code === "Space") && /^(BUTTON|A|SUMMARY)$/.test(el.tagName))
			return;
		if (m.dialog.value && e.code !== "Escape" && e.key !== "?")
			return;
		const command = commandOf(e);

		if (!command || (e.repeat && !command.repeat))
			return;
		e.preventDefault();
		command.run(e);
	});
}
