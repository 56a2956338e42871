/*
 * nvtx.h - internal interface of the NVTX part: NVTX's binary interface, and functions shared by its files.
 *
 *   nvtx.c          initialization: tables of callbacks, chaining to the program's own injection library
 *   nvtx_event.c    marks, ranges
 *   nvtx_capture.c      ranges that begin and end a capture
 *   nvtx_name.c     domains, registered strings, categories, names of threads and resources
 *   nvtx_payload.c  the payload extension: schemas, enumerations, events with blobs
 *   nvtx_counter.c  the extension for counters: counted alone
 *   nvtx_put.c      records; texts as UTF-8; memory
 *
 * Each NVTX instance (each library that includes its headers has one) calls functions through pointers that an injection
 * library fills in. If the program has an injection library of its own, both are called: the program gets the handles and
 * ids of the chained one, and the shim finds its objects by them (sl_nvtx_domain(), sl_nvtx_string()).
 *
 * Statically linked programs cannot load an injection library, so their NVTX does nothing.
 */
#pragma once

#include <wchar.h>

#include "preload/core/hook.h"
#include "preload/core/thread_room.h"
#include "preload/wire/nvtx_wire.h"

#pragma GCC visibility push(hidden)

/* ---- NVTX's binary interface ---- */

struct nvtx_event {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type; /* 1: ARGB */
	uint32_t color;
	int32_t payload_type; /* enum sl_nvtx_payload, or NVTX_PAYLOAD_BLOBS */
	int32_t blob_cnt;
	uint64_t payload;
	int32_t message_type; /* 1 char, 2 wchar_t, 3 registered */
	const void *message;
};
_Static_assert(sizeof(struct nvtx_event) == 48, "nvtxEventAttributes_t, version 2 and 3");
#define NVTX_PAYLOAD_BLOBS ((int32_t)0xdfbd0009)

struct nvtx_blob {
	uint64_t schema;
	size_t size; /* SIZE_MAX: unknown */
	const void *data;
};

struct nvtx_resource {
	uint16_t version, size;
	int32_t type;
	uint64_t identifier;
	int32_t message_type;
	const void *message;
};

#define NVTX_NO_LEVEL (-2) /* result of push and pop if levels are not counted */

typedef const void *(*nvtx_get_table)(uint32_t id);
typedef int (*nvtx_inject)(nvtx_get_table get);
typedef void (*nvtx_function)(void);

struct nvtx_callbacks {
	size_t size;
	int (*module)(int module, nvtx_function ***table, unsigned *cnt);
};

struct nvtx_segment {
	size_t id, cnt;
	intptr_t *slot; /* 0: not set; else 1: off, or a function */
};

struct nvtx_module {
	uint16_t version, size, id, compatible;
	size_t segment_cnt;
	struct nvtx_segment *segment;
	intptr_t (*get_function)(uint32_t id);
	const void *info;
};
typedef int (*nvtx_inject_module)(struct nvtx_module *module);

enum {
	NVTX_MODULE_CORE = 1,
	NVTX_MODULE_CUDA,
	NVTX_MODULE_OPENCL,
	NVTX_MODULE_CUDART,
	NVTX_MODULE_CORE2,
	NVTX_MODULE_SYNC,
	NVTX_MODULE_CNT,
};
#define NVTX_MODULE_SLOTS 16
#define NVTX_EXT_PAYLOAD  2
#define NVTX_EXT_COUNTERS 4
#define NVTX_EXT_SLOTS    18

/* Places in the tables. */
enum {
	CORE_MARK_EX = 1,
	CORE_MARK_A,
	CORE_MARK_W,
	CORE_START_EX,
	CORE_START_A,
	CORE_START_W,
	CORE_END,
	CORE_PUSH_EX,
	CORE_PUSH_A,
	CORE_PUSH_W,
	CORE_POP,
	CORE_CATEGORY_A,
	CORE_CATEGORY_W,
	CORE_THREAD_A,
	CORE_THREAD_W,
};
enum {
	CORE2_MARK_EX = 1,
	CORE2_START_EX,
	CORE2_END,
	CORE2_PUSH_EX,
	CORE2_POP,
	CORE2_RESOURCE_CREATE,
	CORE2_RESOURCE_DESTROY,
	CORE2_CATEGORY_A,
	CORE2_CATEGORY_W,
	CORE2_STRING_A,
	CORE2_STRING_W,
	CORE2_DOMAIN_A,
	CORE2_DOMAIN_W,
	CORE2_DOMAIN_DESTROY,
};
enum {
	EXT_SCHEMA = 0,
	EXT_ENUM,
	EXT_MARK,
	EXT_PUSH,
	EXT_POP,
	EXT_START,
	EXT_END,
	EXT_ENABLED,
};

