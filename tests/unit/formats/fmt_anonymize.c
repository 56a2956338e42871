/* fmt_anonymize.c - what identifies people and places in texts, against replacements written by hand. */
#include "fmt_test.h"

#include "exporters/formats/anonymize.h"

static struct anonymizer *a;

/* A new one, so that numbers begin at 1: it knows host "node17.lan" and users "eva" and "max.m". */
static void anew(void)
{
	sqlite3 *db;

	anonymizer_free(a);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	fmt_sql(db, "CREATE TABLE META_DATA_EXPORT (name, value);"
		    "CREATE TABLE META_DATA_CAPTURE (name, value);"
		    "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name, value);"
		    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_HOST', 'node17.lan'), "
		    "('EXPORT_USER', 'eva'), ('EXPORT_USER', NULL);"
		    "INSERT INTO META_DATA_CAPTURE VALUES ('DEVICE_DISPLAY_NAME', 'node17.lan'), "
		    "('X_USER_NAME', 'max.m'), ('Y_USER_NAME', 'Root'), ('Z_USER_NAME', 'ab');"
		    "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'two words'), "
		    "('Hostname', 'a/b')");
	a = anonymizer_new(db);
	assert_non_null(a);
	sqlite3_close(db);
}

static const char *of(enum anonymize_how how, const char *text, size_t len)
{
	const char *out = anonymize(a, how, text, &len);

	assert_non_null(out);
	assert_int_equal(strlen(out), len);
	return out;
}

struct pair {
	const char *text, *want;
};

/* Each pair by an anonymizer of its own. */
static void all(enum anonymize_how how, const struct pair *pairs, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		anew();
		fmt_same(of(how, pairs[i].text, strlen(pairs[i].text)), pairs[i].want);
	}
}

#define ALL(how, ...)                                              \
	do {                                                       \
		static const struct pair pairs[] = {__VA_ARGS__};  \
		all(how, pairs, sizeof(pairs) / sizeof(pairs[0])); \
	} while (0)

static void paths_of_the_system_stay(void **state)
{
	(void)state;
	ALL(ANON_PATH, {"", ""}, {"/", "/"}, {"/usr/lib/libc.so.6", "/usr/lib/libc.so.6"},
	    {"/lib64/ld.so", "/lib64/ld.so"}, {"/proc/self/maps", "/proc/self/maps"},
	    {"/usr/local/bin/x.py", "/usr/local/x1/x2.py"}, {"/usr/bin/local", "/usr/bin/local"},
	    {"/dev/null", "/dev/null"}, {"/dev/disk/by-id", "/dev/x1/x2"},
	    {"/dev/shm/sem.x", "/dev/shm/x1.x"}, {"/dev/pts/3", "/dev/pts/x1"},
	    {"/dev/nvidia/0", "/dev/nvidia/x1"}, {"/tmp", "/tmp"}, {"/tmp/x", "/tmp/x1"},
	    {"/var/tmp/a", "/var/tmp/x1"}, {"/etc/passwd", "/etc/x1"}, {"/usrx/a", "/x1/x2"},
	    {"usr/lib/a", "x1/x2/x3"}, {"//usr//lib", "//usr//lib"}, {"/home", "/home"},
	    {"/home/eva/", "/home/x1/"});
}

static void parts_of_paths_are_numbered(void **state)
{
	(void)state;
	ALL(ANON_PATH, {"/home/eva/a/eva/b", "/home/x1/x2/x1/x3"}, {"a/b", "x1/x2"},
	    {"./a", "./x1"}, {"../../a", "../../x1"}, {"~/a", "~/x1"}, {"a//b/", "x1//x2/"},
	    {"...", "x1"}, {"~eva/a", "x1/x2"});
}

static void endings_of_files_stay(void **state)
{
	(void)state;
	ALL(ANON_PATH, {"a.py", "x1.py"}, {"b.tar.gz", "x1.gz"}, {"c.sqlite", "x1.sqlite"},
	    {"d.abcdefg", "x1"}, {"e.", "x1"}, {".bashrc", "x1"}, {"f.7z", "x1"}, {"g.z7", "x1.z7"},
	    {"h.so.6", "x1"}, {"i.p-y", "x1"}, {"j", "x1"}, {"a.b/c.d", "x1.b/x2.d"},
	    {".x.c", "x1.c"});
	/* Files of one name with two endings are two. */
	anew();
	fmt_same(of(ANON_PATH, "a.c", 3), "x1.c");
	fmt_same(of(ANON_PATH, "a.h", 3), "x2.h");
	fmt_same(of(ANON_PATH, "d/a.c", 5), "x3/x1.c");
}

