-- A wall of 1 ms. Thread 10: cudaDeviceSynchronize for 100 us, cudaStreamSynchronize for 25 us; thread 11:
-- cuStreamSynchronize for 120 us. To wait for an event is not of this kind.
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
	(0, 100, 0x100000A00000A, 90, 1), (999900, 1000000, 0x100000A00000A, 91, 1),
	(1000, 101000, 0x100000A00000A, 1, 8), (200000, 225000, 0x100000A00000A, 2, 17), (1000, 121000, 0x100000A00000B, 3, 9),
	(300000, 900000, 0x100000A00000A, 4, 10);
