/*
 * stub.h - the code that is put into a page of the process, and its data in another: starts a thread, which opens the library and calls
 * its entry, and unmaps both pages in the end.
 */
#pragma once

#include "preload/wire/late.h"

#define STUB_PATH_MAX 4096u
#define STUB_PAGE     4096u

/* The code has the offsets of the first members as numbers. */
struct stub_data {
	uint64_t create, attr_init, attr_detach, attr_stack, dlopen, dlsym, munmap;
	uint64_t stack_bytes;
	uint64_t data_bytes; /* of this struct's mapping */
	uint32_t created;    /* error number of pthread_create(), + 1; 0: not called yet */
	uint32_t seen;       /* set by the collector: it has read the answer */
	uint64_t left[8];    /* not all 0: the interrupted thread has left the code */
	char entry[24];      /* name of the library's function */
	struct sl_late late;
	char path[STUB_PATH_MAX]; /* of the library */
};

#ifdef __x86_64__
/* The code: to be copied, position-independent. It begins with a function of the interrupted thread: void (struct stub_data *). */
extern const uint8_t stub_code[], stub_code_end[];
#endif
