/* js.h - values of a reply for JavaScript, in addition to the values of collector/base/json.h. */
#pragma once

#include "collector/base/json.h"

/* A JavaScript number is exact up to 2^53: an integer beyond is a text. */
static inline void js_int(struct writer *w, const char *key, int64_t value)
{
	bool is_exact = value <= INT64_C(1) << 53 && value >= -(INT64_C(1) << 53);

	json_format(w, key, is_exact ? "%lld" : "\"%lld\"", (long long)value);
}

/* NULL: the empty text. */
static inline void js_text(struct writer *w, const char *key, const char *text)
{
	json_text(w, key, text ? text : "");
}
