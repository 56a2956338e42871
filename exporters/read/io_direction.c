/* io_direction.c - see io_direction.h. */
#include "exporters/read/io_direction.h"

#include <stdio.h>
#include <string.h>

/* Functions by what they do with bytes; file_access_sum.sql has the same words. */
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
enum io_way io_way_of(const char *function)
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
