"""ranks_reports.py SIGHTLINE DATASET RUN BASE REPORT... - every question by plain SQLite over attached reports and by DuckDB over the
dataset that 'sightline ranks add' made of them: prints what differs.

The tables of the dataset are made by SQL of their own here, of reports as ranks_reports_make.py writes them: one rank each, waits with
at most one thread behind them, which computes. SQLite cannot fit clocks: SL_CLOCK_FIT is what 'ranks clock' wrote. A report's name is
RUN-RANK.sqlite; two ranks are a node. SQLite attaches ten at most.
"""
import os
import sys

import ranks_engines as engines

# Of each report, {d}: it is attached as that; run, node: what 'ranks add' was given.
HEAD = """
	rank_process AS (SELECT t.globalPid >> 24 AS pid, v.value + 0 AS "rank", v.globalPid >> 24 AS main
		FROM {d}.SL_PROCESS_TREE AS t JOIN {d}.SL_RANK_VARIABLES AS v ON v.globalPid IN (t.globalPid, t.parentGlobalPid) AND v.name = 'RANK'),
	begin AS (SELECT utcEpochNs AS epoch FROM {d}.TARGET_INFO_SESSION_START_TIME),
	step AS (SELECT "rank", epoch, globalTid AS tid, n.start, n.end, substr(text, 6) + 0 AS no FROM {d}.NVTX_EVENTS AS n JOIN rank_process ON pid = globalTid >> 24
		CROSS JOIN begin WHERE text GLOB 'step [0-9]*'),
	word AS (SELECT id, value, 'IO' AS kind FROM {d}.StringIds WHERE value IN ('read', 'pread64', 'recv'))"""

RANKS = """
	SELECT "rank", (SELECT value + 0 FROM {d}.SL_RANK_VARIABLES WHERE name = 'LOCAL_RANK'), (SELECT value + 0 FROM {d}.SL_RANK_VARIABLES WHERE name = 'WORLD_SIZE'), 0, 'RANK',
		(SELECT value FROM {d}.TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'), rank_process.pid & 0xffffff, g.uuid, g.name, t.start + epoch, t.end + epoch,
		(SELECT count(*) FROM step), (SELECT count(*) FROM {d}.SL_LIBRARY_API AS a JOIN {d}.StringIds AS s ON s.id = a.nameId
			WHERE returnValue = 0 AND s.value NOT LIKE 'ncclGroup%'),
		(SELECT value + 0 FROM {d}.META_DATA_EXPORT WHERE name = 'SL_COMPLETE'), coalesce((SELECT sum(count) FROM {d}.SL_LOST_EVENTS), 0),
		(SELECT max(maxErrorNs) FROM {d}.SL_CLOCK_SNAPSHOTS), '{file}', (SELECT value FROM {d}.META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_VERSION'),
		(SELECT c."rank" FROM {d}.SL_NCCL_COMMUNICATORS AS c ORDER BY nRanks DESC LIMIT 1)
	FROM rank_process CROSS JOIN begin JOIN {d}.SL_PROCESS_TREE AS t ON t.globalPid >> 24 = rank_process.pid
		LEFT JOIN {d}.TARGET_INFO_CUDA_DEVICE AS d ON d.pid = rank_process.pid & 0xffffff LEFT JOIN {d}.TARGET_INFO_GPU AS g ON g.id = d.gpuId
	WHERE rank_process.pid = main"""

