/* fmt_target.c - where an export goes: a result stands under its name only when it is whole, and nothing is lost. */
#include "fmt_test.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

#include "exporters/formats/target.h"

/* ---- exporters that write two words, or fail after the first ---- */

static bool fails, interrupted;
static const char *reason = "it broke";
static char written_at[256];

static int ends(char *why, size_t why_len)
{
	if (interrupted)
		raise(SIGTERM);
	if (fails)
		snprintf(why, why_len, "%s", reason);
	return fails ? -1 : 0;
}

static int to_out(struct export_job *job, char *why, size_t why_len)
{
	out_literal(job->out, "new text");
	return ends(why, why_len);
}

static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int to_files(struct export_job *job, char *why, size_t why_len)
{
	char path[300];

	snprintf(written_at, sizeof(written_at), "%s", job->path);
	snprintf(path, sizeof(path), "%s/a.part", job->path);
	put_file(path, "new a");
	snprintf(path, sizeof(path), "%s/b.part", job->path);
	put_file(path, "new b");
	return ends(why, why_len);
}

static int to_one(struct export_job *job, char *why, size_t why_len)
{
	struct stat st;

	snprintf(written_at, sizeof(written_at), "%s", job->path);
	/* It is there and empty: no other user can make a link in its place. */
	assert_int_equal(lstat(job->path, &st), 0);
	assert_true(S_ISREG(st.st_mode) && st.st_size == 0);
	put_file(job->path, "new text");
	return ends(why, why_len);
}

static const struct exporter stream = {.shape = EXPORT_STREAM, .run = to_out},
			     folder = {.shape = EXPORT_FOLDER, .part = ".part", .run = to_files},
			     file = {.shape = EXPORT_FILE, .run = to_one};

static char name[128];

static int write_to(const struct exporter *e, const char *what, bool overwrite,
		    enum out_packing packing)
{
	const struct target t = {.name = name, .overwrite = overwrite, .packing = packing};
	struct export_job job = {.input = "in"};

	snprintf(name, sizeof(name), "%s/%s", fmt_dir, what);
	return target_write(&t, e, &job, fmt_why, sizeof(fmt_why));
}

/* What is in the test's folder, in the order of names. */
static const char *entries(const char *below)
{
	static char list[1024];
	struct dirent **found;
	char path[256];
	size_t at = 0;
	int cnt;

	snprintf(path, sizeof(path), "%s/%s", fmt_dir, below);
	cnt = scandir(path, &found, NULL, alphasort);
	*list = '\0';
	for (int i = 0; i < cnt; i++) {
		if (found[i]->d_name[0] != '.' || strlen(found[i]->d_name) > 2)
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s ",
					       found[i]->d_name);
		free(found[i]);
	}
	if (cnt >= 0)
		free(found);
	return list;
}

static int each_set_up(void **state)
{
	fails = interrupted = false;
	reason = "it broke";
	return fmt_set_up(state);
}

/* ---- streams ---- */

static void a_stream_takes_its_name_when_whole(void **state)
{
	(void)state;
	assert_int_equal(write_to(&stream, "x", false, OUT_PLAIN), 0);
	fmt_same(fmt_file("x"), "new text");
	fails = true;
	assert_int_equal(write_to(&stream, "y", false, OUT_PLAIN), -1);
	fmt_same(fmt_why, "it broke");
	fmt_same(entries(""), "x ");
	/* What was there stays when the new one fails. */
	put_file(name, "old text");
	assert_int_equal(write_to(&stream, "y", true, OUT_PLAIN), -1);
	fmt_same(fmt_file("y"), "old text");
	fails = false;
	assert_int_equal(write_to(&stream, "y", true, OUT_PLAIN), 0);
	fmt_same(fmt_file("y"), "new text");
	fmt_same(entries(""), "x y ");
}