static void paths_that_are_none(void **state)
{
	(void)state;
	ALL(ANON_PATH, {"[vdso]", "[vdso]"}, {"<string>", "<string>"},
	    {"socket:[123]", "socket:[123]"}, {"10.1.2.3:80", "address-1:80"},
	    {"[fe80::1]:443", "[address-1]:443"}, {"127.0.0.1:80", "127.0.0.1:80"},
	    {"tcp:node17.lan:9", "tcp:host-1:9"}, {"[x:y]", "[x:y]"}, {"<a:b/c>", "<a:b/c>"},
	    {"a:b/c", "x1/x2"});
}

static void wholes_are_numbered_by_their_kind(void **state)
{
	(void)state;
	anew();
	fmt_same(of(ANON_COMMAND, "python x.py", 11), "command-1");
	fmt_same(of(ANON_COMMAND, "other", 5), "command-2");
	fmt_same(of(ANON_UUID, "other", 5), "uuid-1");
	fmt_same(of(ANON_WHOLE, "other", 5), "removed-1");
	fmt_same(of(ANON_COMMAND, "python x.py", 11), "command-1");
	fmt_same(of(ANON_COMMAND, "python x.p", 10), "command-3");
	fmt_same(of(ANON_COMMAND, "", 0), "");
	fmt_same(of(ANON_DROP, "secret", 6), "");
	fmt_same(of(ANON_KEEP, "/home/eva", 9), "/home/eva");
}

static void hosts_and_users_in_texts(void **state)
{
	(void)state;
	ALL(ANON_TEXT, {"", ""}, {"eva", "user-1"}, {"eva@node17.lan", "user-1@host-1"},
	    {"evangeline", "evangeline"}, {"x_eva", "x_eva"}, {"x-eva!", "x-user-1!"},
	    {"max.m's", "user-2's"}, {"Eva", "Eva"}, {"of eva", "of user-1"},
	    /* words that everybody has, short ones, and those with a blank or a slash are not looked for */
	    {"Root ab two words a/b", "Root ab two words a/b"}, {"node17.lan2", "node17.lan2"},
	    {"node17", "node17"}, {"evaeva eva_", "evaeva eva_"});
}

static void paths_in_texts(void **state)
{
	(void)state;
	ALL(ANON_TEXT, {"load /home/eva/x.bin, then", "load /home/x1/x2.bin, then"},
	    {"(/opt/a/b)", "(/opt/x1/x2)"}, {"in ~/a", "in ~/x1"}, {"./a.out -x", "./x1.out -x"},
	    {"../a", "../x1"}, {"a/b", "a/b"}, {"1 / 2", "1 / 2"}, {"//", "//"}, {"/", "/"},
	    {"x=/data/a", "x=/data/x1"}, {"'/data/a'", "'/data/x1'"}, {"operator/", "operator/"},
	    {"/usr/lib/a.so", "/usr/lib/a.so"}, {"...", "..."}, {"/-x", "/x1"}, {"/.x", "/x1"},
	    {"/+x", "/+x"}, {"f(/tmp/a?b)", "f(/tmp/x1?b)"});
}

static void addresses_in_texts(void **state)
{
	(void)state;
	ALL(ANON_TEXT, {"10.0.0.1", "address-1"},
	    {"at 10.0.0.1:5 or 10.0.0.2", "at address-1:5 or address-2"},
	    {"127.0.0.1 0.0.0.0", "127.0.0.1 0.0.0.0"}, {"1.2.3", "1.2.3"},
	    {"1.2.3.256", "1.2.3.256"}, {"1.2.3.4.5", "address-1.5"}, {"1.2.3.4x", "1.2.3.4x"},
	    {"x1.2.3.4", "x1.2.3.4"}, {"1.2.3.", "1.2.3."}, {"a.1.2.3.4", "a.1.2.3.4"},
	    {"1..2.3", "1..2.3"}, {"255.255.255.255", "address-1"}, {"1.2.3.0004", "address-1"},
	    {"1.2.3.00004", "1.2.3.00004"}, {"fe80:0:0:0:1:2", "address-1"},
	    {"[fe80::1]", "[address-1]"}, {"fe80::1", "fe80::1"}, {"::1", "::1"}, {"a::b", "a::b"},
	    {"[::1]", "[::1]"}, {"std::abs", "std::abs"}, {"[a::b]", "[a::b]"},
	    {"1:2:3:4:5:6g", "1:2:3:4:5:6g"});
}

