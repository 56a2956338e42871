-- No ranges: the steps are what the program asked to be profiled.
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
	globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER);
INSERT INTO StringIds VALUES (1, 'cudaProfilerStart_v4000'), (2, 'cudaProfilerStop_v4000'), (3, 'cudaMalloc_v3020');
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, nameId, returnValue) VALUES
	(10, 20, 0, (7<<24)+7, 1, 1, 0), (50, 60, 0, (7<<24)+7, 2, 3, 0), (100, 110, 0, (7<<24)+7, 3, 2, 0),
	(200, 220, 0, (7<<24)+7, 4, 1, 0), (300, 310, 0, (7<<24)+8, 5, 2, 0), (400, 410, 0, (7<<24)+7, 6, 1, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (30, 50, 2, 7<<24);
