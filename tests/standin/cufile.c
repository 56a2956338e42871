/*
 * cufile.c - a stand-in for cuFile, as the real one works on a file system that knows nothing of GPUs: through memory of its
 * own, MiB by MiB, with copies on a stream of its own. The driver is opened by the first caller.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/standin/library.h"

static const char *const library_kernels[] = {NULL};

enum { /* CUfileOpError */
	FILE_OK = 0,
	FILE_NOT_INITIALIZED = 5001,
	FILE_BAD_POINTER = 5012,
	FILE_BAD_TYPE = 5018,
	FILE_INVALID_VALUE = 5022,
	FILE_REGISTERED = 5023,
	FILE_NOT_REGISTERED = 5024,
	FILE_BAD_HANDLE = 5027,
	FILE_HANDLE_REGISTERED = 5028,
	FILE_CUDA_ERROR = 5011,
};
enum {
	HANDLE = 1,
	BUFFER,
	STREAM,
	BATCH,
	FD = 0, /* in numbers of a handle */
	ENTRIES = 0,
	DONE = 1,
	PIECE = 1 << 20,
	KIND_FD = 1
};
struct file_error { /* CUfileError_t */
	int error, cuda;
};
struct file_description { /* CUfileDescr_t */
	int type;
	union {
		int fd;
		void *handle;
	} file;
	const void *operations;
};

struct file_io { /* CUfileIOParams_t */
	int mode;
	struct {
		void *device;
		off_t at, device_at;
		size_t bytes;
	} batch;
	void *handle;
	int is_write;
	void *cookie;
};
struct file_event { /* CUfileIOEvents_t */
	void *cookie;
	int status;
	size_t bytes;
};

int cudaHostAlloc(void **p, size_t bytes, unsigned flags);
int cudaFreeHost(void *p);
int cudaMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, CUstream stream);
int cudaStreamCreateWithFlags(CUstream *stream, unsigned flags);
int cudaStreamDestroy(CUstream stream);
int cudaStreamSynchronize(CUstream stream);

static struct file_error answer(int error)
{
	return (struct file_error){error, 0};
}

/* ---- the driver ---- */

static long users;
static void *piece;
static CUstream own_stream;
static pthread_mutex_t piece_lock = PTHREAD_MUTEX_INITIALIZER;

static int open_driver(void)
{
	if (piece)
		return FILE_OK;
	if (cudaHostAlloc(&piece, PIECE, 0) ||
	    cudaStreamCreateWithFlags(&own_stream, CUDA_STREAM_NON_BLOCKING))
		return FILE_CUDA_ERROR;
	return FILE_OK;
}

struct file_error cuFileDriverOpen(void)
{
	int r = open_driver();

	users += r == FILE_OK;
	return answer(r);
}

struct file_error cuFileDriverClose_v2(void)
{
	struct library_handle *h, *next;

	if (!piece)
		return answer(FILE_NOT_INITIALIZED);
	if (users > 1) {
		users--;
		return answer(FILE_OK);
	}
	users = 0;
	cudaStreamDestroy(own_stream);
	cudaFreeHost(piece);
	piece = NULL;
	for (h = library_handles; h; h = next) {
		next = h->next;
		library_drop(h, h->kind);
	}
	return answer(FILE_OK);
}

struct file_error cuFileDriverClose(void)
{
	return cuFileDriverClose_v2();
}

long cuFileUseCount(void)
{
	return users;
}

struct file_error cuFileGetVersion(int *version)
{
	if (!version)
		return answer(FILE_INVALID_VALUE);
	*version = 1150;
	return answer(FILE_OK);
}

/* ---- what is registered ---- */

static struct library_handle *registered(int kind, const void *known, int fd)
{
	struct library_handle *h;

	pthread_mutex_lock(&library_lock);
	for (h = library_handles;
	     h && (h->kind != kind || (kind == HANDLE ? h->numbers[FD] != fd : h->known != known));
	     h = h->next)
		;
	pthread_mutex_unlock(&library_lock);
	return h;
}

struct file_error cuFileHandleRegister(void **handle, const struct file_description *what)
{
	struct library_handle *h;
	struct stat st;
	int r;

	if (!handle || !what)
		return answer(FILE_INVALID_VALUE);
	if (what->type != KIND_FD || fstat(what->file.fd, &st) || !S_ISREG(st.st_mode))
		return answer(FILE_BAD_TYPE);
	r = open_driver();
	if (r)
		return answer(r);
	if (registered(HANDLE, NULL, what->file.fd))
		return answer(FILE_HANDLE_REGISTERED);
	h = library_make(HANDLE);
	h->numbers[FD] = what->file.fd;
	*handle = h;
	return answer(FILE_OK);
}

/* It returns nothing: in the register stands whatever stands there. */
int cuFileHandleDeregister(void *handle)
{
	library_drop(handle, HANDLE);
	return FILE_BAD_HANDLE;
}

struct file_error cuFileBufRegister(const void *buffer, size_t bytes, int flags)
{
	int r;

	if (!buffer || !bytes || flags < 0)
		return answer(FILE_INVALID_VALUE);
	r = open_driver();
	if (r)
		return answer(r);
	if (registered(BUFFER, buffer, 0))
		return answer(FILE_REGISTERED);
	library_make(BUFFER)->known = (void *)(uintptr_t)buffer;
	return answer(FILE_OK);
}

struct file_error cuFileBufDeregister(const void *buffer)
{
	struct library_handle *h = registered(BUFFER, buffer, 0);

	return answer(h && library_drop(h, BUFFER) ? FILE_OK : FILE_NOT_REGISTERED);
}