static void numbers_of_devices_in_texts(void **state)
{
	(void)state;
	ALL(ANON_TEXT, {"GPU-12345678-1234-1234-1234-123456789abc.", "GPU-uuid-1."},
	    {"12345678-1234-1234-1234-123456789abcd", "12345678-1234-1234-1234-123456789abcd"},
	    {"12345678-1234-1234-1234-123456789ab", "12345678-1234-1234-1234-123456789ab"},
	    {"12345678-1234-1234-1234_123456789abc", "12345678-1234-1234-1234_123456789abc"},
	    {"1234567g-1234-1234-1234-123456789abc", "1234567g-1234-1234-1234-123456789abc"});
}

static void urls_in_texts(void **state)
{
	(void)state;
	ALL(ANON_TEXT, {"http://a.b-c:80/x/y.html?q", "http://host-2:80/x1/x2.html?q"},
	    {"ssh://eva@node17.lan", "ssh://host-2"}, {"file:///home/eva", "file:///home/x1"},
	    {"x://", "x://"}, {"s3://bucket/a s3://bucket/b", "s3://host-2/x1 s3://host-2/x2"});
}

static void bytes_that_are_no_text(void **state)
{
	(void)state;
	anew();
	fmt_same(of(ANON_TEXT, "\xFF\x01 /a\xFF/b", 8), "\xFF\x01 /x1/x2");
	fmt_same(of(ANON_TEXT, "\xC3\xA9\n", 3), "\xC3\xA9\n");
}

/* The length counts, not a 0: nothing behind it is looked at. */
static void only_the_length_is_read(void **state)
{
	char *exact = malloc(5);

	(void)state;
	anew();
	memcpy(exact, "/a/eva", 5);
	fmt_same(of(ANON_TEXT, exact, 5), "/x1/x2");
	fmt_same(of(ANON_PATH, exact, 5), "/x1/x2");
	memcpy(exact, "1.2.3", 5);
	fmt_same(of(ANON_TEXT, exact, 5), "1.2.3");
	memcpy(exact, "ab  /", 5);
	fmt_same(of(ANON_TEXT, exact, 5), "ab  /");
	memcpy(exact, "ab  ~", 5);
	fmt_same(of(ANON_TEXT, exact, 5), "ab  ~");
	memcpy(exact, "a ://", 5);
	fmt_same(of(ANON_TEXT, exact, 5), "a ://");
	memcpy(exact, "x eva", 5);
	fmt_same(of(ANON_TEXT, exact, 5), "x user-1");
	free(exact);
}

static void long_texts_with_many_paths(void **state)
{
	char *text = malloc(200000), *want = malloc(200000), *p = text, *q = want;

	(void)state;
	anew();
	for (int i = 0; i < 9000; i++) {
		p += sprintf(p, "/p%d ", i % 5000);
		q += sprintf(q, "/x%d ", i % 5000 + 1);
	}
	fmt_same(of(ANON_TEXT, text, strlen(text)), want);
	free(text);
	free(want);
}

/* ---- which column is what ---- */

