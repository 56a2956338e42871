/*
 * names.c - the tables of secrets that --mask-arguments=secrets hides; lists of words separated by
 * one space. scripts/man/sightline-profile.1 describes them for users, tests/unit/mask/mask.c has
 * the forms.
 */
#include "collector/mask/names.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* Words of a name stand between '-', '_', '.' and where capital letters begin ("authToken"); letters of either case. */
enum where {
	ANYWHERE, /* in the name without its signs */
	WORD,
	END,  /* of a word */
	ALONE /* the whole name, without dashes: --session=NAME is a name (nsys, tmux), session=ID stands in cookies */
};
static const struct {
	enum where where;
	enum secret secret;
	const char *words;
} names[] = {
	{ANYWHERE, SECRET_SURE,
	 "password passwd passwort passphrase passcode secret credential sessionid sessid"},
	{WORD, SECRET_SURE,
	 "pw pswd sshpass storepass keypass userpass dbpass bindpw rootpw jwt creds cred"},
	{END, SECRET_SURE, "pwd"},
	{WORD, SECRET_HEADER, "authorization cookie cookies"},
	{WORD, SECRET_WEAK,
	 "pass key keys tokens apikey apikeys authkey accesskey privatekey privkey sshkey keyfile "
	 "auth bearer otp "
	 "signature sig"},
	{END, SECRET_WEAK, "token"},
	{ALONE, SECRET_WEAK, "session"},
};

/* Beside a WORD or END that is WEAK: counts, sizes, kinds, places, columns; tokens of language models. */
static const char plain[] = "max min num number n nr cnt count size len length bits limit per rate "
			    "budget batch dim heads embedding loss "
			    "timeout ttl interval type kind algorithm algo alg format method mode "
			    "plugin name names id prefix suffix "
			    "index column col field sort group order join partition primary "
			    "foreign frame frames map binding through "
			    "exit public pub url uri host server port endpoint realm provider jar "
			    "pad padding eos bos unk sep cls mask "
			    "image stop special vocab";
static const char plain_values[] = "true false yes no on off none null";

/* Options with such a word are switches. */
static const char switches[] =
	"no use enable disable skip ask prompt require show print allow without stdin";

static const struct {
	const char *word;
	size_t least;
} schemes[] = {{"bearer", 6}, {"basic", 8}};

/* Elsewhere NAME of scheme://NAME@host may be a token. */
static const char user_schemes[] =
	"ssh sftp scp rsync git svn postgres postgresql psycopg psycopg2 "
	"mysql pymysql mariadb mongodb ldap smb";

/* Tokens that are known by how they begin: @least more bytes of the set, at least one of them a digit. */
enum set {
	LETTERS,
	WORDS,
	CAPITALS,
	DOTTED
};
static const struct {
	enum set set;
	size_t least;
	const char *prefixes;
} tokens[] = {
	/* Hugging Face, GitHub, Stripe, npm, Replicate, Groq */
	{LETTERS, 16,
	 "hf_ ghp_ gho_ ghu_ ghs_ ghr_ sk_live_ sk_test_ rk_live_ whsec_ npm_ r8_ gsk_"},
	/* GitHub, GitLab, OpenAI, NVIDIA, PyPI, Docker, DigitalOcean, Vault, xAI, Tailscale, Google */
	{WORDS, 16,
	 "github_pat_ glpat- gldt- sk- nvapi- pypi- dckr_pat_ dop_v1_ hvs. xai- tskey- ya29."},
	{WORDS, 30, "AIza"},                                /* Google */
	{WORDS, 10, "xoxa- xoxb- xoxp- xoxr- xoxs- xapp-"}, /* Slack */
	{CAPITALS, 12, "AKIA ASIA"},                        /* AWS */
	{DOTTED, 17, "eyJ SG."},                            /* JSON Web Tokens, SendGrid */
};

