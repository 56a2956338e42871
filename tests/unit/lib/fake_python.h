/*
 * fake_python.h - an interpreter's memory, made by hand for pystack.c: its debug offsets, texts, code objects, frames.
 * Stands in the middle of that file.
 */
#pragma once

/* Objects without the lock have 16 bytes more in front. */
static uint32_t head;
static unsigned long hex;
static uint64_t runtime[8192];
static char code_type[8], other_type[8];
static __thread char *thread;

static void *of_thread(void)
{
	return thread;
}

static const char *version_text(void)
{
	return "3.14.0";
}

bool sl_object_open(struct sl_object *o, const struct dl_phdr_info *info)
{
	(void)info;
	memset(o, 0, sizeof(*o));
	return true;
}

void *sl_object_find(const struct sl_object *o, const char *name)
{
	(void)o;
	if (strcmp(name, "PyGILState_GetThisThreadState") == 0)
		return (void *)of_thread;
	if (strcmp(name, "Py_GetVersion") == 0)
		return (void *)version_text;
	if (strcmp(name, "_PyRuntime") == 0)
		return runtime;
	if (strcmp(name, "PyCode_Type") == 0)
		return code_type;
	return strcmp(name, "Py_Version") == 0 ? &hex : NULL;
}

enum {
	FRAME_BYTES = 96,
	OWNER_THREAD = 0,
	OWNER_INTERPRETER = 3,
	CODE_BYTES = 256,
	/* Behind the head of a code object. */
	FIRST_LINE = 52,
	FILE_AT = 96,
	NAME_AT = 104,
	QUALIFIED_AT = 112,
	LINES_AT = 120,
	COPIES_AT = 184,
	BYTECODE_AT = 192,
};

/* 3.15 describes more of threads and types; its threads have a last frame under all others. */
static bool is_3_15;
enum {
	BASE = 240
};

/* As 3.14 has them, or will have had: groups may have grown. */
static void describe(unsigned interpreter_words, bool free_threaded)
{
	uint64_t words[] = {0,
			    hex,
			    free_threaded,
			    /* runtime */ 40000,
			    16000,
			    16008};
	const uint64_t thread_words[] = {400, 0, 8, 16, 72, 152, 160, 232, 32};
	const uint64_t thread_words_3_15[] = {400,
					      0,
					      8,
					      16,
					      72,
					      BASE,
					      248,
					      256,
					      152,
					      160,
					      232,
					      32,
					      40,
					      44,
					      88,
					      96,
					      /* exception */ 0};
	const uint64_t frame_words[] = {88, 8, 0, 56, 80, 74, 64, free_threaded ? 72 : 0};
	const uint64_t code_words[] = {240,
				       head + FILE_AT,
				       head + NAME_AT,
				       head + QUALIFIED_AT,
				       head + LINES_AT,
				       head + FIRST_LINE,
				       head + 36,
				       head + 80,
				       head + 88,
				       head + BYTECODE_AT,
				       free_threaded ? head + COPIES_AT : 0};
	const uint64_t rest[] = {head,           head - 8,
				 /* type */ 416, 24,       88, 168};
	const uint64_t types_3_15[] = {32, 288, /* on the heap */ 880, 840};
	const uint64_t more[] = {
		/* tuple */ head + 16, head + 8,  head,
		/* list */ head + 24,  head + 8,  head,
		/* set */ 200,         head,      head + 16, head + 8,
		/* dict */ head + 32,  head + 16, head + 24,
		/* float */ head + 8,  head,
		/* long */ head + 16,  head,      head + 8,
		/* bytes */ head + 24, head,      head + 16,
		/* text */ head + 48,  head + 16, head,      head + 24};
	uint64_t *at = runtime;

	memset(runtime, 0, sizeof(runtime));
	memcpy(words, "xdebugpy", 8);
#define ADD(list) at = (uint64_t *)memcpy(at, list, sizeof(list)) + sizeof(list) / 8
	ADD(words);
	*at = 300000;
	for (unsigned i = 1; i < interpreter_words; i++)
		at[i] = 7000 + 8 * i;
	at += interpreter_words;
	if (is_3_15)
		ADD(thread_words_3_15);
	else
		ADD(thread_words);
	ADD(frame_words);
	ADD(code_words);
	ADD(rest);
	if (is_3_15)
		ADD(types_3_15);
	ADD(more);
}

/* Objects have no owner that frees them: they are kept in a list. */
static struct made {
	struct made *next;
	uint64_t unused; /* objects are aligned to 16 bytes */
	char object[];
} * all_made;

static char *make(size_t bytes)
{
	size_t all = (sizeof(struct made) + bytes + 15) & ~(size_t)15;
	struct made *m = aligned_alloc(16, all);

	memset(m, 0, all);
	m->next = __atomic_load_n(&all_made, __ATOMIC_RELAXED);
	/* Threads make some, too, and do not read those of others. */
	while (!__atomic_compare_exchange_n(&all_made, &m->next, m, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
	return m->object;
}

static char *make_text(const void *data, size_t len, unsigned kind, bool ascii, unsigned shift)
{
	char *text = make(head + 64 + (len + 1) * kind);

	*(int64_t *)(text + head) = (int64_t)len;
	*(uint32_t *)(text + head + 16) = 1 | (kind | 8 | (ascii ? 16u : 0)) << shift;
	memcpy(text + head + (ascii ? 24 : 40), data, len * kind);
	return text;
}

static char *ascii(const char *s)
{
	return make_text(s, strlen(s), 1, true, 16);
}

static char *make_code(char *file, char *name, int first_line)
{
	char *code = make(head + CODE_BYTES), *lines = make(head + 32);

	*(int64_t *)(lines + head) = 2;
	memcpy(lines + head + 16, "\x80", 2);
	*(const char **)(code + head - 8) = code_type;
	*(char **)(code + head + FILE_AT) = file;
	*(char **)(code + head + NAME_AT) = ascii("short");
	*(char **)(code + head + QUALIFIED_AT) = name;
	*(char **)(code + head + LINES_AT) = lines;
	*(int32_t *)(code + head + FIRST_LINE) = first_line;
	return code;
}

static char *make_frame(char *previous, char *code, int unit, int owner)
{
	char *f = make(FRAME_BYTES);

	/* A reference with the mark that it is not counted. */
	*(char **)f = code ? code + 1 : NULL;
	*(char **)(f + 8) = previous;
	*(char **)(f + 56) = code ? code + head + BYTECODE_AT + 2 * unit : NULL;
	f[74] = (char)owner;
	return f;
}

static char *enter(char *previous)
{
	return make_frame(previous, NULL, 0, OWNER_INTERPRETER);
}
