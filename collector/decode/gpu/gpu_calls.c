/* gpu_calls.c - rows of calls into GPU libraries: ids, results, arguments. */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

#include "collector/report/db_stacks.h"
#include "collector/model/strings.h"
#include "preload/wire/gpu_parse.h"

enum {
	CLASS_RUNTIME = 0,
	CLASS_DRIVER = 1,
	CLASS_CUDNN = 28,
	CLASS_CUBLAS = 29
};

/* Functions of runtime and driver by name without version and twin, and whether they have rows. */
static struct {
	uint32_t hash;
	bool is_recorded;
} known[8192];

static unsigned known_place(uint32_t hash)
{
	unsigned at = hash % 8192;

	while (known[at].hash && known[at].hash != hash)
		at = (at + 1) % 8192;
	return at;
}

bool gpu_is_skipped(const char *name)
{
	unsigned at;

	gpu_function(0);
	at = known_place(gpu_hash(name));
	return known[at].hash && !known[at].is_recorded;
}

static void read_line(struct gpu_function *f, const struct sl_gpu_line *line)
{
	struct sl_gpu_use use[SL_GPU_ARGS];
	int cnt = sl_gpu_uses(line->roles, use);

	f->name = line->name;
	f->canon = gpu_canon(line->name);
	f->is_count = *line->abi == 'z';
	f->of_graph = f->library <= SL_GPU_cuda ? gpu_graph_function(line->name) : GPU_OF_NO_GRAPH;
	f->starts_work = f->library <= SL_GPU_cuda && gpu_starts_work(line->name);
	if (f->library <= SL_GPU_cuda) {
		uint32_t hash = gpu_hash(line->name);
		unsigned at = known_place(hash);

		known[at].hash = hash;
		known[at].is_recorded |= cnt != SL_GPU_SKIP;
	}
	for (int i = 0; i < cnt; i++) {
		f->role[i] = use[i].role;
		f->is_pointer[i] = use[i].is_pointer;
	}
	f->uses = cnt > 0 ? (uint8_t)cnt : 0;
}

const struct gpu_function *gpu_function(unsigned number)
{
	static struct gpu_function list[SL_GPU_FUNCTION_CNT];
	const char *at = sl_gpu_text;
	unsigned library = 0;

	if (number >= SL_GPU_FUNCTION_CNT)
		return NULL;
	if (list[0].name)
		return &list[number];
	for (unsigned i = 0; i < SL_GPU_FUNCTION_CNT; i++) {
		struct sl_gpu_line line;

		at = sl_gpu_next(at, &line);
		while (i >= sl_gpu_first[library + 1])
			library++;
		list[i].library = (uint8_t)library;
		read_line(&list[i], &line);
	}
	return &list[number];
}

static int64_t function_name(struct arenas *as, struct gpu_arena *g, unsigned number)
{
	const struct gpu_function *f = gpu_function(number);

	if (!g->function_id)
		g->function_id = calloc(SL_GPU_FUNCTION_CNT, sizeof(*g->function_id));
	if (!g->function_id)
		return db_string(as->db, f->name, strlen(f->name));
	if (!g->function_id[number])
		g->function_id[number] = db_string(as->db, f->name, strlen(f->name)) + 1;
	return g->function_id[number] - 1;
}

/* ---- rows ---- */

/* Arguments of type int whose -1 has a meaning: the CPU as a device, a forward transform. */
static bool is_signed(uint8_t role)
{
	return role == SL_GPU_ROLE_device || role == SL_GPU_ROLE_op || role == SL_GPU_ROLE_peer ||
	       role == SL_GPU_ROLE_root || role == SL_GPU_ROLE_color;
}

static bool has_failed(const struct gpu_hook *h)
{
	return gpu_function(h->function)->is_count ? h->result < 0 : h->result != 0;
}

static void write_arguments(struct arenas *as, struct gpu_process *p, const struct gpu_hook *h,
			    int64_t id)
{
	const struct gpu_function *f = gpu_function(h->function);

	/* NCCL's call on a communicator has a word more than its line: its number. */
	unsigned cnt = f->uses + (f->library == SL_GPU_nccl && f->uses < SL_GPU_ARGS);

	for (unsigned i = 0; i < h->words && i < cnt; i++) {
		uint8_t role = i < f->uses ? f->role[i] : SL_GPU_ROLE_seq;
		int64_t *row;

		if (f->is_pointer[i] && has_failed(h)) /* was not read after a failure */
			continue;
		row = db_row(as->db, DB_SL_GPU_ARGUMENTS);
		row[ARG_CALL_ID] = id;
		row[ARG_POSITION] = i;
		row[ARG_ROLE] = role;
		row[ARG_VALUE] = is_signed(role) ? (int32_t)h->word[i] : (int64_t)h->word[i];
		if (p->streams.open && role == SL_GPU_ROLE_stream)
			gpu_stream_passed(p, h->word[i], h->start, id);
	}
}

/* The row id of CUPTI's correlation id; another one where a call that CUPTI does not report has made several calls. */
static int64_t cupti_row_id(struct arenas *as, struct gpu_process *p, const struct gpu_thread *th,
			    uint32_t correlation)
{
	int64_t id = gpu_cupti_id(as, p, correlation);
	uint32_t cnt = th->written_cnt < 16 ? th->written_cnt : 16;

	for (uint32_t i = 1; i <= cnt; i++)
		if (th->written[(th->written_cnt - i) % GPU_WRITTEN].id == id)
			return gpu_hook_id(as, p);
	return id;
}

