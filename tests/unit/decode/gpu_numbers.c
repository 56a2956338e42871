/* gpu_numbers.c - TARGET_INFO_GPU.id is NVML's index of the GPU, whichever report of the GPU is the first; its PCI address. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "tests/unit/decode/gpu_test.h"

#include "collector/decode/gpu/gpu_internal.h"
#include "collector/source/recording.h"

#include <sys/stat.h>

#define FIRST  "5a3c0d11-2f6e-4b7a-9c01-0123456789ab"
#define SECOND "5a3c0d11-2f6e-4b7a-9c01-0123456789ac"

static const uint8_t first[16] = {0x5a, 0x3c, 0x0d, 0x11, 0x2f, 0x6e, 0x4b, 0x7a,
				  0x9c, 0x01, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab},
		     second[16] = {0x5a, 0x3c, 0x0d, 0x11, 0x2f, 0x6e, 0x4b, 0x7a,
				   0x9c, 0x01, 0x01, 0x23, 0x45, 0x67, 0x89, 0xac};
static const char *const folders[] = {"0000:1e:00.0", "10000:af:00.0", "0000:3b:00.0",
				      "0000:5e:00.0", "notes"};
static char root[64];

/* A folder of the driver's; uuid NULL: without the file in it. */
static void driver_tells(const char *bus, const char *uuid)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, bus);
	assert_int_equal(mkdir(path, 0755), 0);
	if (!uuid)
		return;
	snprintf(path, sizeof(path), "%s/%s/information", root, bus);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "Model: \t\t A GPU\nIRQ:   \t\t 33\nGPU UUID: \t %s\nBus Type: \t PCIe\n", uuid);
	fclose(f);
}

/* NVML's order: 1e, 3b (not set up yet), 5e (unreadable), af of the domain 10000. */
static int with_folders(void **state)
{
	snprintf(root, sizeof(root), "/tmp/sightline-gpus.XXXXXX");
	assert_non_null(mkdtemp(root));
	driver_tells("10000:af:00.0", "GPU-5A3C0D11-2F6E-4B7A-9C01-0123456789AC");
	driver_tells("0000:1e:00.0", "GPU-" FIRST);
	driver_tells("0000:3b:00.0", "GPU-not known yet");
	driver_tells("0000:5e:00.0", NULL);
	driver_tells("notes", "GPU-" SECOND);
	return test_setup(state);
}

static int without_folders(void **state)
{
	char path[256];

	for (unsigned i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s/%s/information", root, folders[i]);
		unlink(path);
		snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
		rmdir(path);
	}
	assert_int_equal(rmdir(root), 0);
	return test_teardown(state);
}

static void the_uuid_leads_to_the_bus(void **state)
{
	struct gpu_place place;

	(void)state;
	gpu_place_find(root, FIRST, &place);
	assert_string_equal(place.bus, "0000:1e:00.0");
	assert_int_equal(place.index, 0);
	gpu_place_find(root, SECOND, &place);
	assert_string_equal(place.bus, "10000:af:00.0");
	assert_int_equal(place.index, 3);
	assert_int_equal(place.cnt, 4);
	gpu_place_find(root, "00000000-0000-0000-0000-000000000000", &place);
	assert_string_equal(place.bus, "");
	assert_int_equal(place.cnt, 4);
	gpu_place_find("/nonexistent", FIRST, &place);
	assert_string_equal(place.bus, "");
	assert_int_equal(place.cnt, 0);
}

static void device(struct gpu_fixture *f, uint32_t ordinal, const uint8_t uuid[16])
{
	struct sl_gpu_device d = {.id = ordinal,
				  .pci_bus = SL_GPU_NONE,
				  .pci_domain = SL_GPU_NONE,
				  .pci_device = SL_GPU_NONE};

	memcpy(d.uuid, uuid, 16);
	RECORD(&f->r, f->cupti, SL_GPU_REC_DEVICE, d);
}

