/*
 * cuda_ipc.c - the stand-in driver: memory and events of one process in another. A handle names the process that has the memory
 * and under which descriptor, where /proc lets others find it. Memory moves to a file of no name when it is first exported;
 * of an event it is the time alone.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/cuda_driver.h"

enum {
	MAGIC_MEMORY = 0x4d495043,
	MAGIC_EVENT = 0x45495043,
	PAGE = 4096,
	LAZY_PEER_ACCESS = 1
};
struct handle { /* in the 64 bytes of CUipcMemHandle, CUipcEventHandle */
	uint32_t magic, flags;
	int32_t pid, fd;
	uint64_t bytes, address;
	int32_t device;
};

static size_t pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static int file_make(const char *name, size_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, (off_t)bytes)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* What another process has open under this number; NULL: it is not there any more. */
static void *file_map(const struct handle *h, size_t bytes)
{
	char path[64];
	void *p;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", h->pid, h->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static void fill(struct cuda_ipc_handle *to, const struct handle *h)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, h, sizeof(*h));
}

static struct handle read_handle(const struct cuda_ipc_handle *from)
{
	struct handle h;

	memcpy(&h, from, sizeof(h));
	return h;
}

/* ---- memory ---- */

/* Its pages become those of a file, with what is in them; 0 where nothing is to be copied. */
static int move_to_file(struct memory *m)
{
	char *old = (char *)(uintptr_t)m->address;
	size_t bytes = pages(m->bytes), at;
	static const char zero[PAGE];
	int fd = file_make("standin-memory", bytes);

	if (fd < 0)
		return CUDA_OUT_OF_MEMORY;
	for (at = 0; at < bytes; at += PAGE)
		if (memcmp(old + at, zero, PAGE) != 0 &&
		    pwrite(fd, old + at, PAGE, (off_t)at) != PAGE)
			abort();
	if (mmap(old, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		abort();
	m->file = fd + 1;
	return CUDA_OK;
}

/* The handle is one of the whole allocation, wherever in it the address lies. */
static int get_memory(struct cuda_ipc_handle *handle, uint64_t address)
{
	struct memory *m = (struct memory *)memory_find(address);
	int r = CUDA_OK;

	if (!handle || !m || m->type != CUDA_MEMORY_DEVICE || m->pool || m->physical || m->opened)
		return CUDA_INVALID_VALUE;
	if (!m->file)
		r = move_to_file(m);
	if (!r)
		fill(handle, &(struct handle){MAGIC_MEMORY, 0, getpid(), m->file - 1, m->bytes,
					      m->address, m->device});
	return r;
}

int cuIpcGetMemHandle(struct cuda_ipc_handle *handle, CUdeviceptr address)
{
	return CALL(get_memory(handle, address));
}

static int open_memory(CUdeviceptr *address, struct cuda_ipc_handle handle, unsigned flags)
{
	struct handle h = read_handle(&handle);
	struct memory *m;
	void *p;

	if (!address || flags != LAZY_PEER_ACCESS)
		return CUDA_INVALID_VALUE;
	if (!context_current() || h.pid == getpid()) /* not in the process that has it */
		return CUDA_INVALID_CONTEXT;
	if (h.magic != MAGIC_MEMORY || h.device >= driver.device_cnt)
		return CUDA_INVALID_VALUE;
	m = memory_opened(&handle);
	if (m) {
		m->opened++;
		*address = m->address;
		return CUDA_OK;
	}
	p = file_map(&h, pages(h.bytes));
	if (!p)
		return CUDA_INVALID_VALUE;
	*address = (uintptr_t)p;
	memory_map(*address, h.bytes, h.device, NULL);
	m = (struct memory *)memory_find(*address);
	m->opened = 1;
	m->handle = handle;
	return CUDA_OK;
}

int cuIpcOpenMemHandle_v2(CUdeviceptr *address, struct cuda_ipc_handle handle, unsigned flags)
{
	return CALL(open_memory(address, handle, flags));
}

int cuIpcOpenMemHandle(CUdeviceptr *address, struct cuda_ipc_handle handle, unsigned flags)
{
	return CALL(open_memory(address, handle, flags));
}

static int close_memory(uint64_t address)
{
	struct memory *m = (struct memory *)memory_find(address);

	if (!m || m->address != address || !m->opened)
		return CUDA_INVALID_VALUE;
	if (--m->opened)
		return CUDA_OK;
	munmap((void *)(uintptr_t)address, pages(m->bytes));
	memory_unmap(address);
	return CUDA_OK;
}

int cuIpcCloseMemHandle(CUdeviceptr address)
{
	return CALL(close_memory(address));
}

/* ---- events ---- */

static int get_event(struct cuda_ipc_handle *handle, CUevent event)
{
	void *p;
	int fd;

	if (!handle)
		return CUDA_INVALID_VALUE;
	if (!object_find(event, OBJECT_EVENT) || !(event->flags & CUDA_EVENT_INTERPROCESS) ||
	    event->is_foreign)
		return CUDA_INVALID_HANDLE;
	if (!event->shared_time) {
		fd = file_make("standin-event", PAGE);
		p = fd < 0 ? MAP_FAILED
			   : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			return CUDA_OUT_OF_MEMORY;
		event->shared_time = p;
		event->file = fd + 1;
		event_tell(event);
	}
	fill(handle,
	     &(struct handle){MAGIC_EVENT, event->flags, getpid(), event->file - 1, PAGE, 0, 0});
	return CUDA_OK;
}

int cuIpcGetEventHandle(struct cuda_ipc_handle *handle, CUevent event)
{
	return CALL(get_event(handle, event));
}

static int open_event(CUevent *event, struct cuda_ipc_handle handle)
{
	struct handle h = read_handle(&handle);
	struct CUctx_st *c = context_current();
	void *p;

	if (!event)
		return CUDA_INVALID_VALUE;
	if (!c || h.pid == getpid())
		return CUDA_INVALID_CONTEXT;
	if (h.magic != MAGIC_EVENT)
		return CUDA_INVALID_VALUE;
	p = file_map(&h, PAGE);
	if (!p)
		return CUDA_INVALID_VALUE;
	*event = object_make(OBJECT_EVENT, sizeof(**event));
	(*event)->context = c;
	(*event)->id = driver.next_event++;
	(*event)->flags = h.flags;
	(*event)->is_foreign = true;
	(*event)->shared_time = p;
	return CUDA_OK;
}

int cuIpcOpenEventHandle(CUevent *event, struct cuda_ipc_handle handle)
{
	return CALL(open_event(event, handle));
}

/* Both processes may record it; the next query sees the last. */
void event_tell(struct CUevent_st *event)
{
	if (event->shared_time && event->recorded)
		__atomic_store_n(event->shared_time, event->time, __ATOMIC_RELEASE);
}

void event_hear(struct CUevent_st *event)
{
	uint64_t time;

	if (!event->shared_time)
		return;
	time = __atomic_load_n(event->shared_time, __ATOMIC_ACQUIRE);
	if (time) {
		event->recorded = true;
		event->time = time;
	}
}

void event_unshare(struct CUevent_st *event)
{
	if (event->shared_time)
		munmap(event->shared_time, PAGE);
	if (event->file)
		close(event->file - 1);
}