static void a_stream_does_not_replace_unasked(void **state)
{
	(void)state;
	snprintf(name, sizeof(name), "%s/x", fmt_dir);
	put_file(name, "old");
	assert_int_equal(write_to(&stream, "x", false, OUT_PLAIN), -1);
	assert_true(*fmt_why);
	fmt_same(fmt_file("x"), "old");
	fmt_same(entries(""), "x ");
	assert_int_equal(write_to(&stream, "no/such/folder", false, OUT_PLAIN), -1);
	assert_non_null(strstr(fmt_why, "No such file or directory"));
}

/* A limit of the size of files: the packer's last bytes do not fit, either. */
static void a_stream_that_does_not_fit_fails(void **state)
{
	struct rlimit old, small;
	char want[256];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){4, old.rlim_max};
	for (int packing = OUT_PLAIN; packing <= OUT_ZSTD; packing++) {
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
		assert_int_equal(write_to(&stream, "x", false, (enum out_packing)packing), -1);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		snprintf(want, sizeof(want), "cannot write %s: File too large", name);
		fmt_same(fmt_why, want);
		fmt_same(entries(""), "");
	}
}

static void a_stream_is_packed(void **state)
{
	(void)state;
	assert_int_equal(write_to(&stream, "x.gz", false, OUT_GZIP), 0);
	fmt_file("x.gz");
	assert_memory_equal(fmt_text, "\x1f\x8b", 2);
}

/* ---- folders ---- */

static void a_folder_takes_its_name_when_whole(void **state)
{
	struct stat st;
	mode_t mask = umask(027);

	(void)state;
	assert_int_equal(write_to(&folder, "d", false, OUT_PLAIN), 0);
	umask(mask);
	fmt_same(entries(""), "d ");
	fmt_same(entries("d"), "a.part b.part ");
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0750); /* as mkdir() would make it */
	assert_string_not_equal(written_at, name);
	assert_memory_equal(written_at, name, strlen(name)); /* next to it: a rename suffices */
	fails = true;
	assert_int_equal(write_to(&folder, "e", false, OUT_PLAIN), -1);
	fmt_same(fmt_why, "it broke");
	fmt_same(entries(""), "d ");
	assert_int_equal(write_to(&folder, "no/such", false, OUT_PLAIN), -1);
	assert_non_null(strstr(fmt_why, "/no/such: No such file or directory"));
}

static void put_in_folder(const char *what)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/d", fmt_dir);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/d/%s", fmt_dir, what);
	put_file(path, "old");
}

static void a_folder_of_an_export_is_replaced(void **state)
{
	(void)state;
	put_in_folder("a.part");
	put_in_folder("c.part");
	assert_int_equal(write_to(&folder, "d", false, OUT_PLAIN), -1);
	assert_non_null(strstr(fmt_why, "cannot make "));
	fmt_same(entries("d"), "a.part c.part ");
	fmt_same(entries(""), "d ");
	fails = true;
	assert_int_equal(write_to(&folder, "d", true, OUT_PLAIN), -1);
	fmt_same(entries("d"), "a.part c.part ");
	fails = false;
	assert_int_equal(write_to(&folder, "d", true, OUT_PLAIN), 0);
	fmt_same(entries("d"), "a.part b.part ");
	fmt_same(fmt_file("d/a.part"), "new a");
	fmt_same(entries(""), "d ");
	/* One that is not there is made. */
	assert_int_equal(write_to(&folder, "e", true, OUT_PLAIN), 0);
	fmt_same(entries("e"), "a.part b.part ");
}

static void a_folder_with_other_files_is_not_replaced(void **state)
{
	static const char *const others[] = {"notes.txt", ".hidden.part", ".part"};
	char want[300], path[256];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		put_in_folder("a.part");
		put_in_folder(others[i]);
		*written_at = '\0';
		assert_int_equal(write_to(&folder, "d", true, OUT_PLAIN), -1);
		snprintf(want, sizeof(want),
			 "cannot replace %s: it has %s in it, which is of no export", name,
			 others[i]);
		fmt_same(fmt_why, want);
		fmt_same(written_at, ""); /* known before anything is exported */
		snprintf(path, sizeof(path), "%s/d/%s", fmt_dir, others[i]);
		assert_int_equal(unlink(path), 0);
	}
	snprintf(path, sizeof(path), "%s/d/sub.part", fmt_dir);
	mkdir(path, 0777);
	assert_int_equal(write_to(&folder, "d", true, OUT_PLAIN), -1);
	assert_non_null(strstr(fmt_why, "it has sub.part in it"));
	fmt_same(entries("d"), "a.part sub.part ");
}

