/* why_names.c - texts of the answer: names out of the report, and how a thread is called. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/read/sql_rows.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/answer/why.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

char *why_string(const struct why *y, const struct id_map *map, uint32_t number)
{
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;

	if (number == WHY_NONE)
		return NULL;
	stmt = sql_first_of(y->model.db, "SELECT value FROM StringIds WHERE id = ?1",
			    map->ids[number]);
	if (stmt && sqlite3_column_text(stmt, 0))
		text = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	if (text && map == &y->model.names)
		reason_cut_version(text);
	return text;
}

/* The next argument of a command line at *@at; its length, 0: there is no more. */
static size_t next_argument(const char **at)
{
	*at += strspn(*at, " ");
	return strcspn(*at, " ");
}

/* A name of a file: it has an extension that begins with a letter, or a folder. Text in quotes is none. */
static bool is_file(const char *word, size_t len)
{
	const char *dot = memrchr(word, '.', len), *slash = memchr(word, '/', len);

	for (size_t i = 0; i < len; i++)
		if (strchr("()*?[]{};&|<>$'\"=,", word[i]))
			return false;
	return *word != '-' && ((dot && dot > word && dot + 1 < word + len && dot[1] >= 'a' &&
				 dot[1] <= 'z' && word + len - dot <= 6) ||
				slash);
}

/* Programs that take a program as an argument. */
static bool is_interpreter(const char *exe)
{
	static const char *const names[] = {"sh",   "bash",    "dash", "zsh", "ksh",
					    "perl", "python*", "ruby", "node"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (fnmatch(names[i], exe, 0) == 0)
			return true;
	return false;
}

const char *why_command(const struct why *y, uint32_t process, char *buf, size_t len)
{
	const struct why_process *p = &y->model.processes[process];
	const char *exe = p->exe ? strrchr(p->exe, '/') : NULL, *at = p->command ? p->command : "";
	size_t word = next_argument(&at);

	exe = exe ? exe + 1 : p->exe ? p->exe : "process";
	snprintf(buf, len, "%.40s", exe);
	for (at += word; (word = next_argument(&at)); at += word) {
		const char *base = memrchr(at, '/', word);
		size_t skip = base ? (size_t)(base + 1 - at) : 0;

		/* The rest is a program. */
		if (is_interpreter(exe) && word == 2 &&
		    (strncmp(at, "-c", 2) == 0 || strncmp(at, "-e", 2) == 0))
			break;
		if (!is_file(at, word) || skip == word)
			continue;
		snprintf(buf, len, "%.30s %.*s", exe, (int)least(word - skip, 30), at + skip);
		break;
	}
	return buf;
}

const char *why_thread_text(const struct why *y, uint32_t thread, char *buf, size_t len)
{
	const struct why_thread *t = &y->model.threads[thread];
	const struct why_process *p = &y->model.processes[t->process];
	char exe[72];

	why_command(y, t->process, exe, sizeof(exe));
	if (t->process == y->model.threads[y->focus].process) {
		if (p->main_thread == thread)
			snprintf(buf, len, "main thread");
		else
			snprintf(buf, len, "thread %lld", (long long)(t->tid & 0xffffff));
	} else if (p->main_thread == thread) {
		snprintf(buf, len, "%.62s %lld", exe, (long long)(p->pid & 0xffffff));
	} else {
		snprintf(buf, len, "%.62s %lld thread %lld", exe, (long long)(p->pid & 0xffffff),
			 (long long)(t->tid & 0xffffff));
	}
	return buf;
}
