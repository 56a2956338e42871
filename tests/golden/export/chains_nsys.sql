-- The same as nsys has it: a table of stacks for each kind of event, with numbers of its own and ten columns. Goes on
-- top of chains.sql.
CREATE TABLE chain AS SELECT * FROM SAMPLING_CALLCHAINS;
DROP VIEW SAMPLING_CALLCHAINS;
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER, thumbCode INTEGER,
    unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));
INSERT INTO SAMPLING_CALLCHAINS SELECT id, symbol, module, kernelMode, thumbCode, unresolved, specialEntry, originalIP, unwindMethod, stackDepth FROM chain;
DROP TABLE chain;
UPDATE OSRT_CALLCHAINS SET id = CASE id WHEN 2 THEN 1 WHEN 4 THEN 2 ELSE 3 END;
UPDATE OSRT_API SET callchainId = CASE callchainId WHEN 2 THEN 1 WHEN 4 THEN 2 WHEN 6 THEN 3 ELSE 0 END;
UPDATE CUDA_CALLCHAINS SET id = 10 - id;
UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = 10 - callchainId;
ALTER TABLE OSRT_CALLCHAINS RENAME TO chain;
CREATE TABLE OSRT_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER, thumbCode INTEGER,
    unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));
INSERT INTO OSRT_CALLCHAINS SELECT id, symbol, module, kernelMode, thumbCode, unresolved, specialEntry, originalIP, unwindMethod, stackDepth FROM chain;
DROP TABLE chain;
ALTER TABLE CUDA_CALLCHAINS RENAME TO chain;
CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER, thumbCode INTEGER,
    unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));
INSERT INTO CUDA_CALLCHAINS SELECT id, symbol, module, kernelMode, thumbCode, unresolved, specialEntry, originalIP, unwindMethod, stackDepth FROM chain;
DROP TABLE chain;
ALTER TABLE COMPOSITE_EVENTS RENAME TO sample;
CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER, threadState INTEGER, globalTid INTEGER,
    cpuCycles INTEGER NOT NULL);
INSERT INTO COMPOSITE_EVENTS SELECT id, start, cpu, threadState, globalTid, cpuCycles FROM sample;
DROP TABLE sample;
DROP TABLE SL_STACKS;
DROP TABLE SL_FRAMES;
DROP TABLE SL_MODULES;
DROP TABLE SL_SPACES;
