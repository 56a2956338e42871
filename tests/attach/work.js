// work.js - compresses and hashes on the threads of its pool, and makes the calls it is asked for. Status 7: each result was right.
const fs = require('fs'), zlib = require('zlib'), crypto = require('crypto'), readline = require('readline')
const data = Buffer.alloc(200000, 'abcdefg'), zero = fs.openSync('/dev/zero', 'r'), byte = Buffer.alloc(1)
const first = crypto.createHash('sha1').update(zlib.deflateSync(data)).digest('hex')
let ends = false, wrong = false
function once() {
	if (ends) return
	zlib.deflate(data, (error, packed) => {
		wrong = wrong || error || crypto.createHash('sha1').update(packed).digest('hex') !== first
		setImmediate(once)
	})
}
for (let i = 0; i < 3; i++) once()
const lines = readline.createInterface({ input: process.stdin })
lines.on('line', line => {
	for (let n = Number(line.split(' ')[1]); n > 0; n--) fs.readSync(zero, byte, 0, 1, 0)
	console.log('called')
})
lines.on('close', () => { ends = true; process.exit(wrong ? 1 : 7) })
console.log('ready')
