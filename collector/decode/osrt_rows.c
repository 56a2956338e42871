/*
 * osrt_rows.c - writes the row of a call into the C library. Every record passes here: no allocation, one string lookup at
 * most (paths only).
 */
#include "collector/decode/osrt_rows.h"
#include "collector/base/figure.h"

#include "collector/report/db_stacks.h"
#include "collector/decode/file_totals.h"
#include "collector/decode/python_register.h"
#include "collector/model/identity.h"
#include "collector/model/stacks.h"
#include "collector/model/strings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define EVENT_CLASS_OSRT 27
#define TEXT_MAX         8192u

const char rows_loss_full[] = "calls: rings full";
const char rows_loss_nested[] = "calls: made by a signal handler inside the tracer";
const char rows_loss_no_slot[] = "calls: of threads that cannot be recorded";
const char *const rows_loss_of[SL_LOST_KINDS] = {
	[SL_LOST_NVTX] = "NVTX ranges and marks: rings full",
	[SL_LOST_NVTX_END] = "ends of NVTX ranges: rings full",
	[SL_LOST_GPU] = "calls of GPU libraries and GPU activity: rings full",
	[SL_LOST_FILE] = "descriptions of files: rings full",
	[SL_LOST_TOTAL] = "totals by file: rings full",
	[SL_LOST_LEFT] = "calls: left by longjmp(), an exception or exit()",
	[SL_LOST_NVTX_COUNTER] = "samples of NVTX counters: not recorded",
	[SL_LOST_OTHER] = "names and descriptions: rings full",
};
const char rows_loss_memory[] = "records: their program filled the collector's memory";

static const char *const loss_text[] = {
	[SL_LOSS_FULL] = rows_loss_full,
	[SL_LOSS_NESTED] = rows_loss_nested,
	[SL_LOSS_NO_SLOT] = rows_loss_no_slot,
};

static int64_t hook_name(struct model *m, unsigned hook)
{
	if (!m->names.hook[hook])
		m->names.hook[hook] =
			db_string(m->db, sl_hook_name(hook), strlen(sl_hook_name(hook))) + 1;
	return m->names.hook[hook] - 1;
}

static int64_t return_value(const struct call *c)
{
	if (!c->failed)
		return c->ret;
	switch (sl_hook_info[c->hook].fail) {
	case SL_FAIL_NUL:
		return 0;
	case SL_FAIL_NUM:
		return c->ret;
	default:
		return -1;
	}
}

static uint32_t socket_text(const struct call *c, char *text)
{
	char addr[sizeof(struct sockaddr_storage)];
	uint32_t len = c->data.len < sizeof(addr) ? c->data.len : sizeof(addr);

	if (!c->data.bytes)
		return 0;
	memcpy(addr, c->data.bytes, len);
	return decode_sockaddr(addr, len, text, TEXT_MAX);
}

/* A copy: the program could still change the record. */
static uint32_t copy_text(const char *bytes, uint32_t len, char *text)
{
	if (len >= TEXT_MAX)
		len = TEXT_MAX - 1;
	if (bytes)
		memcpy(text, bytes, len);
	text[len] = 0;
	return len;
}

static void copy_name(struct arena *a, uint32_t from, uint32_t to)
{
	struct file_name *n = file_name_find(&a->names, from);

	if (n)
		file_name_set(&a->names, to, n->text, n->len);
	if (n && n->local)
		file_local_set(&a->names, to, n->local);
}

static void keep_local(struct arena *a, const struct meta *m)
{
	char raw[sizeof(struct sockaddr_storage)], text[TEXT_MAX];
	uint32_t len = m->len < sizeof(raw) ? m->len : sizeof(raw);

	memcpy(raw, m->bytes, len);
	decode_sockaddr(raw, len, text, sizeof(text));
	file_local_set(&a->names, m->serial, text);
}

