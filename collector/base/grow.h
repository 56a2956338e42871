/* grow.h - room in arrays. Sizes are in elements, of @size bytes; a count or capacity is a size_t or a uint32_t. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline bool grow_size(void *list, size_t taken, size_t *room, size_t size)
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

static inline bool grow_32(void *list, size_t taken, uint32_t *room, size_t size)
{
	size_t wide = *room;
	bool ok = (taken < wide || wide <= UINT32_MAX / 2) && grow_size(list, taken, &wide, size);

	*room = (uint32_t)wide;
	return ok;
}

/* The array at @list has room for @room; it gets twice as much when all is taken. False: no memory. */
#define grow(list, taken, room, size) \
	_Generic((room), uint32_t * : grow_32, size_t * : grow_size)(list, taken, room, size)

/* The array at @list has @cnt elements; it gets more, zeroed, until @i is one of them. False: no memory. */
static inline bool grow_to(void *list, size_t i, uint32_t *cnt, size_t size)
{
	void **at = list;
	size_t want = i + i / 2 + 64;
	char *more;

	if (i < *cnt)
		return true;
	more = want <= UINT32_MAX ? reallocarray(*at, want, size) : NULL;
	if (!more)
		return false;
	memset(more + *cnt * size, 0, (want - *cnt) * size);
	*at = more;
	*cnt = (uint32_t)want;
	return true;
}

/*
 * Elements by a number that may be far from all others: @pages is an array of @cnt pages, each of @size bytes, zeroed, and
 * made when it is needed. The page, or NULL: no memory.
 */
static inline void *grow_page(void *pages, uint32_t *cnt, uint32_t page, size_t size)
{
	void ***at = pages;

	if (!grow_to(pages, page, cnt, sizeof(**at)))
		return NULL;
	if (!(*at)[page])
		(*at)[page] = calloc(1, size);
	return (*at)[page];
}

static inline void free_pages(void *pages, uint32_t *cnt)
{
	void ***at = pages;

	for (uint32_t i = 0; i < *cnt; i++)
		free((*at)[i]);
	free(*at);
	*at = NULL;
	*cnt = 0;
}
