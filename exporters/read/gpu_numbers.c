/* gpu_numbers.c - the GPU that a process means by a device. */
#include "exporters/read/gpu_numbers.h"

#include <stdbool.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "exporters/read/id_map.h"

struct numbers {
	sqlite3 *db;
	bool is_read;
	struct id_map devices; /* process << 32 | device */
	int64_t *gpu;          /* by its number there */
	size_t gpu_cap;
};

static int64_t key_of(int64_t process, int64_t device)
{
	return (int64_t)(((uint64_t)process & 0xffffff) << 32 | (uint32_t)device);
}

static int read_devices(struct numbers *n)
{
	sqlite3_stmt *stmt = NULL;
	int rc;

	n->is_read = true;
	/* Of a process with two rows for a device the lower number counts, as it does everywhere. */
	if (sqlite3_prepare_v2(n->db,
			       "SELECT pid, cudaId, min(gpuId) FROM TARGET_INFO_CUDA_DEVICE WHERE "
			       "pid IS NOT NULL AND cudaId IS NOT NULL AND gpuId >= 0 GROUP BY 1, "
			       "2",
			       -1, &stmt, NULL) != SQLITE_OK)
		return SQLITE_OK; /* the file has no such table */
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		long at = id_map_add(&n->devices, key_of(sqlite3_column_int64(stmt, 0),
							 sqlite3_column_int64(stmt, 1)));

		if (at < 0 || !grow(&n->gpu, (size_t)at, &n->gpu_cap, sizeof(*n->gpu))) {
			rc = SQLITE_NOMEM;
			break;
		}
		n->gpu[at] = sqlite3_column_int64(stmt, 2);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void gpu(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	struct numbers *n = sqlite3_user_data(ctx);
	int rc = n->is_read ? SQLITE_OK : read_devices(n);
	long at = -1;

	(void)cnt;
	if (rc != SQLITE_OK) {
		sqlite3_result_error_code(ctx, rc);
		return;
	}
	if (sqlite3_value_type(v[0]) == SQLITE_INTEGER &&
	    sqlite3_value_type(v[1]) == SQLITE_INTEGER)
		at = id_map_find(&n->devices, key_of(sqlite3_value_int64(v[0]) >> 24,
						     sqlite3_value_int64(v[1])));
	if (at >= 0)
		sqlite3_result_int64(ctx, n->gpu[at]);
	else
		sqlite3_result_value(ctx, v[1]);
}

static void numbers_free(void *numbers)
{
	struct numbers *n = numbers;

	id_map_free(&n->devices);
	free(n->gpu);
	free(n);
}

int gpu_numbers_register(sqlite3 *db)
{
	struct numbers *n = calloc(1, sizeof(*n));

	if (!n)
		return SQLITE_NOMEM;
	n->db = db;
	return sqlite3_create_function_v2(db, "sl_gpu", 2,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, n,
					  gpu, NULL, NULL, numbers_free);
}
