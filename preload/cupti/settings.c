/* settings.c - settings of CUPTI, which are the process's: kept before they are changed, and given back. */
#include "preload/cupti/guest.h"

#include <string.h>

/* Values of one byte; @before: the program's, CUPTI's default where it cannot be read. */
static struct attribute {
	int number;
	bool is_changed;
	uint8_t before;
} attributes[] = {
	{.number = CUPTI_ATTRIBUTE_ZEROED},
	{.number = CUPTI_ATTRIBUTE_PER_THREAD, .before = 1},
};
#define ATTRIBUTE_CNT (sizeof(attributes) / sizeof(*attributes))

static int thread_ids; /* before */
static bool has_event_times, has_no_polls;

static struct attribute *find(int number)
{
	for (size_t i = 0; i < ATTRIBUTE_CNT; i++)
		if (attributes[i].number == number)
			return &attributes[i];
	return NULL;
}

static int set(int number, uint8_t value)
{
	size_t bytes = sizeof(value);

	return guest.cupti.ActivitySetAttribute(number, &bytes, &value);
}

bool settings_attribute(int number, uint8_t value)
{
	struct attribute *a = find(number);
	uint8_t before;
	size_t bytes = sizeof(before);

	if (!a || !guest.cupti.ActivitySetAttribute)
		return false;
	if (!a->is_changed && guest.cupti.ActivityGetAttribute &&
	    guest.cupti.ActivityGetAttribute(number, &bytes, &before) == CUPTI_OK)
		a->before = before;
	if (set(number, value) != CUPTI_OK)
		return false;
	a->is_changed = true;
	return true;
}

bool settings_keep(int number, size_t bytes, const void *value)
{
	struct attribute *a = find(number);

	if (!a || !a->is_changed || bytes < 1 || !value)
		return false;
	memcpy(&a->before, value, 1);
	return true;
}

void settings_thread_ids(void)
{
	int before;

	if (!guest.cupti.SetThreadIdType)
		return;
	thread_ids = CUPTI_THREAD_ID_DEFAULT;
	if (guest.cupti.GetThreadIdType && guest.cupti.GetThreadIdType(&before) == CUPTI_OK)
		thread_ids = before;
	guest.cupti.SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
}

/* There is no function to read it; the default is off. */
void settings_event_times(void)
{
	if (guest.cupti.ActivityEnableCudaEventDeviceTimestamps)
		has_event_times =
			guest.cupti.ActivityEnableCudaEventDeviceTimestamps(1) == CUPTI_OK;
}

/* The default is on. */
void settings_no_polls(void)
{
	if (!has_no_polls && guest.cupti.ActivityEnableAllSyncRecords)
		has_no_polls = guest.cupti.ActivityEnableAllSyncRecords(0) == CUPTI_OK;
}

void settings_restore(void)
{
	for (size_t i = 0; i < ATTRIBUTE_CNT; i++) {
		if (attributes[i].is_changed)
			set(attributes[i].number, attributes[i].before);
		attributes[i].is_changed = false;
	}
	if (guest.cupti.SetThreadIdType)
		guest.cupti.SetThreadIdType(thread_ids);
	if (has_no_polls)
		guest.cupti.ActivityEnableAllSyncRecords(1);
	has_no_polls = false;
	if (has_event_times)
		guest.cupti.ActivityEnableCudaEventDeviceTimestamps(0);
	has_event_times = false;
}
