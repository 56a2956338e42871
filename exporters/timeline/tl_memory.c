/*
 * tl_memory.c - memory allocated before the recording, known only by its free: tracks of memory begin with it, else they
 * would fall below nothing. The same frees count as "before" in report cuda_mem_sum.
 */
#include "exporters/timeline/tl_internal.h"

int tl_memory(struct tl_run *r)
{
	static const char make[] =
		"DROP TABLE IF EXISTS temp.SL_TL_BEFORE;"
		"CREATE TEMP TABLE SL_TL_BEFORE AS SELECT globalPid, deviceId, memKind, sum(bytes) "
		"AS "
		"bytes FROM (SELECT globalPid, deviceId, memKind, bytes, memoryOperationType AS "
		"op, "
		"row_number() OVER (PARTITION BY globalPid, address ORDER BY start, correlationId, "
		"memoryOperationType) AS nr FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE address <> 0) "
		"WHERE nr = 1 AND op = 1 GROUP BY 1, 2, 3";

	if (!(r->opt->activities & TL_ACT_MEMORY) || r->opt->goes_on ||
	    !tl_has_column(r->db, "CUDA_GPU_MEMORY_USAGE_EVENTS", "address") ||
	    !tl_has_column(r->db, "CUDA_GPU_MEMORY_USAGE_EVENTS", "correlationId"))
		return 0;
	r->has_before = sqlite3_exec(r->db, make, NULL, NULL, NULL) == SQLITE_OK;
	return r->has_before ? 0 : -1;
}

int64_t tl_memory_before(struct tl_run *r, int64_t process, int64_t device, int64_t kind)
{
	sqlite3_stmt *stmt;
	int64_t bytes = 0;

	if (!r->has_before ||
	    sqlite3_prepare_v2(r->db,
			       "SELECT total(bytes) FROM SL_TL_BEFORE WHERE globalPid = ?1 AND "
			       "deviceId = ?2 AND memKind = ?3",
			       -1, &stmt, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_int64(stmt, 1, process);
	sqlite3_bind_int64(stmt, 2, device);
	sqlite3_bind_int64(stmt, 3, kind);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		bytes = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return bytes;
}
