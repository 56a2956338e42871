/* spill.c - where rows go that do not fit into memory. */
#include <stdlib.h>
#include <unistd.h>

#include "exporters/events/spill.h"

FILE *spill_file(void)
{
	const char *dir = getenv("SQLITE_TMPDIR");
	char path[4096];
	int fd;
	FILE *f;

	if (!dir)
		dir = getenv("TMPDIR");
	snprintf(path, sizeof(path), "%s/sightline.XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		return NULL;
	unlink(path);
	f = fdopen(fd, "w+");
	if (!f)
		close(fd);
	return f;
}