/* Options of programs, or of a subcommand ("docker login"). The first row that fits counts. */
static const struct secret_option options[] = {
	{"mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlsh mysqlslap "
	 "mysqlbinlog mariadb "
	 "mariadb-dump mariadb-admin sshpass mongo mongosh mongodump mongorestore mongoexport "
	 "mongoimport cqlsh "
	 "login rdesktop",
	 "-p", SECRET_EITHER, ""},
	{"7z 7za 7zr rar unrar", "-p", SECRET_JOINED, ""},
	{"rar", "-hp", SECRET_JOINED, ""},
	{"zip unzip sqlcmd bcp tsql ipmitool mosquitto_pub mosquitto_sub", "-P", SECRET_EITHER, ""},
	{"redis-cli http https ldappasswd", "-a", SECRET_EITHER, ""},
	{"ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd", "-w", SECRET_EITHER, ""},
	{"ldappasswd", "-s", SECRET_EITHER, ""},
	{"openssl", "-k", SECRET_APART, ""},
	{"openssl", "-K", SECRET_APART, ""},
	{"snmpget snmpwalk snmpset", "-c", SECRET_EITHER, ""},
	{"snmpget snmpwalk snmpset", "-A", SECRET_EITHER, ""},
	{"snmpget snmpwalk snmpset", "-X", SECRET_EITHER, ""},
	{"xfreerdp", "/p:", SECRET_JOINED, ""},
	{"smbclient rpcclient", "-U", SECRET_EITHER, "%"},
	{"lftp", "-u", SECRET_EITHER, ","},
	{"curl", "-u", SECRET_CLUSTER, ":"},
	{"curl", "-U", SECRET_CLUSTER, ":"},
	{"curl", "-b", SECRET_CLUSTER, "="},
	{"curl", "-E", SECRET_CLUSTER, ":"},
	{"curl", "--cert", SECRET_EITHER, ":"},
	{"ab", "-A", SECRET_EITHER, ":"},
	{"*", "-u", SECRET_APART, ":"},
	{"*", "--user", SECRET_EITHER, ":"},
	{"*", "--proxy-user", SECRET_EITHER, ":"},
};

/* The word of @list that is the @len bytes of @text, NULL: none. */
static const char *list_find(const char *list, const char *text, size_t len)
{
	for (const char *word = len ? list : NULL; word; word += *word == ' ') {
		if (tolower((unsigned char)*word) == tolower((unsigned char)*text) &&
		    strncasecmp(word, text, len) == 0 && (!word[len] || word[len] == ' '))
			return word;
		word = strchr(word, ' ');
		if (!word)
			break;
	}
	return NULL;
}

/* Whether @text ends in a word of @list. */
static bool list_has_end(const char *list, const char *text, size_t len)
{
	for (const char *word = list; *word; word += *word == ' ') {
		size_t word_len = strcspn(word, " ");

		if (word_len <= len && strncasecmp(word, text + len - word_len, word_len) == 0)
			return true;
		word += word_len;
	}
	return false;
}

static bool is_sign(char c)
{
	return c == '-' || c == '_' || c == '.';
}

/* Whether the name, without its signs, has @word in it. */
static bool holds(const char *name, size_t len, const char *word, size_t word_len)
{
	for (size_t from = 0; from < len; from++) {
		size_t at = from, got = 0;

		if (is_sign(name[from]))
			continue;
		while (at < len && got < word_len) {
			if (is_sign(name[at])) {
				at++;
				continue;
			}
			if (tolower((unsigned char)name[at]) != word[got])
				break;
			at++, got++;
		}
		if (got == word_len)
			return true;
	}
	return false;
}

static bool list_is_held(const char *list, const char *name, size_t len)
{
	for (const char *word = list; *word; word += *word == ' ') {
		size_t word_len = strcspn(word, " ");

		if (holds(name, len, word, word_len))
			return true;
		word += word_len;
	}
	return false;
}

/* The length of the word of @name that begins at @from. */
static size_t word_length(const char *name, size_t len, size_t from)
{
	size_t to = from;

	while (to < len && !is_sign(name[to])) {
		bool is_upper = isupper((unsigned char)name[to]);

		if (to > from && is_upper && !isupper((unsigned char)name[to - 1]))
			break;
		/* "APIKey" */
		if (to > from && is_upper && to + 1 < len && islower((unsigned char)name[to + 1]))
			break;
		to++;
	}
	return to - from;
}

/* Whether @fits returns true for a word of @name; it is called up to the first. */
static bool any_word(const char *name, size_t len,
		     bool (*fits)(const char *word, size_t len, void *of), void *of)
{
	for (size_t from = 0; from < len;) {
		size_t word_len = word_length(name, len, from);

		if (word_len && fits(name + from, word_len, of))
			return true;
		from += word_len ? word_len : 1;
	}
	return false;
}

static bool word_is_listed(const char *word, size_t len, void *list)
{
	return list_find(list, word, len) != NULL;
}

