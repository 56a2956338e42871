// read.mjs REPORT.sqlite FOLDER - every file of FOLDER, read by hyparquet, against the table in the report.
// Exits with 1 and says so when a table, a value or a limit in the metadata differs.
import { execFileSync } from 'child_process'
import fs from 'fs'
import { createRequire } from 'module'
import path from 'path'
import { pathToFileURL } from 'url'

const [, , report, folder, modules] = process.argv
const from = createRequire(path.join(path.resolve(modules), 'x.js'))
const load = async name => import(pathToFileURL(from.resolve(name)))
const { parquetMetadata, parquetReadObjects } = await load('hyparquet')
const { compressors } = await load('hyparquet-compressors')

const sql = text => execFileSync('sqlite3', [report, text], { maxBuffer: 2 ** 30 }).toString().split('\n').slice(0, -1)
const name = text => '"' + text.replaceAll('"', '""') + '"'
const quoted = text => "'" + text.replaceAll("'", "''") + "'"
const spell = v => v === null || v === undefined ? 'N' : typeof v === 'bigint' ? 'I' + v
  : typeof v === 'number' ? 'R' + v : 'B' + Buffer.from(v).toString('hex').toUpperCase()
// The shell's spelling of a real, as JavaScript would have it.
const real = text => text[0] === 'R' ? 'R' + Number(text.slice(1).replace(/Inf$/, 'Infinity')) : text

let rowCount = 0
let wrong = 0
const complain = (...words) => { console.log(...words); wrong++ }

function limits(meta, columns, rows) {
  let first = 0
  for (const group of meta.row_groups) {
    const part = rows.slice(first, first += Number(group.num_rows))
    columns.forEach((column, i) => {
      const { statistics, type } = group.columns[i].meta_data
      const there = part.map(row => row[column.name]).filter(v => v !== null && v !== undefined)
      if (Number(statistics.null_count) !== part.length - there.length) complain(column.name, 'null_count')
      if (type === 'BYTE_ARRAY' || there.length === 0) return
      let min = there[0], max = there[0]
      for (const v of there) { if (v < min) min = v; if (v > max) max = v }
      // == and not ===: 0 is equal to -0
      if (statistics.min_value != min || statistics.max_value != max)
        complain(column.name, 'limits', statistics, min, max)
    })
  }
  if (first !== rows.length) complain('rows of groups', first, rows.length)
}

const files = fs.readdirSync(folder).map(f => f.replace(/\.parquet$/, ''))
const tables = sql("SELECT name FROM sqlite_master WHERE (type = 'table' AND name NOT LIKE 'sqlite_%') OR name = 'SAMPLING_CALLCHAINS'")
  .filter(t => sql(`SELECT EXISTS (SELECT 1 FROM ${name(t)})`)[0] === '1')
if (files.toSorted().join() !== tables.toSorted().join()) complain('files', files, 'tables', tables)
for (const table of files) {
  const bytes = fs.readFileSync(path.join(folder, table + '.parquet'))
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
  const meta = parquetMetadata(file)
  const columns = meta.schema.slice(1)
  const rows = await parquetReadObjects({ file, compressors, utf8: false })
  const declared = sql(`SELECT name FROM pragma_table_info(${quoted(table)})`)
  if (columns.map(c => c.name).join() !== declared.join()) complain(table, 'columns')
  const select = columns.map(c => c.type === 'INT64' ? `coalesce('I' || ${name(c.name)}, 'N')`
    : c.type === 'DOUBLE' ? `CASE WHEN ${name(c.name)} IS NULL THEN 'N' ELSE 'R' || printf('%!.17g', ${name(c.name)}) END`
      : `CASE WHEN ${name(c.name)} IS NULL THEN 'N' ELSE 'B' || hex(${name(c.name)}) END`).join(" || '|' || ")
  const want = sql(`SELECT ${select} FROM ${name(table)}`)
  if (want.length !== rows.length || Number(meta.num_rows) !== want.length) complain(table, rows.length, 'rows, not', want.length)
  const differs = want.findIndex((line, i) =>
    line.split('|').map(real).join('|') !== columns.map(c => spell(rows[i]?.[c.name])).map(real).join('|'))
  if (differs >= 0) complain(table, 'row', differs, want[differs], rows[differs])
  limits(meta, columns, rows)
  rowCount += rows.length
}
console.log(`${files.length} files, ${rowCount} rows`)
process.exit(wrong ? 1 : 0)
