/*
 * mask.c - finds secrets in arguments by the tables of names.c. Also within one argument, which may
 * be a command of `sh -c`, code, JSON, SQL, a header or an address.
 */
#include "collector/mask/mask.h"

#include "collector/mask/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HIDDEN      "***"
#define LOWER_CASE  "abcdefghijklmnopqrstuvwxyz"
#define AT_SIGN_MAX 256 /* looks no further for the end of a password with a '/' in it */

static enum mask_mode mode = MASK_SECRETS;

void mask_set(enum mask_mode to)
{
	mode = to;
}

enum mask_mode mask_now(void)
{
	return mode;
}

enum mask_mode mask_mode_of(const char *word)
{
	return strcmp(word, "all") == 0    ? MASK_ALL
	       : strcmp(word, "none") == 0 ? MASK_NONE
					   : MASK_SECRETS;
}

/* One argument. */
struct scan {
	struct mask *m;
	const char *arg, *at;
	bool is_sql; /* "IDENTIFIED" was seen, whose BY may follow */
	struct {
		char *text;
		size_t len;
	} out;
};

static void keep(struct scan *s, size_t len)
{
	memcpy(s->out.text + s->out.len, s->at, len);
	s->out.len += len;
	s->at += len;
}

static void hide(struct scan *s, size_t len)
{
	if (!len)
		return;
	memcpy(s->out.text + s->out.len, HIDDEN, sizeof(HIDDEN) - 1);
	s->out.len += sizeof(HIDDEN) - 1;
	s->at += len;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-_.", c));
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

/* The bytes of the white space at @at, 0: none. Also no-break and wide spaces of UTF-8. */
static size_t space_length(const char *at)
{
	if (isspace((unsigned char)*at))
		return 1;
	if (at[0] == '\xc2' && at[1] == '\xa0')
		return 2;
	if (at[0] == '\xe2' && at[1] == '\x80' && ((unsigned char)at[2] ^ 0x80) <= 0x0b)
		return 3;
	return at[0] == '\xe3' && at[1] == '\x80' && at[2] == '\x80' ? 3 : 0;
}

static size_t spaces_length(const char *at)
{
	size_t len = 0, space;

	while ((space = space_length(at + len)))
		len += space;
	return len;
}

/* Length of the text that begins with a quote, three quotes, or \" , with its closing quote; 0: it has no end. */
static size_t quoted_length(const char *at)
{
	size_t lead = *at == '\\', size = 1, len;
	char quote = at[lead];

	if (!is_quote(quote))
		return 0;
	if (!lead && at[1] == quote && at[2] == quote)
		size = 3;
	for (len = lead + size; at[len]; len++) {
		if (lead && at[len] == '\\' && at[len + 1] == quote)
			return len + 2;
		if (!lead && at[len] == '\\' && at[len + 1] && quote != '\'')
			len++;
		else if (!lead && at[len] == quote &&
			 (size == 1 || (at[len + 1] == quote && at[len + 2] == quote)))
			return len + size;
	}
	return 0;
}

/* Length of "[...]", "{...}", "(...)"; to the end of the text where no bracket closes it. */
static size_t bracket_length(const char *at)
{
	size_t len = 0, depth = 0;

	while (at[len]) {
		size_t quoted = quoted_length(at + len);

		if (quoted) {
			len += quoted;
			continue;
		}
		if (strchr("[{(", at[len]))
			depth++;
		else if (strchr("]})", at[len]) && --depth == 0)
			return len + 1;
		len++;
	}
	return len;
}

/* The letters before a quote in code: b"", rf'' */
static size_t literal_prefix(const char *at)
{
	size_t len = strspn(at, "bBfFrRuU");

	return len <= 2 && is_quote(at[len]) ? len : 0;
}

/*
 * The bytes of the value at @at, which is a word of a shell or a literal. @before, the sign before its name, may end it: a quote that was
 * opened there, '&' in an address, ';' in a list of settings.
 */
static size_t value_length(const char *at, char before)
{
	const char *stops = before == '?' || before == '&' || before == '#' ? "&#\"'`<>)"
			    : before == ';'                                 ? ";"
									    : "";
	size_t len, quoted;

	if (*at && strchr("[{(", *at))
		return bracket_length(at);
	len = literal_prefix(at);
	quoted = quoted_length(at + len);
	len = quoted ? len + quoted : 0;
	if (quoted && (!at[len] || strchr(",;]})&|\\>", at[len])))
		return len;
	while (at[len] && !space_length(at + len)) {
		if (strchr(stops, at[len]) || (is_quote(before) && at[len] == before))
			break;
		quoted = quoted_length(at + len);
		len += quoted ? quoted : at[len] == '\\' && at[len + 1] ? 2 : 1;
	}
	return len;
}

/* The bytes of a word of a shell, as far as no sign ends it. */
static size_t bare_length(const char *at)
{
	return strcspn(at, " \t\n\"'`;|&()<>");
}

/* "-SECRET27" behind --api-key: not the name of an option. */
static bool looks_like_option(const char *at)
{
	size_t len = bare_length(at);
	bool has_digit = false;

	if (*at != '-')
		return false;
	for (size_t i = 0; i < len; i++)
		has_digit |= isdigit((unsigned char)at[i]) != 0;
	return len < 8 || at[1] == '-' || !has_digit;
}

/* The bytes before the password of USER:PASSWORD; 0: there is none, as in "1000:1000" and "C:\x". */
static size_t user_length(const char *at, char sign)
{
	size_t lead = is_quote(*at), len = lead + bare_length(at + lead), digits = lead;
	const char *found = memchr(at, sign, len);

	if (!found || found + 1 == at + len)
		return 0;
	while (isdigit((unsigned char)at[digits]))
		digits++;
	if (sign == ':' &&
	    ((at + digits == found && isdigit((unsigned char)found[1])) || strchr("/\\", found[1])))
		return 0;
	return (size_t)(found - at) + 1;
}

/* The value of an option that stood before it, in the same word if @is_joined; false: it is not. @is_all: of the argument. */
static bool take_value(struct scan *s, bool is_joined, bool is_all)
{
	enum secret secret = (enum secret)s->m->next.secret;
	size_t before = 0, len;

	if (secret == SECRET_NONE)
		return false;
	/* "Authorization:" "Bearer" "x": three arguments. */
	len = bare_length(s->at);
	if (secret == SECRET_HEADER && secret_scheme(s->at, len)) {
		keep(s, len);
		return true;
	}
	s->m->next.secret = SECRET_NONE;
	if (!is_joined && looks_like_option(s->at))
		return false;
	if (*s->m->next.part && !(before = user_length(s->at, *s->m->next.part)))
		return false;
	len = is_all ? strlen(s->at) : value_length(s->at, 0);
	if (secret == SECRET_WEAK && secret_value_is_plain(s->at, len)) {
		keep(s, len);
		return true;
	}
	keep(s, before);
	hide(s, len - before);
	return true;
}

/* -pX, -p X of programs that are known for it. */
static bool take_option(struct scan *s)
{
	bool is_all = s->at == s->arg;
	const struct secret_option *option;
	size_t len, joined;

	if (*s->at != '-' && *s->at != '/')
		return false;
	len = bare_length(s->at);
	option = secret_option(s->m->program, s->at, len, &joined);
	if (!option)
		return false;
	s->m->next.secret = SECRET_SURE;
	s->m->next.part = option->part;
	keep(s, joined ? joined : len);
	if (joined)
		take_value(s, true, is_all);
	return true;
}

static void note_program(struct scan *s)
{
	size_t len = bare_length(s->at), from = len;
	const char *program;

	while (from && s->at[from - 1] != '/')
		from--;
	if (!isalnum((unsigned char)s->at[from]))
		return;
	program = secret_program(s->at + from, len - from);
	if (program)
		s->m->program = program;
}

/* scheme://USER:PASSWORD@host: behind the "://". */
static void take_authority(struct scan *s, const char *scheme, size_t scheme_len)
{
	size_t len = 0, sign = 0, colon;
	bool is_web = (scheme_len == 4 || scheme_len == 5) &&
		      strncasecmp(scheme, "https", scheme_len) == 0;

	for (; s->at[len] && !strchr("/?#\"'`<>\\", s->at[len]) && !space_length(s->at + len);
	     len++)
		if (s->at[len] == '@')
			sign = len;
	colon = (size_t)((const char *)memchr(s->at, ':', len) - s->at);
	if (!memchr(s->at, ':', len))
		colon = len;
	/* A password may have a '/' in it, a port has none. */
	if (!sign && colon + 1 < len && !isdigit((unsigned char)s->at[colon + 1]))
		for (size_t i = len; i < AT_SIGN_MAX && s->at[i] && !strchr("\"'`<>", s->at[i]) &&
				     !space_length(s->at + i);
		     i++)
			if (s->at[i] == '@')
				sign = i;
	if (sign && colon < sign) {
		if (!is_web)
			keep(s, colon + 1);
		hide(s, sign - (is_web ? 0 : colon + 1));
	} else if (sign && !secret_scheme_has_users(scheme, scheme_len)) {
		hide(s, sign);
	} else {
		keep(s, len);
	}
}

/* user:PASSWORD@host without a scheme: not an image@sha256, a package@2.1, mailto:. */
static bool take_login(struct scan *s, size_t len)
{
	const char *password = s->at + len + 1, *host, *end;
	size_t hidden;

	if (s->at != s->arg || s->at[len] != ':' ||
	    (len == 6 && strncasecmp(s->at, "mailto", 6) == 0))
		return false;
	hidden = strcspn(password, "@:/ \t\n");
	if (!hidden || password[hidden] != '@')
		return false;
	host = password + hidden + 1;
	for (end = host; is_name(*end); end++)
		;
	if (strncmp(host, "localhost", 9) != 0 &&
	    (!memchr(host, '.', (size_t)(end - host)) || !isalpha((unsigned char)*host)) &&
	    strspn(host, "0123456789.") < 7)
		return false;
	keep(s, len + 1);
	hide(s, hidden);
	return true;
}

/* "Bearer X", IDENTIFIED BY 'X': a word that announces the next one. */
static bool take_announced(struct scan *s, size_t len)
{
	size_t spaces = spaces_length(s->at + len), least = secret_scheme(s->at, len), value;
	const char *next;

	if (len == 10 && strncasecmp(s->at, "identified", 10) == 0)
		s->is_sql = true;
	if (s->is_sql && len == 2 && strncasecmp(s->at, "by", 2) == 0)
		least = 1;
	if (!least || !spaces)
		return false;
	next = s->at + len + spaces;
	value = value_length(next, s->at == s->arg ? 0 : s->at[-1]);
	/* "a basic question" */
	if (value < least || (!s->is_sql && strspn(next, LOWER_CASE) >= value))
		return false;
	keep(s, len + spaces);
	hide(s, value);
	s->is_sql = false;
	return true;
}

/* Where the value of a name begins that ends at @end; NULL: it has none. @opener: the quote before the name, else 0. */
static const char *find_value(const struct scan *s, const char *end, char opener,
			      enum secret secret)
{
	const char *at = end, *sign;
	char before = s->at == s->arg ? 0 : s->at[-1];
	bool is_closed = false;

	if (opener && (*at == opener || (*at == '\\' && at[1] == opener))) {
		at += 1 + (*at == '\\');
		at += strspn(at, "])");
		is_closed = true;
	}
	sign = at + spaces_length(at);
	if (*sign == '=' || *sign == ':') {
		/* module::name, the name of a test, app.auth:app */
		if (*sign == ':' && sign[1] == ':')
			return NULL;
		if (*sign == ':' && secret == SECRET_WEAK && !is_closed &&
		    (before == '/' || memchr(s->at, '.', (size_t)(end - s->at))))
			return NULL;
		sign++;
		sign += *sign == '=' || (*sign == '>' && sign[-1] == '=');
		return sign + spaces_length(sign);
	}
	if (before == '<' && *at == '>')
		return at + 1;
	if ((is_closed && *sign == ',') || (!is_closed && at == sign && *sign == '(')) {
		sign++;
		sign += spaces_length(sign);
		return is_quote(sign[literal_prefix(sign)]) ? sign : NULL;
	}
	/* SQL: PASSWORD 'x' */
	return secret == SECRET_SURE && sign > at && *s->at != '-' && is_quote(*sign) ? sign : NULL;
}

/* Length of the value of the name at s->at, which ends at @end; the value stands at @value. */
static size_t found_length(const struct scan *s, const char *value, const char *end, char opener,
			   enum secret secret)
{
	char before = s->at == s->arg ? 0 : s->at[-1];
	bool is_joined = *end == '=' || *end == ':';
	size_t len;

	if (before == '<' && *end == '>')
		return strcspn(value, "<");
	/* All of an argument of this form is the value, spaces too. */
	if (s->at == s->arg && (is_joined || *s->at == '-'))
		return strlen(value);
	if (secret != SECRET_HEADER || is_quote(*value) || *value == '\\')
		return value_length(value, before == '\\' ? 0 : before);
	for (len = 0; value[len] && value[len] != '\n' && !(opener && value[len] == opener); len++)
		;
	return len;
}

/* Takes a name, and its value. */
static bool take_name(struct scan *s)
{
	size_t len = 0, token;
	char before = s->at == s->arg ? 0 : s->at[-1], opener = is_quote(before) ? before : 0;
	const char *end, *value;
	enum secret secret;

	while (is_name(s->at[len]))
		len++;
	if (!len)
		return false;
	token = secret_token(s->at + strspn(s->at, "-"));
	if (token) {
		keep(s, strspn(s->at, "-"));
		hide(s, token);
		return true;
	}
	if (take_login(s, len) || take_announced(s, len))
		return true;
	end = s->at + len;
	if (strncmp(end, "://", 3) == 0) {
		const char *scheme = s->at;

		keep(s, len + 3);
		take_authority(s, scheme, len);
		return true;
	}
	secret = secret_of_name(s->at, len);
	value = secret == SECRET_NONE ? NULL : find_value(s, end, opener, secret);
	if (value && *value) {
		size_t value_len = found_length(s, value, end, opener, secret);
		bool is_plain =
			(secret == SECRET_WEAK && secret_value_is_plain(value, value_len)) ||
			secret_value_is_folder(s->at, len, value);

		keep(s, (size_t)(value - s->at));
		if (!is_plain)
			hide(s, value_len);
		return true;
	}
	if (secret != SECRET_NONE && ((!value && *s->at == '-' && !secret_is_switch(s->at, len) &&
				       (!*end || space_length(end) || *end == opener)) ||
				      (value && *end == ':'))) {
		s->m->next.secret = secret;
		s->m->next.part = "";
	}
	keep(s, (size_t)((value ? value : end) - s->at));
	return true;
}

static void scan(struct scan *s)
{
	bool begins = true; /* a word */

	while (*s->at) {
		size_t space = space_length(s->at);

		if (space) {
			keep(s, space);
			begins = true;
			continue;
		}
		if (begins) {
			begins = false;
			if (take_value(s, false, s->at == s->arg) || take_option(s))
				continue;
			note_program(s);
		}
		if (strncmp(s->at, "-----BEGIN", 10) == 0) {
			hide(s, strlen(s->at));
		} else if (!take_name(s)) {
			begins = strchr(";|&(\"'`", *s->at) != NULL;
			/* The next command of a shell. */
			if (strchr(";|&", *s->at))
				s->m->program = NULL;
			keep(s, 1);
		}
	}
}

char *mask_argument(struct mask *m, const char *arg)
{
	/* A hidden text has a byte or more. */
	struct scan s = {.m = m,
			 .arg = arg,
			 .at = arg,
			 .out.text = malloc(strlen(arg) * (sizeof(HIDDEN) - 1) + sizeof(HIDDEN))};

	if (!s.out.text)
		return NULL;
	if (mode == MASK_ALL && m->has_first) {
		memcpy(s.out.text, HIDDEN, sizeof(HIDDEN) - 1);
		s.out.len = sizeof(HIDDEN) - 1;
	} else if (mode == MASK_SECRETS && (m->has_first || strpbrk(arg, " \t\n"))) {
		/* With spaces the first argument is a title that the program has given itself. */
		scan(&s);
	} else {
		note_program(&s);
		keep(&s, strlen(arg));
	}
	m->has_first = true;
	s.out.text[s.out.len] = 0;
	return s.out.text;
}

char *mask_line(const char *args, size_t len)
{
	char *copy = malloc(len + 1),
	     *line = malloc(len * (sizeof(HIDDEN) + 1) + sizeof(HIDDEN) + 1);
	struct mask m = {0};
	size_t used = 0;

	if (!copy || !line) {
		free(copy);
		free(line);
		return NULL;
	}
	memcpy(copy, args, len);
	copy[len] = 0;
	for (size_t at = 0; at < len; at += strlen(copy + at) + 1) {
		char *arg = mask_argument(&m, copy + at);

		if (!arg)
			break;
		if (at)
			line[used++] = ' ';
		memcpy(line + used, arg, strlen(arg));
		used += strlen(arg);
		free(arg);
	}
	line[used] = 0;
	free(copy);
	return line;
}
