/* io_direction.c - directions by SL_FUNCTIONS, else by a list of names. */
#include "exporters/read/io_direction.h"

#include <stdio.h>
#include <string.h>

/* Functions by what they do with bytes; exporters/sql/lib/io_functions.sql has the same words. */
static const char in_words[] = " read pread readv preadv preadv2 preadvv2 sendfile copy_file_range "
			       "splice tee getdents recv "
			       "recvfrom recvmsg recvmmsg fread fread_unlocked fgets "
			       "fgets_unlocked getline getdelim fgetc "
			       "getc ";
static const char out_words[] = " write pwrite writev pwritev pwritev2 pwritevv2 vmsplice send "
				"sendto sendmsg sendmmsg fwrite "
				"fwrite_unlocked fputs fputs_unlocked puts fprintf printf vfprintf "
				"vprintf dprintf fputc putc ";

/* Takes @part out of @word wherever it stands. */
static void strip(char *word, const char *part)
{
	for (char *at; (at = strstr(word, part)) != NULL;)
		memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

/* __pread64_chk is pread. */
static enum io_direction by_name(const char *function)
{
	char word[64 + 2];
	size_t len = strlen(function);

	if (len == 0 || len >= 60 || strchr(function, ' '))
		return IO_NONE;
	snprintf(word, sizeof(word), " %s ", function);
	strip(word, "__");
	strip(word, "_chk");
	strip(word, "64");
	return strstr(in_words, word) ? IO_IN : strstr(out_words, word) ? IO_OUT : IO_NONE;
}

enum io_direction io_direction_of(sqlite3_stmt *stmt, int name, int library)
{
	const char *function = (const char *)sqlite3_column_text(stmt, name);

	/* A write to the enumeration, but it moves no bytes that a call has not moved before. */
	if (!function || strncmp(function, "fflush", 6) == 0)
		return IO_NONE;
	if (sqlite3_column_type(stmt, library) == SQLITE_NULL)
		return by_name(function);
	switch (sqlite3_column_int(stmt, library + 1)) {
	case 3: /* ENUM_OSRT_FILE_ACCESS_EVENT_TYPE: read */
		return IO_IN;
	case 4: /* write */
		return IO_OUT;
	default:
		return IO_NONE;
	}
}
