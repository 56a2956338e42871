/*
 * output_name.c - from the pattern of -o to a file that can be written.
 *
 * Everything that can be found wrong is found here, before the program runs for hours.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/options/output_name.h"
#include "collector/options/profile_options.h"

#include "collector/base/message.h"

#define NUMBER_MAX 999999

struct naming {
	char path[PATH_MAX];
	size_t len;
	bool numbered; /* %n was met */
	char *why;
	size_t why_len;
};

static int refuse(struct naming *nm, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct naming *nm, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(nm->why, nm->why_len, format, ap);
	va_end(ap);
	return -1;
}

static int append(struct naming *nm, const char *text, size_t len)
{
	if (nm->len + len >= sizeof(nm->path))
		return refuse(nm, "the report's name is longer than %d bytes", PATH_MAX - 1);
	memcpy(nm->path + nm->len, text, len);
	nm->len += len;
	nm->path[nm->len] = '\0';
	return 0;
}

static int append_number(struct naming *nm, long number)
{
	char text[24];

	return append(nm, text, (size_t)snprintf(text, sizeof(text), "%ld", number));
}

/* %q{VAR}: @p points to 'q'; *@end gets the text behind the brace. */
static int append_variable(struct naming *nm, const char *p, const char **end)
{
	const char *close = p[1] == '{' ? strchr(p, '}') : NULL;
	char name[256];
	const char *value;
	size_t len;

	if (!close)
		return refuse(nm, "'%%q' in the report's name must look like %%q{VARIABLE}");
	len = (size_t)(close - p - 2);
	if (len == 0 || len >= sizeof(name))
		return refuse(nm, "'%%q{}' in the report's name needs the name of a variable");
	memcpy(name, p + 2, len);
	name[len] = '\0';
	value = getenv(name);
	if (!value || !*value)
		return refuse(nm, "the name uses the environment variable %s, which is not set",
			      name);
	*end = close + 1;
	return append(nm, value, strlen(value));
}

static int append_host(struct naming *nm)
{
	char host[HOST_NAME_MAX + 1] = "";

	if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
		memcpy(host, "localhost", sizeof("localhost"));
	return append(nm, host, strlen(host));
}

static int expand(struct naming *nm, const struct output_ask *ask, const char *pattern, long number)
{
	int rc = 0;

	nm->len = 0;
	nm->path[0] = '\0';
	for (const char *p = pattern; *p && rc == 0;) {
		size_t plain = strcspn(p, "%");

		if (plain) {
			rc = append(nm, p, plain);
			p += plain;
			continue;
		}
		p++;
		switch (*p) {
		case '%':
			rc = append(nm, "%", 1);
			break;
		case 'p':
			rc = append_number(nm, (long)ask->pid);
			break;
		case 'h':
			rc = append_host(nm);
			break;
		case 'n':
			nm->numbered = true;
			rc = append_number(nm, number);
			break;
		case 'q':
			rc = append_variable(nm, p, &p);
			continue;
		default:
			return refuse(nm,
				      "'%%%c' in the report's name is unknown; it knows %%p %%h "
				      "%%n %%q{VAR} and %%%%",
				      *p ? *p : ' ');
		}
		p++;
	}
	return rc;
}

#define SQLITE   ".sqlite"
#define NSYS_REP ".nsys-rep"

static const char *appended = SQLITE;

void output_name_as_nsys(void)
{
	appended = NSYS_REP;
}

static bool ends_with(const struct naming *nm, const char *end)
{
	size_t len = strlen(end);

	return nm->len > len && nm->path[nm->len - len - 1] != '/' &&
	       strcmp(nm->path + nm->len - len, end) == 0;
}

static int append_capture(struct naming *nm, int number, const char *extension)
{
	char text[32];

	snprintf(text, sizeof(text), ".%d", number);
	return append(nm, text, strlen(text)) < 0 ? -1 : append(nm, extension, strlen(extension));
}

/* @renamed: set where the extension of nsys was replaced, which a message mentions. */
static int extend(struct naming *nm, int number, bool *renamed)
{
	static const char *const ours[] = {SQLITE, ".sqlite3", ".db"};
	static const char *const theirs[] = {NSYS_REP, ".qdrep"};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (ends_with(nm, ours[i])) {
			if (!number)
				return 0;
			nm->len -= strlen(ours[i]);
			nm->path[nm->len] = '\0';
			return append_capture(nm, number, ours[i]);
		}
	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
		if (!ends_with(nm, theirs[i]))
			continue;
		nm->len -= strlen(theirs[i]);
		nm->path[nm->len] = '\0';
		*renamed = strcmp(theirs[i], appended) != 0;
	}
	if (number)
		return append_capture(nm, number, appended);
	return append(nm, appended, strlen(appended));
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int check_folder(struct naming *nm)
{
	char folder[PATH_MAX];
	char *slash;

	memcpy(folder, nm->path, nm->len + 1);
	slash = strrchr(folder, '/');
	if (!slash)
		memcpy(folder, ".", 2);
	else if (slash == folder)
		slash[1] = '\0';
	else
		*slash = '\0';
	if (access(folder, F_OK) < 0 && errno == ENOENT)
		return refuse(nm, "the folder '%s' for the report does not exist (mkdir -p '%s')",
			      folder, folder);
	if (access(folder, F_OK) == 0 && !is_folder(folder))
		return refuse(nm, "'%s' is no folder: no report can be written there", folder);
	if (access(folder, W_OK | X_OK) < 0)
		return refuse(nm,
			      "the report cannot be written to the folder '%s': %s (choose another "
			      "with -o)",
			      folder, strerror(errno));
	return 0;
}

