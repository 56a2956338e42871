/* cupti_trouble - which libcupti is taken, and the message where none will do. */
#include "tests/unit/cupti/cupti_host.h"

#include <glob.h>
#include <sys/stat.h>

static void no_library_in_a_process(void)
{
	CHECK_EQUAL(start("/nonexistent/libcupti.so.13", 0), -1);
	CHECK(status_has(SL_GPU_STATUS_NO_LIBRARY, "/nonexistent/libcupti.so.13"));
	CHECK_EQUAL(told_cnt, 1);
	cuda.flush(true);
	CHECK_EQUAL(told_cnt, 1);
}
APART(no_library)

/* A libcupti that is loaded already is taken, whatever the environment sets. */
static void the_loaded_library_in_a_process(void)
{
	char path[4200];

	find_build();
	snprintf(path, sizeof(path), "%s/tests/standin/libcupti.so.11.8", build);
	host_loaded = path;
	CHECK_EQUAL(start("so.13", 0), 0);
	CHECK_EQUAL(status(SL_GPU_STATUS_ON)->status.version, 18);
	CHECK(status_has(SL_GPU_STATUS_ON, "CUDA 11.8"));
	CHECK(status_has(SL_GPU_STATUS_ON, path));
}
APART(the_loaded_library)

/* As wheels lie: nvidia/cuda_runtime/lib/libcudart.so.12, nvidia/cuda_cupti/lib/libcupti.so.12. */
static void a_library_beside_the_runtime_in_a_process(void)
{
	char dir[] = "/tmp/sl-cupti-XXXXXX", from[9000], to[4300], cmd[64];

	CHECK(mkdtemp(dir));
	find_build();
	for (const char *const *d = (const char *const[]){"cuda_runtime", "cuda_runtime/lib",
							  "cuda_cupti", "cuda_cupti/lib", NULL};
	     *d; d++) {
		snprintf(to, sizeof(to), "%s/%s", dir, *d);
		CHECK(!mkdir(to, 0700));
	}
	snprintf(from, sizeof(from), "%s/tests/standin/libcupti.so.12", build);
	snprintf(to, sizeof(to), "%s/cuda_cupti/lib/libcupti.so.12", dir);
	CHECK(!symlink(from, to));
	/* Any library will do for a runtime. */
	snprintf(to, sizeof(to), "%s/cuda_runtime/lib/libcudart.so.12", dir);
	snprintf(from, sizeof(from), "cp '%s/libtrace-cuda.so' '%s'", build, to);
	CHECK(!system(from));
	CHECK(dlopen(to, RTLD_NOW | RTLD_LOCAL));
	unsetenv("SIGHTLINE_CUPTI");
	CHECK_EQUAL(start(NULL, 0), 0);
	CHECK_EQUAL(status(SL_GPU_STATUS_ON)->status.version, 22);
	snprintf(cmd, sizeof(cmd), "rm -r '%s'", dir);
	CHECK(!system(cmd));
}
APART(a_library_beside_the_runtime)

/* A program of Python that has called nothing but the driver so far: site-packages/nvidia/cu13/lib. */
static void a_library_of_pythons_packages_in_a_process(void)
{
	char dir[] = "/tmp/sl-cupti-XXXXXX", from[9000], to[4300], cmd[64];

	CHECK(mkdtemp(dir));
	find_build();
	for (const char *const *d =
		     (const char *const[]){"site-packages", "site-packages/some",
					   "site-packages/nvidia", "site-packages/nvidia/cu13",
					   "site-packages/nvidia/cu13/lib", NULL};
	     *d; d++) {
		snprintf(to, sizeof(to), "%s/%s", dir, *d);
		CHECK(!mkdir(to, 0700));
	}
	snprintf(from, sizeof(from), "%s/tests/standin/libcupti.so.13", build);
	/* The year comes with the file itself, and is no version. */
	snprintf(to, sizeof(to), "%s/site-packages/nvidia/cu13/lib/libcupti.so.2025.3.1", dir);
	CHECK(!symlink("/nonexistent", to));
	snprintf(to, sizeof(to), "%s/site-packages/nvidia/cu13/lib/libcupti.so.13", dir);
	CHECK(!symlink(from, to));
	snprintf(to, sizeof(to), "%s/site-packages/some/plugin.so", dir);
	snprintf(from, sizeof(from), "cp '%s/libtrace-cuda.so' '%s'", build, to);
	CHECK(!system(from));
	CHECK(dlopen(to, RTLD_NOW | RTLD_LOCAL));
	unsetenv("SIGHTLINE_CUPTI");
	CHECK_EQUAL(start(NULL, 0), 0);
	CHECK(status_has(SL_GPU_STATUS_ON, dir));
	snprintf(cmd, sizeof(cmd), "rm -r '%s'", dir);
	CHECK(!system(cmd));
}
APART(a_library_of_pythons_packages)

