/* A child writes into a pipe byte by byte. reason: KERNEL */
#include "pair.h"

#define BYTES 200000

int main(int argc, char **argv)
{
	static char page[BYTES], got[65536];
	bool bad = is_bad(argc, argv);
	size_t sum = 0;
	ssize_t n;
	int fd[2];

	if (pipe(fd))
		return 1;
	if (fork() == 0) {
		close(fd[0]);
		memset(page, 1, sizeof(page));
		for (size_t at = 0, len = bad ? 1 : 4000; at < BYTES; at += len)
			if (write(fd[1], page + at, len) != (ssize_t)len) /* CULPRIT */
				abort();
		_exit(0);
	}
	close(fd[1]);
	while ((n = read(fd[0], got, sizeof(got))) > 0) /* CULPRIT: each read gets one byte */
		for (ssize_t i = 0; i < n; i++)
			sum += (size_t)got[i];
	wait(NULL);
	printf("%zu\n", sum);
	return 0;
}
