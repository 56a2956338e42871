/* walk_uneven.c - a stream that works on when the other streams are done. */
#include <stdlib.h>

#include "exporters/why/walk/walk_parts.h"

#define STREAMS_MAX 64
#define SHARE_LEAST 0.1 /* of the time of the busiest stream: streams with less do not count */

struct stream {
	uint32_t device, number;
	int64_t busy, end;
};

static struct stream *stream_of(struct stream *list, size_t *cnt, const struct why_kind *o)
{
	size_t i = 0;

	while (i < *cnt && (list[i].device != o->device || list[i].number != o->stream))
		i++;
	if (i == STREAMS_MAX)
		return NULL;
	if (i == *cnt)
		list[(*cnt)++] = (struct stream){o->device, o->stream, 0, INT64_MIN};
	return &list[i];
}

int64_t walk_uneven_from(const struct why_model *m, uint32_t process, int64_t from, int64_t to,
			 int64_t *until)
{
	struct stream list[STREAMS_MAX];
	const struct stream *most = NULL;
	size_t cnt = 0, equals = 0;
	int64_t others = INT64_MIN, sum = 0, excess;

	*until = INT64_MIN;
	for (size_t i = why_reach(m, from); i < m->ops_cnt && m->ops[i].start < to; i++) {
		const struct why_op *o = &m->ops[i];
		const struct why_kind *k = why_kind(m, o);
		bool wanted = k->process == process && o->end > from && k->work == WORK_KERNEL;
		struct stream *s = wanted ? stream_of(list, &cnt, k) : NULL;

		if (!s)
			continue;
		s->busy += earlier(o->end, to) - later(later(o->start, from), s->end);
		s->end = later(s->end, o->end);
	}
	for (size_t i = 0; i < cnt; i++)
		if (!most || list[i].busy > most->busy)
			most = &list[i];
	for (size_t i = 0; i < cnt; i++) {
		if ((double)list[i].busy < SHARE_LEAST * (double)most->busy ||
		    list[i].device != most->device)
			continue;
		equals++;
		sum += list[i].busy;
		if (&list[i] != most)
			others = later(others, list[i].end);
	}
	if (equals < 2 || others >= most->end)
		return INT64_MAX;
	excess = most->busy - sum / (int64_t)equals;
	*until = most->end;
	return later(others, most->end - excess);
}
