-- Operations on a GPU as a published output of nsys 2025.3.2 lists them (process 1373105): two copies to the device and
-- one back, to the nanosecond; of the kernel between them the duration is known, and that nothing else below half use
-- was found. nsys printed for it: 40.9 % in use, 169,086 ns from 356,927,235 on.
-- The span of 5,072,552 ns in 30 chunks: 169,085.07, rounded up to 169,086. Chunk 3 begins at 356,419,977 + 3 * 169,086;
-- the first copy fills 69,207 ns of it.
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
	(356419977, 356996442, 0, 1, 7, 1, 1373105 * 0x1000000, 4194304, 1, 0, 2),
	(357164672, 357742257, 0, 1, 7, 2, 1373105 * 0x1000000, 4194304, 1, 0, 2),
	(360484139, 361492529, 0, 1, 7, 4, 1373105 * 0x1000000, 4194304, 2, 2, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (357830000, 360474050, 0, 1, 7, 3, 1373105 * 0x1000000, 31, 30);
