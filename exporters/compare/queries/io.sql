-- title: Read and written
-- about: Bytes that calls of the C library moved: those recorded and those only counted.
-- needs: OSRT_API.bytesDone or SL_OSRT_TOTALS = OS runtime
-- unit: bytes
-- default: 70 single
SELECT '', NULL, coalesce((SELECT sum(bytesDone) FROM OSRT_API WHERE bytesDone > 0), 0) +
	coalesce((SELECT sum(bytes) FROM SL_OSRT_TOTALS), 0), 1;