static void keep_names(struct arena *a, const struct call *c)
{
	char text[TEXT_MAX];
	struct meta m;

	if (c->shape == SL_SHAPE_META) {
		if (!decode_meta(c, &m))
			return;
		if (c->hook == SL_META_STRING)
			string_known(a, (uint32_t)m.kind, text, copy_text(m.bytes, m.len, text));
		if (!m.serial)
			return;
		if (c->hook == SL_META_FILE)
			file_name_set(&a->names, m.serial, text, copy_text(m.bytes, m.len, text));
		else if (c->hook == SL_META_SOCKET)
			file_name_set(&a->names, m.serial, text,
				      decode_sockaddr(text, copy_text(m.bytes, m.len, text), text,
						      TEXT_MAX));
		else if (c->hook == SL_META_LOCAL)
			keep_local(a, &m);
		else if (c->hook == SL_META_DUP)
			copy_name(a, m.old_serial, m.serial);
	} else if (c->shape == SL_SHAPE_PATH && c->io.serial && !c->failed) {
		file_name_set(&a->names, c->io.serial, text,
			      copy_text(c->data.bytes, c->data.len, text));
	} else if (c->shape == SL_SHAPE_SOCK && c->io.serial && !c->failed) {
		file_name_set(&a->names, c->io.serial, text, socket_text(c, text));
	} else if (c->shape == SL_SHAPE_DUP && c->io.new_serial && !c->failed) {
		copy_name(a, c->io.serial, c->io.new_serial);
	}
}

/* Descriptors that are no files are named by their kind, as in /proc/self/fd: "socket:[1]". */
static struct file *name_by_hook(struct model *m, struct image *im, const struct call *c,
				 int64_t ns)
{
	char text[64];
	struct file *f = file_find(im, c->io.serial);
	size_t len = strnlen(sl_hook_name(c->hook), sizeof(text) - 1);

	if (f && f->has_row)
		return f;
	memcpy(text, sl_hook_name(c->hook), len);
	text[len] = ':';
	return file_open(m, im, c->io.serial, c->io.fd, text, (uint32_t)len + 1, ns);
}

static void duplicate(struct model *m, struct image *im, uint32_t old_serial, uint32_t serial,
		      int64_t fd, int64_t ns)
{
	struct file_name *n = file_name_find(&im->arena->names, old_serial);

	file_open(m, im, serial, fd, n ? n->text : "", n ? n->len : 0, ns);
	if (n && n->local)
		file_local(m, im, serial, n->local);
}

/* The file behind the call, and the path the row shows. */
static struct file *find_file(struct model *m, struct image *im, const struct call *c, int64_t end,
			      int64_t *path_id)
{
	struct file *f = NULL;
	uint8_t io = sl_hook_info[c->hook].io;
	char text[TEXT_MAX];
	uint32_t len;

	*path_id = DB_NULL;
	if (c->shape == SL_SHAPE_PATH) {
		len = copy_text(c->data.bytes, c->data.len, text);
		*path_id = len ? db_string(m->db, text, len) : DB_NULL;
		if (c->io.serial && !c->failed)
			return file_open(m, im, c->io.serial, c->io.fd, text, len, end);
	} else if (c->shape == SL_SHAPE_SOCK) {
		len = socket_text(c, text);
		*path_id = db_string(m->db, text, len);
		if (c->io.serial && (!c->failed || c->ret == EINPROGRESS || c->ret == EAGAIN))
			return file_open(m, im, c->io.serial, c->io.fd, text, len, end);
	} else if (c->shape == SL_SHAPE_DUP && c->io.new_serial && !c->failed) {
		f = c->io.serial ? file_get(m, im, c->io.serial, c->io.fd, end) : NULL;
		duplicate(m, im, c->io.serial, c->io.new_serial, c->ret, end);
	} else if (c->io.serial && io == SL_IO_OPEN && !c->failed) {
		f = name_by_hook(m, im, c, end);
	}
	if (!f && c->io.serial) {
		f = file_find(im, c->io.serial);
		if (!f || !f->has_row)
			f = file_get(m, im, c->io.serial, c->io.fd, end);
	}
	if (f && *path_id == DB_NULL)
		*path_id = f->path_id;
	return f;
}

/* Bytes that really went from or to the file; NULL for calls that move none. */
static int64_t bytes_done(const struct call *c)
{
	uint8_t io = sl_hook_info[c->hook].io;

	if (c->io.moved != DECODE_NONE)
		return c->io.moved;
	if (c->io.asked == DECODE_NONE || (io != SL_IO_READ && io != SL_IO_WRITE))
		return DB_NULL;
	return c->failed || c->ret < 0 ? 0 : c->ret;
}

static bool is_exec(unsigned hook)
{
	return strncmp(sl_hook_name(hook), "exec", 4) == 0;
}