/* ---- the shim's objects ---- */

#define NVTX_LEVELS 128u /* domains of a process whose nesting is counted */
/* Nested capture ranges of a thread; deeper ones are ignored, the outer ones keep the capture open. */
#define NVTX_CAPTURES 8u

struct sl_nvtx_domain {
	uint64_t magic;
	uint32_t id; /* in the arena */
	uint32_t
		index; /* in the process: of its nesting level; NVTX_LEVELS and above: not counted */
	char name[SL_CAPTURE_NAME_BYTES]; /* cut to the longest name that --nvtx-capture can have */
};

/* What a thread has open. Forked children continue the levels; the capture ranges are void in them. */
struct sl_nvtx_thread {
	int32_t level[NVTX_LEVELS]; /* of nesting, by domain */
	uint32_t process;           /* that pushed the capture ranges */
	struct {
		const struct sl_nvtx_domain *domain;
		uint32_t number;
		uint32_t inside; /* later pushes of the same domain that are not popped yet */
	} range[NVTX_CAPTURES];
};
_Static_assert(sizeof(struct sl_nvtx_thread) <= sizeof(((struct sl_thread_room *)0)->nvtx),
	       "the room of a thread");

/* NULL: a thread that cannot be recorded. */
SL_HOT struct sl_nvtx_thread *sl_nvtx_thread(void)
{
	struct sl_thread_room *room = sl_thread_room();

	return sl_likely(room) ? (struct sl_nvtx_thread *)(void *)room->nvtx : NULL;
}

struct sl_nvtx_string {
	uint64_t magic;
	struct sl_nvtx_string *next; /* in its bucket */
	struct sl_arena *arena;      /* in which the text is recorded; NULL: none yet */
	uint32_t id, domain, hash, len;
	char text[];
};

/* A text for a record, measured but not copied yet. */
struct sl_nvtx_text {
	const void *at;
	size_t len; /* bytes of UTF-8 */
	bool wide;
};

struct sl_nvtx_text sl_nvtx_chars(const char *s);
struct sl_nvtx_text sl_nvtx_wide(const wchar_t *s);
void sl_nvtx_copy(char *to, const struct sl_nvtx_text *t, size_t len);

/* Writes a record: whole words, then a text (NULL: none). False: no room, or nothing is recorded. */
bool sl_nvtx_put(enum sl_nvtx kind, const uint64_t *word, unsigned words,
		 const struct sl_nvtx_text *text);
bool sl_nvtx_put_string(uint32_t id, const struct sl_nvtx_text *text);

/* An event, a POP or an END with its optional fields. */
struct sl_nvtx_event {
	uint64_t word[6]; /* the words before the text */
	unsigned words;
	bool has_text;
	bool opens_capture; /* its message is that of --nvtx-capture */
	struct sl_nvtx_text text;
	const struct nvtx_blob *blob;
	unsigned blobs;
};
void sl_nvtx_put_event(enum sl_nvtx kind, const struct sl_nvtx_event *e);

/* NVTX is not recorded; only its capture ranges are evaluated. */
extern bool sl_nvtx_silent;

void *sl_nvtx_alloc(size_t bytes); /* zeroed, never freed; NULL: none */

/* For ranges of the shim itself (python_range.c). NULL: no memory. */
struct sl_nvtx_domain *sl_nvtx_domain_new(struct sl_nvtx_text name);
struct sl_nvtx_string *sl_nvtx_string_new(struct sl_nvtx_domain *d, struct sl_nvtx_text text);