static void a_version_too_old_in_a_process(void)
{
	setenv("STANDIN_CUPTI_VERSION", "12", 1);
	CHECK_EQUAL(start("so.11.8", 0), -1);
	CHECK(status_has(SL_GPU_STATUS_NO_LAYOUT, "older than CUDA 11.2"));
}
APART(a_version_too_old)

/* Versions that no headers are known of. */
static const char *unseen;
static void of_each_unseen(void (*body)(void))
{
	for (const char *const *v = (const char *const[]){"130600", "140000", "140200", NULL}; *v;
	     v++) {
		unseen = *v;
		apart(body);
	}
}

static void it_only_grew(void)
{
	char text[16];

	setenv("STANDIN_CUPTI_VERSION", unseen, 1);
	CHECK_EQUAL(start("so.13", 0), 0);
	for (int i = 0; i < 1000; i++)
		launch("_Z1kv");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1000);
	snprintf(text, sizeof(text), "CUDA %.2s.%c", unseen, unseen[3]);
	CHECK(status_has(SL_GPU_STATUS_ON, text));
	CHECK_EQUAL(problems(), 0);
}
static void a_newer_version_that_only_grew(void **state)
{
	(void)state;
	of_each_unseen(it_only_grew);
}

static void it_is_different(void)
{
	setenv("STANDIN_CUPTI_VERSION", unseen, 1);
	setenv("STANDIN_CUPTI_SHIFT", "8", 1);
	CHECK_EQUAL(start("so.13", 0), 0);
	for (int i = 0; i < 1000; i++)
		launch("_Z1kv");
	cuda.flush(false);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 0);
	CHECK(status_has(SL_GPU_STATUS_NO_LAYOUT, "cannot read"));
	cuda.flush(false); /* has it stop */
	launch("_Z1kv");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 0);
	status(SL_GPU_STATUS_NO_LAYOUT);
}
static void a_newer_version_that_is_different(void **state)
{
	(void)state;
	of_each_unseen(it_is_different);
}

static void one_kind_refused_in_a_process(void)
{
	setenv("STANDIN_CUPTI_FAIL", "ActivityEnable:52=21", 1);
	CHECK_EQUAL(start("so.13", 0), 0);
	CHECK(status_has(SL_GPU_STATUS_KIND_FAILED, "JIT"));
	CHECK_EQUAL(status(SL_GPU_STATUS_KIND_FAILED)->status.detail, 21);
	launch("_Z1kv");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
}
APART(one_kind_refused)

static void refused(const char *how, enum sl_gpu_status_code code, const char *says)
{
	setenv("STANDIN_CUPTI_FAIL", how, 1);
	CHECK_EQUAL(start("so.13", 0), -1);
	CHECK(status_has(code, says));
	CHECK_EQUAL(told_cnt, 1); /* one sentence, not one per kind */
	cuda.flush(true);
	CHECK_EQUAL(told_cnt, 1);
	CHECK(cuda.yield(NULL));
}
static void no_permission_in_a_process(void)
{
	refused("ActivityEnable:5=35", SL_GPU_STATUS_NO_PERMISSION,
		"NVreg_RestrictProfilingToAdminUsers=0");
}
APART(no_permission)
static void a_mig_device_in_a_process(void)
{
	refused("ActivityEnable:5=43", SL_GPU_STATUS_NO_PERMISSION,
		"CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED");
}
APART(a_mig_device)
static void a_driver_too_old_in_a_process(void)
{
	refused("ActivityEnable:5=15", SL_GPU_STATUS_TOO_OLD, "update the driver");
}
APART(a_driver_too_old)
static void no_driver_in_a_process(void)
{
	refused("Subscribe=999", SL_GPU_STATUS_TOO_OLD, "too old, or none");
}
APART(no_driver)

