/* cupti_lies.c - the stand-in for libcupti: which bugs of the real one it has. */
#include "tests/standin/cupti.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t from, to;
} lies[] = {
#define LIE(name, from, to, source) {#name, from, to},
#include "tests/standin/cupti_bugs.def"
};

static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at += len)
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

bool standin_lies(enum standin_lie lie)
{
	const char *list = getenv("STANDIN_CUPTI_LIES");

	if (list && *list)
		return is_listed(list, lies[lie].name);
	return standin_version() >= lies[lie].from && standin_version() <= lies[lie].to;
}
