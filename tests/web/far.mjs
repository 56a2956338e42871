/* far.mjs - a connection to a server of `sightline view` that takes a while for each answer, as an ssh tunnel may. */
import net from 'node:net';

const PART = 8192, WAITING_MS = 50; /* what the link takes in ahead of time, as buffers of sockets do */

/*
 * What comes in goes on half a round later, in both directions, and counts: bodies, heads, what is asked. Answers share a link that
 * carries @rate bytes in a millisecond; what it has no room for stays with the server, and is not sent once the page has closed.
 */
export function delaying(port, roundMs, rate = Infinity) {
	const counted = { bytes: 0 };
	let free = 0;
	const server = net.createServer((near) => {
		const far = net.connect(port, '127.0.0.1');
		const pass = (from, to, slow) => {
			const parts = []; /* timers that are due at once run in any order */
			const later = () => roundMs / 2 + (slow ? Math.max(0, free - performance.now()) : 0);

			from.on('data', (chunk) => {
				counted.bytes += chunk.length;
				for (let at = 0; at < chunk.length; at += PART) {
					parts.push(chunk.subarray(at, at + PART));
					if (slow)
						free = Math.max(free, performance.now()) + parts.at(-1).length / rate;
					setTimeout(() => { const part = parts.shift(); to.destroyed || to.write(part); }, later());
				}
				const late = free - performance.now() - WAITING_MS;

				if (slow && late > 0) {
					from.pause();
					setTimeout(() => from.resume(), late);
				}
			});
			from.on('close', () => setTimeout(() => to.destroy(), later()));
			from.on('error', () => {});
			from.setNoDelay(true);
		};

		pass(near, far, false);
		pass(far, near, rate < Infinity);
	});

	return new Promise((done) => server.listen(0, '127.0.0.1', () => done({ port: server.address().port, counted, close: () => server.close() })));
}
