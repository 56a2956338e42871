/* stack_options.c - checks the options about stacks of calls. */
#include "collector/options/stack_options.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"

#define GPU_NS     1000 /* where --cudabacktrace names no other threshold */
#define GPU_NS_MAX INT64_C(1000000000000)

static bool is_word(const char *p, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(p, word, len) == 0;
}

static int wrong(const char *cmd, const char *option, const char *takes, const char *got)
{
	sl_warn("%s: option '--%s' takes %s, not '%s' (see 'sightline %s --help')", cmd, option,
		takes, got, cmd);
	return -SL_EXIT_USAGE;
}

/* ":NS" or nothing, up to @end. -1: something else. */
static int64_t threshold(const char *p, const char *end)
{
	int64_t ns = 0;

	if (p == end)
		return GPU_NS;
	if (*p++ != ':' || p == end)
		return -1;
	for (; p < end && *p >= '0' && *p <= '9' && ns <= GPU_NS_MAX; p++)
		ns = ns * 10 + (*p - '0');
	return p == end && ns <= GPU_NS_MAX ? ns : -1;
}

/* One word of --cudabacktrace. False: it is none. */
static bool read_class(struct stack_options *o, const char *p, size_t len)
{
	static const char *const classes[SL_STACK_CLASS_CNT] = {"kernel", "memory", "sync",
								"other"};
	const char *colon = memchr(p, ':', len), *end = p + len;
	size_t name = colon ? (size_t)(colon - p) : len;
	int64_t ns = threshold(p + name, end);
	bool is_known = is_word(p, name, "all");

	if (is_word(p, len, "none"))
		return true;
	for (unsigned i = 0; i < SL_STACK_CLASS_CNT && ns >= 0; i++) {
		bool is_this = is_word(p, name, classes[i]);

		if (is_this || is_word(p, name, "all"))
			o->gpu_ns[i] = ns;
		is_known |= is_this;
	}
	return is_known && ns >= 0;
}

/* True: calls of some class get a stack. */
static int read_cuda(struct stack_options *o, const char *words, const char *cmd, bool *any)
{
	for (unsigned i = 0; i < SL_STACK_CLASS_CNT; i++)
		o->gpu_ns[i] = -1;
	for (const char *p = words; p && *p;) {
		size_t len = strcspn(p, ",");

		if (!read_class(o, p, len))
			return wrong(cmd, "cudabacktrace",
				     "all, none, kernel, memory, sync, other, each with :NS if "
				     "wanted",
				     words);
		p += len + (p[len] == ',');
	}
	*any = false;
	for (unsigned i = 0; i < SL_STACK_CLASS_CNT; i++)
		*any |= o->gpu_ns[i] >= 0;
	return 0;
}

/*
 * SL_STACK_*_PYTHON; the table has checked the words. cuda alone is in every tutorial of nsys, where libc's calls
 * have no frames of Python otherwise; here they do, and a kind that is named takes none from another.
 */
static uint32_t python_kinds(const char *words)
{
	uint32_t kinds = SL_STACK_OSRT_PYTHON;

	for (const char *p = words; *p;) {
		size_t len = strcspn(p, ",");

		if (is_word(p, len, "none"))
			kinds = 0;
		if (is_word(p, len, "osrt") || is_word(p, len, "all"))
			kinds |= SL_STACK_OSRT_PYTHON;
		if (is_word(p, len, "cuda") || is_word(p, len, "all"))
			kinds |= SL_STACK_GPU_PYTHON;
		p += len + (p[len] == ',');
	}
	return kinds;
}

int stack_options_read(struct stack_options *o, const struct stack_words *w, const char *cmd)
{
	bool any_gpu;
	int rc = read_cuda(o, w->cuda, cmd, &any_gpu);

	if (rc < 0)
		return rc;
	o->osrt_ns = w->osrt_ns;
	o->depth = w->depth;
	o->is_native = !w->backtrace || strcmp(w->backtrace, "none") != 0;
	if (w->backtrace && strcmp(w->backtrace, "lbr") == 0)
		sl_warn("%s: --backtrace=lbr: the processor's branch records are not used; "
			"stacks are taken as with auto",
			cmd);
	o->kinds = w->python ? python_kinds(w->python)
			     : SL_STACK_OSRT_PYTHON | (any_gpu ? SL_STACK_GPU_PYTHON : 0u);
	if (o->is_native)
		o->kinds |= SL_STACK_OSRT_NATIVE | (any_gpu ? SL_STACK_GPU_NATIVE : 0u);
	/* Python stacks of GPU calls were asked for, and not of which. */
	if (o->kinds & SL_STACK_GPU_PYTHON && !w->cuda)
		rc = read_cuda(o, "all", cmd, &any_gpu);
	return rc;
}

static uint64_t to_ticks(int64_t ns, uint64_t ticks_per_ns)
{
	return (uint64_t)((unsigned __int128)(uint64_t)ns * ticks_per_ns >> 32);
}

void stack_options_tell(const struct stack_options *o, uint64_t ticks_per_ns, struct sl_session *s)
{
	s->stack_kinds = o->kinds;
	s->stack_depth = (uint32_t)o->depth;
	s->stack_ticks = to_ticks(o->osrt_ns, ticks_per_ns);
	for (unsigned i = 0; i < SL_STACK_CLASS_CNT; i++)
		s->stack_gpu_ticks[i] =
			o->gpu_ns[i] < 0 ? UINT64_MAX : to_ticks(o->gpu_ns[i], ticks_per_ns);
}
