/* anonymize.c - finds the parts of texts that identify people and places, and replaces them by numbers. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/formats/anonymize.h"
#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/slots.h"

enum kind {   /* of replacements: each has numbers of its own */
	PART, /* of a path */
	HOST,
	USER,
	ADDRESS,
	COMMAND,
	UUID,
	WHOLE,
	KINDS
};

static const char *const prefix[KINDS] = {"x",        "host-", "user-",   "address-",
					  "command-", "uuid-", "removed-"};

struct known {
	enum kind kind;
	unsigned number;
	size_t len;
	char text[];
};

struct anonymizer {
	struct known **known;
	size_t known_cnt, known_room;
	struct slots by_text;
	unsigned count[KINDS];
	struct known *words[64]; /* hosts and users, to be looked for in texts */
	size_t word_cnt;
	char *out;
	size_t out_len, out_size;
	bool failed;
};

/* ---- known texts ---- */

static struct known *known(struct anonymizer *a, enum kind kind, const char *text, size_t len)
{
	uint64_t hash = hash_bytes(kind, text, len);
	struct known *k;
	uint32_t at, i;

	for (i = slots_first(&a->by_text, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&a->by_text, hash, &at)) {
		k = a->known[i];
		if (k->kind == kind && k->len == len && memcmp(k->text, text, len) == 0)
			return k;
	}
	k = malloc(sizeof(*k) + len);
	if (!k || !grow(&a->known, a->known_cnt, &a->known_room, sizeof(k)) ||
	    !slots_add(&a->by_text, hash, (uint32_t)a->known_cnt)) {
		free(k);
		a->failed = true;
		return NULL;
	}
	*k = (struct known){kind, ++a->count[kind], len};
	memcpy(k->text, text, len);
	return a->known[a->known_cnt++] = k;
}

static void learn(struct anonymizer *a, enum kind kind, const char *word)
{
	static const char *const common[] = {"root",    "user",  "localhost", "local", "removed",
					     "unknown", "admin", "linux",     "none"};
	size_t len = strlen(word);

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (strcasecmp(word, common[i]) == 0)
			return;
	if (len < 3 || strpbrk(word, " /\n") ||
	    a->word_cnt == sizeof(a->words) / sizeof(a->words[0]))
		return;
	struct known *k = known(a, kind, word, len);

	for (size_t i = 0; i < a->word_cnt; i++)
		if (a->words[i] == k)
			return;
	if (k)
		a->words[a->word_cnt++] = k;
}

struct anonymizer *anonymizer_new(sqlite3 *db)
{
	static const struct {
		enum kind kind;
		const char *sql;
	} ask[] = {
		{HOST, "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_HOST'"},
		{HOST, "SELECT value FROM META_DATA_CAPTURE WHERE name = 'DEVICE_DISPLAY_NAME'"},
		{HOST, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'"},
		{USER, "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_USER'"},
		{USER, "SELECT value FROM META_DATA_CAPTURE WHERE name LIKE '%USER_NAME'"},
	};
	struct anonymizer *a = calloc(1, sizeof(*a));

	for (size_t i = 0; a && i < sizeof(ask) / sizeof(ask[0]); i++) {
		sqlite3_stmt *stmt = NULL;

		if (sqlite3_prepare_v2(db, ask[i].sql, -1, &stmt, NULL) == SQLITE_OK)
			while (sqlite3_step(stmt) == SQLITE_ROW) {
				const char *word = (const char *)sqlite3_column_text(stmt, 0);

				if (word)
					learn(a, ask[i].kind, word);
			}
		sqlite3_finalize(stmt);
	}
	return a;
}

void anonymizer_free(struct anonymizer *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->known_cnt; i++)
		free(a->known[i]);
	free(a->known);
	slots_free(&a->by_text);
	free(a->out);
	free(a);
}

/* ---- output ---- */

static void put(struct anonymizer *a, const char *text, size_t len)
{
	if (a->out_size - a->out_len < len + 1) {
		size_t size = 2 * (a->out_size + len) + 256;
		char *more = realloc(a->out, size);

		if (!more) {
			a->failed = true;
			return;
		}
		a->out = more;
		a->out_size = size;
	}
	memcpy(a->out + a->out_len, text, len);
	a->out_len += len;
	a->out[a->out_len] = '\0';
}

