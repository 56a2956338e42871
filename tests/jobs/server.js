// Node: server.js KIND bad|good, a server and its clients in one process, or a job alone.
const crypto = require('crypto'), fs = require('fs'), http = require('http');
const [kind, how] = process.argv.slice(2), bad = how === 'bad';
const rows = Array.from({ length: 2000 }, (_, i) => ({ id: i, name: 'row ' + i, tags: ['a', 'b'] }));

function hash() { // a key is derived in the event loop
	return crypto.pbkdf2Sync('secret', 'salt', bad ? 30000 : 10, 32, 'sha256'); // CULPRIT hash
}
function clone() { // a deep copy by way of text
	let n = 0;
	for (let i = 0; i < (bad ? 250 : 1); i++) n += JSON.parse(JSON.stringify(rows)).length; // CULPRIT clone
	return n;
}
function write() { // a synchronous write and sync for each record
	const fd = fs.openSync('out', 'w');
	for (let i = 0; i < (bad ? 60 : 1); i++) { fs.writeSync(fd, 'record '.repeat(2000)); fs.fsyncSync(fd); } // CULPRIT write
}
function serve() {
	const server = http.createServer((req, res) => { hash(); res.end('ok'); });
	let left = 20;
	server.listen(0, '127.0.0.1', () => {
		for (let i = 0; i < 20; i++)
			http.get({ port: server.address().port, agent: false }, (res) => res.resume().on('end', () => { if (--left === 0) server.close(); }));
	});
}
({ hash: serve, clone, write })[kind]();
console.log('done');