# What GPUs did: lengths of unions. What the thread did: off its CPU, by the call in which it left it.
STEPS = """,
	kernel AS (SELECT k.start, k.end, s.value LIKE 'nccl%' AS nccl FROM {d}.CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN {d}.StringIds AS s ON s.id = k.demangledName),
	part AS (SELECT 'all' AS what, start, end FROM kernel UNION ALL SELECT CASE WHEN nccl THEN 'nccl' ELSE 'other' END, start, end FROM kernel),
	inside AS (SELECT what, no, max(p.start, s.start) AS start, min(p.end, s.end) AS end FROM part AS p JOIN step AS s ON p.start < s.end AND p.end > s.start),
	reached AS (SELECT *, coalesce(max(end) OVER (PARTITION BY what, no ORDER BY start, end ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start) AS until FROM inside),
	busy AS (SELECT no, sum(CASE what WHEN 'all' THEN more ELSE 0 END) AS every, sum(CASE what WHEN 'nccl' THEN more ELSE 0 END) AS nccl,
		sum(CASE what WHEN 'other' THEN more ELSE 0 END) AS rest FROM (SELECT what, no, max(end - max(start, until), 0) AS more FROM reached) GROUP BY no),
	switch AS (SELECT e.globalTid AS tid, e.start, isSchedIn, preempted, wakeupTime, wakerTid FROM {d}.SCHED_EVENTS AS e
		LEFT JOIN {d}.SL_SCHED_DETAIL AS d ON d.start = e.start AND d.globalTid = e.globalTid),
	away AS (SELECT tid, start, isSchedIn, preempted, lead(start) OVER w AS back, lead(wakeupTime) OVER w AS woken, lead(wakerTid) OVER w AS waker
		FROM switch WINDOW w AS (PARTITION BY tid ORDER BY start)),
	gone AS (SELECT no, a.start, back, coalesce(CASE preempted WHEN 1 THEN a.start ELSE woken END, back) AS woken, waker,
			EXISTS (SELECT 1 FROM {d}.CUPTI_ACTIVITY_KIND_RUNTIME AS c WHERE c.globalTid = a.tid AND c.start <= a.start AND c.end > a.start) AS gpu,
			(SELECT s.value || ' ' || coalesce(p.value, '') FROM {d}.OSRT_API AS c JOIN {d}.StringIds AS s ON s.id = c.nameId LEFT JOIN {d}.StringIds AS p ON p.id = c.pathId
			 WHERE c.globalTid = a.tid AND c.start <= a.start AND c.end > a.start) AS call
		FROM away AS a JOIN step AS s ON s.tid = a.tid AND a.start >= s.start AND a.start < s.end WHERE NOT isSchedIn),
	wait AS (SELECT no, sum(back - woken) AS runnable, sum(CASE WHEN NOT gpu AND waker IS NULL AND call LIKE 'read /%' THEN woken - start ELSE 0 END) AS file,
		sum(CASE WHEN call LIKE 'recv %' THEN woken - start ELSE 0 END) AS network, sum(CASE WHEN call LIKE 'pthread_mutex_lock %' THEN woken - start ELSE 0 END) AS lock,
		sum(CASE WHEN call LIKE 'usleep %' THEN woken - start ELSE 0 END) AS slept, sum(CASE WHEN call LIKE 'read pipe:%' THEN woken - start ELSE 0 END) AS other,
		sum(CASE WHEN waker IS NOT NULL THEN woken - start ELSE 0 END) AS data, sum(CASE WHEN gpu THEN back - woken ELSE 0 END) AS late FROM gone GROUP BY no),
	gpu AS (SELECT no, sum(c.end - c.start) AS ns FROM (SELECT globalTid AS tid, start, end FROM {d}.SL_LIBRARY_API
		UNION ALL SELECT globalTid, start, end FROM {d}.CUPTI_ACTIVITY_KIND_RUNTIME AS r WHERE NOT EXISTS (SELECT 1 FROM {d}.SL_LIBRARY_API AS a WHERE a.globalTid = r.globalTid
			AND a.start <= r.start AND a.end >= r.end)) AS c JOIN step AS s ON s.tid = c.tid AND c.start >= s.start AND c.start < s.end GROUP BY no),
	moved AS (SELECT no, sum(bytesDone) AS bytes FROM {d}.OSRT_API AS c JOIN word ON word.id = c.nameId JOIN step AS s ON c.start >= s.start AND c.start < s.end GROUP BY no)
	SELECT "rank", no, start + epoch, end + epoch, every, nccl, every - rest, end - start - runnable - (gpu.ns - late) - file - network - lock - slept - other, runnable,
		gpu.ns - late, file, network, lock, 0, slept, other, data, bytes, 0
	FROM step JOIN busy USING (no) JOIN wait USING (no) JOIN gpu USING (no) JOIN moved USING (no)"""