static void put_known(struct anonymizer *a, enum kind kind, const char *text, size_t len)
{
	const struct known *k = known(a, kind, text, len);
	char buf[48];

	if (k)
		put(a, buf, (size_t)snprintf(buf, sizeof(buf), "%s%u", prefix[kind], k->number));
}

/* ---- paths ---- */

static bool is(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(text, word, len) == 0;
}

static bool is_one_of(const char *text, size_t len, const char *const *words)
{
	for (; *words; words++)
		if (is(text, len, *words))
			return true;
	return false;
}

/* The ending of a file's name: a dot and up to six letters or digits, the first a letter. */
static size_t ending(const char *part, size_t len)
{
	size_t at = len;

	while (at > 0 && isalnum((unsigned char)part[at - 1]))
		at--;
	if (at < 2 || part[at - 1] != '.' || len - at > 6 || at == len ||
	    !isalpha((unsigned char)part[at]))
		return 0;
	return len - at + 1;
}

static void put_part(struct anonymizer *a, const char *part, size_t len)
{
	size_t end = ending(part, len);

	if (len == 0 || is(part, len, ".") || is(part, len, "..") || is(part, len, "~")) {
		put(a, part, len);
		return;
	}
	put_known(a, PART, part, len);
	put(a, part + len - end, end);
}

/*
 * Paths of the system are the same everywhere, and useful: they stay. Of other well-known
 * places the first part stays.
 */
static void put_path(struct anonymizer *a, const char *path, size_t len)
{
	static const char *const whole[] = {"usr",  "lib",  "lib64", "lib32", "bin",
					    "sbin", "proc", "sys",   NULL};
	static const char *const first[] = {"etc", "dev", "tmp", "var",   "home", "root",    "opt",
					    "mnt", "run", "srv", "media", "data", "scratch", NULL};
	static const char *const second[] = {"local", "shm", "nvidia", "pts", "tmp", NULL};
	bool absolute = len > 0 && path[0] == '/', keep_all = false, system = false;
	unsigned depth = 0;

	while (len > 0) {
		size_t n = 0;

		while (n < len && path[n] != '/')
			n++;
		if (n > 0) {
			depth++;
			if (absolute && depth == 1) {
				system = is_one_of(path, n, first) || is_one_of(path, n, whole);
				keep_all = is_one_of(path, n, whole);
			}
			if (depth == 2 && is(path, n, "local"))
				keep_all = false;
			/* /dev/null: a name right below is a device */
			bool known_place =
				(depth == 1 && system) || keep_all ||
				(depth == 2 && system && is_one_of(path, n, second)) ||
				(depth == 2 && system && n == len && is(path - 4, 3, "dev"));

			if (known_place)
				put(a, path, n);
			else
				put_part(a, path, n);
			path += n;
			len -= n;
		} else {
			put(a, path++, 1);
			len--;
		}
	}
}

/* ---- addresses ---- */

/* Bytes of an IPv4 address at @p; 0: none. */
static size_t ipv4(const char *p, size_t len)
{
	size_t at = 0;

	for (int i = 0; i < 4; i++) {
		unsigned n = 0, digits = 0;

		if (i > 0 && (at >= len || p[at++] != '.'))
			return 0;
		for (; at < len && isdigit((unsigned char)p[at]) && digits < 4; digits++)
			n = n * 10 + (unsigned)(p[at++] - '0');
		if (digits == 0 || n > 255)
			return 0;
	}
	return at < len && (isalnum((unsigned char)p[at]) || p[at] == '_') ? 0 : at;
}

/* Bytes of an IPv6 address; C++ has "::" too, so it needs digits and brackets around it or many colons. */
static size_t ipv6(const char *p, size_t len, bool bracket)
{
	size_t at = 0, colons = 0, digits = 0;

	for (; at < len && (isxdigit((unsigned char)p[at]) || p[at] == ':'); at++) {
		colons += p[at] == ':';
		digits += isdigit((unsigned char)p[at]) != 0;
	}
	if (at < len && (isalnum((unsigned char)p[at]) || p[at] == '_'))
		return 0;
	return digits > 0 && colons >= (bracket ? 2 : 5) ? at : 0;
}

/* Bytes of 12345678-1234-1234-1234-123456789abc; 0: none. */
static size_t uuid_at(const char *p, size_t len)
{
	if (len < 36 || (len > 36 && isalnum((unsigned char)p[36])))
		return 0;
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? p[i] != '-' : !isxdigit((unsigned char)p[i]))
			return 0;
	}
	return 36;
}

