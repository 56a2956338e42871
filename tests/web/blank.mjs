/*
 * blank.mjs - pages whose pictures do not depend on the machine's fonts: every character is a blank half as wide as the font is high,
 * by a font that blank_font.py made (one glyph for all of Unicode); texts on canvases are left out.
 */
import { readFileSync } from 'node:fs';

const font = readFileSync(new URL('./blank.ttf', import.meta.url)).toString('base64');

/* Before the page is opened. */
export async function blank(page) {
	await page.addInitScript((data) => {
		const face = new FontFace('Blank', Uint8Array.from(atob(data), (c) => c.charCodeAt(0)));
		const sheet = new CSSStyleSheet();

		sheet.replaceSync('*, *::before, *::after { font-family: Blank !important; transition: none !important; caret-color: transparent !important; }');
		void face.load();
		document.fonts.add(face);
		document.adoptedStyleSheets = [sheet];
		Object.assign(CanvasRenderingContext2D.prototype, {
			fillText() {}, strokeText() {}, measureText(text) { return { width: 6 * String(text).length }; },
		});
	}, font);
}

/* The share of pixels that differ between two PNGs: 1, where their sizes do. */
export const difference = (page, a, b) => page.evaluate(async (pictures) => {
	const [x, y] = await Promise.all(pictures.map(async (text) => {
		const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], { type: 'image/png' }));
		const c = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');

		c.drawImage(bitmap, 0, 0);
		return c.getImageData(0, 0, bitmap.width, bitmap.height);
	}));
	let n = 0;

	if (x.width !== y.width || x.height !== y.height)
		return 1;
	for (let i = 0; i < x.data.length; i += 4)
		n += Math.abs(x.data[i] - y.data[i]) + Math.abs(x.data[i + 1] - y.data[i + 1]) + Math.abs(x.data[i + 2] - y.data[i + 2]) > 24;
	return 4 * n / x.data.length;
}, [a, b].map((p) => p.toString('base64')));
