/*
 * pystack.c - Python stacks without the rest of the tracer: preloaded into an interpreter, it makes os.read(9999, n)
 * (called without the interpreter's lock) and os.confstr(9999) (called with it) return the stack that the caller has, as
 *
 *   frames F entries E loops N untold U
 *   name \t file \t line       of each frame, the innermost first; "-" a run of the loop without frames, "!N" a remark
 *
 * E being the frames for which C code entered the interpreter, N how many runs of its loop are on the native stack, U
 * what was still pending when all was taken. The
 * environment's PYSTACK_DEPTH is how many frames are asked for; with PYSTACK_REPEAT, "ns X" follows: what a frame costs.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "collector/symbols/pylines.c"
#include "preload/base/table.c"
#include "preload/unwind/pyfind.c"
#include "preload/unwind/pylayout.c"
#include "preload/unwind/pystack.c"

/* ---- in place of the rest of the tracer ---- */

static struct sl_arena arena;
struct sl_global sl_global = {.arena = &arena, .session = (const struct sl_session *)&arena};
void *sl_real[SL_HOOK_CNT];
static char notes[4096];

void *sl_resolve(enum sl_hook hook)
{
	return dlsym(RTLD_NEXT, hook == SL_H_sem_post ? "sem_post" : "sem_trywait");
}

bool unwind_readable(uint64_t address)
{
	return address != 0;
}

bool sl_object_open(struct sl_object *o, const struct dl_phdr_info *info)
{
	(void)info;
	memset(o, 0, sizeof(*o));
	return true;
}

void *sl_object_find(const struct sl_object *o, const char *name)
{
	(void)o;
	return dlsym(RTLD_DEFAULT, name);
}

static void take_notes(void)
{
	const char *text = sl_pystack_take_note();

	if (!text)
		return;
	strncat(notes, text, sizeof(notes) - strlen(notes) - 2);
	strcat(notes, "\n");
}

/* ---- code objects ---- */

#define TOLD_MAX 20000
static struct sl_pycode told[TOLD_MAX];

static void tell_all(void)
{
	struct sl_pycode c;
	char room[2 * SL_PYTEXT_ROOM];
	const char *name;

	while (sl_pystack_next_code(&c, room)) {
		uint8_t *lines = malloc(c.lines_len + 1);

		if (c.id >= TOLD_MAX)
			abort();
		memcpy(lines, c.lines, c.lines_len);
		c.lines = lines;
		c.file = strdup(c.file);
		name = strdup(c.name);
		c.name = NULL;
		told[c.id] = c;
		__atomic_store_n(&told[c.id].name, name, __ATOMIC_RELEASE);
	}
}

/* ---- the interpreter's loop on the native stack ---- */

/*
 * Most of it may lie apart, where a stripped interpreter has no name for it: in the entry of .eh_frame that the named
 * part's jumps lead into the middle of.
 */