static void put_address(struct anonymizer *a, const char *p, size_t len)
{
	if (is(p, len, "127.0.0.1") || is(p, len, "0.0.0.0") || is(p, len, "::1"))
		put(a, p, len);
	else
		put_known(a, ADDRESS, p, len);
}

/* ---- free text ---- */

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A host or user that begins at @p; NULL: none. */
static const struct known *word_at(const struct anonymizer *a, const char *p, size_t len)
{
	for (size_t i = 0; i < a->word_cnt; i++) {
		const struct known *k = a->words[i];

		if (k->len <= len && memcmp(p, k->text, k->len) == 0 &&
		    (k->len == len || !in_word(p[k->len])))
			return k;
	}
	return NULL;
}

/* How long the path that begins at @p is; 0: none does. */
static size_t path_at(const char *p, size_t len)
{
	size_t at = p[0] == '~' ? 1 : 0;

	while (p[0] == '.' && at < 2 && at < len && p[at] == '.')
		at++;
	if (at >= len || p[at] != '/' || at + 1 >= len)
		return 0;
	if (!in_word(p[at + 1]) && p[at + 1] != '.' && p[at + 1] != '-')
		return 0;
	for (; at < len && !strchr(" \t\n\"'`,;:()[]{}<>|&*?=", p[at]); at++)
		;
	return at;
}

/* "://", who stands after it, port and path. Returns how much that is. */
static size_t put_url(struct anonymizer *a, const char *p, size_t len)
{
	size_t at = 3, port, path;

	while (at < len && (in_word(p[at]) || strchr("-.@", p[at])))
		at++;
	put(a, p, 3);
	if (at > 3)
		put_known(a, HOST, p + 3, at - 3);
	for (port = at; port < len && (isdigit((unsigned char)p[port]) || p[port] == ':'); port++)
		;
	put(a, p + at, port - at);
	path = port < len ? path_at(p + port, len - port) : 0;
	put_path(a, p + port, path);
	return port + path;
}

static void put_text(struct anonymizer *a, const char *text, size_t len)
{
	for (size_t at = 0, n; at < len; at += n) {
		const char *p = text + at;
		size_t left = len - at;
		bool begins = at == 0 || (!in_word(p[-1]) && p[-1] != '.' && p[-1] != '/');
		const struct known *k = at == 0 || !in_word(p[-1]) ? word_at(a, p, left) : NULL;

		if (left > 3 && memcmp(p, "://", 3) == 0) {
			n = put_url(a, p, left);
		} else if (begins && (*p == '/' || *p == '~' || *p == '.') &&
			   (n = path_at(p, left)) > 0) {
			put_path(a, p, n);
		} else if (k) {
			n = k->len;
			put_known(a, k->kind, k->text, k->len);
		} else if (isxdigit((unsigned char)*p) && (n = uuid_at(p, left)) > 0) {
			put_known(a, UUID, p, n);
		} else if (begins && isdigit((unsigned char)*p) && (n = ipv4(p, left)) > 0) {
			put_address(a, p, n);
		} else if (begins && (isxdigit((unsigned char)*p) || *p == ':') &&
			   (n = ipv6(p, left, at > 0 && p[-1] == '[')) > 0) {
			put_address(a, p, n);
		} else {
			/* The rest of a word begins nothing. */
			for (n = 1; n < left && in_word(p[n]) && in_word(p[n - 1]); n++)
				;
			put(a, p, n);
		}
	}
}

const char *anonymize(struct anonymizer *a, enum anonymize_how how, const char *text, size_t *len)
{
	a->out_len = 0;
	put(a, "", 0);
	switch (how) {
	case ANON_KEEP:
		put(a, text, *len);
		break;
	case ANON_TEXT:
		put_text(a, text, *len);
		break;
	case ANON_PATH:
		/*
		 * "socket:[123]", "anon_inode:[eventpoll]", "10.1.2.3:80" have no slash; a bare name is a file,
		 * but for "[vdso]" and "<string>". "[fe80::1]:443" is an address.
		 */
		if (*len > 0 && (text[0] == '<' || (text[0] == '[' && !memchr(text, ':', *len))))
			put(a, text, *len);
		else if (memchr(text, ':', *len) && !memchr(text, '/', *len))
			put_text(a, text, *len);
		else
			put_path(a, text, *len);
		break;
	case ANON_COMMAND:
	case ANON_UUID:
	case ANON_WHOLE:
		if (*len > 0)
			put_known(a,
				  how == ANON_COMMAND ? COMMAND
				  : how == ANON_UUID  ? UUID
						      : WHOLE,
				  text, *len);
		break;
	case ANON_DROP:
		break;
	}
	*len = a->out_len;
	return a->failed ? NULL : a->out;
}