static void file_event(struct arenas *as, struct thread *t, const struct call *c, uint32_t file_id,
		       int64_t start, int64_t end)
{
	uint8_t io = sl_hook_info[c->hook].io;
	int64_t *row;

	if (io == SL_IO_NONE)
		return;
	row = db_row(as->db, DB_OSRT_FILE_ACCESS_EVENTS);
	row[FACC_FILE_ACCESS_ID] = file_id;
	row[FACC_THREAD_ID] = t->id.tid;
	row[FACC_STARTED_AT] = start;
	row[FACC_ENDED_AT] = end;
	row[FACC_EVENT_TYPE] = io;
	row[FACC_API_CALL_ID] = hook_name(as->model, c->hook);
	row[FACC_BYTES_PROCESSED] = bytes_done(c) == DB_NULL ? 0 : bytes_done(c);
}

/* Adds to the live sums. */
static void add_up(struct model *m, struct thread *t, const struct call *c, struct file *f,
		   int64_t ns, int64_t bytes)
{
	struct image *im = t->image;
	struct live_sum *sum = live_sum_of(&m->live, &im->live, GLOBAL_PID(im->proc->pid), c->hook,
					   m->names.hook[c->hook] - 1);
	uint8_t io = sl_hook_info[c->hook].io;
	struct live_file *file;

	t->live.calls++;
	figure_add(&t->live.ns, c->level ? 0 : ns);
	if (bytes < 0)
		bytes = 0;
	if (sum) {
		sum->calls++;
		sum->ns += (uint64_t)ns;
		sum->bytes += (uint64_t)bytes;
		sum->errors += c->failed;
	}
	if (!f || f->path_id == DB_NULL)
		return;
	if (f->live_report != m->live.report) {
		f->live = live_file_of(&m->live, GLOBAL_PID(im->proc->pid), f->path_id);
		f->live_report = m->live.report;
	}
	if (!f->live)
		return;
	file = &m->live.files.list[f->live - 1];
	file->operations++;
	file->ns += (uint64_t)ns;
	if (io == SL_IO_READ)
		file->read += (uint64_t)bytes;
	else if (io == SL_IO_WRITE)
		file->written += (uint64_t)bytes;
}

/* A thread of the caller's process, by its own view. */
static int64_t owner_tid(const struct thread *t, uint32_t ns_tid)
{
	const struct arena *a = t->image->arena;

	if (!ns_tid)
		return DB_NULL;
	if (!t->image->inside.is_namespaced)
		return GLOBAL_TID(t->image->proc->pid, ns_tid & 0xffffff);
	for (uint32_t i = 0; i < a->threads.cnt; i++) {
		const struct thread *other = a->threads.at[i];

		if (other && other->image == t->image && other->id.ns_tid == ns_tid)
			return other->id.global_tid;
	}
	return DB_NULL;
}

static void lock_row(struct arenas *as, struct thread *t, const struct call *c, int64_t start)
{
	int64_t *row = db_row(as->db, DB_SL_OSRT_LOCKS);

	row[LOCK_START] = start;
	row[LOCK_GLOBAL_TID] = t->id.global_tid;
	row[LOCK_OBJECT] = c->arg;
	row[LOCK_OWNER_TID] = owner_tid(t, c->owner);
}

static void take_call(struct arenas *as, struct thread *t, const struct call *c)
{
	struct model *m = as->model;
	int64_t start, end, bytes, path_id = DB_NULL;
	struct file *f = NULL;
	int64_t *row;

	if (c->hook >= SL_HOOK_CNT) {
		as->lost.corrupt++;
		return;
	}
	if (m->wants.no_osrt)
		return;
	bytes = bytes_done(c);
	start = clock_map_ns(as->clock, c->start);
	end = c->end == c->start ? start : clock_map_ns(as->clock, c->end);
	if (c->io.serial || c->data.bytes)
		f = find_file(m, t->image, c, end, &path_id);
	row = db_row(as->db, DB_OSRT_API);
	row[OSRT_START] = start;
	row[OSRT_END] = end;
	row[OSRT_EVENT_CLASS] = EVENT_CLASS_OSRT;
	row[OSRT_GLOBAL_TID] = t->id.global_tid;
	row[OSRT_NAME_ID] = hook_name(m, c->hook);
	row[OSRT_RETURN_VALUE] = return_value(c);
	row[OSRT_NESTING_LEVEL] = c->level;
	row[OSRT_CALLCHAIN_ID] = db_stack_number(as->db, stacks_take(as, t, c->start));
	row[OSRT_ARGUMENTS_ID] = 0;
	row[OSRT_FD] = c->io.fd;
	row[OSRT_FILE_ACCESS_ID] = f ? (int64_t)f->id : DB_NULL;
	row[OSRT_PATH_ID] = path_id;
	row[OSRT_BYTES_ASKED] = c->io.asked;
	row[OSRT_BYTES_DONE] = bytes;
	row[OSRT_FILE_OFFSET] = c->io.offset;
	row[OSRT_ERRNUM] = c->failed ? c->ret : DB_NULL;
	if (c->shape == SL_SHAPE_LOCK)
		lock_row(as, t, c, start);
	if (c->failed && is_exec(c->hook))
		model_on_exec_failed(t->image);
	if (!t->txn.rows++)
		t->txn.first_ns = start;
	t->txn.last_ns = end;
	add_up(m, t, c, f, end - start, bytes);
	if (!f)
		return;
	if (m->wants.file_access)
		file_event(as, t, c, f->id, start, end);
	if (sl_hook_info[c->hook].io == SL_IO_CLOSE)
		file_close(m, t->image, c->io.serial, end);
}

