/* A mapped file is touched page by page after its pages were dropped. reason: PAGE_IN */
#include "pair.h"

#include <fcntl.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	size_t size = 96 << 20;
	char name[] = "pair.XXXXXX", *data = calloc(1, size), *at;
	bool bad = is_bad(argc, argv);
	int fd = mkstemp(name);
	long n = 0;

	unlink(name);
	if (write(fd, data, size) != (ssize_t)size || fsync(fd))
		return 1;
	free(data);
	at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (bad) {
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		madvise(at, size, MADV_RANDOM);
	}
	for (size_t i = 0; i < size; i += 4096)
		n += at[(i * 7919) % size / 4096 * 4096]; /* CULPRIT */
	printf("%ld\n", n);
	return 0;
}