/* ---- treatment of columns ---- */

enum anonymize_how anonymize_column(const char *table, const char *column)
{
	static const struct {
		const char *table, *column;
		enum anonymize_how how;
	} all[] = {
		{"SL_PROCESS_TREE", "exe", ANON_PATH},
		{"SL_PROCESS_TREE", "commandLine", ANON_COMMAND},
		{"OSRT_FILE_ACCESS_DESCRIPTORS", "filePath", ANON_PATH},
		{"SL_OPEN_WAITS", "state", ANON_KEEP},
		{"SL_OPEN_WAITS", "peer", ANON_WHOLE}, /* addresses of machines */
		{"SL_ASYNC_TASKS", "state", ANON_KEEP},
		{"SL_ASYNC_TASKS", "waitsFor", ANON_KEEP},
		{"CUPTI_ACTIVITY_KIND_JIT", "cachePath", ANON_PATH},
		{"NVTX_EVENTS", "jsonText", ANON_DROP},
		{"NVTX_EVENTS", "binaryData", ANON_DROP},
		{"TARGET_INFO_SESSION_START_TIME", "localTime", ANON_DROP},
		{NULL, "uuid", ANON_UUID},
		{NULL, "luid", ANON_UUID},
		{NULL, "filename", ANON_PATH},
		{NULL, "filePath", ANON_PATH},
	};

	if (strncmp(table, "ENUM_", 5) == 0)
		return ANON_KEEP;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if ((!all[i].table || strcmp(all[i].table, table) == 0) &&
		    strcmp(all[i].column, column) == 0)
			return all[i].how;
	return ANON_TEXT;
}

enum anonymize_how anonymize_setting(const char *name, const char *value)
{
	/* Texts known to describe only the kind of machine and the recording; the rest is replaced. */
	static const char *const harmless[] = {"EXPORT_PRODUCT",
					       "EXPORT_SCHEMA",
					       "EXPORT_PLATFORM",
					       "EXPORT_ARCH",
					       "EXPORT_TIME",
					       "EXPORT_PARAM_EXPORT_TYPE",
					       "EXPORT_PARAM_TABLES",
					       "EXPORT_PARAM_TIME",
					       "SL_",
					       "DEVICE_ID",
					       "DEVICE_TYPE",
					       "CAPTURE_EVENT_TYPE",
					       "START_TRIGGER",
					       "STOP_TRIGGER",
					       "CUDA_GRAPH_TRACE_OPTIONS",
					       "CUDA_TRACE_SCOPE",
					       "LINUX_PERF_OPTIONS",
					       "OSRT_OPTIONS",
					       "PROCESS_0:CUDA_",
					       "PROCESS_0:HOW_TO_ATTACH",
					       "Cpu",
					       "Os",
					       "Nv",
					       "Cuda",
					       "Supports",
					       "Supported",
					       "Has",
					       "KernelVersion",
					       "HardwarePlatform",
					       "SoftwarePlatform",
					       "SoftwareRelease",
					       "PhysicalMemory",
					       "EventClock",
					       "Ofed",
					       "GpuInfo",
					       "Is"};
	const char *arg = strstr(name, "ARGUMENT");

	if (strspn(value, "0123456789.-") == strlen(value) && !arg)
		return ipv4(value, strlen(value)) ? ANON_WHOLE : ANON_KEEP;
	if (strcmp(name, "EXPORT_TIME_LOCAL") == 0)
		return ANON_WHOLE; /* it holds the time zone */
	if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
		return ANON_KEEP;
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (strncmp(name, harmless[i], strlen(harmless[i])) == 0)
			return ANON_TEXT;
	return ANON_WHOLE;
}

bool anonymize_leaves_out(const char *table)
{
	/* The last two are of a report that is not finished: paths, in bytes. */
	return strcmp(table, "ANALYSIS_FILE") == 0 || strcmp(table, "ProcessStreams") == 0 ||
	       strcmp(table, "SL_RAW_STACKS") == 0 || strcmp(table, "SL_CODES") == 0;
}
