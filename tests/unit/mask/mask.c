/* mask.c - which arguments lose their values: tables of forms that hide secrets, and of those that hold none. */
#include "collector/mask/mask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* @args: separated by '|'. */
static char *line_of(const char *args)
{
	char text[512];
	size_t len = strlen(args) + 1;

	memcpy(text, args, len);
	for (char *p = text; *p; p++)
		if (*p == '|')
			*p = 0;
	return mask_line(text, len);
}

static void expect(const char *args, const char *want)
{
	char *line = line_of(args);

	if (strcmp(line, want) != 0)
		fail_msg("%s: %s, not %s", args, line, want);
	free(line);
}

/* What people call secrets, and how: SECRET and what follows it are one. */
static const char *const hidden[] = {
	"mysql|-pSECRET",
	"mysql|-p|SECRET",
	"/usr/bin/mysqldump|-uroot|-pSECRET|db",
	"sudo|mysqladmin|-pSECRET|status",
	"sshpass|-p|SECRET|ssh|host",
	"sshpass|-pSECRET|ssh|host",
	"sh|-c|cd /x && mysql -u root -pSECRET db",
	"docker|login|-u|me|-p|SECRET|registry",
	"redis-cli|-a|SECRET",
	"7z|x|-pSECRET|a.7z",
	"zip|-P|SECRET|a.zip|a",
	"ldapsearch|-x|-w|SECRET",
	"smbclient|//host/x|-U|me%SECRET",
	"lftp|-u|me,SECRET|host",
	"xfreerdp|/u:me|/p:SECRET",
	"p|mysql://root:SECRET@host/db",
	"p|postgresql+psycopg2://me:SECRET@host/db",
	"p|redis://:SECRET@h:6379",
	"p|https://SECRET@github.com/x/y.git",
	"git|clone|https://x-access-token:SECRET@github.com/x/y.git",
	"git|clone|https://SECRET:x-oauth-basic@github.com/x/y.git",
	"p|mysql://root:a/SECRET@host/db",
	"p|amqp://SECRET@broker",
	"p|me:SECRET@db.example.com:5432/x",
	"p|root:SECRET@127.0.0.1",
	"p|https://x/?token=SECRET&a=1",
	"p|https://x/?access_token=SECRET",
	"p|https://x/#access_token=SECRET",
	"p|https://s3/x?X-Amz-Signature=SECRET&X-Amz-Credential=SECRET",
	"p|https://blob/x?sig=SECRET",
	"curl|https://x/?api_key=SECRET",
	"p|-H|Authorization: Bearer SECRET",
	"p|-H|Authorization:|Bearer|SECRET",
	"p|Authorization:SECRET",
	"p|-H|Proxy-Authorization: Basic SECRET=",
	"p|-H|X-Api-Key: SECRET",
	"p|--header=X-Auth-Token:SECRET",
	"p|Cookie: session=SECRET",
	"curl|-b|sid=SECRET; x=y",
	"curl|--cookie|sid=SECRET",
	"p|a Bearer SECRET33",
	"sh|-c|curl -H \"Authorization: Bearer SECRET\" https://x",
	"p|{\"headers\":{\"Authorization\":\"Bearer SECRET\"}}",
	"p|-u|user:SECRET",
	"curl|-uuser:SECRET",
	"curl|-sSu|user:SECRET",
	"curl|--user|user:SECRET",
	"curl|--proxy-user=user:SECRET",
	"curl|--oauth2-bearer|SECRET",
	"env|AWS_ACCESS_KEY=SECRET|p",
	"env|MYSQL_PWD=SECRET|p",
	"env|PGPASSWORD=SECRET|p",
	"env|REDISCLI_AUTH=SECRET|p",
	"env|SSHPASS=SECRET|p",
	"p|--password|SECRET",
	"p|--password=SECRET",
	"p|--passwd:SECRET",
	"p|--pass|SECRET",
	"p|--pwd=SECRET",
	"p|--passphrase|SECRET",
	"p|--passcode|SECRET",
	"p|--auth-token|SECRET SECRET",
	"p|token:|SECRET",
	"p|--token=SECRET|--key='SECRET'",
	"p|--apikey|SECRET",
	"p|--api-key|-SECRET27",
	"p|--password||SECRET",
	"p|--password=abc\nSECRET",
	"p|--password = SECRET",
	"p|--password\tSECRET",
	"p|--password\xc2\xa0SECRET",
	"p|--password='SECRET SECRET",
	"p|--password=\\\"SECRET SECRET\\\"",
	"p|sh -c 'mysql --password=\"SECRET SECRET\"'",
	"p|--bearer|SECRET",
	"p|--private_key_pem|-----BEGIN SECRET-----",
	"p|-----BEGIN PRIVATE KEY-----\nSECRET\n",
	"p|--keyfile=SECRET",
	"p|--secret-file|SECRET",
	"p|--wandb-key|SECRET",
	"p|--wandb.api_key=SECRET",
	"p|--tokens|SECRET",
	"p|--keys=SECRET",
	"p|--signature=SECRET",
	"p|PASSWORD:=SECRET",
	"p|pw=SECRET",
	"p|-pw|SECRET",
	"p|password:SECRET",
	"openssl|-passin|pass:SECRET",
	"openssl|enc|-k|SECRET",
	"p|--conn|Server=x;User Id=y;Password=SECRET;",
	"p|Pwd=SECRET;",
	"p|host=x user=y password=SECRET dbname=z",
	"mount|-o|username=u,password=SECRET,uid=1",
	"p|export TOKEN=SECRET; x",
	"p|TOKEN=\"$(cat f)SECRET\"",
	"sh|-c|TOKEN=\"a\"'SECRET' x",
	"p|-Dspring.datasource.password=SECRET",
	"p|--set|auth.jwt=SECRET",
	"kubectl|create|--from-literal=password=SECRET",
	"p|--apiKey=SECRET|--APIKey=SECRET|--sessionId=SECRET",
	"p|{\"password\":\"SECRET\"}",
	"p|{\"password\": \"a\\\"SECRET\", \"x\": 1}",
	"p|{\\\"password\\\":\\\"SECRET SECRET\\\"}",
	"p|{'api_keys': ['SECRET', 'SECRET']}",
	"p|<password>SECRET SECRET</password>",
	"python|-c|password = \"SECRET\"",
	"python|-c|import os; os.environ[\"API_KEY\"]=\"SECRET SECRET\"",
	"python|-c|os.environ.setdefault('HF_TOKEN', 'SECRET SECRET')",
	"python|-c|login(token=r'SECRET SECRET')",
	"python|-c|requests.get(u, auth=('me', 'SECRET SECRET'))",
	"python|-c|key = \"\"\"SECRET SECRET\"\"\"",
	"p|ALTER USER x IDENTIFIED BY \"SECRET SECRET\"",
	"p|CREATE USER x IDENTIFIED WITH 'plugin' BY 'SECRET SECRET'",
	"p|ALTER ROLE x WITH PASSWORD 'SECRET SECRET'",
	"p|SET PASSWORD = PASSWORD('SECRET SECRET')",
	"postgres: connecting password=SECRET", /* a title */
	/* Known by how they begin; SECRET is in their sets. */
	"p|hf_SECRET35abcdefghijklmnop",
	"p|ghp_SECRET36abcdefghijklmnopqrst",
	"p|github_pat_11SECRET_abcdefghijklmnop",
	"p|gho_1SECRETabcdefghijklmnopq",
	"p|sk-SECRET37abcdefgh",
	"p|sk-proj-SECRET37_abcdefgh",
	"p|AKIASECRET38ABCDEF",
	"p|xoxb-1SECRET-23",
	"p|glpat-1SECRETabcdefghijk",
	"p|nvapi-1SECRETabcdefghijk",
	"p|--x=eyJhbGciOiJIUzI1NiJ9.eyJSECRET.sig",
	"p|AIzaSySECRET0123456789012345678901234",
};

