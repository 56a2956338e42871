/*
 * nested - calls of the C library inside of others: streams whose reader (fopencookie) calls pread() and reads the next
 * stream, ten deep; then a reader that is left by longjmp. Each pread() has its depth as the offset, 100 + i outside.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	DEPTH = 10
};

static int fd;
static jmp_buf out;
static int leaves_at; /* the depth whose reader does not return; 0: none */

static void call_at(off_t offset)
{
	char b[8];

	if (pread(fd, b, sizeof(b), offset) < 0)
		exit(3);
}

static void read_stream(long depth);

static ssize_t reader(void *cookie, char *to, size_t room)
{
	long depth = (long)cookie;

	call_at(depth);
	if (depth == leaves_at)
		longjmp(out, 1);
	if (depth < DEPTH)
		read_stream(depth + 1);
	/* Also after calls inside have ended. */
	call_at(depth);
	for (size_t i = 0; i < room; i++)
		to[i] = 'x';
	return (ssize_t)room;
}

static void read_stream(long depth)
{
	FILE *f = fopencookie((void *)depth, "r", (cookie_io_functions_t){.read = reader});

	/* One fill of its buffer. */
	if (!f || getc(f) != 'x')
		exit(4);
	fclose(f);
}

int main(void)
{
	fd = open("/dev/zero", O_RDONLY);
	call_at(100);
	read_stream(1);
	call_at(101);
	leaves_at = 3;
	if (!setjmp(out))
		read_stream(1);
	call_at(102);
	leaves_at = 0;
	call_at(103);
	return 0;
}