static void unified_memory_waits_for_the_driver_in_a_process(void)
{
	const struct standin_value v[] = {{F_UM_value, 4096}};
	struct standin_emit e = {.kind = CUPTI_KIND_UNIFIED_MEMORY_COUNTER, .values = v, .cnt = 1};

	setenv("STANDIN_CUPTI_FAIL", "ActivityConfigureUnifiedMemoryCounter=15", 1);
	CHECK_EQUAL(start("so.13", SL_CUDA_UM), 0);
	emit(&e);
	cuda.flush(false);
	unsetenv("STANDIN_CUPTI_FAIL");
	cuda.flush(false);
	emit(&e);
	cuda.flush(true);
	CHECK_EQUAL(only(SL_GPU_REC_UM)->um.value, 4096);
	CHECK_EQUAL(problems(), 0);
}
APART(unified_memory_waits_for_the_driver)

/* One of the counters is unavailable: the others count. */
static void unified_memory_of_a_single_gpu_in_a_process(void)
{
	const struct standin_value v[] = {{F_UM_value, 4096}};

	setenv("STANDIN_CUPTI_FAIL", "ActivityConfigureUnifiedMemoryCounter:5=1", 1);
	CHECK_EQUAL(start("so.13", SL_CUDA_UM), 0);
	cuda.flush(false);
	emit(&(struct standin_emit){
		.kind = CUPTI_KIND_UNIFIED_MEMORY_COUNTER, .values = v, .cnt = 1});
	cuda.flush(true);
	CHECK_EQUAL(only(SL_GPU_REC_UM)->um.value, 4096);
	CHECK_EQUAL(problems(), 0);
}
APART(unified_memory_of_a_single_gpu)

static void without_cupti_nothing_happens_in_a_process(void)
{
	CHECK_EQUAL(start("/nonexistent", SL_CUDA_NO_CUPTI), -1);
	cuda.flush(false);
	cuda.flush(true);
	CHECK_EQUAL(told_cnt, 0);
}
APART(without_cupti_nothing_happens)

static void another_build_is_refused_in_a_process(void)
{
	host.wire_version = SL_WIRE_VERSION + 1;
	CHECK_EQUAL(start("so.13", 0), -1);
	CHECK_EQUAL(told_cnt, 0);
}
APART(another_build_is_refused)

/* NVIDIA's own libraries, those that are unpacked, where no GPU is: they cannot work, and Sightline reports so. */
static const char *real_cupti;

static void a_real_library_without_a_driver(void)
{
	CHECK_EQUAL(start(real_cupti, 0), -1);
	CHECK(status_has(SL_GPU_STATUS_TOO_OLD, "too old, or none"));
	CHECK(status_has(SL_GPU_STATUS_TOO_OLD, "CUPTI of CUDA 1"));
	/* One bug of 13.2 is avoided, which is noted. */
	CHECK_EQUAL(told_cnt, strstr(real_cupti, "/13.2/") ? 2 : 1);
}
static void the_real_libraries_without_a_driver(void **state)
{
	char pattern[4200];
	glob_t found;

	(void)state;
	find_build();
	snprintf(pattern, sizeof(pattern), "%s/toolkits/*/lib/libcupti.so", build);
	if (!access("/dev/nvidiactl", F_OK) || glob(pattern, 0, NULL, &found))
		skip();
	for (size_t i = 0; i < found.gl_pathc; i++) {
		real_cupti = found.gl_pathv[i];
		apart(a_real_library_without_a_driver);
	}
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_library),
		cmocka_unit_test(the_loaded_library),
		cmocka_unit_test(a_library_beside_the_runtime),
		cmocka_unit_test(a_library_of_pythons_packages),
		cmocka_unit_test(a_version_too_old),
		cmocka_unit_test(a_newer_version_that_only_grew),
		cmocka_unit_test(a_newer_version_that_is_different),
		cmocka_unit_test(one_kind_refused),
		cmocka_unit_test(no_permission),
		cmocka_unit_test(a_mig_device),
		cmocka_unit_test(a_driver_too_old),
		cmocka_unit_test(no_driver),
		cmocka_unit_test(unified_memory_waits_for_the_driver),
		cmocka_unit_test(unified_memory_of_a_single_gpu),
		cmocka_unit_test(without_cupti_nothing_happens),
		cmocka_unit_test(another_build_is_refused),
		cmocka_unit_test(the_real_libraries_without_a_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
