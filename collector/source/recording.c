/* recording.c - rows that all event sources write: messages, numbers, losses. */
#include "collector/source/recording.h"

#include <stdio.h>

#include "collector/base/message.h"
#include "collector/report/db.h"

#define SOURCE_DAEMON 2
#define GLOBAL_VID    (INT64_C(1) << 48)

void recording_vsay(struct recording *r, int severity, bool is_quiet, const char *format,
		    va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, ap);
	if (!r->report->is_quiet && !is_quiet)
		sl_warn("%s", text);
	db_diagnostic(r->report->db, r->clocks->now, SOURCE_DAEMON, severity, text, GLOBAL_VID);
}

void recording_say(struct recording *r, int severity, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	recording_vsay(r, severity, false, format, ap);
	va_end(ap);
}

void recording_say_asked(struct recording *r, bool is_default, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	recording_vsay(r, is_default ? SAY_INFO : SAY_WARNING, is_default, format, ap);
	va_end(ap);
}

void recording_number(struct recording *r, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	db_meta_capture(r->report->db, name, text);
}

void recording_lost(struct recording *r, const char *what, uint64_t cnt)
{
	if (cnt)
		db_lost(r->report->db, 0, r->clocks->now, DB_NULL, what, (int64_t)cnt);
}

void recording_wrote(struct recording *r, const struct event_rows *rows)
{
	struct event_rows *pending = r->rows.pending;

	if (!rows->cnt)
		return;
	r->report->is_busy = true;
	/* In case the disk is full. */
	if (!pending->cnt)
		pending->first = rows->first;
	pending->last = rows->last;
	pending->cnt += rows->cnt;
}

const struct windows *recording_windows(const struct recording *r, bool wants)
{
	static const struct windows none;

	return wants ? &r->report->windows : &none;
}

const char *recording_grouped(uint64_t n, char text[32])
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = 0;
	return text;
}
