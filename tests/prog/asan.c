/* asan.c [bad] - built with AddressSanitizer: works as usual, or is caught reading freed memory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *p = malloc(100);
	int fd = open("/etc/passwd", O_RDONLY);
	ssize_t n = read(fd, p, 100);

	(void)argv;
	printf("read %zd\n", n);
	fflush(stdout);
	free(p);
	if (argc > 1)
		return ((volatile char *)p)[5] & 1;
	return 0;
}