struct file_error cuFileStreamRegister(CUstream stream, unsigned flags)
{
	if (flags > 15 || registered(STREAM, stream, 0))
		return answer(FILE_INVALID_VALUE);
	library_make(STREAM)->known = stream;
	return answer(FILE_OK);
}

struct file_error cuFileStreamDeregister(CUstream stream)
{
	struct library_handle *h = registered(STREAM, stream, 0);

	return answer(h && library_drop(h, STREAM) ? FILE_OK : FILE_INVALID_VALUE);
}

/* ---- from file to device and back: bytes, -1 with errno, or an error of the above, negative ---- */

static ssize_t carry(const struct library_handle *h, char *device, size_t bytes, off_t at,
		     bool write, CUstream stream)
{
	size_t done = 0;

	while (done < bytes) {
		size_t n = bytes - done < PIECE ? bytes - done : PIECE;
		ssize_t got = (ssize_t)n;

		if (!write)
			got = pread(h->numbers[FD], piece, n, at + (off_t)done);
		if (got > 0) {
			if (cudaMemcpyAsync(write ? piece : device + done,
					    write ? device + done : piece, (size_t)got,
					    write ? CUDA_DEVICE_TO_HOST : CUDA_HOST_TO_DEVICE,
					    stream) ||
			    cudaStreamSynchronize(stream))
				return -FILE_CUDA_ERROR;
		}
		if (write)
			got = pwrite(h->numbers[FD], piece, n, at + (off_t)done);
		if (got < 0)
			return -1;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

static ssize_t transfer(void *handle, const void *device, size_t bytes, off_t at, off_t device_at,
			bool write, CUstream stream)
{
	struct library_handle *h = library_find(handle, HANDLE);
	ssize_t n;

	if (!piece)
		return -FILE_NOT_INITIALIZED;
	if (!h)
		return -FILE_BAD_HANDLE;
	if (!device)
		return -FILE_BAD_POINTER;
	if (at < 0 || device_at < 0)
		return -FILE_INVALID_VALUE;
	pthread_mutex_lock(&piece_lock);
	n = carry(h, (char *)(uintptr_t)device + device_at, bytes, at, write, stream);
	pthread_mutex_unlock(&piece_lock);
	return n;
}

ssize_t cuFileRead(void *handle, void *device, size_t bytes, off_t at, off_t device_at)
{
	return transfer(handle, device, bytes, at, device_at, false, own_stream);
}

ssize_t cuFileWrite(void *handle, const void *device, size_t bytes, off_t at, off_t device_at)
{
	return transfer(handle, device, bytes, at, device_at, true, own_stream);
}

/* Sizes and places are read when the stream comes to it; here, at once. */
static struct file_error later(void *handle, const void *device, const size_t *bytes,
			       const off_t *at, const off_t *device_at, ssize_t *done, bool write,
			       CUstream stream)
{
	if (!bytes || !at || !device_at || !done)
		return answer(FILE_INVALID_VALUE);
	*done = transfer(handle, device, *bytes, *at, *device_at, write, stream);
	return answer(*done < -1 ? (int)-*done : FILE_OK);
}

struct file_error cuFileReadAsync(void *handle, void *device, size_t *bytes, off_t *at,
				  off_t *device_at, ssize_t *done, CUstream stream)
{
	return later(handle, device, bytes, at, device_at, done, false, stream);
}

struct file_error cuFileWriteAsync(void *handle, void *device, size_t *bytes, off_t *at,
				   off_t *device_at, ssize_t *done, CUstream stream)
{
	return later(handle, device, bytes, at, device_at, done, true, stream);
}

/* ---- batches: done when they are submitted ---- */

enum {
	BATCH_MODE = 1,
	COMPLETE = 0x010
};

struct file_error cuFileBatchIOSetUp(void **batch, unsigned entries)
{
	struct library_handle *h;
	int r = open_driver();

	if (r)
		return answer(r);
	if (!batch || !entries || entries > 128)
		return answer(FILE_INVALID_VALUE);
	h = library_make(BATCH);
	h->numbers[ENTRIES] = (int)entries;
	h->known = calloc(entries, sizeof(struct file_event));
	*batch = h;
	return answer(FILE_OK);
}

struct file_error cuFileBatchIOSubmit(void *batch, unsigned cnt, struct file_io *io, unsigned flags)
{
	struct library_handle *h = library_find(batch, BATCH);

	if (!h || !io || flags || cnt > (unsigned)(h->numbers[ENTRIES] - h->numbers[DONE]))
		return answer(FILE_INVALID_VALUE);
	for (; cnt; cnt--, io++) {
		ssize_t n = io->mode == BATCH_MODE
				    ? transfer(io->handle, io->batch.device, io->batch.bytes,
					       io->batch.at, io->batch.device_at, io->is_write,
					       own_stream)
				    : -1;

		if (n < 0)
			return answer(FILE_INVALID_VALUE);
		((struct file_event *)h->known)[h->numbers[DONE]++] =
			(struct file_event){io->cookie, COMPLETE, (size_t)n};
	}
	return answer(FILE_OK);
}

struct file_error cuFileBatchIOGetStatus(void *batch, unsigned least, unsigned *cnt,
					 struct file_event *events, struct timespec *timeout)
{
	struct library_handle *h = library_find(batch, BATCH);

	(void)timeout;
	if (!h || !cnt || !events || least > *cnt || *cnt < (unsigned)h->numbers[DONE])
		return answer(FILE_INVALID_VALUE);
	*cnt = (unsigned)h->numbers[DONE];
	memcpy(events, h->known, *cnt * sizeof(*events));
	h->numbers[DONE] = 0;
	return answer(FILE_OK);
}

void cuFileBatchIODestroy(void *batch)
{
	struct library_handle *h = library_find(batch, BATCH);

	if (!h)
		return;
	free(h->known);
	library_drop(h, BATCH);
}
