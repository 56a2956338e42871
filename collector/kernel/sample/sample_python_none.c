/* sample_python_none.c - stubs of sample_python.h for builds without eBPF. */
#include "collector/kernel/sample/sample_python.h"

#include <stdio.h>

#if !SL_SAMPLE_PYTHON

struct sample_python *sample_python_open(const struct sample_ask *ask, struct sample_files *files,
					 char *why, size_t why_len)
{
	(void)ask;
	(void)files;
	snprintf(why, why_len,
		 "Python's frames in samples need x86-64 and eBPF, for which sightline was not "
		 "built");
	return NULL;
}

void sample_python_close(struct sample_python *sp)
{
	(void)sp;
}

int sample_python_program(const struct sample_python *sp)
{
	(void)sp;
	return -1;
}

const uint64_t *sample_python_fault_runs(const struct sample_python *sp)
{
	(void)sp;
	return NULL;
}

bool sample_python_failed(struct sample_python *sp, char *why, size_t why_len)
{
	(void)sp;
	(void)why;
	(void)why_len;
	return false;
}

bool sample_python_has_walker(const struct sample_python *sp)
{
	(void)sp;
	return false;
}

int sample_python_map(const struct sample_python *sp, const char *name)
{
	(void)sp;
	(void)name;
	return -1;
}

void sample_python_look(struct sample_python *sp)
{
	(void)sp;
}

void sample_python_expect(struct sample_python *sp, uint32_t pid)
{
	(void)sp;
	(void)pid;
}

void sample_python_mapped(struct sample_python *sp, const struct sample_mapped *what)
{
	(void)sp;
	(void)what;
}

void sample_python_ended(struct sample_python *sp, uint32_t pid)
{
	(void)sp;
	(void)pid;
}

unsigned sample_python_frames(struct sample_python *sp, const struct sample_sink *sink,
			      const struct sample_python_of *sample, uint64_t *frames)
{
	(void)sp;
	(void)sink;
	(void)sample;
	(void)frames;
	return 0;
}

unsigned sample_python_away(struct sample_python *sp, const struct sample_sink *sink,
			    const void *record, size_t bytes, uint64_t *frames)
{
	(void)sp;
	(void)sink;
	(void)record;
	(void)bytes;
	(void)frames;
	return 0;
}

void sample_python_done(struct sample_python *sp)
{
	(void)sp;
}

uint64_t sample_python_lost(const struct sample_python *sp)
{
	(void)sp;
	return 0;
}

uint64_t sample_python_nameless(const struct sample_python *sp)
{
	(void)sp;
	return 0;
}

uint32_t sample_python_unknown(struct sample_python *sp)
{
	(void)sp;
	return 0;
}

bool sample_python_refused(struct sample_python *sp)
{
	(void)sp;
	return false;
}

#endif
