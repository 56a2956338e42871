-- Steps within epochs on the main threads of two processes, ranges inside steps that repeat too, GPU work that overlaps,
-- touches and crosses the ends of steps, longer "steps" of another thread, and the GIL's ranges.
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
	endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, end INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER NOT NULL, end INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER NOT NULL, end INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER);
INSERT INTO StringIds VALUES (1, 'step 4');
INSERT INTO NVTX_EVENTS(start, end, eventType, text, textId, domainId, globalTid) VALUES
	(0, NULL, 75, 'GIL Trace', NULL, 3, (1<<48)+(100<<24)+100),
	(0, 50, 59, 'init', NULL, 0, (1<<48)+(100<<24)+100),
	(0, 9000, 59, 'step 1', NULL, 0, (1<<48)+(100<<24)+101),
	(60, 20000, 59, 'Holding GIL', NULL, 3, (1<<48)+(100<<24)+100),
	(100, 3900, 59, 'epoch 1', NULL, 0, (1<<48)+(100<<24)+100),
	(100, 200, 59, 'step 1', NULL, 0, (1<<48)+(200<<24)+200),
	(300, 500, 59, 'step 2', NULL, 0, (1<<48)+(200<<24)+200),
	(1000, 1100, 59, 'step 1', NULL, 0, (1<<48)+(100<<24)+100),
	(2000, 2110, 59, 'step 2', NULL, 0, (1<<48)+(100<<24)+100),
	(3000, 3090, 59, 'step 3', NULL, 0, (1<<48)+(100<<24)+100),
	(4000, 9000, 59, 'epoch 2', NULL, 0, (1<<48)+(100<<24)+100),
	(4000, 4100, 59, NULL, 1, 0, (1<<48)+(100<<24)+100),
	(5000, 5105, 59, 'step 5', NULL, 0, (1<<48)+(100<<24)+100),
	(5000, 5050, 59, 'substep 1', NULL, 0, (1<<48)+(100<<24)+100),
	(6000, 6500, 59, 'step 6', NULL, 0, (1<<48)+(100<<24)+100),
	(6000, 6400, 59, 'substep 12', NULL, 0, (1<<48)+(100<<24)+100),
	(9000, 20000, 59, 'step 2', NULL, 0, (1<<48)+(100<<24)+101),
	(9500, NULL, 59, 'step 7', NULL, 0, (1<<48)+(100<<24)+100),
	(20000, 40000, 59, 'Holding GIL', NULL, 3, (1<<48)+(100<<24)+100);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
	(1010, 1050, 1, (1<<48)+(100<<24)), (1020, 1030, 2, (1<<48)+(100<<24)), (1040, 1060, 3, (1<<48)+(100<<24)),
	(2100, 2120, 4, (1<<48)+(100<<24));
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (4050, 4060, 5, (1<<48)+(100<<24)), (4060, 4070, 6, (1<<48)+(100<<24));
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (2990, 3095, 7, (1<<48)+(100<<24));
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (6100, 6600, 8, (1<<48)+(100<<24));
