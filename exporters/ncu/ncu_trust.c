/* ncu_trust.c - a report names the program that ncu runs: whether another user may have written it there. */
#include "exporters/ncu/ncu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only its owner may write it; @is_way: a folder on the way to it, which may also be root's, or a sticky one. */
static bool is_safe(const char *path, bool is_way, char *why, size_t why_len)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		snprintf(why, why_len, "%s: %s", path, strerror(errno));
		return false;
	}
	if (st.st_uid != geteuid() && !(is_way && st.st_uid == 0)) {
		snprintf(why, why_len, "%s belongs to another user (%u)", path,
			 (unsigned)st.st_uid);
		return false;
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH) && !(is_way && st.st_mode & S_ISVTX)) {
		snprintf(why, why_len, "other users may write %s", path);
		return false;
	}
	return true;
}

bool ncu_is_own(const char *report, char *why, size_t why_len)
{
	char *path = realpath(report, NULL);
	bool is_own = path && is_safe(path, false, why, why_len);

	if (!path)
		snprintf(why, why_len, "%s: %s", report, strerror(errno));
	for (char *slash; is_own && (slash = strrchr(path, '/'));) {
		*slash = 0;
		is_own = is_safe(*path ? path : "/", true, why, why_len);
	}
	free(path);
	return is_own;
}
