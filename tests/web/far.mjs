/* far.mjs - a connection to a server of `sightline view` that takes a while for each answer, as an ssh tunnel may. */
import net from 'node:net';

/* What comes in goes on half a round later, in both directions, and counts: bodies, heads, what is asked. */
export function delaying(port, roundMs) {
	const counted = { bytes: 0 };
	const server = net.createServer((near) => {
		const far = net.connect(port, '127.0.0.1');
		const pass = (from, to) => {
			from.on('data', (chunk) => {
				counted.bytes += chunk.length;
				setTimeout(() => to.destroyed || to.write(chunk), roundMs / 2);
			});
			from.on('close', () => setTimeout(() => to.destroy(), roundMs / 2));
			from.on('error', () => {});
			from.setNoDelay(true);
		};

		pass(near, far);
		pass(far, near);
	});

	return new Promise((done) => server.listen(0, '127.0.0.1', () => done({ port: server.address().port, counted, close: () => server.close() })));
}
