"""ranks_make.py DATASET RUN RANKS STEPS FAULT SEED - a dataset of a job with one fault, by DuckDB: prints the culprit.

Ranks are in groups of 4 (tensor parallel), ranks of the same place in the groups in others (data parallel). In each step of 100 ms
a rank works for 60 ms, its group reduces, then the others of its place do. Times jitter by up to 0.1 ms. A rank that is late by 1 %
of a step makes its whole group late for the second. FAULT: late, cpu, file, gpu, link, mount, missing, none.
"""
import json
import os
import random
import subprocess
import sys

folder, run, ranks, steps, fault, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], int(sys.argv[6])
rng = random.Random(f'{fault} {seed}')
culprit = rng.randrange(ranks)
comm = 1000 + rng.randrange(4)  # data parallel: the slow link
MS = 1000000
EPOCH = 1790000000 * 10**9
late = MS if fault in ('late', 'cpu', 'file', 'gpu') else 0
group = 4


def folders(table):
    path = f'{folder}/{table}/run={run}/node=n0'
    os.makedirs(path, exist_ok=True)
    return path + '/part-0.parquet'


# @salt: another number for each use
def jitter(salt):
    return f"(hash(r * 1000003 + s * 7919 + {salt} + {seed} * 104729) % 100000)"


sql = f"""
CREATE TABLE work AS SELECT r, s, {EPOCH} + s * {100 * MS} AS t, {60 * MS} + {jitter(1)} + CASE WHEN r = {culprit} THEN {late} ELSE 0 END AS ns
FROM range({ranks}) AS a(r), range({steps}) AS b(s);
CREATE TABLE tp AS SELECT r, s, t, ns, t + ns AS arrived, r // {group} AS g FROM work;
CREATE TABLE tpe AS SELECT *, max(arrived) OVER (PARTITION BY g, s) + 200000 AS done FROM tp;
CREATE TABLE dp AS SELECT *, done + {jitter(2)} AS arrived2, r % {group} AS place FROM tpe;
CREATE TABLE dpe AS SELECT *, max(arrived2) OVER (PARTITION BY place, s) + CASE WHEN place + 1000 = {comm} AND {int(fault == 'link')} THEN 5000000 ELSE 4000000 END AS done2
FROM dp;
COPY (SELECT CAST(r AS BIGINT) AS rank, CAST(s + 1 AS BIGINT) AS step, CAST(c AS BIGINT) AS commHash, CAST(s + 1 AS BIGINT) AS seq, 'AllReduce' AS op,
  CAST(b AS BIGINT) AS bytes, CAST(n AS BIGINT) AS nRanks, CAST(0 AS BIGINT) AS commRank, CAST(x AS BIGINT) AS callStart, CAST(x AS BIGINT) AS start, CAST(y AS BIGINT) AS "end", CAST(1 AS BIGINT) AS grouped FROM (
  SELECT r, s, 1 + g AS c, 8000000 AS b, {group} AS n, arrived AS x, done AS y FROM tpe
  UNION ALL SELECT r, s, 1000 + place, 64000000, {ranks} // {group}, arrived2, done2 FROM dpe)
  ORDER BY commHash, seq, rank) TO '{folders('SL_COLLECTIVES')}' (FORMAT parquet, COMPRESSION zstd);
COPY (SELECT CAST(r AS BIGINT) AS rank, CAST(s + 1 AS BIGINT) AS step, CAST(t AS BIGINT) AS start, CAST(done2 AS BIGINT) AS "end",
  CAST({50 * MS} + {jitter(3)} + x * {int(fault == 'gpu')} AS BIGINT) + CAST(done2 - t - ns AS BIGINT) AS gpuBusyNs, CAST(done2 - t - ns AS BIGINT) AS collNs, CAST(done2 - t - ns AS BIGINT) AS exposedCollNs,
  CAST({20 * MS} + {jitter(4)} + x * {int(fault == 'cpu')} AS BIGINT) AS cpuNs, CAST({jitter(5)} // 10 AS BIGINT) AS runnableNs,
  CAST(done2 - t - ns + {30 * MS} + x * {int(fault in ('gpu', 'late'))} AS BIGINT) AS gpuNs, CAST({10 * MS} + {jitter(6)} + x * {int(fault == 'file')} AS BIGINT) AS fileNs, CAST(0 AS BIGINT) AS networkNs,
  CAST(0 AS BIGINT) AS lockNs, CAST(0 AS BIGINT) AS gilNs, CAST(0 AS BIGINT) AS sleepNs, CAST(0 AS BIGINT) AS otherNs, CAST(0 AS BIGINT) AS dataNs, CAST(1000000 AS BIGINT) AS bytesRead
  FROM (SELECT *, CASE WHEN r = {culprit} THEN {late} ELSE 0 END AS x FROM dpe) ORDER BY rank, step) TO '{folders('SL_STEPS')}' (FORMAT parquet, COMPRESSION zstd);
COPY (SELECT CAST(r AS BIGINT) AS rank, CAST((min(t)) // 60000000000 AS BIGINT) AS minute, 'gemm' || k AS name, count(*) AS n, CAST(sum(5000000 + {jitter(7)} // 100 + CASE WHEN r = {culprit} AND {int(fault == 'gpu')} THEN 50000 ELSE 0 END) AS BIGINT) AS ns,
  CAST(4000000 AS BIGINT) AS minNs, CAST(6000000 AS BIGINT) AS maxNs FROM work, range(10) AS c(k) GROUP BY r, k, t // 60000000000 ORDER BY 2, 3, 1) TO '{folders('SL_KERNELS')}' (FORMAT parquet, COMPRESSION zstd);
COPY (SELECT CAST(r AS BIGINT) AS rank, CAST(min(t) // 60000000000 AS BIGINT) AS minute, m AS mount, m || '/shard' || (r % 8) AS path, 'read' AS op, count(*) AS n, CAST(sum(1000000) AS BIGINT) AS bytes,
  CAST(sum(CASE WHEN m = '/slow' AND {int(fault == 'mount')} THEN 3000000 ELSE 1000000 END + {jitter(8)}) AS BIGINT) AS ns, CAST(4000000 AS BIGINT) AS maxNs
  FROM work, (SELECT unnest(['/fast', '/slow', '/home']) AS m) GROUP BY r, m, t // 60000000000 ORDER BY 2, 4, 1) TO '{folders('SL_FILES')}' (FORMAT parquet, COMPRESSION zstd);
COPY (SELECT CAST(r AS BIGINT) AS rank, CAST(0 AS BIGINT) AS minute, 'libc' AS library, 'read' AS name, CAST(100 AS BIGINT) AS n, CAST(100000 AS BIGINT) AS ns, CAST(2000 AS BIGINT) AS maxNs FROM range({ranks}) AS a(r)) TO '{folders('SL_CALLS')}' (FORMAT parquet, COMPRESSION zstd);
COPY (SELECT CAST(0 AS BIGINT) AS monotonic, CAST({EPOCH} AS BIGINT) AS realtime, CAST(1 AS BIGINT) AS isSynchronized, CAST(1000 AS BIGINT) AS errorNs, CAST(2000 AS BIGINT) AS maxErrorNs) TO '{folders('SL_CLOCK')}' (FORMAT parquet, COMPRESSION zstd);
COPY (SELECT CAST(NULL AS BIGINT) AS rank, 'nothing' AS what, CAST(0 AS BIGINT) AS n) TO '{folders('SL_LOST')}' (FORMAT parquet, COMPRESSION zstd);
COPY (SELECT CAST(r AS BIGINT) AS rank, CAST(r % 8 AS BIGINT) AS localRank, CAST({ranks} AS BIGINT) AS worldSize, CAST(0 AS BIGINT) AS restart, 'RANK' AS source, 'host' || (r // 8) AS host, CAST(100 + r AS BIGINT) AS pid,
  'gpu' || r AS gpuUuid, 'H100' AS gpuName, CAST({EPOCH} AS BIGINT) AS start, CAST({EPOCH + steps * 100 * MS} AS BIGINT) AS "end", CAST({steps} AS BIGINT) AS steps, CAST({steps * 2} AS BIGINT) AS collectives, CAST(1 AS BIGINT) AS complete,
  CAST(0 AS BIGINT) AS lost, CAST(2000 AS BIGINT) AS clockErrorNs, 'r.sqlite' AS report, '1' AS version FROM range({ranks}) AS a(r) WHERE NOT (r = {culprit} AND {int(fault == 'missing')}) ORDER BY r) TO '{folders('SL_RANKS')}' (FORMAT parquet, COMPRESSION zstd);
"""
subprocess.run(['duckdb', '-init', '/dev/null', '-bail'], input=sql, text=True, check=True, stdout=subprocess.DEVNULL)
os.makedirs(f'{folder}/_nodes/run={run}', exist_ok=True)
with open(f'{folder}/_nodes/run={run}/node=n0.json', 'w', encoding='utf-8') as f:
    json.dump({'run': run, 'node': 'n0', 'job': None, 'start': EPOCH + seed, 'end': EPOCH, 'ranks': [], 'files': []}, f)
print(comm if fault == 'link' else '/slow' if fault == 'mount' else culprit)