/* The shim's object by the program's handle. */
struct sl_nvtx_domain *sl_nvtx_domain(const void *handle); /* NULL: the default one */
struct sl_nvtx_string *sl_nvtx_string(const void *handle);
/* The chained injection's handle for @handle; NULL: @handle is the shim's own. */
void *sl_nvtx_chained_handle(const void *handle);
/* The id to write for @s; 0: the text cannot be recorded in this arena, write the text itself. */
uint32_t sl_nvtx_string_id(struct sl_nvtx_string *s, const void *handle);

/* What getenv(@name) returns: this library's path if NVTX is to load it as its injection library, else NULL. */
const char *sl_nvtx_env(const char *name);

/* Functions of the chained injection by module and slot, NULL: none. */
extern bool sl_nvtx_chained;
extern nvtx_function sl_nvtx_chain[NVTX_MODULE_CNT][NVTX_MODULE_SLOTS];
extern intptr_t sl_nvtx_chain_ext[NVTX_EXT_SLOTS], sl_nvtx_chain_counter[NVTX_EXT_SLOTS];

extern const nvtx_function sl_nvtx_event_core[NVTX_MODULE_SLOTS];
extern const nvtx_function sl_nvtx_event_core2[NVTX_MODULE_SLOTS];
extern const nvtx_function sl_nvtx_name_core[NVTX_MODULE_SLOTS];
extern const nvtx_function sl_nvtx_name_core2[NVTX_MODULE_SLOTS];
extern const nvtx_function sl_nvtx_name_cuda[NVTX_MODULE_SLOTS];
extern const nvtx_function sl_nvtx_name_cudart[NVTX_MODULE_SLOTS];
extern const intptr_t sl_nvtx_ext[NVTX_EXT_SLOTS], sl_nvtx_counter[NVTX_EXT_SLOTS];

/* nvtx_event.c, for the payload extension and Python: push, pop, start and end, with prepared events. */
int sl_nvtx_push(struct sl_nvtx_domain *d, struct sl_nvtx_event *e);
int sl_nvtx_pop(struct sl_nvtx_domain *d, const struct nvtx_blob *blob, unsigned blobs);
/* With a payload value; negative: none. */
int sl_nvtx_pop_value(struct sl_nvtx_domain *d, int64_t value);
uint64_t sl_nvtx_start(struct sl_nvtx_domain *d, struct sl_nvtx_event *e, uint64_t id);
void sl_nvtx_end(struct sl_nvtx_domain *d, uint64_t id, const struct nvtx_blob *blob,
		 unsigned blobs);
void sl_nvtx_event_of(struct sl_nvtx_event *e, struct sl_nvtx_domain *d,
		      const struct nvtx_event *from);
void sl_nvtx_event_of_string(struct sl_nvtx_event *e, struct sl_nvtx_domain *d,
			     struct sl_nvtx_string *s);

/* ---- nvtx_capture.c ---- */

/* Whether this is the message of --nvtx-capture; the second one also checks that unregistered strings count. */
bool sl_nvtx_is_session_range(const char *text, size_t len);
bool sl_nvtx_is_session_text(const struct sl_nvtx_text *text);
/* Called before the record of a range's beginning and after that of its end, so that the capture contains both. */
SL_COLD void sl_nvtx_capture_push(const struct sl_nvtx_domain *d, bool opens);
SL_COLD void sl_nvtx_capture_pop(const struct sl_nvtx_domain *d);
SL_COLD void sl_nvtx_capture_start(const struct sl_nvtx_domain *d, uint64_t id);
SL_COLD void sl_nvtx_capture_end(const struct sl_nvtx_domain *d, uint64_t id);
/* Open capture ranges, of this thread and of all: if 0, pops and ends need no check. */
extern __thread uint32_t sl_nvtx_capture_depth __attribute__((tls_model("initial-exec")));
extern uint32_t sl_nvtx_capture_started;

SL_HOT bool sl_nvtx_may_capture(void)
{
	return sl_unlikely(__atomic_load_n(&sl_global.session->capture_by, __ATOMIC_RELAXED) &
			   SL_CAPTURE_BY_NVTX);
}

#pragma GCC visibility pop
