-- Two processes whose correlation ids repeat; a wall of 2 ms.
-- Process 10: id 1 asynchronous from pageable memory, a call of 50 us for a copy of 40 us; 2 asynchronous, pinned;
-- 3 synchronous, pageable. Process 20: id 1 asynchronous to pageable memory by the driver's function, a call of 30 us
-- for a copy of 45 us; 3 asynchronous, pinned.
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
	(0, 100, 0x100000A00000A, 90, 1), (1999900, 2000000, 0x100000A00000A, 91, 1),
	(1000, 51000, 0x100000A00000A, 1, 2), (60000, 61000, 0x100000A00000A, 2, 2), (70000, 90000, 0x100000A00000A, 3, 3),
	(1000, 31000, 0x1000014000015, 1, 4), (60000, 61000, 0x1000014000015, 3, 2);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
	(2000, 42000, 0, 1, 7, 1, 0x100000A000000, 4194304, 1, 0, 2),
	(61000, 62000, 0, 1, 7, 2, 0x100000A000000, 4194304, 1, 1, 2),
	(71000, 80000, 0, 1, 7, 3, 0x100000A000000, 8, 1, 0, 2),
	(2000, 47000, 1, 3, 15, 1, 0x1000014000000, 8000000, 2, 2, 0),
	(62000, 63000, 1, 3, 15, 3, 0x1000014000000, 8, 2, 2, 1);
