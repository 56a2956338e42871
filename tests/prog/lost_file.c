/*
 * lost_file.c - a program whose file no path leads to while it works: "memfd" runs a copy of it in memory, as runc does;
 * "moved" first copies the page with its code to anonymous memory at the same address; "kept" does neither. Then it computes
 * and sleeps once in work(), which main() calls.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

extern char **environ;

/* Alone in its pages, so that they can be moved by code that lies in others. */
__attribute__((section("alone"), aligned(PAGE), noinline)) static void work(void)
{
	struct timespec t;
	volatile unsigned x = 0;

	do {
		for (unsigned i = 0; i < 100000; i++)
			x += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec == 0 && t.tv_nsec < 400000000);
	usleep(2000);
}

static int move(void)
{
	char *at = (char *)(void *)&work, copy[PAGE];

	memcpy(copy, at, PAGE);
	if (mmap(at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return 1;
	memcpy(at, copy, PAGE);
	return 0;
}

static int run_in_memory(void)
{
	int fd = memfd_create("lost", MFD_CLOEXEC), in = open("/proc/self/exe", O_RDONLY);

	while (sendfile(fd, in, NULL, 1 << 20) > 0)
		;
	return fexecve(fd, (char *[]){(char *)"lost", (char *)"kept", NULL}, environ);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "kept";

	if (strcmp(how, "memfd") == 0)
		return run_in_memory();
	if (strcmp(how, "moved") == 0 && move())
		return 1;
	/* It runs: its file may go. */
	if (write(1, "runs\n", 5) != 5)
		return 1;
	work();
	return 0;
}