static void a_link_to_a_folder_stays_a_link(void **state)
{
	char link[256];
	struct stat st;

	(void)state;
	put_in_folder("a.part");
	snprintf(link, sizeof(link), "%s/link", fmt_dir);
	assert_int_equal(symlink("d", link), 0);
	assert_int_equal(write_to(&folder, "link", true, OUT_PLAIN), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	fmt_same(fmt_file("d/a.part"), "new a");
	fmt_same(entries(""), "d link ");
}

static void a_file_is_no_folder_to_replace(void **state)
{
	(void)state;
	snprintf(name, sizeof(name), "%s/f", fmt_dir);
	put_file(name, "old");
	assert_int_equal(write_to(&folder, "f", true, OUT_PLAIN), -1);
	assert_non_null(strstr(fmt_why, "Not a directory"));
	fmt_same(fmt_file("f"), "old");
}

/* ---- files ---- */

static void a_file_takes_its_name_when_whole(void **state)
{
	(void)state;
	assert_int_equal(write_to(&file, "x", false, OUT_PLAIN), 0);
	fmt_same(fmt_file("x"), "new text");
	assert_string_not_equal(written_at, name);
	assert_int_equal(write_to(&file, "x", false, OUT_PLAIN), -1);
	assert_non_null(strstr(fmt_why, "File exists"));
	put_file(name, "old");
	fails = true;
	assert_int_equal(write_to(&file, "x", true, OUT_PLAIN), -1);
	fmt_same(fmt_why, "it broke");
	fmt_same(fmt_file("x"), "old");
	fails = false;
	assert_int_equal(write_to(&file, "x", true, OUT_PLAIN), 0);
	fmt_same(fmt_file("x"), "new text");
	fmt_same(entries(""), "x ");
	assert_int_equal(write_to(&file, "no/such", false, OUT_PLAIN), -1);
	assert_non_null(strstr(fmt_why, "No such file or directory"));
	fails = true;
	assert_int_equal(write_to(&file, "y", false, OUT_PLAIN), -1);
	fmt_same(entries(""), "x ");
}

/* ---- signals ---- */

static void a_signal_stops_it_and_leaves_nothing(void **state)
{
	(void)state;
	raise(SIGHUP);
	assert_int_equal(target_signal(), 0);
	target_end_by_signal(); /* there is none: the process goes on */
	interrupted = true;
	assert_int_equal(write_to(&file, "x", false, OUT_PLAIN), -1);
	fmt_same(fmt_why, "interrupted");
	assert_int_equal(target_signal(), SIGTERM);
	interrupted = false; /* one that came earlier counts, too */
	assert_int_equal(write_to(&folder, "d", false, OUT_PLAIN), -1);
	fmt_same(fmt_why, "interrupted");
	assert_int_equal(write_to(&stream, "s", false, OUT_PLAIN), -1);
	fmt_same(fmt_why, "interrupted");
	fmt_same(entries(""), "");
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, each_set_up, fmt_tear_down)

int main(void)
{
	signal(SIGHUP, SIG_IGN); /* as nohup does: it stays ignored */
	target_catch_signals();

	const struct CMUnitTest tests[] = {
		EACH(a_stream_takes_its_name_when_whole),
		EACH(a_stream_does_not_replace_unasked),
		EACH(a_stream_that_does_not_fit_fails),
		EACH(a_stream_is_packed),
		EACH(a_folder_takes_its_name_when_whole),
		EACH(a_folder_of_an_export_is_replaced),
		EACH(a_folder_with_other_files_is_not_replaced),
		EACH(a_link_to_a_folder_stays_a_link),
		EACH(a_file_is_no_folder_to_replace),
		EACH(a_file_takes_its_name_when_whole),
		EACH(a_signal_stops_it_and_leaves_nothing), /* the last: the signal stays */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
