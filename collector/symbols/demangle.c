/*
 * demangle.c - C++ through libstdc++, Rust through demangle_rust.c, short names for stacks.
 *
 * Symbols are demangled by the C++ library that gcc brings (its licence lets compiled programs use it freely); the
 * archive contributes this one function, and only libc under it.
 */
#include "collector/symbols/demangle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/symbols/demangle_internal.h"

/* <cxxabi.h> is C++ only. */
char *__cxa_demangle(const char *symbol, char *out, size_t *len, int *status);

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$';
}

static char closing(char c)
{
	return c == '(' ? ')' : c == '<' ? '>' : c == '{' ? '}' : c == '[' ? ']' : 0;
}

/* Behind the bracket that closes the one at @p; at the end of the text when none does. */
static const char *skip_brackets(const char *p)
{
	char open = *p, close = closing(open);
	int depth = 0;

	for (; *p; p++) {
		/* Comparisons stand in parentheses of their own; those are passed over whole. */
		if (*p == '(' && open == '<') {
			p = skip_brackets(p);
			if (!*p)
				return p;
		}
		if (*p == open)
			depth++;
		else if (*p == close && !(close == '>' && p[-1] == '-'))
			depth--;
		if (!depth)
			return p + 1;
	}
	return p;
}

/* "operator()", "operator<<": up to where its template arguments or parameters begin. */
static const char *skip_operator(const char *p)
{
	p += strlen("operator");
	if (p[0] == '(' && p[1] == ')')
		return p + 2;
	while (*p && *p != '(' && !(*p == '<' && is_word(p[1])))
		p++;
	return p;
}

/*
 * "void at::native::(anonymous namespace)::fill<float, 4>(int, float*)": names are joined by "::", a blank outside of
 * brackets ends the return type, and the first other bracket "(" begins the parameters. A suffix by which the compiler
 * distinguishes versions of a name ("add[abi:v1]", as Numba does to each kernel) belongs to it as little as "<int>".
 */
size_t demangle_base(const char *text, const char **begin)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *end = NULL, *p = text;

	*begin = text;
	while (*p) {
		if (p[0] == ':' && p[1] == ':') {
			p += 2;
			*begin = p;
			end = NULL;
		} else if (*p == ' ') {
			*begin = ++p;
			end = NULL;
		} else if (strncmp(p, "operator", 8) == 0 && p == *begin && !is_word(p[8])) {
			end = p = skip_operator(p);
		} else if (strncmp(p, anonymous, sizeof(anonymous) - 1) == 0) {
			p += sizeof(anonymous) - 1;
		} else if (*p == '(' && strncmp(p + 1, "anonymous", 9) != 0 && p > *begin) {
			break;
		} else if (closing(*p)) {
			if (!end && (*p == '<' || strncmp(p, "[abi:", 5) == 0))
				end = p;
			p = skip_brackets(p);
		} else {
			p++;
		}
	}
	if (!end)
		end = p;
	while (end > *begin && end[-1] == ' ')
		end--;
	return (size_t)(end - *begin);
}

char *demangle_full(const char *symbol)
{
	return strncmp(symbol, "_Z", 2) == 0 ? __cxa_demangle(symbol, NULL, NULL, NULL) : NULL;
}

/* ---- names of functions ---- */

struct text {
	char *out;
	size_t len;
};

static void add(struct text *t, const char *from, const char *to)
{
	memmove(t->out + t->len, from, (size_t)(to - from));
	t->len += (size_t)(to - from);
}

/* Skips qualifiers between a function's parameters and the name of an entity inside of it. */
static const char *skip_qualifiers(const char *p)
{
	static const char *const words[] = {" const", " volatile", " &&", " &", " noexcept"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(p, words[i], strlen(words[i])) == 0)
			p += strlen(words[i]);
	while (strncmp(p, "[abi:", 5) == 0)
		p = skip_brackets(p);
	return p;
}

/*
 * As demangle_base(), but with scope and template arguments. Parameters are left out also of functions that something
 * lies in: "f(int)::{lambda()#1}::operator()() const" is "f::{lambda()#1}::operator()". In place: never longer.
 */