static const char *loop_apart(const char *at, size_t size)
{
	static const char *found;
	static size_t looked;
	struct {
		const char *entry;
		unsigned hits;
	} parts[8] = {{0}}, *most = parts;
	const Elf64_Sym *symbol;
	Dl_info info;

	if (looked == size)
		return found;
#if defined(__x86_64__)
	for (size_t i = 0; i + 6 < size; i++) {
		const unsigned char *p = (const unsigned char *)at + i;
		size_t len = p[0] == 0xe9 ? 1 : p[0] == 0x0f && p[1] >> 4 == 8 ? 2 : 0;
		const char *to, *entry;
		unsigned k = 0;
		int by;

		if (!len)
			continue;
		memcpy(&by, p + len, sizeof(by));
		to = (const char *)p + len + 4 + by;
		entry = _Unwind_FindEnclosingFunction((char *)(uintptr_t)to + 1);
		if ((size_t)(to - at) < size || !entry || entry == to ||
		    (dladdr1(to, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
		     (size_t)(to - (char *)info.dli_saddr) < symbol->st_size))
			continue;
		while (k < 7 && parts[k].entry && parts[k].entry != entry)
			k++;
		parts[k].entry = entry;
		if (++parts[k].hits > most->hits)
			most = &parts[k];
	}
#endif
	found = most->hits > 3 ? most->entry : NULL;
	looked = size;
	return found;
}

static _Unwind_Reason_Code count_loop(struct _Unwind_Context *context, void *arg)
{
	char *address = (char *)_Unwind_GetIP(context) - 1;
	char *loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
	const char *apart;
	const Elf64_Sym *symbol;
	Dl_info info;

	if (!address || !loop || !dladdr1(loop, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return _URC_NO_REASON;
	apart = loop_apart(loop, symbol->st_size);
	*(unsigned *)arg += (size_t)(address - loop) < symbol->st_size ||
			    (apart && _Unwind_FindEnclosingFunction(address) == apart);
	return _URC_NO_REASON;
}

static size_t put_frame(char *text, size_t room, uint64_t f)
{
	const struct sl_pycode *c = &told[sl_frame_code(f)];

	if (f & SL_FRAME_REMARK)
		return (size_t)snprintf(text, room, "!%u\n", (unsigned)f);
	if (!sl_frame_code(f))
		return (size_t)snprintf(text, room, "-\n");
	/* Another thread may be about to write. */
	for (int i = 0; !__atomic_load_n(&c->name, __ATOMIC_ACQUIRE) && i < 10000; i++)
		usleep(100);
	if (!c->name)
		return (size_t)snprintf(text, room, "nobody told\n");
	return (size_t)snprintf(text, room, "%s\t%s\t%d\n", c->name, c->file,
				pylines_at((int)c->version, c->lines, c->lines_len,
					   (int)c->first_line, sl_frame_offset(f)));
}

static size_t put_cost(char *text, size_t room, unsigned depth)
{
	const char *repeat = getenv("PYSTACK_REPEAT");
	uint64_t frames[SL_FRAME_MAX];
	struct timespec a, b;
	unsigned fresh = 0, cnt = 0;

	if (!repeat)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = atoi(repeat); i; i--)
		cnt += sl_pystack(frames, SL_FRAME_MAX, depth, &fresh);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (size_t)snprintf(
		text, room, "ns %.1f\n",
		((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / cnt);
}

static size_t put_stack(char *text, size_t room)
{
	const char *asked = getenv("PYSTACK_DEPTH");
	unsigned depth = asked ? (unsigned)atoi(asked) : SL_FRAME_MAX - 1;
	unsigned fresh = 0, entries = 0, loops = 0, cnt;
	uint64_t frames[SL_FRAME_MAX];
	size_t len;

	cnt = sl_pystack_has() ? sl_pystack(frames, SL_FRAME_MAX, depth, &fresh) : 0;
	tell_all();
	take_notes();
	fresh = 0;
	if (cnt)
		sl_pystack(frames, SL_FRAME_MAX, depth, &fresh);
	for (unsigned i = 0; i < cnt; i++)
		entries += (frames[i] & SL_FRAME_ENTRY) != 0;
	_Unwind_Backtrace(count_loop, &loops);
	len = (size_t)snprintf(text, room, "frames %u entries %u loops %u untold %u\n%s", cnt,
			       entries, loops, fresh, notes);
	for (unsigned i = 0; i < cnt && len < room; i++)
		len += put_frame(text + len, room - len, frames[i]);
	if (len < room)
		len += put_cost(text + len, room - len, depth);
	return len < room ? len : room;
}

__attribute__((visibility("default"))) ssize_t read(int fd, void *to, size_t n)
{
	static ssize_t (*real)(int, void *, size_t);

	if (fd == 9999)
		return (ssize_t)put_stack(to, n);
	if (!real)
		real = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	return real(fd, to, n);
}

/* Called twice where the room of the first time does not suffice. */
__attribute__((visibility("default"))) size_t confstr(int name, char *to, size_t n)
{
	static size_t (*real)(int, char *, size_t);
	static __thread char text[65536];
	size_t len;

	if (!real)
		real = (size_t(*)(int, char *, size_t))dlsym(RTLD_NEXT, "confstr");
	if (name != 9999)
		return real(name, to, n);
	len = put_stack(text, sizeof(text) - 1);
	text[len++] = 0;
	memcpy(to, text, len < n ? len : n);
	return len;
}

/* What is known of this interpreter, as tests/e2e/python/pylayout.c prints it; 0 where it is not known. */
__attribute__((visibility("default"))) int pystack_layout(void);
int pystack_layout(void)
{
	const struct sl_python *py = sl_python_get();

	if (!py)
		return 0;
#define PUT(name) printf(#name " %u\n", (unsigned)py->at.name)
	PUT(version);
	PUT(finalizing);
	PUT(lock);
	PUT(interpreters);
	PUT(gil);
	PUT(gil_holder);
	PUT(gil_locked);
	PUT(next_interpreter);
	PUT(threads);
	PUT(modules);
	PUT(next_thread);
	PUT(thread_id);
	PUT(current);
	PUT(base);
	PUT(cframe_current);
	PUT(previous);
	PUT(code);
	PUT(instruction);
	PUT(is_entry);
	PUT(owner);
	PUT(copy_number);
	PUT(stack);
	PUT(locals);
	PUT(generator_frame);
	PUT(generator_state);
	PUT(name);
	PUT(qualified_name);
	PUT(file);
	PUT(first_line);
	PUT(line_table);
	PUT(bytecode);
	PUT(copies);
	PUT(type);
	PUT(bytes_size);
	PUT(bytes);
	PUT(text_length);
	PUT(text_state);
	PUT(text_ascii);
	PUT(text_compact);
	return fflush(stdout) == 0;
}