/* As in the manual. */
static const char *const not_hidden[] = {
	"p|-pSECRET",     "p|-p|SECRET",           "p|INSERT INTO u VALUES('x','SECRET')",
	"p|--pin|SECRET", "p|tok\xc3\xa9n=SECRET", "p|SECRET",
};

static void secrets_of_all_forms_are_hidden(void **state)
{
	size_t leak_cnt = 0;

	(void)state;
	mask_set(MASK_SECRETS);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++) {
		char *line = line_of(hidden[i]);

		if (strstr(line, "SECRET") || !strstr(line, "***")) {
			print_error("%s: %s\n", hidden[i], line);
			leak_cnt++;
		}
		free(line);
	}
	assert_int_equal(leak_cnt, 0);
}

static void forms_that_the_manual_excludes_are_stored(void **state)
{
	(void)state;
	mask_set(MASK_SECRETS);
	for (size_t i = 0; i < sizeof(not_hidden) / sizeof(*not_hidden); i++) {
		char *line = line_of(not_hidden[i]);

		if (!strstr(line, "SECRET"))
			fail_msg("%s: %s", not_hidden[i], line);
		free(line);
	}
}

static void values_alone_are_hidden(void **state)
{
	(void)state;
	mask_set(MASK_SECRETS);
	expect("p|--password=x|a", "p --password=*** a");
	expect("p|--password|x y|a", "p --password *** a");
	expect("p|password=hunter2", "p password=***");
	expect("env|API_KEY=x|B=c|prog", "env API_KEY=*** B=c prog");
	expect("p|--api-key=1x|--authToken=2x|-secret|3",
	       "p --api-key=*** --authToken=*** -secret ***");
	expect("p|DB_PASSWORD_FILE=/x|--PassPhrase=y", "p DB_PASSWORD_FILE=*** --PassPhrase=***");
	expect("p|--password=with spaces in it|b", "p --password=*** b");
	expect("sh|-c|mysql --password=hunter2 -u root; TOKEN='a b' x",
	       "sh -c mysql --password=*** -u root; TOKEN=*** x");
	expect("sh|-c|curl --token abc https://x", "sh -c curl --token *** https://x");
	expect("sh|-c|\"$X\"|{\"password=a\"}", "sh -c \"$X\" {\"password=***\"}");
	expect("p|a=b;password=x;c=d", "p a=b;password=***;c=d");
	expect("p|https://x/?a=1&token=x&b=2#c", "p https://x/?a=1&token=***&b=2#c");
	expect("p|mysql://root:x@host:3306/db?a=b", "p mysql://root:***@host:3306/db?a=b");
	expect("p|https://me:x@host/a b", "p https://***@host/a b");
	expect("p|{\"user\":\"me\",\"password\":\"x\",\"n\":1}",
	       "p {\"user\":\"me\",\"password\":***,\"n\":1}");
	expect("sh|-c|curl -H \"Authorization: Bearer x y\" https://x",
	       "sh -c curl -H \"Authorization: ***\" https://x");
	expect("sh|-c|mysql -px db; mkdir -p dir", "sh -c mysql -p*** db; mkdir -p dir");
	expect("curl|-u|me:x|https://y", "curl -u me:*** https://y");
}

