/* db_rows.c - rows that come one by one, see db.h: members of rows by name. */
#include "collector/report/db_internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *db_room(uint8_t **buf, size_t len, size_t *cap, size_t bytes)
{
	size_t want = *cap ? *cap : 4096;
	uint8_t *more;

	while (want < len + bytes)
		want *= 2;
	if (want != *cap) {
		more = realloc(*buf, want);
		if (!more)
			return NULL;
		*buf = more;
		*cap = want;
	}
	return *buf + len;
}

int db_process(struct db *db, int64_t global_pid, int64_t pid, const char *name)
{
	int64_t *row = db_map_get(&db->ops.process, global_pid);

	if (!row)
		return -ENOMEM;
	if (!*row)
		*row = ++db->ops.process_cnt;
	return db_put_PROCESSES(
		db, &(struct db_row_PROCESSES){
			    .rowid = *row, .globalPid = global_pid, .pid = pid, .name = name});
}

int db_thread_name(struct db *db, int64_t global_tid, const char *name, int priority)
{
	int64_t *row = db_map_get(&db->ops.thread, global_tid);

	if (!row)
		return -ENOMEM;
	if (!*row)
		*row = ++db->ops.thread_cnt;
	return db_put_ThreadNames(
		db, &(struct db_row_ThreadNames){.rowid = *row,
						 .nameId = db_string(db, name, strlen(name)),
						 .priority = priority,
						 .globalTid = global_tid});
}

int db_diagnostic(struct db *db, int64_t ns, int source, int severity, const char *text,
		  int64_t global_pid)
{
	return db_put_DIAGNOSTIC_EVENT(db,
				       &(struct db_row_DIAGNOSTIC_EVENT){.timestamp = ns,
									 .timestampType = 1,
									 .source = source,
									 .severity = severity,
									 .text = text,
									 .globalPid = global_pid});
}

int db_overhead(struct db *db, int64_t start, int64_t end, int64_t global_tid, const char *name)
{
	return db_put_PROFILER_OVERHEAD(db, &(struct db_row_PROFILER_OVERHEAD){
						    .start = start,
						    .end = end,
						    .globalTid = global_tid,
						    .nameId = db_string(db, name, strlen(name))});
}

int db_meta_capture(struct db *db, const char *name, const char *value)
{
	return db_put_META_DATA_CAPTURE(
		db, &(struct db_row_META_DATA_CAPTURE){.name = name, .value = value});
}

int db_capture(struct db *db, int64_t number, int64_t start, int64_t end)
{
	return db_put_SL_CAPTURES(
		db, &(struct db_row_SL_CAPTURES){.number = number, .start = start, .end = end});
}

int db_meta_export(struct db *db, const char *name, const char *value)
{
	return db_put_META_DATA_EXPORT(
		db, &(struct db_row_META_DATA_EXPORT){.name = name, .value = value});
}

int db_meta_export_set(struct db *db, const char *name, const char *value)
{
	const struct {
		const char *name, *value;
	} change = {name, value};

	return db_put(db, OP_EXPORT_SET, &change);
}

int db_system_env(struct db *db, const char *name, int name_enum, const char *value)
{
	return db_put_TARGET_INFO_SYSTEM_ENV(
		db, &(struct db_row_TARGET_INFO_SYSTEM_ENV){.globalVid = DB_GLOBAL_VID,
							    .devStateName = "Local (CLI)",
							    .name = name,
							    .nameEnum = name_enum,
							    .value = value});
}

int db_file_opened(struct db *db, int64_t id, int64_t pid, int64_t opened_ns, const char *path,
		   size_t len)
{
	struct db_opened *recent = &db->ops.recent[(uint64_t)id % DB_RECENT];

	*recent = (struct db_opened){id, db->ops.len};
	return db_put_OSRT_FILE_ACCESS_DESCRIPTORS(
		db, &(struct db_row_OSRT_FILE_ACCESS_DESCRIPTORS){.rowid = id,
								  .fileAccessId = id,
								  .processId = pid,
								  .openedAt = opened_ns,
								  .filePath = {path, len}});
}

