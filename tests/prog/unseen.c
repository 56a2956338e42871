/*
 * unseen.c - reads the file in its argument in ways that no call shows: mapped, by POSIX AIO, and sets up io_uring, with which
 * it could, twice. A second argument leaves out all but one: "mmap", "aio", "uring"; with "worker" io_uring is set up as liburing does,
 * by no function of libc, with a thread of the kernel's that takes requests.
 */
#include <aio.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/prog/raw.h"

static int by_aio(int fd)
{
	char buf[100];
	struct aiocb cb = {.aio_fildes = fd, .aio_buf = buf, .aio_nbytes = sizeof(buf)};
	const struct aiocb *list[1] = {&cb};

	if (aio_read(&cb) || aio_suspend(list, 1, NULL))
		return 1;
	return aio_return(&cb) != sizeof(buf);
}

static int by_mmap(int fd)
{
	const volatile char *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	return at == MAP_FAILED || at[17] != 0;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	const char *way = argc > 2 ? argv[2] : "";
	unsigned room[64] = {0}; /* struct io_uring_params */
	int bad = fd < 0;

	if (!*way || strcmp(way, "aio") == 0)
		bad |= by_aio(fd);
	if (!*way || strcmp(way, "mmap") == 0)
		bad |= by_mmap(fd);
	/* The kernel may refuse it. */
	for (int i = 0; i < 2 && (!*way || strcmp(way, "uring") == 0); i++) {
		long ring = syscall(SYS_io_uring_setup, 4, room);

		if (ring >= 0)
			close((int)ring);
		memset(room, 0, sizeof(room));
	}
	if (strcmp(way, "worker") == 0) {
		room[2] = 2; /* flags: IORING_SETUP_SQPOLL */
		bad |= raw_call(SYS_io_uring_setup, 4, (long)room, 0, 0, 0, 0) < 0;
	}
	return bad;
}
