"""ranks_make.py DATASET RUN RANKS STEPS FAULT SEED [NODES [SIGHTLINE REPORT]] - a dataset of a job with one fault: prints the culprit.

With REPORT, of one rank that sightline recorded, each rank does what that did, and SIGHTLINE adds the reports (ranks_multiply.py); else
DuckDB makes up the rows:

Ranks are in groups of 4 (tensor parallel), ranks of the same place in the groups in others (data parallel). In each step of 100 ms
a rank works for 60 ms, its group reduces, then the others of its place do. Times jitter by up to 0.1 ms. A rank that is late by 1 %
of a step makes its whole group late for the second. FAULT: late, cpu, file, gpu, link, mount, missing (no table has the rank), none;
types: a GPU is slow by 1 % in a job with two types of them, of which one takes half as long again; clock: that of a node is 200 us
ahead and gains 50 ppm, and all ends jitter by up to 20 us.
"""
import json
import os
import random
import subprocess
import sys

import ranks_multiply

folder, run, ranks, steps, fault, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], int(sys.argv[6])
nodes = int(sys.argv[7]) if len(sys.argv) > 7 else 1
if len(sys.argv) > 9:
    print(ranks_multiply.multiply(sys.argv[8], sys.argv[9], folder, run, ranks, steps, fault, seed, nodes))
    sys.exit()
per_node = ranks // nodes
rng = random.Random(f'{fault} {seed}')
culprit = rng.randrange(ranks)
comm = 1000 + rng.randrange(4)  # data parallel: the slow link
gone = culprit if fault == 'missing' else -1
skewed = rng.randrange(1, nodes) if fault == 'clock' else -1
MS = 1000000
EPOCH = 1790000000 * 10**9
old = f"r % 2 = 1 AND {int(fault == 'types')}"  # ranks whose GPU is of another type, which takes half as long again
late = MS if fault in ('late', 'cpu', 'file', 'gpu') else 0
group = 4
sql = []


# @salt: another number for each use
def jitter(salt):
    return f"(hash(r * 1000003 + s * 7919 + {salt} + {seed} * 104729) % 100000)"


def shown(time):
    """What the rank's node has for it."""
    return f'(({time}) + CASE WHEN r // {per_node} = {skewed} THEN 200000 + (({time}) - {EPOCH}) // 20000 ELSE 0 END)'


def end(time, salt):
    return shown(f'({time}) + {jitter(salt)} * 2 // 5 - 20000' if fault == 'clock' else time)


def table(name, columns, source, order):
    """@columns: name = expression, of whole numbers but where it has a quote."""
    made = ', '.join(f'{e} AS "{c}"' if "'" in e else f'CAST({e} AS BIGINT) AS "{c}"' for c, e in columns.items())
    sql.append(f'CREATE TEMP TABLE made AS SELECT {made} {source};')
    for n in range(nodes):
        path = f'{folder}/{name}/run={run}/node=n{n}'
        os.makedirs(path, exist_ok=True)
        part = f'WHERE "rank" // {per_node} = {n} AND "rank" <> {gone}' if 'rank' in columns else ''
        sql.append(f"COPY (SELECT * FROM made {part} ORDER BY {order}) TO '{path}/part-0.parquet' (FORMAT parquet, COMPRESSION zstd);")
    sql.append('DROP TABLE made;')


sql.append(f"""
CREATE TABLE work AS SELECT r, s, {EPOCH} + s * {100 * MS} AS t, {60 * MS} + {jitter(1)} + CASE WHEN r = {culprit} THEN {late} ELSE 0 END AS ns
FROM range({ranks}) AS a(r), range({steps}) AS b(s);
CREATE TABLE tp AS SELECT r, s, t, ns, t + ns AS arrived, r // {group} AS g FROM work;
CREATE TABLE tpe AS SELECT *, max(arrived) OVER (PARTITION BY g, s) + 200000 AS done FROM tp;
CREATE TABLE dp AS SELECT *, done + {jitter(2)} AS arrived2, r % {group} AS place FROM tpe;
CREATE TABLE dpe AS SELECT *, max(arrived2) OVER (PARTITION BY place, s) + CASE WHEN place + 1000 = {comm} AND {int(fault == 'link')} THEN 5000000 ELSE 4000000 END AS done2,
  CASE WHEN r = {culprit} THEN {late} ELSE 0 END AS x
FROM dp;
""")
table('SL_COLLECTIVES', {'rank': 'r', 'step': 's + 1', 'commHash': 'c', 'seq': 's + 1', 'op': "'AllReduce'", 'bytes': 'b', 'nRanks': 'n', 'commRank': '0',
                         'callStart': shown('x'), 'start': shown('x'), 'end': end('y', '9 + c'), 'grouped': '1'},
      f"""FROM (SELECT r, s, 1 + g AS c, 8000000 AS b, {group} AS n, arrived AS x, done AS y FROM tpe
  UNION ALL SELECT r, s, 1000 + place, 64000000, {ranks} // {group}, arrived2, done2 FROM dpe)""", 'commHash, seq, "rank"')
