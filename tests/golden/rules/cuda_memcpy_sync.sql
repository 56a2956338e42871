-- One thread, a wall of 10 ms. Synchronous: to the device 64000 bytes (left out) and 64001 (call 50 us, copy 30 us); back
-- 8 bytes (call 20 us, copy 1 us); within a device (left out); between devices, copyKind 8 with two devices (call
-- 10 us, copy 4 us) and copyKind 10 (call 7 us, copy 6 us). Asynchronous: one to the device.
ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD srcDeviceId INTEGER;
ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD dstDeviceId INTEGER;
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
	(0, 100, 0xA00000A, 90, 1), (9999900, 10000000, 0xA00000A, 91, 1),
	(1000, 21000, 0xA00000A, 1, 3), (30000, 80000, 0xA00000A, 2, 5), (90000, 110000, 0xA00000A, 3, 3),
	(120000, 130000, 0xA00000A, 4, 3), (140000, 150000, 0xA00000A, 5, 3), (160000, 167000, 0xA00000A, 6, 3),
	(170000, 171000, 0xA00000A, 7, 2);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
	(2000, 20000, 0, 1, 7, 1, 0xA000000, 64000, 1, 0, 2, NULL, NULL),
	(40000, 70000, 0, 1, 7, 2, 0xA000000, 64001, 1, 0, 2, NULL, NULL),
	(100000, 101000, 0, 1, 7, 3, 0xA000000, 8, 2, 2, 1, NULL, NULL),
	(121000, 125000, 0, 1, 7, 4, 0xA000000, 8000000, 8, 2, 2, 0, 0),
	(141000, 145000, 0, 1, 7, 5, 0xA000000, 8000000, 8, 2, 2, 0, 1),
	(161000, 167000, 0, 1, 7, 6, 0xA000000, 8000000, 10, 2, 2, 0, 1),
	(172000, 179000, 0, 1, 7, 7, 0xA000000, 8000000, 1, 1, 2, NULL, NULL);