static void columns(void **state)
{
	static const struct {
		const char *table, *column;
		enum anonymize_how how;
	} list[] = {
		{"SL_PROCESS_TREE", "exe", ANON_PATH},
		{"OTHER", "exe", ANON_TEXT},
		{"SL_PROCESS_TREE", "commandLine", ANON_COMMAND},
		{"SL_OPEN_WAITS", "state", ANON_KEEP},
		{"SL_OPEN_WAITS", "peer", ANON_WHOLE},
		{"SL_ASYNC_TASKS", "state", ANON_KEEP},
		{"SL_ASYNC_TASKS", "waitsFor", ANON_KEEP},
		{"OSRT_FILE_ACCESS_DESCRIPTORS", "filePath", ANON_PATH},
		{"ANY", "filePath", ANON_PATH},
		{"ANY", "filename", ANON_PATH},
		{"ANY", "uuid", ANON_UUID},
		{"TARGET_INFO_GPU", "luid", ANON_UUID},
		{"NVTX_EVENTS", "jsonText", ANON_DROP},
		{"NVTX_EVENTS", "binaryData", ANON_DROP},
		{"NVTX_EVENTS", "text", ANON_TEXT},
		{"ENUM_X", "uuid", ANON_KEEP},
		{"TARGET_INFO_SESSION_START_TIME", "localTime", ANON_DROP},
		{"TARGET_INFO_SESSION_START_TIME", "utcTime", ANON_TEXT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		assert_int_equal(anonymize_column(list[i].table, list[i].column), list[i].how);
	assert_true(anonymize_leaves_out("ANALYSIS_FILE"));
	assert_true(anonymize_leaves_out("ProcessStreams"));
	assert_true(anonymize_leaves_out("SL_RAW_STACKS"));
	assert_true(anonymize_leaves_out("SL_CODES"));
	assert_false(anonymize_leaves_out("StringIds"));
}

static void settings(void **state)
{
	static const struct {
		const char *name, *value;
		enum anonymize_how how;
	} list[] = {
		{"ANYTHING", "1234", ANON_KEEP},
		{"ANYTHING", "", ANON_KEEP},
		{"ANYTHING", "2024-01-02", ANON_KEEP},
		{"ANYTHING", "10.0.0.1", ANON_WHOLE},
		{"COMMAND_ARGUMENT_1", "17", ANON_WHOLE},
		{"ANYTHING", "true", ANON_KEEP},
		{"ANYTHING", "false", ANON_KEEP},
		{"ANYTHING", "truly", ANON_WHOLE},
		{"EXPORT_TIME_LOCAL", "2024 CET", ANON_WHOLE},
		{"EXPORT_TIME", "2024 UTC", ANON_TEXT},
		{"EXPORT_HOST", "node17", ANON_WHOLE},
		{"EXPORT_PRODUCT", "sightline", ANON_TEXT},
		{"SL_COPY_TIME", "1/2", ANON_TEXT},
		{"CpuCores", "many", ANON_TEXT},
		{"GpuInfo", "x", ANON_TEXT},
		{"gpuinfo", "x", ANON_WHOLE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		assert_int_equal(anonymize_setting(list[i].name, list[i].value), list[i].how);
}

/* 64 words are looked for; more are not, and nothing breaks. */
static void more_hosts_than_are_looked_for(void **state)
{
	sqlite3 *db;

	(void)state;
	anonymizer_free(a);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	fmt_sql(db,
		"CREATE TABLE TARGET_INFO_SYSTEM_ENV (name, value);"
		"WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
		"INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT 'Hostname', 'h' || i FROM n");
	a = anonymizer_new(db);
	sqlite3_close(db);
	fmt_same(of(ANON_TEXT, "h100 h163 h164", 14), "host-1 host-64 h164");
}

static int tear_down(void **state)
{
	anonymizer_free(a);
	return fmt_tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_of_the_system_stay),
		cmocka_unit_test(parts_of_paths_are_numbered),
		cmocka_unit_test(endings_of_files_stay),
		cmocka_unit_test(paths_that_are_none),
		cmocka_unit_test(wholes_are_numbered_by_their_kind),
		cmocka_unit_test(hosts_and_users_in_texts),
		cmocka_unit_test(paths_in_texts),
		cmocka_unit_test(addresses_in_texts),
		cmocka_unit_test(numbers_of_devices_in_texts),
		cmocka_unit_test(urls_in_texts),
		cmocka_unit_test(bytes_that_are_no_text),
		cmocka_unit_test(only_the_length_is_read),
		cmocka_unit_test(long_texts_with_many_paths),
		cmocka_unit_test(columns),
		cmocka_unit_test(settings),
		cmocka_unit_test(more_hosts_than_are_looked_for),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, tear_down);
}
