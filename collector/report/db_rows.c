/* db_rows.c - rows that come one by one, see db.h: which values an operation of db_ops.c gets. */
#include "collector/report/db_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t db_unhex(const char *hex, uint8_t *to, size_t room)
{
	size_t n = 0;
	unsigned byte;

	for (; hex && n < room && sscanf(hex, "%2x", &byte) == 1 && hex[1]; hex += 2)
		to[n++] = (uint8_t)byte;
	return n;
}

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
	return db_record(db, OP_PROCESS, *row, global_pid, pid, name);
}

int db_thread_name(struct db *db, int64_t global_tid, const char *name, int priority)
{
	int64_t *row = db_map_get(&db->ops.thread, global_tid);

	if (!row)
		return -ENOMEM;
	if (!*row)
		*row = ++db->ops.thread_cnt;
	return db_record(db, OP_THREAD, *row, db_string(db, name, strlen(name)), (int64_t)priority,
			 global_tid);
}

int db_diagnostic(struct db *db, int64_t ns, int source, int severity, const char *text,
		  int64_t global_pid)
{
	return db_record(db, OP_DIAGNOSTIC, ns, (int64_t)source, (int64_t)severity, text,
			 global_pid);
}

int db_overhead(struct db *db, int64_t start, int64_t end, int64_t global_tid, const char *name)
{
	return db_record(db, OP_OVERHEAD, start, end, global_tid,
			 db_string(db, name, strlen(name)));
}

int db_meta_capture(struct db *db, const char *name, const char *value)
{
	return db_record(db, OP_CAPTURE, name, value);
}

int db_capture(struct db *db, int64_t number, int64_t start, int64_t end)
{
	return db_record(db, OP_CAPTURES, number, start, end);
}

int db_event_request(struct db *db, const struct db_event_request *r)
{
	return db_record(db, OP_EVENT_REQUEST, r->id, r->event_id, r->source, r->name, r->about,
			 (int64_t)r->is_system, (int64_t)r->no_kernel);
}

int db_meta_export(struct db *db, const char *name, const char *value)
{
	return db_record(db, OP_EXPORT, name, value);
}

int db_meta_export_set(struct db *db, const char *name, const char *value)
{
	return db_record(db, OP_EXPORT_SET, name, value);
}

int db_system_env(struct db *db, const char *name, int name_enum, const char *value)
{
	return db_record(db, OP_ENV, DB_GLOBAL_VID, name, (int64_t)name_enum, value);
}

int db_file_opened(struct db *db, int64_t id, int64_t pid, int64_t opened_ns, const char *path,
		   size_t len)
{
	struct db_opened *recent = &db->ops.recent[(uint64_t)id % DB_RECENT];

	*recent = (struct db_opened){id, db->ops.len};
	return db_record(db, OP_FILE_OPENED, id, pid, opened_ns, INT64_C(0), path, len);
}

int db_file_closed(struct db *db, int64_t id, int64_t closed_ns)
{
	const struct db_opened *recent = &db->ops.recent[(uint64_t)id % DB_RECENT];
	uint8_t *at = db->ops.buf + recent->at;
	int64_t there[1 + 4];

	/* Most files are closed within the transaction: then the pending row gets its end. */
	if (recent->id == id && recent->at + sizeof(there) <= db->ops.len) {
		memcpy(there, at, sizeof(there));
		if ((uint32_t)there[0] == OP_FILE_OPENED && there[1] == id) {
			memcpy(at + 4 * sizeof(int64_t), &closed_ns, sizeof(closed_ns));
			return 0;
		}
	}
	return db_record(db, OP_FILE_CLOSED, id, closed_ns);
}

int db_function(struct db *db, int64_t name_id, int64_t library, int64_t io, int64_t is_stdio)
{
	return db_record(db, OP_FUNCTION, name_id, library, io, is_stdio);
}

int db_total(struct db *db, const struct db_total *t)
{
	return db_record(db, OP_TOTAL, t->global_tid, t->instance, t->name_id, t->count,
			 t->total_ns, t->min_ns, t->max_ns, t->bytes, t->err_count, t->lost_count,
			 t->lost_total_ns, t->is_untimed);
}

int db_call_total(struct db *db, const struct db_total *t)
{
	return db_record(db, OP_CALL_TOTAL, t->global_tid, t->name_id, t->count, t->total_ns,
			 t->min_ns, t->max_ns, t->err_count);
}

int db_socket(struct db *db, int64_t id, const char *local)
{
	return db_record(db, OP_SOCKET, id, local);
}

int db_rank_variable(struct db *db, int64_t global_pid, const char *name, const char *value)
{
	return db_record(db, OP_RANK_VARIABLE, global_pid, name, value);
}

int db_communicator(struct db *db, const struct db_communicator *c)
{
	return db_record(db, OP_COMMUNICATOR, c->global_pid, c->comm, c->hash, c->parent_hash,
			 c->ranks, c->rank, c->start);
}

int db_communicator_ended(struct db *db, int64_t global_pid, int64_t comm, int64_t ns)
{
	return db_record(db, OP_COMMUNICATOR_END, global_pid, comm, ns);
}

int db_file_total(struct db *db, const struct db_file_total *t)
{
	return db_record(db, OP_FILE_TOTAL, t->global_tid, t->file_id, t->type, t->is_stdio,
			 t->count, t->bytes, t->total_ns);
}

int db_lost(struct db *db, int64_t start, int64_t end, int64_t global_tid, const char *what,
	    int64_t count)
{
	return db_record(db, OP_LOST, start, end, global_tid, what, count);
}

int db_clock_snapshot(struct db *db, const struct db_clock *c)
{
	return db_record(db, OP_CLOCK, c->ticks, c->mono, c->real, c->boot, c->is_synchronized,
			 c->error_ns, c->max_error_ns);
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
			err = db_record(db, OP_IMAGE_END, *row, image->start_ns, DB_NULL);
		ops->images.start[ops->image_cnt++] = image->start_ns;
		*row = ops->image_cnt;
	}
	if (err)
		return err;
	return db_record(db, OP_IMAGE, *row, image->global_pid,
			 image->parent_global_pid ? image->parent_global_pid : DB_NULL,
			 image->start_ns, (int64_t)image->kind, (int64_t)image->traced, image->exe,
			 image->command_line);
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
	return db_record(db, OP_IMAGE_END, *row, end_ns,
			 exit_status < 0 ? DB_NULL : (int64_t)exit_status);
}
