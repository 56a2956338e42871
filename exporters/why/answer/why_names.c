/* why_names.c - texts of the answer: names out of the report, and how a thread is called. */
#include <ctype.h>
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

/* Programs whose first argument is a command. */
static bool has_commands(const char *exe)
{
	static const char *const names[] = {"git",  "cargo",  "go",     "npm",
					    "pip*", "docker", "kubectl"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (fnmatch(names[i], exe, 0) == 0)
			return true;
	return false;
}

/* "-17", "-T1", "-9e": levels and numbers of threads, by which commands without a file differ. */
static bool is_level(const char *word, size_t len)
{
	return *word == '-' && len >= 2 && len <= 4 && word[len - 1] != '-' &&
	       (isdigit((unsigned char)word[1]) ||
		(len > 2 && isdigit((unsigned char)word[2]) && isalpha((unsigned char)word[1])));
}

static void append(char *buf, size_t len, const char *word, size_t word_len)
{
	size_t at = strlen(buf);

	snprintf(buf + at, len - at, " %.*s", (int)least(word_len, 30), word);
}

/* Its command, module, file; without a file, its levels: "git add a.c", "python3 -m pytest", "cc1 a.c", "zstd -17 -T1". */
static void add_arguments(char *buf, size_t len, const char *exe, const char *at)
{
	bool wants_command = has_commands(exe), is_module = false, is_argument = false;
	char levels[16] = "";
	size_t word;

	for (; (word = next_argument(&at)); at += word) {
		const char *base = memrchr(at, '/', word);
		size_t skip = base ? (size_t)(base + 1 - at) : 0;

		if (is_interpreter(exe) && word == 2) {
			/* The rest is a program. */
			if (strncmp(at, "-c", 2) == 0 || strncmp(at, "-e", 2) == 0)
				return;
			is_module = strncmp(at, "-m", 2) == 0;
		}
		if (is_argument || is_module) {
			if (is_module && *at != '-') {
				append(buf, len, "-m", 2);
				append(buf, len, at, word);
				return;
			}
			is_argument = false;
			continue;
		}
		if (wants_command && *at != '-') {
			append(buf, len, at, word);
			wants_command = false;
		} else if (is_file(at, word) && skip < word) {
			append(buf, len, at + skip, word - skip);
			return;
		} else if (is_level(at, word) && !is_interpreter(exe) &&
			   strlen(levels) + word < sizeof(levels) / 2) {
			append(levels, sizeof(levels), at, word);
		}
		/* git -c NAME=VALUE add */
		is_argument = wants_command && word == 2 && *at == '-' && tolower(at[1]) == 'c';
	}
	snprintf(buf + strlen(buf), len - strlen(buf), "%s", levels);
}

const char *why_command(const struct why *y, uint32_t process, char *buf, size_t len)
{
	const struct why_process *p = &y->model.processes[process];
	const char *exe = p->exe ? strrchr(p->exe, '/') : NULL, *at = p->command ? p->command : "";
	size_t word = next_argument(&at);

	exe = exe ? exe + 1 : p->exe ? p->exe : "process";
	snprintf(buf, len, "%.30s", exe);
	add_arguments(buf, len, exe, at + word);
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