static void call_unseen(struct arenas *as, struct thread *t, const struct call *c)
{
	struct arena *a = t->image->arena;
	const struct sl_hook_info *hook;
	char text[64];
	int n;

	if (c->hook >= SL_HOOK_CNT || as->model->wants.no_osrt || c->failed)
		return;
	hook = &sl_hook_info[c->hook];
	if (c->data.bytes || c->io.new_serial) {
		keep_names(a, c);
	} else if (c->io.serial && hook->io == SL_IO_OPEN) {
		n = snprintf(text, sizeof(text), "%s:", sl_hook_name(c->hook));
		file_name_set(&a->names, c->io.serial, text, (uint32_t)n);
	} else if (c->io.serial && hook->io == SL_IO_CLOSE) {
		file_close_unseen(as->model, t->image, c->io.serial,
				  clock_map_ns(as->clock, c->start));
	}
}

/* A call on a descriptor outside of a window. True: it is handled. */
static bool meta_unseen(struct arenas *as, struct thread *t, const struct call *c,
			const struct meta *m, int64_t ns)
{
	if (!as->flight.follows_files || windows_have(as->report.windows, c->start))
		return false;
	if (c->hook == SL_META_CLOSE)
		file_close_unseen(as->model, t->image, m->serial, ns);
	else if (c->hook == SL_META_FILE || c->hook == SL_META_SOCKET || c->hook == SL_META_LOCAL ||
		 c->hook == SL_META_DUP)
		keep_names(t->image->arena, c);
	else
		return false;
	return true;
}

/* The record has the number since the thread began, of which the report may have a part already. */
static void lost(struct arenas *as, struct thread *t, const struct call *c, const struct meta *m)
{
	uint64_t cnt = m->cnt > t->written.lost ? m->cnt - t->written.lost : 0;
	unsigned kind =
		m->kind < sizeof(loss_text) / sizeof(*loss_text) ? (unsigned)m->kind : SL_LOSS_FULL;

	if (!cnt)
		return;
	t->written.lost = m->cnt;
	if (!windows_have(as->report.windows, c->start) &&
	    !windows_have(as->report.windows, m->last))
		return;
	db_lost(as->db, clock_map_ns(as->clock, c->start), clock_map_ns(as->clock, m->last),
		t->id.global_tid, loss_text[kind], figure(cnt));
	figure_count(kind == SL_LOSS_FULL ? &as->lost.full : &as->lost.other, cnt);
}

static void note(struct arenas *as, struct thread *t, const struct meta *m, int64_t ns)
{
	static const char deepbind[] = "RTLD_DEEPBIND: calls made by this library are not traced: ";
	char text[TEXT_MAX + sizeof(deepbind)] = "";
	size_t at = 0;

	if (m->kind == SL_NOTE_DEEPBIND) {
		memcpy(text, deepbind, sizeof(deepbind));
		at = sizeof(deepbind) - 1;
	}
	copy_text(m->bytes, m->len, text + at);
	if (m->kind == SL_NOTE_PYTHON) {
		python_note(&as->python, text);
		return;
	}
	db_diagnostic(as->db, ns, 1, 2, text, t->image->proc ? GLOBAL_PID(t->image->proc->pid) : 0);
}

