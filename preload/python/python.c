/*
 * python.c - loads the tracer's modules into a Python (by PYTHONPATH and a built-in module), and records their notes.
 *
 * Rule: programs other than Python are not affected; a Python runs untraced if anything is missing.
 */
#include "preload/python/python.h"

#include <fcntl.h>
#include <string.h>

#include "preload/nvtx/nvtx.h"
#include "preload/base/object.h"
#include "preload/core/session_folder.h"
#include "preload/python/python_api.h"
#include "preload/wire/sys.h"

#define TEXT_MAX 60000u

struct search {
	const char *name;
	void *found;
};

static int find_in(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct sl_object o;

	(void)size;
	if (sl_object_open(&o, info))
		s->found = sl_object_find(&o, s->name);
	return s->found != NULL;
}

void *sl_python_find(const char *name)
{
	struct search s = {.name = name};

	dl_iterate_phdr(find_in, &s);
	return s.found;
}

/* Reads @fd from its beginning, and closes it. */
static size_t read_all(long fd, char *text, size_t room)
{
	size_t len = 0;
	long n;

	if (fd < 0)
		return 0;
	while (len < room && (n = sl_sys3(SYS_read, fd, text + len, room - len)) > 0)
		len += (size_t)n;
	sl_sys1(SYS_close, fd);
	return len;
}

/* ---- options of the interpreter that disable the integration ---- */

/*
 * The one of -E, -I and -S in a command line of Python, 0: none. Words after the program (a name, -c or -m) are its
 * own; -W and -X have an argument.
 */
static char disabling_option(const char *word, const char *end)
{
	word += strlen(word) + 1;
	for (; word < end && word[0] == '-' && word[1] && word[1] != '-';
	     word += strlen(word) + 1) {
		for (const char *p = word + 1; *p; p++) {
			if (*p == 'c' || *p == 'm')
				return 0;
			if (*p == 'E' || *p == 'I' || *p == 'S')
				return *p;
			if (*p != 'W' && *p != 'X')
				continue;
			if (!p[1])
				word += strlen(word) + 1;
			break;
		}
	}
	return 0;
}

/* Of this process, found in its first thread: by its constructor. */
static char disabling;

static char find_disabling_option(void)
{
	static SL_APART char text[4096];
	size_t len = read_all(
		sl_sys4(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0), text,
		sizeof(text) - 1);
	const char *slash;

	text[len] = 0;
	slash = strrchr(text, '/');
	/* Programs that embed Python have options of their own. */
	return strncmp(slash ? slash + 1 : text, "python", 6) == 0
		       ? disabling_option(text, text + len)
		       : 0;
}

/* Exported by every CPython since 3.8, and by no older one. */
static bool is_python(void)
{
	return sl_python_find("Py_BytesMain") != NULL;
}

static bool is_enabled(void)
{
	return sl_ready() && sl_global.session->python;
}

void sl_python_start(void)
{
	char text[] = "say python -?: this option of the interpreter keeps --python-step and "
		      "--pytorch out";

	if (sl_ready() && sl_global.session->trace & SL_TRACE_PYTHON_GIL &&
	    sl_python_find("_Py_DecRefShared"))
		sightline_python_note(
			"say --trace=python-gil: this Python is built without the "
			"interpreter lock; there are ranges only where it is set to use one "
			"(PYTHON_GIL=1)");
	if (!is_enabled() || !is_python())
		return;
	disabling = find_disabling_option();
	if (!disabling) {
		sl_python_add_module();
		return;
	}
	*strchr(text, '?') = disabling;
	sightline_python_note(text);
}

/* ---- the search path ---- */

/* While it starts: a later getenv() is not the interpreter's. */
static bool is_starting(void)
{
	int (*is_initialized)(void) = (int (*)(void))sl_python_find("Py_IsInitialized");

	return is_initialized && !is_initialized() && !disabling;
}

char *sl_python_path(char *env)
{
	size_t len, room = TEXT_MAX + 2 + (env ? strlen(env) : 0);
	char *text;

	if (!is_enabled() || !sl_python_has_module() || !is_starting() || room > 64000)
		return env;
	text = sl_nvtx_alloc(room);
	if (!text)
		return env;
	len = read_all(sl_session_open("python", 1), text, TEXT_MAX);
	if (!len || len == TEXT_MAX)
		return env;
	text[len] = 0;
	if (env && *env) {
		text[len] = ':';
		memcpy(text + len + 1, env, strlen(env) + 1);
	}
	return text;
}

/* ---- exported functions ---- */

SL_EXPORT int sightline_python_abi(void)
{
	return SIGHTLINE_PYTHON_ABI;
}

SL_EXPORT void sightline_python_note(const char *text)
{
	size_t len = strlen(text);

	/* At most one record. */
	if (sl_ready())
		sl_note(SL_NOTE_PYTHON, text, len < 4000 ? len : 4000);
}
