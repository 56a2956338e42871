-- block.sql - behind the schema: of disk vda, three reads of thread 7, the second within the first, so that the disk has them for
-- 3,000 + 3,000 of 100,000 ns; a write of the kernel for 10,000 ns; one of 0 bytes, which waits for the flush that follows, and fails.
INSERT INTO ANALYSIS_DETAILS VALUES (1 << 48, 100000, 0, 100000);
INSERT INTO StringIds VALUES (1, 'vda'), (2, 'train'), (3, 'jbd2/vda-8'), (4, 'kworker/0:1H');
INSERT INTO SL_BLOCK_IO VALUES
	(1500, 3000, 4000, (1 << 48) | (7 << 24) | 7, 2, 254 << 20, 1, 16, 4096, 0, 0),
	(1000, 2000, 5000, (1 << 48) | (7 << 24) | 7, 2, 254 << 20, 1, 8, 4096, 0, 0),
	(10000, 11000, 14000, (1 << 48) | (7 << 24) | 7, 2, 254 << 20, 1, 800, 65536, 0, 0),
	(20000, 21000, 31000, NULL, 3, 254 << 20, 1, 1600, 8192, 1, 0),
	(32000, 33000, 39000, NULL, 4, 254 << 20, 1, NULL, 0, 2, 1),
	(20000, NULL, 40000, NULL, 3, 254 << 20, 1, 0, 0, 1, 1);