void gpu_remember(struct gpu_process *p, struct gpu_thread *th, const struct gpu_written *w)
{
	if (!th->written)
		th->written = calloc(GPU_WRITTEN, sizeof(*th->written));
	if (!th->written)
		return;
	th->written[th->written_cnt++ % GPU_WRITTEN] = *w;
	gpu_log_row(p, th, w);
}

static int64_t stack_of(struct arenas *as, const struct gpu_hook *h)
{
	int64_t number = db_stack_number(as->db, h->stack);

	return number ? number : DB_NULL;
}

int64_t gpu_write_call(struct arenas *as, struct arena *a, struct gpu_process *p,
		       struct gpu_thread *th, const struct gpu_hook *hook,
		       const struct gpu_api *api)
{
	static const struct gpu_api silence;
	const struct gpu_function *f = hook ? gpu_function(hook->function) : NULL;
	struct gpu_written w = {.is_reported = api != NULL};
	int64_t name, *row;

	if (!api)
		api = &silence;
	w.start = hook ? hook->start : api->start;
	w.end = hook ? hook->end : api->end;
	w.canon = f ? f->canon : gpu_canon_string(a, api->name);
	w.id = api->correlation ? cupti_row_id(as, p, th, api->correlation) : gpu_hook_id(as, p);
	/* CUPTI's name has the version, as in nsys. */
	name = f && !string_find(a, api->name) ? function_name(as, a->family.gpu, hook->function)
					       : gpu_name(as, a, api->name, true)->mangled;
	row = db_row(as->db, DB_CUPTI_ACTIVITY_KIND_RUNTIME);
	row[RT_START] = w.start;
	row[RT_END] = w.end;
	row[RT_EVENT_CLASS] =
		(f ? f->library == SL_GPU_cuda : api->is_driver) ? CLASS_DRIVER : CLASS_RUNTIME;
	row[RT_GLOBAL_TID] = th->global_tid;
	row[RT_CORRELATION_ID] = w.id;
	row[RT_NAME_ID] = name;
	row[RT_RETURN_VALUE] = hook ? hook->result : api->result;
	row[RT_CALLCHAIN_ID] = hook ? stack_of(as, hook) : DB_NULL;
	live_named(&as->model->live, &p->calls.live, p->id.global_pid, LIVE_CUDA, name,
		   w.end - w.start, row[RT_RETURN_VALUE] != 0);
	if (hook && !w.is_reported)
		gpu_lent_call(p, hook);
	if (hook)
		gpu_lent_graph(p, hook);
	if (hook)
		write_arguments(as, p, hook, w.id);
	gpu_remember(p, th, &w);
	gpu_count_row(a->family.gpu, w.start, w.end);
	return w.id;
}

static void library_row(struct arenas *as, const struct gpu_hook *h, int64_t name,
			const char *library, int64_t global_tid, int64_t id, unsigned nesting)
{
	int64_t *row = db_row(as->db, DB_SL_LIBRARY_API);

	row[LIB_START] = h->start;
	row[LIB_END] = h->end;
	row[LIB_GLOBAL_TID] = global_tid;
	row[LIB_LIBRARY] = db_string(as->db, library, strlen(library));
	row[LIB_NAME_ID] = name;
	row[LIB_CALL_ID] = id;
	row[LIB_RETURN_VALUE] = h->result;
	row[LIB_NESTING_LEVEL] = nesting;
	row[LIB_CALLCHAIN_ID] = stack_of(as, h);
}

/* CUBLAS_EVENTS and CUDNN_EVENTS have the same columns. */
_Static_assert((int)DNN_COL_CNT == (int)BLAS_COL_CNT, "one function fills both");

void gpu_write_library(struct arenas *as, struct arena *a, struct gpu_process *p,
		       const struct gpu_thread *th, const struct gpu_hook *h, unsigned nesting)
{
	static const char *const names[] = {
#define NAME(id, soname, flag) #id,
		SL_GPU_LIBRARIES(NAME)
#undef NAME
	};
	unsigned library = gpu_function(h->function)->library;
	int64_t id = gpu_hook_id(as, p), *row;
	int64_t name = function_name(as, a->family.gpu, h->function);

	if (library == SL_GPU_mpi) {
		gpu_mpi_call(as, p, h, th->global_tid);
		live_named(&as->model->live, &p->calls.live, p->id.global_pid, LIVE_LIBRARY, name,
			   h->end - h->start, has_failed(h));
		gpu_count_row(a->family.gpu, h->start, h->end);
		return;
	}
	if (library == SL_GPU_cublas || library == SL_GPU_cublaslt || library == SL_GPU_cudnn) {
		row = db_row(as->db, library == SL_GPU_cudnn ? DB_CUDNN_EVENTS : DB_CUBLAS_EVENTS);
		row[BLAS_START] = h->start;
		row[BLAS_END] = h->end;
		row[BLAS_EVENT_CLASS] = library == SL_GPU_cudnn ? CLASS_CUDNN : CLASS_CUBLAS;
		row[BLAS_GLOBAL_TID] = th->global_tid;
		row[BLAS_NAME_ID] = name;
		row[BLAS_CALL_ID] = id;
		row[BLAS_RETURN_VALUE] = h->result;
		row[BLAS_CALLCHAIN_ID] = stack_of(as, h);
	} else {
		library_row(as, h, name, names[library], th->global_tid, id, nesting);
	}
	live_named(&as->model->live, &p->calls.live, p->id.global_pid, LIVE_LIBRARY, name,
		   h->end - h->start, has_failed(h));
	write_arguments(as, p, h, id);
	if (library == SL_GPU_nccl && !has_failed(h))
		gpu_nccl_call(as, p, h);
	gpu_count_row(a->family.gpu, h->start, h->end);
}
