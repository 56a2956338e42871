/* sample_waiting.c - unwinds a stack of which only the two pointers are known, and adds Python's frames. */
#include "collector/kernel/sample/sample_waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "collector/kernel/sample/sample_files.h"
#include "collector/kernel/sample/sample_python_outside.h"
#include "collector/kernel/sample/sample_spaces.h"
#include "collector/kernel/sample/sample_unwind.h"
#include "collector/report/db.h"
#include "preload/wire/frame.h"

#define PAGE 4096u

struct sample_waiting {
	struct sample_files *files, *own_files;
	struct sample_spaces *spaces, *own_spaces;
	struct pyoutside *python, *own_python;
	uint8_t stack[SAMPLE_STACK_BYTES];
	uint64_t frames[SL_FRAME_MAX];
};

struct sample_waiting *sample_waiting_open(struct sample *beside, bool wants_python, bool is_second)
{
	struct sample_waiting *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	if (beside) {
		sample_lend(beside, &w->files, &w->spaces, &w->python);
	} else {
		w->files = w->own_files = sample_files_new();
		w->spaces = w->own_spaces = w->files ? sample_spaces_new(w->files, 0) : NULL;
	}
	if (!wants_python)
		w->python = NULL;
	else if (w->files && !w->python)
		w->python = w->own_python = pyoutside_new(w->files, beside != NULL || is_second);
	if (w->spaces && (w->python || !wants_python))
		return w;
	sample_waiting_close(w);
	return NULL;
}

void sample_waiting_close(struct sample_waiting *w)
{
	if (!w)
		return;
	pyoutside_free(w->own_python);
	sample_spaces_free(w->own_spaces);
	sample_files_free(w->own_files);
	free(w);
}

/* As much of the stack as there is: the call ends before the first page that cannot be read. */
static size_t read_stack(struct sample_waiting *w, const struct sample_wait *wait)
{
	struct iovec here = {w->stack, sizeof(w->stack)}, there[SAMPLE_STACK_BYTES / PAGE + 2];
	unsigned long pages = 0;
	ssize_t got;

	for (size_t at = 0; at < sizeof(w->stack); pages++) {
		size_t len = PAGE - (wait->sp + at) % PAGE;

		if (len > sizeof(w->stack) - at)
			len = sizeof(w->stack) - at;
		there[pages] = (struct iovec){(void *)(uintptr_t)(wait->sp + at), len};
		at += len;
	}
	got = process_vm_readv((pid_t)wait->pid, &here, 1, there, pages, 0);
	return got > 0 ? (size_t)got : 0;
}

int64_t sample_waiting_stack(struct sample_waiting *w, const struct sample_sink *sink,
			     const struct sample_wait *wait)
{
	struct sample_space *space = sample_space_get(w->spaces, wait->pid, wait->ns);
	uint64_t regs[SAMPLE_REG_CNT] = {0};
	struct sample_user user = {.regs = regs, .stack = w->stack, .has_pointers_only = true};
	unsigned cnt = 0, most = SL_FRAME_MAX - 1 - PYSAMPLE_DEPTH - 1;

	regs[SAMPLE_REG_PC] = wait->pc;
	regs[SAMPLE_REG_SP] = wait->sp;
	user.stack_bytes = space && wait->sp ? read_stack(w, wait) : 0;
	if (user.stack_bytes)
		cnt = sample_unwind(w->spaces, w->files, space, &user, wait->ns, w->frames, most)
			      .cnt;
	if (!space || (!cnt && wait->sp))
		return DB_NULL;
	if (w->python)
		cnt += pyoutside_frames(w->python, sink, wait->pid, wait->tid, w->frames + cnt);
	if (!cnt)
		return DB_NULL;
	return sample_space_stack(w->spaces, space, sink, wait->ns, w->frames, cnt);
}

const struct sl_pylayout *sample_waiting_layout(struct sample_waiting *w, uint32_t pid)
{
	return w->python ? pyoutside_layout(w->python, pid) : NULL;
}

unsigned sample_waiting_gils(struct sample_waiting *w, uint32_t pid,
			     struct pyoutside_gil list[PYOUTSIDE_GILS])
{
	return w->python ? pyoutside_gils(w->python, pid, list) : 0;
}

struct pyoutside *sample_waiting_python(struct sample_waiting *w)
{
	return w->python;
}

int64_t sample_waiting_coroutine(struct sample_waiting *w, const struct sample_sink *sink,
				 uint32_t pid, const uint64_t words[PYOUTSIDE_WORDS], uint64_t ns)
{
	struct sample_space *space = sample_space_get(w->spaces, pid, ns);
	unsigned cnt = 0;

	if (space && w->python)
		cnt = pyoutside_told(w->python, sink, pid, words, w->frames);
	return cnt ? sample_space_stack(w->spaces, space, sink, ns, w->frames, cnt) : DB_NULL;
}
