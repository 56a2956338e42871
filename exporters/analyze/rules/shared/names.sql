-- thread_names(globalTid, name), process_names(pid, name): last names; pid: the upper bits of a globalTid,
-- globalTid / 0x1000000.
CREATE TEMP TABLE thread_names(globalTid INTEGER PRIMARY KEY, name TEXT);
INSERT INTO thread_names
SELECT globalTid, max(value) FROM ThreadNames JOIN StringIds ON StringIds.id = nameId
WHERE globalTid IS NOT NULL AND value <> '' GROUP BY globalTid;
CREATE TEMP TABLE process_names(pid INTEGER PRIMARY KEY, name TEXT);
INSERT INTO process_names
SELECT globalPid / 0x1000000, max(name) FROM PROCESSES WHERE globalPid IS NOT NULL GROUP BY 1;
