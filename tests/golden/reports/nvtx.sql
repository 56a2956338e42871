-- Two processes whose correlation ids repeat; ranges that nest, touch, begin together, overlap between domains, stay
-- open, change the thread; texts written out and registered; calls without work, and one that outlasts its range.
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
	color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
	globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
	correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, end INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
	bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER NOT NULL, end INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
	bytes INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER NOT NULL, end INTEGER NOT NULL, correlationId INTEGER,
	globalPid INTEGER, graphId INTEGER NOT NULL);
INSERT INTO StringIds VALUES (1, 'layer'), (2, 'cudaLaunchKernel_v7000'), (3, 'k1(float *)'), (4, 'k1'), (5, '_Z2k1Pf'),
	(6, 'k2(int)'), (7, 'k2'), (8, 'cudaDeviceSynchronize_v3020'), (9, 'AllReduce');
INSERT INTO NVTX_EVENTS(start, end, eventType, text, textId, domainId, globalTid, endGlobalTid) VALUES
	(0, NULL, 75, 'NCCL', NULL, 1, (1<<48)+(100<<24)+100, NULL),
	(0, NULL, 75, 'other', NULL, 1, (1<<48)+(200<<24)+200, NULL),
	(0, NULL, 33, 'a category', NULL, 0, (1<<48)+(100<<24)+100, NULL),
	(0, 1000, 59, 'outer', NULL, 0, (1<<48)+(100<<24)+100, NULL),
	(0, 2000, 59, 'worker', NULL, 0, (1<<48)+(100<<24)+101, NULL),
	(0, 500, 59, 'outer', NULL, 0, (1<<48)+(200<<24)+200, NULL),
	(50, NULL, 34, 'a mark', NULL, 0, (1<<48)+(100<<24)+100, NULL),
	(50, 700, 60, 'span', NULL, 0, (1<<48)+(100<<24)+100, (1<<48)+(100<<24)+100),
	(60, 800, 60, 'cross', NULL, 0, (1<<48)+(100<<24)+100, (1<<48)+(100<<24)+101),
	(100, 200, 59, NULL, 1, 0, (1<<48)+(100<<24)+100, NULL), -- inside the next
	(100, 400, 59, 'fwd', NULL, 0, (1<<48)+(100<<24)+100, NULL),
	(200, 300, 59, NULL, 1, 0, (1<<48)+(100<<24)+100, NULL),
	(350, 450, 59, NULL, 9, 1, (1<<48)+(100<<24)+100, NULL),
	(400, 900, 59, 'bwd', NULL, 0, (1<<48)+(100<<24)+100, NULL),
	(500, 500, 59, NULL, 1, 0, (1<<48)+(100<<24)+100, NULL),
	(510, 520, 59, 'loop', NULL, 0, (1<<48)+(200<<24)+200, NULL),
	(530, 540, 59, 'loop', NULL, 0, (1<<48)+(200<<24)+200, NULL),
	(1000, 1100, 59, 'tail', NULL, 0, (1<<48)+(100<<24)+100, NULL),
	(1200, NULL, 59, 'open', NULL, 0, (1<<48)+(100<<24)+100, NULL),
	(1300, 1350, 59, 'in open', NULL, 0, (1<<48)+(100<<24)+100, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, nameId, returnValue) VALUES
	(100, 105, 0, (1<<48)+(100<<24)+101, 8, 2, 0),
	(110, 120, 0, (1<<48)+(100<<24)+100, 1, 2, 0),
	(120, 130, 0, (1<<48)+(200<<24)+200, 1, 2, 0),
	(210, 220, 0, (1<<48)+(100<<24)+100, 2, 2, 0),
	(300, 310, 0, (1<<48)+(200<<24)+200, 3, 2, 0),
	(360, 370, 0, (1<<48)+(100<<24)+100, 3, 2, 0),
	(410, 420, 0, (1<<48)+(100<<24)+100, 4, 2, 0),
	(512, 514, 0, (1<<48)+(200<<24)+200, 10, 2, 0),
	(532, 534, 0, (1<<48)+(200<<24)+200, 11, 2, 0),
	(535, 536, 0, (1<<48)+(200<<24)+200, 12, 2, 0),
	(600, 610, 0, (1<<48)+(100<<24)+100, 6, 8, 0),
	(890, 910, 0, (1<<48)+(100<<24)+100, 5, 2, 0),
	(1310, 1320, 0, (1<<48)+(100<<24)+100, 7, 2, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, correlationId, globalPid, demangledName, shortName, mangledName) VALUES
	(130, 180, 0, 1, (1<<48)+(100<<24), 3, 4, 5),
	(140, 150, 0, 1, (1<<48)+(200<<24), 6, 7, NULL),
	(400, 420, 0, 3, (1<<48)+(200<<24), 3, 4, 5),
	(430, 440, 0, 3, (1<<48)+(200<<24), 3, 4, 5),
	(700, 800, 0, 8, (1<<48)+(100<<24), 3, 4, 5),
	(900, 905, 0, 10, (1<<48)+(200<<24), 3, 4, 5),
	(910, 917, 0, 11, (1<<48)+(200<<24), 3, 4, 5),
	(920, 929, 0, 12, (1<<48)+(200<<24), 3, 4, 5),
	(2000, 2100, 0, 3, (1<<48)+(100<<24), 3, 4, 5),
	(6000, 6010, 0, 7, (1<<48)+(100<<24), 6, 7, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (190, 260, 2, (1<<48)+(100<<24), 64, 1);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (5000, 5001, 5, (1<<48)+(100<<24), 64);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (300, 310, 4, (1<<48)+(100<<24), 1);
