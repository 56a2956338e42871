/* grow.h - room in a list for one more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* @list holds @room elements of @size bytes; it gets twice as many when all are taken. False without memory. */
static inline bool grow(void *list, size_t taken, size_t *room, size_t size)
{
	void **at = list;
	size_t want = *room ? *room * 2 : 16;
	void *more;

	if (taken < *room)
		return true;
	more = reallocarray(*at, want, size);
	if (!more)
		return false;
	*at = more;
	*room = want;
	return true;
}
