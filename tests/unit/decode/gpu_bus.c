/* gpu_bus.c - where a GPU is on the PCI bus, by the driver's attributes of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/decode/gpu/gpu_internal.h"

#define FIRST  "5a3c0d11-2f6e-4b7a-9c01-0123456789ab"
#define SECOND "5a3c0d11-2f6e-4b7a-9c01-0123456789ac"

static char root[] = "/tmp/sightline-gpus.XXXXXX";

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

static void forget(const char *bus)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/information", root, bus);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%s", root, bus);
	rmdir(path);
}

static void the_uuid_leads_to_the_bus(void **state)
{
	char bus[32] = "";

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_false(gpu_bus_find(root, FIRST, bus, sizeof(bus)));
	driver_tells("0000:1e:00.0", "GPU-" FIRST);
	driver_tells("10000:af:00.0", "GPU-5A3C0D11-2F6E-4B7A-9C01-0123456789AC");
	/* Not set up yet, unreadable, something else. */
	driver_tells("0000:3b:00.0", "GPU-not known yet");
	driver_tells("0000:5e:00.0", NULL);
	driver_tells("notes", "GPU-" SECOND);
	assert_true(gpu_bus_find(root, FIRST, bus, sizeof(bus)));
	assert_string_equal(bus, "0000:1e:00.0");
	assert_true(gpu_bus_find(root, SECOND, bus, sizeof(bus)));
	assert_string_equal(bus, "10000:af:00.0");
	assert_false(gpu_bus_find(root, "00000000-0000-0000-0000-000000000000", bus, sizeof(bus)));
	assert_false(gpu_bus_find("/nonexistent", FIRST, bus, sizeof(bus)));
	forget("0000:1e:00.0");
	forget("10000:af:00.0");
	forget("0000:3b:00.0");
	forget("0000:5e:00.0");
	forget("notes");
	assert_int_equal(rmdir(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_uuid_leads_to_the_bus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
