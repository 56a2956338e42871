/* reason.c - functions and objects become reasons; each of them is looked up once. */
#include "exporters/why/walk/reason.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/read/sql_rows.h"

enum {
	WHY_IO = 100,  /* the object decides */
	WHY_GPU_WAIT,  /* a call of CUDA that waits for the GPU */
	WHY_GPU_MAYBE, /* a copy asynchronous by name, but synchronous for pageable memory */
	WHY_GPU_OTHER,
	WHY_NCCL_KERNEL,
	WHY_CONDITION, /* a condition with a time limit: QUEUE, or the GIL */
	WHY_OPEN,      /* of a file; the call may wait for it */
	WHY_FORK,      /* makes a process, and does not wait for it */
	WHY_OTHER,     /* no known name */
};

/* Of each kind of wait in the hook tables; SOCKET: the object decides whether it is one of the network. */
#define REASON_OF_NONE      WHY_OTHER
#define REASON_OF_OBJECT    WHY_IO
#define REASON_OF_FILE      WHY_FILE
#define REASON_OF_OPEN      WHY_OPEN
#define REASON_OF_DISK      WHY_FSYNC
#define REASON_OF_SOCKET    WHY_SOCKET
#define REASON_OF_ACCEPT    WHY_SOCKET
#define REASON_OF_LOCK      WHY_LOCK
#define REASON_OF_QUEUE     WHY_QUEUE
#define REASON_OF_CONDITION WHY_CONDITION
#define REASON_OF_BARRIER   WHY_QUEUE
#define REASON_OF_JOIN      WHY_JOIN
#define REASON_OF_CHILD     WHY_CHILD
#define REASON_OF_FORK      WHY_FORK
#define REASON_OF_CREATE    WHY_OTHER
#define REASON_OF_SLEEP     WHY_SLEEP
#define REASON_OF_POLL      WHY_POLL
#define REASON_OF_SIGNAL    WHY_SIGNAL
#define REASON_OF_LOAD      WHY_IMPORT
#define REASON_OF_MEMORY    WHY_PAGE_IN

static const struct {
	const char *waits;
	uint8_t reason;
} waits_for[] = {
#define WAITS(waits, text) {text, REASON_OF_##waits},
#include "preload/wire/hook_kinds.def"
};

static const struct {
	const char *text, *name;
} reasons[] = {
#define REASON(id, text, part, colour, ends) {text, #id},
#include "exporters/why/walk/reasons.def"
};

const char *why_reason_text(uint32_t reason)
{
	return reasons[reason].text;
}

const char *why_reason_name(uint32_t reason)
{
	return reasons[reason].name;
}

