-- One thread, a wall of 1 ms: fills of pinned (call 40 us, fill 30 us), managed (call 10 us, fill 20 us) and device
-- memory by cudaMemset, and of pinned memory by cudaMemsetAsync. Process 20 has an asynchronous one with id 1.
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
	(0, 100, 0xA00000A, 90, 1), (999900, 1000000, 0xA00000A, 91, 1),
	(1000, 41000, 0xA00000A, 1, 6), (50000, 60000, 0xA00000A, 2, 6), (70000, 80000, 0xA00000A, 3, 6),
	(90000, 91000, 0xA00000A, 4, 7), (1000, 2000, 0x14000014, 1, 7);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES
	(5000, 35000, 0, 1, 7, 1, 0xA000000, 1000000, 1), (51000, 71000, 0, 1, 7, 2, 0xA000000, 2500, 4),
	(71000, 79000, 0, 1, 7, 3, 0xA000000, 2500, 2), (92000, 95000, 0, 1, 7, 4, 0xA000000, 2500, 1),
	(5000, 35000, 0, 1, 7, 1, 0x14000000, 1000000, 1);