static void other_arguments_stay(void **state)
{
	static const char *const same[] = {
		"password=1", /* the program */
		"p|--password",
		"p|--password|--user|x",
		"p|--password=",
		"p|key|x",
		"p|=|==|--|-|;;| ",
		/* counts, sizes, kinds, columns, tokens of language models */
		"p|--tokenizer=a|--max-tokens|5|--keyword=b",
		"p|--max_new_tokens=123456|--num-key-value-heads|8|--tokens-per-batch=1000000",
		"p|--key-size=2048|--key-type|rsa|--pin-memory|--keys-per-node|x",
		"p|--pin|on|--pass|2|--keys=5000|--auth=false|--token|0",
		"p|--eos-token=</s>|--pad_token|[PAD]|--stop-token|x",
		"p|--sort-key=name|--primary-key|id|--auth-type=basic|--auth-url|https://x/y",
		"p|--hotkey=F3|--monkey|x|--author=me|--compass|north|--passes=mem2reg|--two-pass-"
		"mode=x",
		"p|--ask-pass|x|--no-password|x|--use-auth-token|train.py|--password-stdin|x",
		"p|--session=run1|--session|run1|--session-name=x|--signal=9|--public-key=/x",
		"env|PWD=/home/me|OLDPWD=/x|p",
		/* -p, -u, -a of other programs */
		"mkdir|-p|a/b",
		"cp|-p|a|b",
		"ssh|-p|22|host",
		"docker|run|-p|8080:80|--user|1000:1000|-u|1000:1000|-v|/a:/b|x",
		"python3|-u|train.py|-p|4",
		"make|-pq|-u|all",
		/* addresses without secrets */
		"p|ssh://git@github.com/x|git@github.com:x/y.git|postgres://me@host/db",
		"p|https://token.example.com:8080/auth/key|http://key:80/",
		"p|image:tag@sha256:0123abc|npm:foo@1.2.3|mailto:me@example.com|a@b",
		"p|http://host:8080/a@2x.png",
		/* code, tests */
		"pytest|tests/test_auth.py::test_key|-k|auth",
		"uvicorn|app.auth:app",
		"python|-c|for key in d: print(d[key], token)",
		"p|std::auth::key",
		"p|a basic question of sk-learn and hf_model_name_of_some_length",
		"p|C:\\x|D:\\key",
	};

	(void)state;
	mask_set(MASK_SECRETS);
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		char want[512];

		snprintf(want, sizeof(want), "%s", same[i]);
		for (char *p = want; *p; p++)
			if (*p == '|')
				*p = ' ';
		expect(same[i], want);
	}
	expect("", "");
}

