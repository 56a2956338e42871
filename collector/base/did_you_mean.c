/* did_you_mean.c - the nearest valid spelling of an unknown word. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "collector/base/options.h"

/* Edits (insert, delete, replace, swap of neighbours) that turn one word into the other, case ignored. */
static size_t distance(const char *a, const char *b)
{
	size_t row[3][SL_NEAREST_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > SL_NEAREST_MAX || b_len > SL_NEAREST_MAX)
		return SL_NEAREST_MAX;
	for (size_t j = 0; j <= b_len; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *now = row[i % 3], *prev = row[(i - 1) % 3], *older = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			int x = tolower((unsigned char)a[i - 1]),
			    y = tolower((unsigned char)b[j - 1]);
			size_t best = prev[j - 1] + (x != y);

			if (prev[j] + 1 < best)
				best = prev[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]) && older[j - 2] + 1 < best)
				best = older[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[a_len % 3][b_len];
}

/* As distance(), but a word that was cut short is one edit away. */
static size_t farness(const char *word, const char *candidate)
{
	size_t len = strlen(word);

	if (len >= 3 && candidate[0] && strncasecmp(word, candidate, len) == 0)
		return candidate[len] != '\0';
	return distance(word, candidate);
}

const char *sl_nearest(const char *word, const char *best, const char *candidate)
{
	size_t len = strlen(word);
	size_t limit = len <= 3 ? 1 : len <= 6 ? 2 : 3;
	size_t far = farness(word, candidate);

	if (far > limit || (best && farness(word, best) <= far))
		return best;
	return candidate;
}

bool sl_nearest_value(const char *list, const char *word, char *out, size_t out_len)
{
	char item[SL_NEAREST_MAX + 1];
	bool found = false;

	for (const char *p = list; *p;) {
		size_t len = strcspn(p, ",");

		if (len > 0 && len < sizeof(item) && len < out_len) {
			memcpy(item, p, len);
			item[len] = '\0';
			if (sl_nearest(word, found ? out : NULL, item) == item) {
				memcpy(out, item, len + 1);
				found = true;
			}
		}
		p += len + (p[len] == ',');
	}
	return found;
}
