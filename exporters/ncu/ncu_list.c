/* ncu_list.c - all launches of the kernels asked for, with the number that ncu would skip for each. */
#include "exporters/ncu/ncu.h"

#include <inttypes.h>
#include <string.h>

#include "collector/base/json.h"
#include "exporters/text/cell.h"

static const char all[] =
	"SELECT nr, process & 16777215, skip, start, end, call, sl_gpu(process << 24, deviceId), "
	"streamId, correlationId, "
	"gridX, gridY, gridZ FROM SL_NCU_LAUNCH WHERE (?1 = 0 OR process & 16777215 = ?1) ORDER BY "
	"nr, process, skip";

static sqlite3_stmt *begin(const struct ncu *n)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(n->db, all, -1, &stmt, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_int64(stmt, 1, n->ask->pid);
	return stmt;
}

int ncu_list_text(FILE *out, const struct ncu *n)
{
	sqlite3_stmt *stmt = begin(n);
	int64_t last = -1;
	int rc = SQLITE_ERROR;

	while (stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t nr = sqlite3_column_int64(stmt, 0);
		char grid[72];

		if (nr != last) {
			fprintf(out, last < 0 ? "" : "\n");
			text_put_people(out, n->kernels[nr].demangled);
			fprintf(out, "\n%8s %10s %16s %14s %4s %7s  %s\n", "Process", "Skip",
				"Start (s)", "Time (ns)", "GPU", "Stream", "Grid");
			last = nr;
		}
		snprintf(grid, sizeof(grid), "%" PRId64 " x %" PRId64 " x %" PRId64,
			 (int64_t)sqlite3_column_int64(stmt, 9),
			 (int64_t)sqlite3_column_int64(stmt, 10),
			 (int64_t)sqlite3_column_int64(stmt, 11));
		fprintf(out, "%8lld %10lld %16.9f %14lld %4lld %7lld  %s\n",
			(long long)sqlite3_column_int64(stmt, 1),
			(long long)sqlite3_column_int64(stmt, 2),
			(double)sqlite3_column_int64(stmt, 3) / 1e9,
			(long long)(sqlite3_column_int64(stmt, 4) - sqlite3_column_int64(stmt, 3)),
			(long long)sqlite3_column_int64(stmt, 6),
			(long long)sqlite3_column_int64(stmt, 7), grid);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}

#define CALL 5 /* its column: NULL where the launch has no call */

int ncu_list_json(FILE *out, const struct ncu *n)
{
	static const char *const keys[] = {"process", "skip",   "start",  "end",
					   "call",    "device", "stream", "correlationId"};
	struct writer w = {.file = out, .is_spaced = true};
	sqlite3_stmt *stmt = begin(n);
	int rc = SQLITE_ERROR;

	json_open(&w, NULL, '[');
	while (stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const struct ncu_kernel *k = &n->kernels[sqlite3_column_int64(stmt, 0)];

		json_line(&w, 2);
		json_open(&w, NULL, '{');
		json_text(&w, "name", k->mangled ? k->mangled : k->demangled);
		for (int i = 0; i < (int)(sizeof(keys) / sizeof(*keys)); i++)
			if (i + 1 == CALL && sqlite3_column_type(stmt, CALL) == SQLITE_NULL)
				json_null(&w, keys[i]);
			else
				json_int(&w, keys[i], sqlite3_column_int64(stmt, i + 1));
		json_close(&w, '}');
	}
	json_close(&w, ']');
	putc('\n', out);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}