table('SL_STEPS', {'rank': 'r', 'step': 's + 1', 'start': shown('t'), 'end': shown('done2'), 'gpuBusyNs': f"{50 * MS} + {jitter(3)} + x * {int(fault == 'gpu')} + done2 - t - ns",
                   'collNs': 'done2 - t - ns', 'exposedCollNs': 'done2 - t - ns', 'cpuNs': f'{20 * MS} + {jitter(4)} + x * {int(fault == "cpu")}', 'runnableNs': f'{jitter(5)} // 10',
                   'gpuNs': f'done2 - t - ns + {30 * MS} + x * {int(fault in ("gpu", "late"))}', 'fileNs': f'{10 * MS} + {jitter(6)} + x * {int(fault == "file")}', 'networkNs': '0',
                   'lockNs': '0', 'gilNs': '0', 'sleepNs': '0', 'otherNs': '0', 'dataNs': '0', 'bytesRead': '1000000', 'restart': '0'}, 'FROM dpe', '"rank", step')
table('SL_KERNELS', {'rank': 'r', 'minute': 'min(t) // 60000000000', 'name': "'gemm' || k", 'n': 'count(*)',
                     'ns': f'sum((5000000 + {jitter(7)} // 100 + CASE WHEN r = {culprit} AND {int(fault in ("gpu", "types"))} THEN 50000 ELSE 0 END) * CASE WHEN {old} THEN 3 ELSE 2 END // 2)', 'minNs': '4000000', 'maxNs': '6000000'},
      'FROM work, range(10) AS c(k) GROUP BY r, k, t // 60000000000', 'minute, name, "rank"')
table('SL_FILES', {'rank': 'r', 'minute': 'min(t) // 60000000000', 'mount': "m || ''", 'path': "m || '/shard' || (r % 8)", 'op': "'read'", 'n': 'count(*)', 'bytes': 'sum(1000000)',
                   'ns': f'sum(CASE WHEN slow AND {int(fault == "mount")} THEN 3000000 ELSE 1000000 END + {jitter(8)})', 'maxNs': f'4000000 + max({jitter(8)})'},
      "FROM work, (SELECT unnest(['/fast', '/slow', '/home']) AS m, m = '/slow' AS slow) GROUP BY r, m, t // 60000000000, slow", 'minute, path, "rank"')
table('SL_CALLS', {'rank': 'r', 'minute': '0', 'library': "'libc'", 'name': "'read'", 'n': '100', 'ns': '100000', 'maxNs': '2000'}, f'FROM range({ranks}) AS a(r)', '"rank"')
table('SL_CLOCK', {'monotonic': '0', 'realtime': f'{EPOCH}', 'isSynchronized': '1', 'errorNs': '1000', 'maxErrorNs': '2000'}, '', 'realtime')
table('SL_CLOCK_FIT', {'time': '0', 'offsetNs': '0', 'driftPpb': '0', 'errorNs': '0', 'collectives': '0', 'reference': "''", 'source': "''"}, 'LIMIT 0', 'time')
table('SL_LOST', {'rank': 'r', 'what': "'nothing'", 'n': '0'}, f'FROM range({ranks}) AS a(r)', '"rank"')
table('SL_RANKS', {'rank': 'r', 'localRank': 'r % 8', 'worldSize': f'{ranks}', 'restart': '0', 'source': "'RANK'", 'host': f"'host' || (r // {min(8, per_node)})", 'pid': '100 + r',
                   'gpuUuid': "'gpu' || r", 'gpuName': f"CASE WHEN {old} THEN 'A100' ELSE 'H100' END", 'start': f'{EPOCH}', 'end': f'{EPOCH + steps * 100 * MS}', 'steps': f'{steps}', 'collectives': f'{steps * 2}', 'complete': '1',
                   'lost': '0', 'clockErrorNs': '2000', 'report': "'r.sqlite'", 'version': "'1'", 'ncclRank': 'r'},
      f'FROM range({ranks}) AS a(r)', '"rank"')
subprocess.run(['duckdb', '-init', '/dev/null', '-bail'], input='\n'.join(sql), text=True, check=True, stdout=subprocess.DEVNULL)
os.makedirs(f'{folder}/_nodes/run={run}', exist_ok=True)
for node in range(nodes):
    with open(f'{folder}/_nodes/run={run}/node=n{node}.json', 'w', encoding='utf-8') as f:
        json.dump({'run': run, 'node': f'n{node}', 'job': None, 'start': EPOCH + seed, 'end': EPOCH, 'maxErrorNs': 2000, 'ranks': [], 'files': []}, f)
print({'link': comm, 'mount': '/slow', 'clock': f'n{skewed}'}.get(fault, culprit))
