/* sample_mapped.c - takes lines of /proc/PID/maps apart. */
#include "collector/kernel/sample/sample_mapped.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* Reads a number that ends before @until, and steps behind that. */
static bool number(char **at, int base, char until, uint64_t *to)
{
	char *end;

	*to = strtoull(*at, &end, base);
	if (end == *at || *end != until)
		return false;
	*at = end + 1;
	return true;
}

/* By hand: sscanf() takes as long as the kernel does to write the line. */
bool sample_mapped_parse(char *line, struct sample_mapped *what)
{
	uint64_t major_nr, minor_nr;
	const char *may;
	char *at = line;

	line[strcspn(line, "\n")] = 0;
	if (!number(&at, 16, '-', &what->start) || !number(&at, 16, ' ', &what->end))
		return false;
	may = at;
	if (strcspn(may, " ") != 4 || !may[4])
		return false;
	at += 5;
	if (!number(&at, 16, ' ', &what->offset) || !number(&at, 16, ':', &major_nr) ||
	    !number(&at, 16, ' ', &minor_nr) || !number(&at, 10, ' ', &what->inode))
		return false;
	what->is_data = may[2] != 'x';
	what->device = makedev((unsigned)major_nr, (unsigned)minor_nr);
	what->path = at + strspn(at, " ");
	return true;
}