# A group is what lies between ncclGroupStart and the next ncclGroupEnd of the thread; outside of one, a call is its own.
COLLECTIVES = """,
	call AS (SELECT a.*, s.value AS name FROM {d}.SL_LIBRARY_API AS a JOIN {d}.StringIds AS s ON s.id = a.nameId WHERE returnValue = 0),
	span AS (SELECT c.globalTid AS tid, c.start, CASE name WHEN 'ncclGroupStart' THEN (SELECT e.end FROM call AS e WHERE e.name = 'ncclGroupEnd' AND e.globalTid = c.globalTid
			AND e.start > c.start ORDER BY e.start LIMIT 1) ELSE c.end END AS end
		FROM call AS c WHERE name = 'ncclGroupStart' OR name <> 'ncclGroupEnd' AND NOT (SELECT name FROM (SELECT e.name, e.start FROM call AS e
			WHERE e.globalTid = c.globalTid AND e.start < c.start AND e.name LIKE 'ncclGroup%' UNION ALL SELECT '', 0) ORDER BY start DESC LIMIT 1) = 'ncclGroupStart'),
	coll AS (SELECT c.*, s.start AS span, row_number() OVER (PARTITION BY s.start ORDER BY c.start) AS nth, count(*) OVER (PARTITION BY s.start) AS members,
			(SELECT value FROM {d}.SL_GPU_ARGUMENTS AS g WHERE g.callId = c.callId AND role = 30) AS comm,
			(SELECT value FROM {d}.SL_GPU_ARGUMENTS AS g WHERE g.callId = c.callId AND role = 26) *
			(SELECT CASE value WHEN 7 THEN 4 WHEN 6 THEN 2 END FROM {d}.SL_GPU_ARGUMENTS AS g WHERE g.callId = c.callId AND role = 27) AS bytes
		FROM call AS c JOIN span AS s ON s.tid = c.globalTid AND c.start >= s.start AND c.start < s.end WHERE name NOT LIKE 'ncclGroup%'),
	work AS (SELECT s.start AS span, k.start, k.end, row_number() OVER (PARTITION BY s.start ORDER BY l.start) AS nth, count(*) OVER (PARTITION BY s.start) AS kernels,
			min(k.start) OVER (PARTITION BY s.start) AS first, max(k.end) OVER (PARTITION BY s.start) AS last
		FROM span AS s JOIN {d}.CUPTI_ACTIVITY_KIND_RUNTIME AS l ON l.globalTid = s.tid AND l.start >= s.start AND l.start < s.end
			JOIN {d}.CUPTI_ACTIVITY_KIND_KERNEL AS k ON k.correlationId = l.correlationId)
	SELECT p."rank", no, m.commHash & 9223372036854775807, row_number() OVER (PARTITION BY c.comm ORDER BY c.start), substr(c.name, 5), bytes, nRanks, m."rank" AS own, c.start + epoch,
		CASE WHEN kernels = members THEN w.start ELSE w.first END + epoch, CASE WHEN kernels = members THEN w.end ELSE w.last END + epoch,
		CASE WHEN kernels = members THEN 1 WHEN kernels > 0 THEN members END, 0, m.name
	FROM coll AS c JOIN rank_process AS p ON p.pid = c.globalTid >> 24 CROSS JOIN begin
		LEFT JOIN {d}.SL_NCCL_COMMUNICATORS AS m ON m.comm = c.comm
		LEFT JOIN work AS w ON w.span = c.span AND w.nth = CASE WHEN kernels = members THEN c.nth ELSE 1 END
		LEFT JOIN (SELECT tid, no, start, end FROM step) AS s ON s.tid = c.globalTid AND c.start >= s.start AND c.start < s.end"""

KERNELS = """
	SELECT "rank", (start + epoch) / 60000000000, value, count(*), sum(end - start), min(end - start), max(end - start), 0
	FROM {d}.CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN rank_process ON pid = globalPid >> 24 CROSS JOIN begin JOIN {d}.StringIds ON id = demangledName GROUP BY 2, 3"""

# On another machine a mount is taken to be the first two folders.
FILES = """,
	file AS (SELECT id, value, substr(value, 2) AS rest FROM {d}.StringIds WHERE value LIKE '/_%'),
	place AS (SELECT *, instr(rest, '/') AS first, instr(substr(rest, instr(rest, '/') + 1), '/') AS second FROM file)
	SELECT "rank", (start + epoch) / 60000000000, substr(p.value, 1, CASE WHEN second THEN first + second ELSE first END), p.value, 'read', count(*), sum(bytesDone),
		sum(end - start), max(end - start), 0
	FROM {d}.OSRT_API AS c JOIN rank_process ON pid = globalTid >> 24 CROSS JOIN begin JOIN place AS p ON p.id = c.pathId JOIN word ON word.id = c.nameId GROUP BY 2, 4"""

