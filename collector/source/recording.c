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

void recording_wrote(struct recording *r, enum row_kind kind, const struct event_rows *rows)
{
	if (rows->cnt)
		r->report->is_busy = true;
	/* In case the disk is full. */
	event_rows_append(&r->rows.pending[kind], rows);
}

void recording_failed(struct recording *r)
{
	for (unsigned kind = 0; kind < ROWS_KINDS; kind++)
		event_rows_append(&r->rows.dead[kind], &r->rows.pending[kind]);
}

uint64_t recording_lost_rows(struct recording *r, const char *why)
{
	static const char *const names[] = {
#define ROW(kind, name) name,
		EVENT_ROWS(ROW)
#undef ROW
	};
	uint64_t sum = 0;

	for (unsigned kind = 0; kind < ROWS_KINDS; kind++) {
		struct event_rows *dead = &r->rows.dead[kind];
		char what[128];

		if (!dead->cnt)
			continue;
		snprintf(what, sizeof(what), "%s: %s", names[kind], why);
		db_lost(r->report->db, dead->first, dead->last, DB_NULL, what, (int64_t)dead->cnt);
		sum += dead->cnt;
		*dead = (struct event_rows){0};
	}
	return sum;
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
