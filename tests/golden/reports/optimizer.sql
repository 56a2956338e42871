-- Names that only say what PyTorch did: the steps lie between the ends of the optimizer's. No GPU trace.
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
	endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
INSERT INTO NVTX_EVENTS(start, end, eventType, text, domainId, globalTid) VALUES
	(0, 90, 59, 'aten::mm, op_id = 1', 0, (1<<48)+(7<<24)+7),
	(100, 110, 59, 'Optimizer.step#SGD.step', 0, (1<<48)+(7<<24)+7),
	(120, 190, 59, 'aten::mm, op_id = 2', 0, (1<<48)+(7<<24)+7),
	(200, 215, 59, 'Optimizer.step#SGD.step', 0, (1<<48)+(7<<24)+7),
	(320, 330, 59, 'Optimizer.step#SGD.step', 0, (1<<48)+(7<<24)+7),
	(400, 410, 59, 'Optimizer.step#SGD.step', 0, (1<<48)+(7<<24)+7);