/* SL_META_FILE or SOCKET. */
static void known(struct arenas *as, struct thread *t, const struct meta *m, const char *text,
		  uint32_t len, int64_t ns)
{
	struct model *model = as->model;
	struct file *f;

	if (m->opened_by) {
		f = file_open(model, t->image, m->serial, m->fd, text, len, ns);
		file_totals_opened(as, t, f, m->opened_by);
		return;
	}
	file_name_set(&t->image->arena->names, m->serial, text, len);
	file_get(model, t->image, m->serial, m->fd, ns);
}

static void take_socket(struct arenas *as, struct thread *t, const struct call *c,
			const struct meta *m, int64_t ns)
{
	char raw[TEXT_MAX], text[TEXT_MAX];
	uint32_t len = decode_sockaddr(raw, copy_text(m->bytes, m->len, raw), text, sizeof(text));

	if (c->hook == SL_META_LOCAL)
		file_local(as->model, t->image, m->serial, text);
	else
		known(as, t, m, text, len, ns);
}

static void take_meta(struct arenas *as, struct thread *t, const struct call *c)
{
	char raw[TEXT_MAX];
	struct sl_file_total total;
	struct meta m;
	int64_t ns;

	if (c->hook == SL_META_FILE_TOTAL) {
		if (!decode_file_total(c, &total))
			as->lost.corrupt++;
		else if (windows_have(as->report.windows, c->start))
			file_totals_moved(as, t, &total);
		return;
	}
	if (!decode_meta(c, &m)) {
		as->lost.corrupt++;
		return;
	}
	if (m.serial && as->model->wants.no_osrt)
		return;
	ns = clock_map_ns(as->clock, c->start);
	if (meta_unseen(as, t, c, &m, ns))
		return;
	switch (c->hook) {
	case SL_META_IMAGE:
		m.len = copy_text(m.bytes, m.len, raw);
		m.bytes = raw;
		if (m.image == SL_IMAGE_START)
			stacks_exe(t->image->arena, raw);
		m.ppid = identity_parent(as, t->image, (uint32_t)m.ppid);
		model_on_image(as->model, t->image, &m, ns);
		break;
	case SL_META_FILE:
		known(as, t, &m, raw, copy_text(m.bytes, m.len, raw), ns);
		break;
	case SL_META_DUP:
		if (m.old_serial)
			file_get(as->model, t->image, m.old_serial, DB_NULL, ns);
		duplicate(as->model, t->image, m.old_serial, m.serial, m.fd, ns);
		break;
	case SL_META_CLOSE:
		file_close(as->model, t->image, m.serial, ns);
		break;
	case SL_META_SOCKET:
	case SL_META_LOCAL:
		take_socket(as, t, c, &m, ns);
		break;
	case SL_META_LOST:
		lost(as, t, c, &m);
		break;
	case SL_META_EXEC:
		m.len = copy_text(m.bytes, m.len, raw);
		m.bytes = raw;
		model_on_exec(as->model, t->image, &m, ns);
		break;
	case SL_META_STRING:
		m.len = copy_text(m.bytes, m.len, raw);
		string_known(t->image->arena, (uint32_t)m.kind, raw, m.len);
		break;
	case SL_META_RANK:
		copy_text(m.bytes, m.len, raw);
		model_on_rank(as->model, t->image, raw, m.len);
		break;
	case SL_META_NOTE:
		note(as, t, &m, ns);
		break;
	case SL_META_OVERHEAD:
		if (m.kind != SL_OVERHEAD_START && !windows_have(as->report.windows, c->start))
			break;
		/* Times before 0 have no place on the axis (read late, when a report has begun since). */
		if (ns >= 0)
			db_overhead(as->db, ns, clock_map_ns(as->clock, m.last), t->id.global_tid,
				    m.kind == SL_OVERHEAD_START ? "start of tracing" : "ring full");
		break;
	}
}

static void prescan(struct arena *a, uint32_t process, const struct call *c)
{
	(void)process;
	keep_names(a, c);
}

static void record(struct arenas *as, struct thread *t, const struct call *c)
{
	if (c->shape == SL_SHAPE_META)
		take_meta(as, t, c);
	else if (windows_have(as->report.windows, c->start))
		take_call(as, t, c);
	else if (as->flight.follows_files)
		call_unseen(as, t, c);
}

const struct record_family osrt_records = {.prescan = prescan, .record = record};
