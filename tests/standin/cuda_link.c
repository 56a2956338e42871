/*
 * cuda_link.c - the stand-in driver: the linker. What comes out is what went in, text behind text; with one input that is
 * a module to be loaded as it would have been.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/standin/cuda_driver.h"

struct CUlinkState_st {
	struct object object;
	char *data;
	size_t len;
	unsigned cnt;
	const int *options; /* they are the program's until the state is destroyed */
	void **values;
};

char *file_read(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *data;

	if (fd < 0)
		return NULL;
	data = fstat(fd, &st) ? NULL : calloc(1, (size_t)st.st_size + 1);
	if (data && read(fd, data, (size_t)st.st_size) != st.st_size) {
		free(data);
		data = NULL;
	}
	*bytes = data ? (size_t)st.st_size : 0;
	close(fd);
	return data;
}

static int create(struct CUlinkState_st **state, unsigned cnt, const int *options, void **values)
{
	if (!state)
		return CUDA_INVALID_VALUE;
	if (!context_current())
		return CUDA_INVALID_CONTEXT;
	*state = object_make(OBJECT_LINK, sizeof(**state));
	(*state)->cnt = cnt;
	(*state)->options = options;
	(*state)->values = values;
	return CUDA_OK;
}

int cuLinkCreate_v2(unsigned cnt, const int *options, void **values, struct CUlinkState_st **state)
{
	return CALL(create(state, cnt, options, values));
}

static int add(struct CUlinkState_st *state, const void *data, size_t bytes)
{
	char *more;

	if (!object_find(state, OBJECT_LINK))
		return CUDA_INVALID_HANDLE;
	if (!data || !bytes)
		return CUDA_INVALID_VALUE;
	more = realloc(state->data, state->len + bytes + 1);
	if (!more)
		return CUDA_OUT_OF_MEMORY;
	memcpy(more + state->len, data, bytes);
	state->data = more;
	/* The 0 behind a text is not between two of them. */
	state->len += bytes - (((const char *)data)[bytes - 1] == 0);
	more[state->len] = 0;
	return CUDA_OK;
}

int cuLinkAddData_v2(struct CUlinkState_st *state, int type, const void *data, size_t bytes,
		     const char *name, unsigned cnt, const int *options, void **values)
{
	(void)type;
	(void)name;
	return CALL((jit_answer(cnt, options, values), add(state, data, bytes)));
}

static int add_file(struct CUlinkState_st *state, const char *path)
{
	size_t bytes = 0;
	char *data = path ? file_read(path, &bytes) : NULL;
	int r;

	if (!data)
		return CUDA_FILE_NOT_FOUND;
	r = add(state, data, bytes);
	free(data);
	return r;
}

int cuLinkAddFile_v2(struct CUlinkState_st *state, int type, const char *path, unsigned cnt,
		     const int *options, void **values)
{
	(void)type;
	return CALL((jit_answer(cnt, options, values), add_file(state, path)));
}

static int complete(struct CUlinkState_st *state, void **image, size_t *bytes)
{
	if (!object_find(state, OBJECT_LINK))
		return CUDA_INVALID_HANDLE;
	if (!image || !state->data)
		return CUDA_INVALID_VALUE;
	wait_until(now() + STANDIN_COMPILE_NS);
	jit_answer(state->cnt, state->options, state->values);
	*image = state->data;
	if (bytes)
		*bytes = state->len + 1;
	return CUDA_OK;
}

int cuLinkComplete(struct CUlinkState_st *state, void **image, size_t *bytes)
{
	return CALL(complete(state, image, bytes));
}

static int destroy(struct CUlinkState_st *state)
{
	if (!object_find(state, OBJECT_LINK))
		return CUDA_INVALID_HANDLE;
	free(state->data);
	object_drop(state);
	return CUDA_OK;
}

int cuLinkDestroy(struct CUlinkState_st *state)
{
	return CALL(destroy(state));
}
