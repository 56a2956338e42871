-- Samples of two threads, and ranges with calls in them. Goes on top of collector/schema.sql.
-- 281476654432256 = 1 << 48 | 100 << 24: process 100; + 100, + 101: its threads
INSERT INTO StringIds VALUES (1, 'app'), (2, 'main'), (3, 'work'), (4, 'std::vector<int>; sort'), (5, 'libapp.so'), (6, '[kernel]'),
    (7, 'read'), (8, 'fread'), (9, ''), (10, 'cublasSgemm_v2'), (11, 'cudaLaunchKernel_v7000');
INSERT INTO PROCESSES VALUES (281476654432256, 100, 'app');
INSERT INTO ThreadNames VALUES (1, 20, 281476654432356);
DROP TABLE IF EXISTS COMPOSITE_EVENTS;
DROP VIEW IF EXISTS SAMPLING_CALLCHAINS;
CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER, threadState INTEGER,
    globalTid INTEGER, cpuCycles INTEGER NOT NULL);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER,
    thumbCode INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER,
    stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));
-- main > work > sort; main > work (three times); main > read, twice the same of the other thread; one without a symbol
INSERT INTO COMPOSITE_EVENTS VALUES (1, 100, 0, 1, 281476654432356, 1), (2, 200, 0, 1, 281476654432356, 1), (3, 300, 0, 1, 281476654432356, 1),
    (4, 400, 1, 1, 281476654432356, 1), (5, 150, 1, 1, 281476654432357, 1), (6, 250, 1, 1, 281476654432357, 1), (7, 260, 1, 1, 281476654432357, 1);
INSERT INTO SAMPLING_CALLCHAINS (id, symbol, module, stackDepth) VALUES (1, 4, 5, 0), (1, 3, 5, 1), (1, 2, 5, 2), (2, 3, 5, 0), (2, 2, 5, 1),
    (3, 3, 5, 0), (3, 2, 5, 1), (4, 3, 5, 0), (4, 2, 5, 1), (5, 7, 6, 0), (5, 2, 5, 1), (6, 7, 6, 0), (6, 2, 5, 1), (7, 9, 6, 0), (7, 2, 5, 1);
-- step [0,1000) encloses gemm [100,400), which encloses a launch [150,250); and read [500,900), which encloses range inner [600,700);
-- a second step [2000,2500) with nothing in it; on the other thread fread [0,50)
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, eventId) VALUES
    (0, 1000, 59, 'step', 281476654432356, 0, 1), (600, 700, 59, 'inner', 281476654432356, 0, 2), (2000, 2500, 59, 'step', 281476654432356, 0, 3);
INSERT INTO CUBLAS_EVENTS VALUES (100, 400, 29, 281476654432356, 10, 1, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (150, 250, 0, 281476654432356, 2, 11, 0, NULL);
INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId) VALUES
    (500, 900, 27, 281476654432356, 7, 0, 0, 0, 0), (0, 50, 27, 281476654432357, 8, 0, 0, 0, 0);
INSERT INTO SCHED_EVENTS VALUES (0, 0, 1, 281476654432356, NULL, NULL), (300, 0, 0, 281476654432356, 3, NULL),
    (700, 0, 1, 281476654432356, NULL, NULL), (1000, 0, 0, 281476654432356, 1, NULL), (1100, 1, 1, 281476654432356, NULL, NULL),
    (1150, 1, 1, 281476654432356, NULL, NULL), (1200, 1, 0, 281476654432356, 5, NULL);