static bool word_is_secret(const char *word, size_t len, void *of)
{
	enum secret *secret = of;

	for (size_t i = 0; i < COUNT(names); i++) {
		bool fits = names[i].where == WORD  ? list_find(names[i].words, word, len) != NULL
			    : names[i].where == END ? list_has_end(names[i].words, word, len)
						    : false;

		if (fits && names[i].secret > *secret)
			*secret = names[i].secret;
	}
	return false;
}

enum secret secret_of_name(const char *name, size_t len)
{
	enum secret secret = SECRET_NONE;

	any_word(name, len, word_is_secret, &secret);
	if (secret == SECRET_WEAK && any_word(name, len, word_is_listed, (void *)(uintptr_t)plain))
		secret = SECRET_NONE;
	for (size_t i = 0; i < COUNT(names); i++)
		if (names[i].secret > secret &&
		    ((names[i].where == ANYWHERE && list_is_held(names[i].words, name, len)) ||
		     (names[i].where == ALONE && list_find(names[i].words, name, len))))
			secret = names[i].secret;
	return secret;
}

bool secret_is_switch(const char *name, size_t len)
{
	return any_word(name, len, word_is_listed, (void *)(uintptr_t)switches);
}

bool secret_value_is_plain(const char *value, size_t len)
{
	size_t digits = 0;

	while (digits < len && isdigit((unsigned char)value[digits]))
		digits++;
	return (len && digits == len && len <= 5) || list_find(plain_values, value, len);
}

bool secret_value_is_folder(const char *name, size_t len, const char *value)
{
	return *value == '/' && ((len == 3 && strncmp(name, "PWD", 3) == 0) ||
				 (len == 6 && strncmp(name, "OLDPWD", 6) == 0));
}

static bool is_of(enum set set, char c)
{
	if (set == CAPITALS)
		return isdigit((unsigned char)c) || isupper((unsigned char)c);
	return isalnum((unsigned char)c) || (set != LETTERS && (c == '_' || c == '-')) ||
	       (set == DOTTED && c == '.');
}

size_t secret_token(const char *at)
{
	for (size_t i = 0; i < COUNT(tokens); i++)
		for (const char *prefix = tokens[i].prefixes; *prefix; prefix += *prefix == ' ') {
			size_t prefix_len = strcspn(prefix, " "), len = prefix_len;
			bool has_digit = false;

			if (strncmp(at, prefix, prefix_len) == 0)
				for (; is_of(tokens[i].set, at[len]); len++)
					has_digit |= isdigit((unsigned char)at[len]) != 0;
			if (has_digit && len >= prefix_len + tokens[i].least)
				return len;
			prefix += prefix_len;
		}
	return 0;
}

size_t secret_scheme(const char *word, size_t len)
{
	for (size_t i = 0; i < COUNT(schemes); i++)
		if (list_find(schemes[i].word, word, len))
			return schemes[i].least;
	return 0;
}

bool secret_scheme_has_users(const char *scheme, size_t len)
{
	return list_find(user_schemes, scheme, len) != NULL;
}

const char *secret_program(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT(options); i++) {
		const char *found = list_find(options[i].programs, name, len);

		if (found && *found != '*')
			return found;
	}
	return NULL;
}

/* Whether @word is the option, or begins with it. */
static bool option_fits(const struct secret_option *option, const char *word, size_t len,
			size_t *joined)
{
	size_t own = strlen(option->option);
	bool is_long = own > 2 && option->option[1] == '-';

	*joined = 0;
	if (len == own && option->place != SECRET_JOINED)
		return strncmp(word, option->option, own) == 0;
	if (len > own && option->place != SECRET_APART && strncmp(word, option->option, own) == 0) {
		*joined = own + is_long;
		return !is_long || word[own] == '=';
	}
	if (option->place != SECRET_CLUSTER || len < own || word[0] != '-' ||
	    word[len - 1] != option->option[1])
		return false;
	for (size_t i = 1; i < len; i++)
		if (!isalpha((unsigned char)word[i]))
			return false;
	return true;
}

const struct secret_option *secret_option(const char *program, const char *word, size_t len,
					  size_t *joined)
{
	size_t name_len = program ? strcspn(program, " ") : 0;

	for (size_t i = 0; i < COUNT(options); i++)
		if ((options[i].programs[0] == '*' ||
		     list_find(options[i].programs, program, name_len)) &&
		    option_fits(&options[i], word, len, joined))
			return &options[i];
	return NULL;
}