static void without_parameters(char *text)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *p = text, *part = text, *q;
	struct text t = {.out = text};

	while (*p) {
		q = p + 1;
		if (p[0] == ':' && p[1] == ':') {
			part = q = p + 2;
		} else if (*p == ' ') {
			t.len = 0; /* the result */
			part = p = q;
			continue;
		} else if (strncmp(p, "operator", 8) == 0 && p == part && !is_word(p[8])) {
			q = skip_operator(p);
		} else if (strncmp(p, anonymous, sizeof(anonymous) - 1) == 0) {
			q = p + sizeof(anonymous) - 1;
		} else if (*p == '(' && p > part && strncmp(part, "decltype", 8) != 0) {
			p = skip_qualifiers(skip_brackets(p));
			if (p[0] == ':' && p[1] == ':')
				continue;
			break;
		} else if (closing(*p)) {
			q = skip_brackets(p);
		}
		add(&t, p, q);
		p = q;
	}
	while (t.len && text[t.len - 1] == ' ')
		t.len--;
	text[t.len] = 0;
}

/* Rust before version 0 of its own mangling: C++'s, with a hash at the end, and other characters between dollar signs. */
static bool is_rust(const char *name, size_t len)
{
	if (len < 20 || memcmp(name + len - 19, "::h", 3) != 0)
		return false;
	return strspn(name + len - 16, "0123456789abcdef") == 16;
}

static void unescape_rust(char *name)
{
	static const struct {
		const char *escape, *is;
	} list[] = {{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
		    {"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","}};
	struct text t = {.out = name};

	for (const char *p = name; *p;) {
		const char *is = NULL;
		size_t len = 1;
		char character[2] = "";

		if (p[0] == '.' && p[1] == '.') {
			is = "::";
			len = 2;
		}
		for (size_t i = 0; *p == '$' && i < sizeof(list) / sizeof(list[0]); i++)
			if (strncmp(p, list[i].escape, strlen(list[i].escape)) == 0) {
				is = list[i].is;
				len = strlen(list[i].escape);
			}
		if (!is && p[0] == '$' && p[1] == 'u') {
			char *end;
			unsigned long code = strtoul(p + 2, &end, 16);

			if (*end == '$' && code >= ' ' && code < 127) {
				character[0] = (char)code;
				is = character;
				len = (size_t)(end + 1 - p);
			}
		}
		/* An underscore stands before text that would not be an identifier. */
		if (*p == '_' && p[1] == '$' && (p == name || p[-1] == ':')) {
			p++;
			continue;
		}
		add(&t, is ? is : p, is ? is + strlen(is) : p + len);
		p += len;
	}
	name[t.len] = 0;
}

/* "f.isra.0", "f.cold": parts and variants that the compiler made of f. */
static void without_variant(char *name)
{
	static const char *const words[] = {"cold",     "isra",       "part", "constprop",
					    "lto_priv", "localalias", "llvm", "clone"};
	char *dot = *name ? strchr(name + 1, '.') : NULL;

	for (; dot; dot = strchr(dot + 1, '.'))
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			size_t len = strlen(words[i]);

			if (strncmp(dot + 1, words[i], len) == 0 && !is_word(dot[1 + len])) {
				*dot = 0;
				return;
			}
		}
}

char *demangle_function(const char *symbol)
{
	/* "name@@VERSION" */
	char *plain = strndup(symbol, strcspn(symbol + (*symbol != 0), "@") + (*symbol != 0));
	char *name = plain ? demangle_full(plain) : NULL;
	char *rust = plain && !name ? demangle_rust(plain) : NULL;
	size_t len;

	if (rust) {
		free(plain);
		return rust;
	}
	if (!name) {
		if (plain)
			without_variant(plain);
		return plain;
	}
	free(plain);
	len = strlen(name);
	if (is_rust(name, len)) {
		name[len - 19] = 0;
		unescape_rust(name);
	} else {
		without_parameters(name);
	}
	return name;
}