static int check_file(struct naming *nm, bool overwrite)
{
	struct stat st;

	if (lstat(nm->path, &st) < 0) {
		/* Only creating the file shows quotas, names too long, file systems that take no files. */
		int fd = open(nm->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		if (fd < 0)
			return refuse(
				nm,
				"the report '%s' cannot be written: %s (choose another with -o)",
				nm->path, strerror(errno));
		close(fd);
		unlink(nm->path);
		return 0;
	}
	if (stat(nm->path, &st) == 0 && !S_ISREG(st.st_mode))
		return refuse(nm,
			      "'%s' exists and is no regular file (choose another name with -o)",
			      nm->path);
	if (!overwrite)
		return refuse(nm,
			      "the report '%s' exists (replace it with --force-overwrite=true, or "
			      "choose another name with -o)",
			      nm->path);
	return 0;
}

/* Tries names with %n in turn until one is free; other names are taken as they are. */
static int choose(struct naming *nm, const struct output_ask *ask, const char *pattern,
		  bool *renamed)
{
	struct stat st;

	for (long number = 1; number <= NUMBER_MAX; number++) {
		if (expand(nm, ask, pattern, number) < 0 || extend(nm, ask->number, renamed) < 0)
			return -1;
		if (!nm->numbered || lstat(nm->path, &st) < 0)
			return 0;
	}
	return refuse(nm, "no number up to %d is free for the report's name '%s'", NUMBER_MAX,
		      pattern);
}

/* "." and ".." can only be meant as folders; "results" means results.sqlite even if there is a folder results. */
static bool names_folder(const char *pattern)
{
	const char *slash = strrchr(pattern, '/');
	const char *last = slash ? slash + 1 : pattern;

	return strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
}

char *output_name(const struct output_ask *ask, char *why, size_t why_len)
{
	struct naming nm = {.why = why, .why_len = why_len};
	char pattern[PATH_MAX];
	bool renamed = false;
	const char *asked = ask->pattern ? ask->pattern : "";
	size_t len = strlen(asked);
	const char *number = len == 0 || asked[len - 1] == '/' ? "report%n"
			     : names_folder(asked)             ? "/report%n"
							       : "";

	if ((size_t)snprintf(pattern, sizeof(pattern), "%s%s", asked, number) >= sizeof(pattern)) {
		refuse(&nm, "the report's name is longer than %d bytes", PATH_MAX - 1);
		return NULL;
	}
	if (choose(&nm, ask, pattern, &renamed) < 0 || check_folder(&nm) < 0 ||
	    check_file(&nm, ask->overwrite) < 0)
		return NULL;
	if (renamed)
		sl_warn("the report is SQLite: it will be '%s'", nm.path);
	return strdup(nm.path);
}

char *output_name_expand(const char *pattern, pid_t pid, char *why, size_t why_len)
{
	struct naming nm = {.why = why, .why_len = why_len};
	struct output_ask ask = {.pid = pid};

	return expand(&nm, &ask, pattern, 1) < 0 ? NULL : strdup(nm.path);
}

/* As text that expand() leaves as it is. */
static int append_plain(struct naming *nm, const char *text)
{
	int rc = 0;

	for (; *text && rc == 0; text++)
		rc = append(nm, *text == '%' ? "%%" : text, *text == '%' ? 2 : 1);
	return rc;
}

/* @p follows a percent sign; *@end gets the rest. */
static int append_sendable(struct naming *nm, const char *p, const char **end)
{
	struct naming part = {.why = nm->why, .why_len = nm->why_len};
	char again[3] = {'%', *p, 0};

	*end = p + (*p != 0);
	if (*p != 'q' && *p != 'h')
		return append(nm, again, strlen(again));
	if ((*p == 'q' ? append_variable(&part, p, end) : append_host(&part)) < 0)
		return -1;
	return append_plain(nm, part.path);
}

char *output_name_send(const char *pattern, char *why, size_t why_len)
{
	struct naming nm = {.why = why, .why_len = why_len};
	const char *p = pattern ? pattern : "";
	char cwd[PATH_MAX];
	int rc = 0;

	if (*p != '/') {
		if (!getcwd(cwd, sizeof(cwd))) {
			refuse(&nm, "this folder's name is unknown: %s (give -o an absolute path)",
			       strerror(errno));
			return NULL;
		}
		rc = append_plain(&nm, cwd);
		if (rc == 0)
			rc = append(&nm, "/", 1);
	}
	while (*p && rc == 0) {
		size_t plain = strcspn(p, "%");

		rc = append(&nm, p, plain);
		p += plain;
		if (*p && rc == 0)
			rc = append_sendable(&nm, p + 1, &p);
	}
	return rc < 0 ? NULL : strdup(nm.path);
}

char *absolute_path(const char *path)
{
	char cwd[4096], *full;

	if (path[0] == '/')
		return strdup(path);
	if (!getcwd(cwd, sizeof(cwd)) || asprintf(&full, "%s/%s", cwd, path) < 0)
		return NULL;
	return full;
}

char *output_report(const struct profile_options *o, pid_t pid, char *why, size_t why_len)
{
	struct output_ask ask = {.pattern = o->output,
				 .overwrite = o->force_overwrite,
				 .pid = pid,
				 .number = capture_is_numbered(&o->capture)};
	char *name = output_name(&ask, why, why_len), *full = name ? absolute_path(name) : NULL;

	free(name);
	return full;
}