CALLS = """,
	call AS (SELECT globalTid, start, end, nameId, 'libc' AS library FROM {d}.OSRT_API UNION ALL SELECT globalTid, start, end, nameId, 'cuda' FROM {d}.CUPTI_ACTIVITY_KIND_RUNTIME
		UNION ALL SELECT globalTid, start, end, nameId, 'nccl' FROM {d}.SL_LIBRARY_API)
	SELECT "rank", (start + epoch) / 60000000000, library, value, count(*), sum(end - start), max(end - start), 0
	FROM call JOIN rank_process ON pid = globalTid >> 24 CROSS JOIN begin JOIN {d}.StringIds ON id = nameId GROUP BY 2, 3, 4"""

CLOCK = """
	SELECT monotonic, realtime, isSynchronized, errorNs, maxErrorNs FROM {d}.SL_CLOCK_SNAPSHOTS"""

LOST = """
	SELECT "rank", what, sum(count) FROM {d}.SL_LOST_EVENTS LEFT JOIN rank_process ON pid = globalTid >> 24 GROUP BY 1, 2"""

BODIES = {'SL_RANKS': RANKS, 'SL_STEPS': STEPS, 'SL_COLLECTIVES': COLLECTIVES, 'SL_KERNELS': KERNELS, 'SL_FILES': FILES, 'SL_CALLS': CALLS, 'SL_CLOCK': CLOCK, 'SL_LOST': LOST}


def attach(reports, fits):
    """A database of SQLite with the reports attached, and the tables of a dataset over them."""
    db = engines.open_sqlite()
    columns = engines.tables()
    for i, path in enumerate(reports):
        db.execute(f'ATTACH ? AS d{i}', (path,))
    for table, body in BODIES.items():
        names = ', '.join(f'"{c}"' for c, _ in columns[table])
        made = []
        for i, path in enumerate(reports):
            name = os.path.basename(path)
            run, rank = name.removesuffix('.sqlite').rsplit('-', 1)
            sql = f'WITH {HEAD}{body}'.format(d=f'd{i}', file=name)
            made.append(f"SELECT '{run}' AS run, 'n{int(rank) // 2}' AS node, * FROM ({sql})")
        db.execute(f'CREATE TABLE {table}(run, node, {names})')
        for text in made:
            db.execute(f'INSERT INTO {table} {text}')
    db.execute('CREATE TABLE SL_GPU_HEALTH (run, node, ' + ', '.join(f'"{c}"' for c, _ in columns['SL_GPU_HEALTH']) + ')')  # the reports have none
    rows = fits.execute('SELECT * FROM SL_CLOCK_FIT').fetchall()
    names = ['run', 'node'] + [c for c, _ in columns['SL_CLOCK_FIT']]
    db.execute('CREATE TABLE SL_CLOCK_FIT (' + ', '.join(f'"{n}"' for n in names) + ')')
    db.executemany(f'INSERT INTO SL_CLOCK_FIT VALUES ({", ".join("?" * len(names))})', rows)
    return db


def tables_differ(db, dataset):
    """Of each table the first row that the dataset and the reports do not share."""
    for table in BODIES:
        a, b = (sorted(x.execute(f'SELECT * FROM {table}').fetchall(), key=str) for x in (db, dataset))
        if a != b or not a:
            yield f'{table}: {len(a)} rows of reports, {len(b)} of the dataset; only in those: {[r for r in a if r not in b][:1]}, only in this: {[r for r in b if r not in a][:1]}'


def main():
    bin_, folder, run, base = sys.argv[1:5]
    dataset = engines.load(folder)
    db = attach(sys.argv[5:], dataset)
    for text in tables_differ(db, dataset):
        print(text)
    for question in engines.questions(bin_):
        text = engines.script(bin_, question, folder, run, base)
        want, got = engines.by_sqlite(db, text), engines.by_duckdb(text)
        bad = engines.differs(want, got) or (None if want[1] else 'no rows')
        if bad:
            print(f'{question}: SQLite over the reports and DuckDB over the dataset: {bad}')


if __name__ == '__main__':
    main()
