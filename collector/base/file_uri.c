/* file_uri.c - escapes what URIs give a meaning to. */
#include "collector/base/file_uri.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *file_uri(const char *path, const char *what)
{
	char *uri = malloc(strlen(path) * 3 + strlen(what) + sizeof("file:?"));
	char *p = uri;

	if (!uri)
		return NULL;
	p = stpcpy(p, "file:");
	for (; *path; path++) {
		if (strchr("?#%", *path) || (unsigned char)*path < 0x21)
			p += sprintf(p, "%%%02X", (unsigned char)*path);
		else
			*p++ = *path;
	}
	sprintf(p, "?%s", what);
	return uri;
}
