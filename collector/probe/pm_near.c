/* pm_near.c - metrics of a chip whose names are like one that it does not have. */
#include "collector/probe/pm_config.h"

#include <stdio.h>
#include <string.h>

#define NAME  96u /* of a metric; longer ones are like none */
#define NAMES 3u
#define TYPES 3 /* counters, ratios, throughputs */

/* Without the rollup: up to the first dot behind the unit. */
static size_t base_of(const char *metric)
{
	const char *unit = strstr(metric, "__"), *dot = unit ? strchr(unit, '.') : NULL;

	return dot ? (size_t)(dot - metric) : strlen(metric);
}

/* Letters to change, to add, to leave out (Levenshtein). */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned row[NAME + 1];

	if (a_len > NAME || b_len > NAME)
		return NAME;
	for (unsigned j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned corner = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned best = corner + (a[i - 1] != b[j - 1]);

			best = row[j] + 1 < best ? row[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			corner = row[j];
			row[j] = best;
		}
	}
	return row[b_len];
}

struct near {
	const char *name[NAMES];
	size_t len[NAMES];
	unsigned away[NAMES], cnt;
};

static void keep(struct near *n, const char *name, size_t len, unsigned away)
{
	unsigned at;

	/* Once, whatever its parts are. */
	for (unsigned i = 0; i < n->cnt; i++)
		if (n->len[i] == len && memcmp(n->name[i], name, len) == 0)
			return;
	at = n->cnt < NAMES ? n->cnt++ : NAMES - 1;
	if (at == NAMES - 1 && n->name[at] && n->away[at] <= away)
		return;
	for (; at && n->away[at - 1] > away; at--) {
		n->name[at] = n->name[at - 1];
		n->len[at] = n->len[at - 1];
		n->away[at] = n->away[at - 1];
	}
	n->name[at] = name;
	n->len[at] = len;
	n->away[at] = away;
}

void pm_near(const struct pm_api *api, const struct pm_config *c, const char *metric, char *text,
	     size_t size)
{
	struct pm_base_metrics ask = PM(pm_base_metrics, cnt, .host = c->host);
	size_t len = base_of(metric), used = 0;
	struct near n = {.cnt = 0};

	for (ask.type = 0; ask.type < TYPES; ask.type++) {
		if (api->ProfilerHostGetBaseMetrics(&ask))
			continue;
		for (size_t i = 0; i < ask.cnt; i++) {
			size_t base = base_of(ask.names[i]);
			unsigned away = distance(metric, len, ask.names[i], base);

			/* The same with another rollup is near, too. */
			if (away <= len / 3)
				keep(&n, ask.names[i], base, away);
		}
	}
	*text = 0;
	for (unsigned i = 0; i < n.cnt && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%.*s",
					 i ? ", " : " (there is ", (int)n.len[i], n.name[i]);
	if (n.cnt && used < size)
		snprintf(text + used, size - used, ")");
}
