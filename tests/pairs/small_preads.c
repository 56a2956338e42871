/* A file is read in pieces of 64 bytes. reason: KERNEL */
#include "pair.h"

#include <fcntl.h>

int main(int argc, char **argv)
{
	size_t step = is_bad(argc, argv) ? 64 : 1 << 20, size = 24 << 20;
	char name[] = "pair.XXXXXX", *data = calloc(1, size);
	int fd = mkstemp(name);
	long n = 0;

	unlink(name);
	if (write(fd, data, size) != (ssize_t)size)
		return 1;
	for (size_t at = 0; at < size; at += step)
		n += pread(fd, data, step, (off_t)at); /* CULPRIT */
	printf("%ld\n", n);
	return 0;
}