static const char *numbers(void)
{
	return ask("SELECT group_concat(t, ', ') FROM (SELECT id || ' ' || substr(uuid, -2) || ' ' "
		   "|| coalesce(busLocation, '-') AS t FROM TARGET_INFO_GPU ORDER BY id)");
}

/* A process that sees the GPUs in another order, and a part of one, which has no folder. */
static void gpus_of_a_process_have_the_index_of_their_folders(void **state)
{
	static const uint8_t part[16] = {0x99, [15] = 0x01};
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	f.s.arenas.gpu.gpus.folders = root;
	device(&f, 0, part);
	device(&f, 1, second);
	device(&f, 2, first);
	gpu_tell(&f);
	assert_string_equal(numbers(), "0 ab 0000:1e:00.0, 3 ac 10000:af:00.0, 4 01 -");
	assert_string_equal(ask("SELECT group_concat(gpuId || ':' || cudaId, ' ') FROM (SELECT * "
				"FROM TARGET_INFO_CUDA_DEVICE ORDER BY cudaId)"),
			    "4:0 3:1 0:2");
	gpu_end(&f);
}

static void gpus_without_folders_have_their_cuda_ordinal(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	f.s.arenas.gpu.gpus.folders = "/nonexistent";
	device(&f, 1, second);
	device(&f, 0, first);
	gpu_tell(&f);
	assert_string_equal(numbers(), "0 ab -, 1 ac -");
	gpu_end(&f);
}

/* Of sl-gpu: the second one has the first sample. Then a process comes that sees the second one alone, as its device 0. */
static void sampled_gpus_have_the_index_of_nvml(void **state)
{
	const struct gpu_seen seen = {.name = "GPU", .bus = "0000:af:00.0", .major = 9, .minor = 0};
	struct gpu_fixture f;
	struct arenas *as = &f.s.arenas;

	(void)state;
	gpu_begin(&f);
	as->gpu.gpus.folders = "/nonexistent";
	assert_int_equal(gpu_number(as, second, 1), 1);
	gpu_seen_write(as, 1, &seen);
	assert_int_equal(gpu_number(as, first, 0), 0);
	assert_int_equal(gpu_number(as, second, 7), 1);
	device(&f, 0, second);
	gpu_tell(&f);
	assert_string_equal(ask("SELECT group_concat(id || ' ' || substr(uuid, -2) || ' ' || "
				"cuDevice) FROM TARGET_INFO_GPU"),
			    "1 ac 0");
	gpu_seen_write(as, 1, &seen); /* the process's row has more, and stays */
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) || ' ' || max(cuDevice) FROM TARGET_INFO_GPU"),
			    "1 0");
	gpu_end(&f);
}

/* Two that claim one index have two numbers, and the 65th GPU has none. */
static void no_number_is_given_twice(void **state)
{
	uint8_t uuid[16] = {1};
	struct gpu_fixture f;
	struct arenas *as = &f.s.arenas;

	(void)state;
	gpu_begin(&f);
	as->gpu.gpus.folders = "/nonexistent";
	for (int i = 0; i < 64; i++) {
		uuid[1] = (uint8_t)i;
		assert_int_equal(gpu_number(as, uuid, 60), (60 + i) % 64);
	}
	uuid[1] = 64;
	assert_int_equal(gpu_number(as, uuid, 60), -1);
	device(&f, 0, uuid);
	gpu_tell(&f);
	assert_string_equal(
		ask("SELECT count(*) || coalesce(max(gpuId), '-') FROM TARGET_INFO_CUDA_DEVICE"),
		"1-");
	gpu_end(&f);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, with_folders, without_folders)
	const struct CMUnitTest tests[] = {
		T(the_uuid_leads_to_the_bus),
		T(gpus_of_a_process_have_the_index_of_their_folders),
		T(gpus_without_folders_have_their_cuda_ordinal),
		T(sampled_gpus_have_the_index_of_nvml),
		T(no_number_is_given_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