int reason_read_functions(struct walk *w)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(w->m->db,
				    "SELECT nameId, waits FROM SL_FUNCTION_KINDS WHERE waits IS "
				    "NOT NULL",
				    -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		long name = id_map_find(&w->m->names, sqlite3_column_int64(stmt, 0));
		const char *waits = (const char *)sqlite3_column_text(stmt, 1);

		for (size_t i = 0; i < sizeof(waits_for) / sizeof(*waits_for); i++)
			if (name >= 0 && waits && strcmp(waits_for[i].waits, waits) == 0)
				w->reason_of[name] = waits_for[i].reason + 1;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static char *string_of(const struct walk *w, int64_t id)
{
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;

	stmt = sql_first_of(w->m->db, "SELECT value FROM StringIds WHERE id = ?1", id);
	if (stmt && sqlite3_column_text(stmt, 0))
		text = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return text;
}

/* cudaMemcpy returns when the copy is done, cudaMemcpyAsync and copies within the GPU do not. */
static bool waits_for_gpu(const char *name)
{
	return strstr(name, "Synchronize") || strcmp(name, "cudaFree") == 0 ||
	       strncmp(name, "cuMemFree", 9) == 0 ||
	       ((strncmp(name, "cudaMemcpy", 10) == 0 || strncmp(name, "cuMemcpy", 8) == 0) &&
		!strstr(name, "Async") && !strstr(name, "Peer"));
}

void reason_cut_version(char *name)
{
	size_t len = strlen(name), digits = 0;

	while (digits < len && name[len - 1 - digits] >= '0' && name[len - 1 - digits] <= '9')
		digits++;
	if (strncmp(name, "cu", 2) == 0 && digits > 1 && digits + 2 < len &&
	    strncmp(&name[len - digits - 2], "_v", 2) == 0)
		name[len - digits - 2] = '\0';
}

/* Of a function that is none of the C library. */
static uint8_t look_up(char *name)
{
	if (!name)
		return WHY_OTHER;
	reason_cut_version(name);
	if (strncmp(name, "ncclDevKernel", 13) == 0 || strncmp(name, "ncclKernel", 10) == 0)
		return WHY_NCCL_KERNEL;
	if (waits_for_gpu(name))
		return WHY_GPU_WAIT;
	if (strncmp(name, "cudaMemcpy", 10) == 0 || strncmp(name, "cuMemcpy", 8) == 0)
		return WHY_GPU_MAYBE;
	return strncmp(name, "cu", 2) == 0 || strncmp(name, "nccl", 4) == 0 ? WHY_GPU_OTHER
									    : WHY_OTHER;
}

static uint8_t of_name(struct walk *w, uint32_t name)
{
	uint8_t *known = &w->reason_of[name];
	char *text;

	if (!*known) {
		text = string_of(w, w->m->names.ids[name]);
		*known = look_up(text) + 1;
		free(text);
	}
	return *known - 1;
}

static uint8_t kind_of_object(const char *path)
{
	static const struct {
		const char *start;
		uint8_t reason;
	} kinds[] = {
		{"pipe:", WHY_PIPE},
		{"/dev/pts/", WHY_POLL},
		{"/dev/tty", WHY_POLL},
		/* A peer on the same machine. */
		{"tcp:127.", WHY_SOCKET_ANY},
		{"tcp6:[::1]", WHY_SOCKET_ANY},
		{"udp:127.", WHY_SOCKET_ANY},
		{"udp6:[::1]", WHY_SOCKET_ANY},
		{"tcp6:[::ffff:127.", WHY_SOCKET_ANY},
		{"udp6:[::ffff:127.", WHY_SOCKET_ANY},
		{"tcp", WHY_SOCKET},
		{"udp", WHY_SOCKET},
		{"unix:", WHY_SOCKET_ANY},
		{"socket:", WHY_SOCKET_ANY},
		{"anon_inode:", WHY_POLL},
		{"inotify", WHY_POLL},
		{"/dev/nvidia", WHY_GPU_CALL},
		{"fifo:", WHY_PIPE},
	};

	for (size_t i = 0; path && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strncmp(path, kinds[i].start, strlen(kinds[i].start)) == 0)
			return kinds[i].reason;
	return WHY_FILE;
}

uint32_t reason_of_name(struct walk *w, uint32_t name, uint32_t object)
{
	uint8_t reason = of_name(w, name), *known;
	char *text;

	if (reason >= WHY_GPU_WAIT && reason <= WHY_NCCL_KERNEL)
		return WHY_GPU_CALL;
	if (reason == WHY_OTHER || reason == WHY_FORK)
		return WHY_BLOCKED;
	if (reason == WHY_CONDITION)
		return WHY_QUEUE;
	if (reason == WHY_OPEN)
		return WHY_FILE;
	if (reason != WHY_IO && reason != WHY_SOCKET)
		return reason;
	if (object == WHY_NONE)
		return reason == WHY_IO ? WHY_FILE : WHY_SOCKET;
	known = &w->object_is[object];
	if (!*known) {
		text = string_of(w, w->m->objects.ids[object]);
		*known = kind_of_object(text) + 1;
		free(text);
	}
	return reason == WHY_SOCKET && *known - 1 != WHY_SOCKET_ANY ? WHY_SOCKET : *known - 1;
}

uint32_t reason_of_call(struct walk *w, const struct why_call *c)
{
	const struct why_what *what = why_what(w->m, c);

	return reason_of_name(w, what->name, what->object);
}

bool reason_is_gpu_wait(struct walk *w, const struct why_call *c)
{
	return of_name(w, why_what(w->m, c)->name) == WHY_GPU_WAIT;
}

bool reason_is_gpu_copy(struct walk *w, const struct why_call *c)
{
	return of_name(w, why_what(w->m, c)->name) == WHY_GPU_MAYBE;
}

bool reason_is_nccl(struct walk *w, uint32_t name)
{
	return name != WHY_NONE && of_name(w, name) == WHY_NCCL_KERNEL;
}

bool reason_is_open(struct walk *w, uint32_t name)
{
	return name != WHY_NONE && of_name(w, name) == WHY_OPEN;
}

bool reason_is_of_processes(struct walk *w, uint32_t name)
{
	return name != WHY_NONE && (of_name(w, name) == WHY_FORK || of_name(w, name) == WHY_CHILD);
}

bool reason_is_timed_condition(struct walk *w, const struct why_call *c)
{
	return of_name(w, why_what(w->m, c)->name) == WHY_CONDITION;
}
