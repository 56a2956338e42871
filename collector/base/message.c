/*
 * message.c - messages of the commands on stderr, their colours, and texts in JSON.
 *
 * One call is one write, so lines of several processes on one terminal never mix.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/utf8.h"

#define PREFIX "sightline: "

/* Length in bytes of the printable character at @s, of @left bytes; 0: none. */
static size_t printable_len(const unsigned char *s, size_t left)
{
	bool is_control = s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && left > 1 && s[1] < 0xa0);
	size_t len = is_control ? 0 : utf8_len(s, left);

	return len > 1 && utf8_is_hidden(utf8_code(s, len)) ? 0 : len;
}

void sl_clean(char *text, size_t len)
{
	for (size_t at = 0, n; at < len; at += n ? n : 1) {
		n = printable_len((unsigned char *)text + at, len - at);
		if (!n)
			text[at] = '?';
	}
}

void sl_warn(const char *format, ...)
{
	char line[4096] = PREFIX;
	const size_t prefix = sizeof(PREFIX) - 1;
	const size_t room = sizeof(line) - prefix - 1; /* one byte stays for the newline */
	int saved = errno;
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(line + prefix, room, format, ap);
	va_end(ap);
	if (len < 0)
		len = 0;
	if ((size_t)len >= room)
		len = (int)room - 1;
	sl_clean(line + prefix, (size_t)len);
	line[prefix + (size_t)len] = '\n';
	for (size_t done = 0, end = prefix + (size_t)len + 1; done < end;) {
		ssize_t n = write(STDERR_FILENO, line + done, end - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* stderr is closed */
		done += (size_t)n;
	}
	errno = saved;
}

bool sl_colour(int fd)
{
	const char *none = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (none && *none)
		return false;
	if (!term || strcmp(term, "dumb") == 0)
		return false;
	return isatty(fd);
}

void sl_say_names(int percent)
{
	char line[64];
	int len;

	if (percent < 0)
		len = snprintf(line, sizeof(line), "\r%*s\r", 50, "");
	else
		len = snprintf(line, sizeof(line), "\r" PREFIX "names of stacks: %3d %%",
			       percent > 100 ? 100 : percent);
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		return; /* stderr is closed */
}
