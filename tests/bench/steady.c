/*
 * steady.c RATE SECONDS - calls pread() of 64 bytes of /dev/zero RATE times a second, in slices of a millisecond, each at its own
 * time: what a slice lost to other programs, those after it make up for. Figures: calls; seconds they took; the longest slice.
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "figure.h"

int main(int argc, char **argv)
{
	long rate = argc > 1 ? atol(argv[1]) : 100000, calls = 0;
	double seconds = argc > 2 ? atof(argv[2]) : 10, begun = wall_s(), before = begun, most = 0;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char b[64];

	for (long slice = 1; (double)slice / 1000 <= seconds; slice++) {
		double now;

		for (; calls < slice * rate / 1000; calls++)
			if (pread(fd, b, sizeof(b), 0) != sizeof(b))
				return 1;
		now = wall_s();
		most = now - before > most ? now - before : most;
		before = now;
		now = begun + (double)slice / 1000 - now;
		if (now > 0)
			nanosleep(&(struct timespec){0, (long)(now * 1e9)}, NULL);
	}
	figure((double)calls, wall_s() - begun, most);
	return 0;
}
