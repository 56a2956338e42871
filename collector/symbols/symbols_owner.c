/* symbols_owner.c - looks at the owner of a file before anything reads in it. */
#include "collector/symbols/symbols_owner.h"

#include <unistd.h>

#include "collector/base/plain_file.h"

static struct {
	bool refuses, serves;
	uid_t owner; /* served */
} rule;
static _Thread_local struct {
	bool is_met;
	uid_t owner;
} met;

static bool is_foreign(uid_t owner)
{
	return rule.refuses && owner != 0 && owner != geteuid() &&
	       !(rule.serves && owner == rule.owner);
}

int symbols_owner_open(const char *path, struct stat *st)
{
	int fd = plain_file_open(path, true, st);

	if (fd < 0 || !is_foreign(st->st_uid))
		return fd;
	close(fd);
	if (!met.is_met)
		met.owner = st->st_uid;
	met.is_met = true;
	return -1;
}

void symbols_owner_begin(void)
{
	met.is_met = false;
}

bool symbols_owner_met(uid_t *owner)
{
	*owner = met.owner;
	return met.is_met;
}

void symbols_owner_refuse(void)
{
	rule.refuses = true;
}

void symbols_owner_serve(uid_t owner)
{
	rule.refuses = rule.serves = true;
	rule.owner = owner;
}
