/*
 * sql.ts - the editor of the SQL console, a script of its own: it is read when the console is opened. It sits in a shadow
 * root, where its styles are style sheets of the document's making, as the page's security policy wants.
 */
import { autocompletion, acceptCompletion, closeBrackets } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { sql, SQLite } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export interface Editor { text(): string; set(text: string): void; theme(dark: boolean): void; focus(): void }

const look = (dark: boolean) => {
	const c = dark ? { text: "#e4e9ef", ground: "#10151b", quiet: "#9ca8b5", line: "#303a45", word: "#ff9db0", string: "#9ee37d", number: "#8ec7ff", select: "#2c4a6b" }
		: { text: "#1c2128", ground: "#ffffff", quiet: "#57606a", line: "#d7dde3", word: "#a3195b", string: "#1a6b1a", number: "#0b5cad", select: "#cfe0f6" };

	return [
		EditorView.theme({
			"&": { color: c.text, backgroundColor: c.ground, height: "100%", fontSize: "13px" },
			".cm-content": { fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace", caretColor: c.text },
			".cm-cursor": { borderLeftColor: c.text },
			".cm-gutters": { color: c.quiet, backgroundColor: c.ground, borderRight: `1px solid ${c.line}` },
			"&.cm-focused": { outline: "none" },
			"&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection": { backgroundColor: c.select },
			".cm-placeholder": { color: c.quiet },
			".cm-tooltip": { backgroundColor: c.ground, color: c.text, border: `1px solid ${c.line}` },
			".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: c.select, color: c.text },
		}, { dark }),
		syntaxHighlighting(HighlightStyle.define([
			{ tag: tags.keyword, color: c.word }, { tag: [tags.string, tags.special(tags.string)], color: c.string }, { tag: [tags.number, tags.bool, tags.null], color: c.number },
			{ tag: tags.comment, color: c.quiet, fontStyle: "italic" }, { tag: tags.typeName, color: c.number },
		])),
	];
};

export function mount(host: HTMLElement, text: string, schema: Record<string, string[]>, dark: boolean, run: () => void): Editor {
	const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
	const themes = new Compartment();
	const editor = new EditorView({
		root,
		parent: root,
		state: EditorState.create({
			doc: text,
			extensions: [
				keymap.of([{ key: "Mod-Enter", run: () => { run(); return true; } }, { key: "Tab", run: acceptCompletion }]),
				lineNumbers(), history(), bracketMatching(), closeBrackets(), autocompletion({ activateOnTyping: true }), EditorView.lineWrapping,
				placeholder("SELECT … — Ctrl+Enter runs it"),
				sql({ dialect: SQLite, schema, upperCaseKeywords: true }),
				EditorView.contentAttributes.of({ "aria-label": "SQL statement" }),
				keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
				themes.of(look(dark)),
			],
		}),
	});

	return {
		text: () => editor.state.doc.toString(),
		set: (next) => editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: next } }),
		theme: (isDark) => editor.dispatch({ effects: themes.reconfigure(look(isDark)) }),
		focus: () => editor.focus(),
	};
}