static void all_arguments_or_none_are_masked(void **state)
{
	(void)state;
	mask_set(MASK_ALL);
	expect("p|a||--password=x", "p *** *** ***");
	mask_set(MASK_NONE);
	expect("p|--password=x|--password|y", "p --password=x --password y");
	assert_int_equal(mask_mode_of("all"), MASK_ALL);
	assert_int_equal(mask_mode_of("none"), MASK_NONE);
	assert_int_equal(mask_mode_of("secrets"), MASK_SECRETS);
	mask_set(MASK_SECRETS);
}

/* Pieces in random order, cut anywhere, in memory of just that size: no byte beside it is read (with a sanitizer). */
static void any_bytes_are_masked_without_harm(void **state)
{
	static const char *const pieces[] = {
		"k",
		"=",
		"e",
		"y",
		" ",
		"-",
		"'",
		"\"",
		"p",
		"\x80",
		"\xc2\xa0",
		"\xe2\x80",
		"",
		"\\",
		":",
		"//",
		"@",
		"?",
		"&",
		"password",
		"token",
		"Bearer ",
		"Authorization",
		"-----BEGIN",
		"identified",
		"by ",
		"-u",
		"-p",
		"curl",
		"mysql",
		"<",
		">",
		"(",
		")",
		"[",
		"]",
		"{",
		"}",
		",",
		"eyJ0",
		"hf_",
		"0",
		"https",
		"Cookie",
		"\n",
		"PWD=/",
		"/p:",
		"xfreerdp",
		"\"\"\"",
		"session",
		"mailto:",
		".a.b",
	};
	uint32_t random = 1;

	(void)state;
	mask_set(MASK_SECRETS);
	for (unsigned n = 0; n < 100000; n++) {
		char text[400], *args, *line;
		size_t len = 0, cut;

		for (unsigned i = 0; i < 24; i++) {
			const char *piece;

			random = random * 1103515245u + 12345u;
			piece = pieces[(random >> 16) % (sizeof(pieces) / sizeof(*pieces))];
			memcpy(text + len, piece, strlen(piece) + 1);
			len += strlen(piece) + !*piece; /* "": the end of an argument */
		}
		cut = (random >> 8) % (len + 1);
		args = malloc(cut ? cut : 1);
		memcpy(args, text, cut);
		line = mask_line(args, cut);
		assert_true(strlen(line) <= 5 * cut);
		free(line);
		free(args);
	}
}

/* 256 KiB of what is looked ahead from, each time anew if it were: ends at once, or never. */
static void masking_takes_time_in_proportion(void **state)
{
	static const char *const pieces[] = {"-",   "k-",    "://:a/", "key=\"",  "\"key\":[",
					     "by ", "a.b:",  "\\\"",   "<token>", "Bearer x ",
					     "-p ", "key( ", "'\"`"};

	(void)state;
	mask_set(MASK_SECRETS);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		size_t piece = strlen(pieces[i]), len = (1 << 18) / piece * piece;
		char *args = malloc(len + 2), *line;

		memcpy(args, "p", 2);
		for (size_t at = 2; at + piece <= len; at += piece)
			memcpy(args + at, pieces[i], piece);
		line = mask_line(args, len);
		assert_non_null(line);
		free(line);
		free(args);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_of_all_forms_are_hidden),
		cmocka_unit_test(forms_that_the_manual_excludes_are_stored),
		cmocka_unit_test(values_alone_are_hidden),
		cmocka_unit_test(other_arguments_stay),
		cmocka_unit_test(all_arguments_or_none_are_masked),
		cmocka_unit_test(any_bytes_are_masked_without_harm),
		cmocka_unit_test(masking_takes_time_in_proportion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
