/* strings.c - see strings.h. */
#include "collector/strings.h"

#include <stdlib.h>
#include <string.h>

#define STRING_MAX (1u << 22) /* ids beyond it make no sense */

void string_known(struct arena *a, uint32_t id, const char *text, uint32_t len)
{
	struct strings *s = &a->strings;

	if (!id || id >= STRING_MAX)
		return;
	if (id >= s->cnt) {
		uint32_t want = id + 64 + id / 2;
		char **more = realloc(s->text, want * sizeof(*more));

		if (!more)
			return;
		memset(more + s->cnt, 0, (want - s->cnt) * sizeof(*more));
		s->text = more;
		s->cnt = want;
	}
	if (s->text[id])
		return;
	s->text[id] = malloc(len + 1);
	if (!s->text[id])
		return;
	memcpy(s->text[id], text, len);
	s->text[id][len] = 0;
}

const char *string_find(const struct arena *a, uint32_t id)
{
	return id < a->strings.cnt ? a->strings.text[id] : NULL;
}

void strings_release(struct arena *a)
{
	for (uint32_t i = 0; i < a->strings.cnt; i++)
		free(a->strings.text[i]);
	free(a->strings.text);
	memset(&a->strings, 0, sizeof(a->strings));
}
