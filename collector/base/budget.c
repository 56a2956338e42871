/* budget.c - counts what is kept, and asks the kernel how large the process is. */
#include "collector/base/budget.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static uint64_t kept;

bool budget_take(size_t bytes)
{
	if (bytes > BUDGET_KEPT || kept > BUDGET_KEPT - bytes)
		return false;
	kept += bytes;
	return true;
}

void budget_give(size_t bytes)
{
	kept -= bytes < kept ? bytes : kept;
}

uint64_t budget_memory(void)
{
	static int fd = -2;
	unsigned long long pages, resident, shared;
	char text[128];
	ssize_t n;

	if (fd == -2)
		fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : -1;
	if (n <= 0)
		return 0;
	text[n] = 0;
	if (sscanf(text, "%llu %llu %llu", &pages, &resident, &shared) != 3 || shared > resident)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}
