#!/usr/bin/env python3
"""many_rows.py DATASET RUN STEPS - SL_COLLECTIVES of 1,000 ranks on 125 nodes: 100,000 rows a step, by DuckDB. Rank 617 is late.

Of the 100 collectives of a step and rank, 80 are of its node's eight ranks, 20 of the 125 that have its place there. The late rank's
kernels are shorter by 0.5 ms than those of the others, which jitter by 50 us. 360 steps: 36 M rows; 3,600: one hour of a step a second.
"""
import json
import os
import subprocess
import sys

folder, run, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
EPOCH, CULPRIT = 1790000000 * 10**9, 617
os.makedirs(f'{folder}/_nodes/run={run}', exist_ok=True)
for n in range(125):
    path = f'{folder}/SL_COLLECTIVES/run={run}/node=n{n}'
    os.makedirs(path, exist_ok=True)
    sql = f"""SET threads = 1; SET memory_limit = '2GB'; SET preserve_insertion_order = true; SET temp_directory = '{folder}';
COPY (
	SELECT r AS "rank", s + 1 AS step, c AS commHash, s * per + k + 1 AS seq, 'AllReduce' AS op, b AS bytes, size AS nRanks, own AS commRank, "end" - ns - 20000 AS callStart,
		"end" - ns AS start, "end", CAST(1 AS BIGINT) AS grouped
	FROM (
		SELECT CAST(place + {n * 8} AS BIGINT) AS r, s, k, CAST(CASE WHEN wide THEN 1000 + place ELSE {n + 1} END AS BIGINT) AS c, CASE WHEN wide THEN 20 ELSE 80 END AS per,
			CAST(CASE WHEN wide THEN 64000000 ELSE 8000000 END AS BIGINT) AS b, CAST(CASE WHEN wide THEN 125 ELSE 8 END AS BIGINT) AS size,
			CAST(CASE WHEN wide THEN {n} ELSE place END AS BIGINT) AS own,
			CAST({EPOCH} + s * 1000000000 + k * 9000000 + CASE WHEN wide THEN 800000000 ELSE 0 END + hash(c, s, k) % 100000 AS BIGINT) AS "end",
			CAST(2000000 + CASE WHEN r = {CULPRIT} THEN 0 ELSE hash(r, s, k, wide) % 50000
				+ CASE WHEN CASE WHEN wide THEN place = {CULPRIT % 8} ELSE {n} = {CULPRIT // 8} END THEN 500000 ELSE 0 END END AS BIGINT) AS ns
		FROM range(8) AS a(place), (SELECT false AS wide, range AS k FROM range(80) UNION ALL SELECT true, range FROM range(20)) AS b, range({steps}) AS d(s)
	) ORDER BY commHash, seq, "rank"
) TO '{path}/part-0.parquet' (FORMAT parquet, COMPRESSION zstd);"""
    subprocess.run(['duckdb', '-init', '/dev/null', '-bail'], input=sql, text=True, check=True, stdout=subprocess.DEVNULL)
    with open(f'{folder}/_nodes/run={run}/node=n{n}.json', 'w', encoding='utf-8') as f:
        json.dump({'run': run, 'node': f'n{n}', 'job': None, 'start': EPOCH, 'end': EPOCH, 'maxErrorNs': 2000, 'ranks': [], 'files': []}, f)
