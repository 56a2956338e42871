/*
 * browser.c - opens an address in the user's browser that other users must not see.
 *
 * Command lines can be read by all users, and a browser keeps its own as long as it lives. So it is sent to a page of the
 * user's alone, which leads to the address.
 */
#include "exporters/commands/browser.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char page[512];

/* XDG_RUNTIME_DIR: of the user alone, and gone after the session on the desktop. */
static FILE *make_page(void)
{
	static const char *const variables[] = {"XDG_RUNTIME_DIR", "TMPDIR"};
	const char *folder = NULL;
	int fd = -1;
	FILE *f;

	for (unsigned i = 0; fd < 0 && i <= sizeof(variables) / sizeof(*variables); i++) {
		folder = i < sizeof(variables) / sizeof(*variables) ? getenv(variables[i]) : "/tmp";
		if (!folder || *folder != '/' ||
		    snprintf(page, sizeof(page), "%s/sightline-view-XXXXXX.html", folder) >=
			    (int)sizeof(page))
			continue;
		fd = mkostemps(page, sizeof(".html") - 1, O_CLOEXEC); /* mode 0600 */
	}
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f && fd >= 0)
		close(fd);
	if (fd < 0)
		page[0] = 0;
	return f;
}

static bool put_page(const char *address)
{
	FILE *f = make_page();
	bool is_bad;

	if (!f)
		return false;
	fprintf(f,
		"<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>Sightline</title>\n"
		"<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n<a "
		"href=\"%s\">Sightline</a>\n",
		address, address);
	is_bad = ferror(f);
	return !(fclose(f) || is_bad);
}

static void put_url(char *url)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";

	url += sprintf(url, "file://");
	for (const char *p = page; *p; p++)
		url += sprintf(url, strchr(plain, *p) ? "%c" : "%%%02X", (unsigned char)*p);
}

/* In a process of its own; whether there is a browser shows later, if at all. */
void browser_open(const char *address)
{
	char url[3 * sizeof(page) + 8];
	pid_t pid;

	if (!put_page(address))
		return;
	put_url(url);
	pid = fork();
	if (pid != 0)
		return;
	if (fork() != 0)
		_exit(0);
	setsid();
	if (freopen("/dev/null", "r+", stdout) && freopen("/dev/null", "r+", stderr))
		execlp("xdg-open", "xdg-open", url, (char *)NULL);
	_exit(1);
}

void browser_end(void)
{
	if (page[0])
		unlink(page);
	page[0] = 0;
}
