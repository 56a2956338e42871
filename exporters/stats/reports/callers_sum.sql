-- title: Callers Summary
-- about: Callers: for each function of the C library, CUDA, its libraries or the kernel, the frames that called it, with time
-- about: and bytes. The caller is the innermost frame of Python in the stack; without Python the innermost one that is not
-- about: in libc, CUDA or PyTorch. skip= names libraries to look through instead, Python or not.
-- about: A call and those of another kind that it makes are rows of their own: the time of cublasSgemm_v2 has that of its
-- about: cudaLaunchKernel in it.
-- needs: SL_STACKS or OSRT_CALLCHAINS or CUDA_CALLCHAINS or SYSCALL_CALLCHAINS = stacks
-- arg: skip=<glob[|glob]...>, look through libraries and files of such names, as in skip=libc.so*|libtorch*
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in all calls of the function from there
-- column: Num Calls = how many
-- column: Avg (ns) = mean duration
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: Bytes = bytes they moved
-- column: Kind = osrt, cuda, library or syscall
-- column: Name = function
-- column: Caller = function (file:line), or function (library) where the line is not known
--
-- The views SL_CHAIN_* are the same for all reports that have stacks (exporters/read/stack_views.c).
DROP TABLE IF EXISTS temp.skipped;
CREATE TEMP TABLE skipped AS
WITH RECURSIVE word(glob, rest) AS (
	SELECT '', coalesce(:skip, 'libc.so*|libc-*|libpthread*|libdl*|ld-linux*|libcuda.*|libcudart*|libcublas*|libcudnn*|libnccl*|'
		|| 'libcufft*|libcusparse*|libcusolver*|libcufile*|'
		|| 'libtorch*|libc10*|libstdc++*|libtrace*.so*|[[]vdso]|[[]kernel*') || '|'
	UNION ALL
	SELECT substr(rest, 1, instr(rest, '|') - 1), substr(rest, instr(rest, '|') + 1) FROM word WHERE rest <> ''
), used AS (
	SELECT DISTINCT module FROM SL_CHAIN_FRAMES
)
SELECT DISTINCT module
FROM used JOIN StringIds ON id = module
	JOIN word ON glob <> '' AND replace(value, rtrim(value, replace(value, '/', '')), '') GLOB glob;

-- The caller of each stack: of the frames that may be it the innermost; SQLite takes the other columns from that row.
DROP TABLE IF EXISTS temp.caller;
CREATE TEMP TABLE caller (stack INTEGER PRIMARY KEY, symbol INTEGER, module INTEGER, file INTEGER, line INTEGER,
	unresolved INTEGER);
INSERT INTO caller
SELECT stack, symbol, module, file, line, unresolved
FROM (
	SELECT stack, min(CASE
			WHEN :skip IS NULL AND kind = 1 THEN depth - 2000000
			WHEN module NOT IN skipped AND kind <> 4 AND (:skip IS NOT NULL OR kind <> 2) THEN depth - 1000000
			ELSE depth
		END), symbol, module, file, line, unresolved
	FROM SL_CHAIN_FRAMES
	GROUP BY stack
);

WITH part AS MATERIALIZED (
	SELECT source, nameId, symbol, c.module, file, line, unresolved, c.stack IS NULL AS lost, count(*) AS calls,
		sum(end - start) AS time, min(end - start) AS least, max(end - start) AS most, total(bytes) AS bytes
	FROM SL_CHAIN_CALLS AS e LEFT JOIN caller AS c ON c.stack = e.stack
	WHERE level = 0
	GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
), named AS (
	SELECT source, n.value AS name, calls, time, least, most, bytes,
		CASE WHEN lost THEN '[no stack]'
			WHEN p.unresolved = 1 OR coalesce(f.value, '') = '' THEN '[' || trim(base, '[]') || ']'
			ELSE f.value || ' (' || coalesce(
				replace(w.value, rtrim(w.value, replace(w.value, '/', '')), '') || coalesce(':' || line, ''), base) || ')'
		END AS caller
	FROM part AS p LEFT JOIN StringIds AS n ON n.id = nameId LEFT JOIN StringIds AS f ON f.id = symbol
		LEFT JOIN StringIds AS w ON w.id = file
		LEFT JOIN (
			SELECT id, replace(value, rtrim(value, replace(value, '/', '')), '') AS base FROM StringIds
			WHERE id IN (SELECT module FROM part)
		) AS m ON m.id = p.module
), plain AS (
	SELECT *, CASE WHEN name GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(name, 1, length(name) - 6)
		WHEN name GLOB '*_v[0-9][0-9][0-9][0-9][0-9]' THEN substr(name, 1, length(name) - 7) ELSE name END AS api
	FROM named
)
SELECT
	round(100.0 * sum(time) / sum(sum(time)) OVER (), 1) AS "Time (%)",
	sum(time) AS "Total Time (ns)",
	sum(calls) AS "Num Calls",
	round(1.0 * sum(time) / sum(calls), 1) AS "Avg (ns)",
	min(least) AS "Min (ns)",
	max(most) AS "Max (ns)",
	CAST(sum(bytes) AS INTEGER) AS "Bytes",
	CASE source WHEN 1 THEN 'osrt' WHEN 2 THEN 'cuda' WHEN 3 THEN 'syscall' ELSE 'library' END AS "Kind",
	coalesce(api, '[unknown]') AS "Name",
	caller AS "Caller"
FROM plain
GROUP BY source, api, caller
ORDER BY "Total Time (ns)" DESC, "Name", "Caller", "Kind";