int db_file_closed(struct db *db, int64_t id, int64_t closed_ns)
{
	typedef struct db_row_OSRT_FILE_ACCESS_DESCRIPTORS row_type;
	const struct db_opened *recent = &db->ops.recent[(uint64_t)id % DB_RECENT];
	uint8_t *at = db->ops.buf + recent->at;
	int64_t there[1 + offsetof(row_type, filePath) / sizeof(int64_t)];
	const struct {
		int64_t rowid, closedAt;
	} change = {id, closed_ns};

	/* Most files are closed within the transaction: then the pending row, whose numbers follow its head, gets its end. */
	if (recent->id == id && recent->at + sizeof(there) <= db->ops.len) {
		memcpy(there, at, sizeof(there));
		if ((uint32_t)there[0] == DB_PUT_OSRT_FILE_ACCESS_DESCRIPTORS && there[1] == id) {
			memcpy(at + sizeof(int64_t) + offsetof(row_type, closedAt), &closed_ns,
			       sizeof(closed_ns));
			return 0;
		}
	}
	return db_put(db, OP_FILE_CLOSED, &change);
}

int db_socket(struct db *db, int64_t id, const char *local)
{
	return db_put_SL_SOCKETS(db, &(struct db_row_SL_SOCKETS){.rowid = id,
								 .fileAccessId = id,
								 .localAddress = local});
}

int db_rank_variable(struct db *db, int64_t global_pid, const char *name, const char *value)
{
	return db_put_SL_RANK_VARIABLES(
		db, &(struct db_row_SL_RANK_VARIABLES){
			    .globalPid = global_pid, .name = name, .value = value});
}

int db_communicator_ended(struct db *db, int64_t global_pid, int64_t comm, int64_t ns)
{
	const struct {
		int64_t globalPid, comm, end;
	} change = {global_pid, comm, ns};

	return db_put(db, OP_COMMUNICATOR_END, &change);
}

int db_lost(struct db *db, int64_t start, int64_t end, int64_t global_tid, const char *what,
	    int64_t count)
{
	return db_put_SL_LOST_EVENTS(db, &(struct db_row_SL_LOST_EVENTS){.start = start,
									 .end = end,
									 .globalTid = global_tid,
									 .what = what,
									 .count = count});
}

static int end_image(struct db *db, int64_t row, int64_t ns, int64_t status)
{
	const struct {
		int64_t rowid, end, exitStatus;
	} change = {row, ns, status};

	return db_put(db, OP_IMAGE_END, &change);
}

/*
 * Rows of SL_PROCESS_TREE are numbered as images come; ops.image knows the last one of each process.
 * The same start again is the same image, better known (first the kernel's view, then the shim's).
 */
int db_image(struct db *db, const struct db_image *image)
{
	struct db_ops *ops = &db->ops;
	int64_t *row = db_map_get(&ops->image, image->global_pid);
	int err = 0;

	if (!row)
		return -ENOMEM;
	if (!*row || ops->images.start[*row - 1] != image->start_ns) {
		if (ops->image_cnt == ops->images.cap) {
			int64_t cap = ops->images.cap ? ops->images.cap * 2 : 64;
			int64_t *list = realloc(ops->images.start, (size_t)cap * sizeof(*list));

			if (!list)
				return -ENOMEM;
			ops->images.start = list;
			ops->images.cap = cap;
		}
		if (*row && image->kind == 2)
			err = end_image(db, *row, image->start_ns, DB_NULL);
		ops->images.start[ops->image_cnt++] = image->start_ns;
		*row = ops->image_cnt;
	}
	if (err)
		return err;
	return db_put_SL_PROCESS_TREE(
		db, &(struct db_row_SL_PROCESS_TREE){
			    .rowid = *row,
			    .globalPid = image->global_pid,
			    .parentGlobalPid =
				    image->parent_global_pid ? image->parent_global_pid : DB_NULL,
			    .start = image->start_ns,
			    .end = DB_NULL,
			    .kind = image->kind,
			    .traced = image->traced,
			    .exe = image->exe,
			    .commandLine = image->command_line,
			    .exitStatus = DB_NULL});
}

int db_process_ended(struct db *db, int64_t global_pid, int64_t end_ns, int exit_status)
{
	int64_t *row = db_map_get(&db->ops.image, global_pid);

	if (!row)
		return -ENOMEM;
	if (!*row) { /* db_map_get() counted it as new */
		db->ops.image.cnt--;
		return -ENOENT;
	}
	return end_image(db, *row, end_ns, exit_status < 0 ? DB_NULL : (int64_t)exit_status);
}
