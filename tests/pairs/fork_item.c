/* A process is made for each item. reason: KERNEL */
#include "pair.h"

#include <sys/mman.h>

static void work(volatile long *sum)
{
	(*sum)++;
}

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	volatile long *sum =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *memory = malloc(128 << 20);

	memset(memory, 1, 128 << 20);
	for (int i = 0; i < 60; i++) {
		pid_t pid = bad ? fork() : 0; /* CULPRIT */

		if (pid == 0)
			work(sum);
		if (bad && pid == 0)
			_exit(0);
		if (bad)
			waitpid(pid, NULL, 0); /* CULPRIT: the child ends only there */
	}
	printf("%ld %d\n", *sum, memory[5]);
	return 0;
}
