/*
 * pm_layout.c - the structures of pm_api.h, compared with NVIDIA's headers (build/toolkits, where PyPI can be reached): the
 * last field that is used, and so the size that CUPTI is given, is where it is there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/probe/pm_api.h"

#if __has_include(<cupti_pmsampling.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#define HAS_HEADERS 1
#endif

#ifdef HAS_HEADERS
struct place {
	const char *name;
	size_t offset, bytes, want_offset, want_bytes;
};
#define AT(ours, theirs, field, their_field)                                              \
	{                                                                                 \
#theirs "." #their_field, offsetof(struct ours, field),                   \
			sizeof(((struct ours *)0)->field), offsetof(theirs, their_field), \
			sizeof(__typeof__(((theirs *)0)->their_field))                    \
	}

static const struct place places[] = {
	AT(pm_device_supported, CUpti_Profiler_DeviceSupported_Params, device, cuDevice),
	AT(pm_device_supported, CUpti_Profiler_DeviceSupported_Params, is_supported, isSupported),
	AT(pm_device_supported, CUpti_Profiler_DeviceSupported_Params, vgpu, vGpu),
	AT(pm_device_supported, CUpti_Profiler_DeviceSupported_Params, wsl, wsl),
	AT(pm_device_supported, CUpti_Profiler_DeviceSupported_Params, api, api),
	AT(pm_chip_name, CUpti_Device_GetChipName_Params, device, deviceIndex),
	AT(pm_chip_name, CUpti_Device_GetChipName_Params, chip, pChipName),
	AT(pm_availability, CUpti_PmSampling_GetCounterAvailability_Params, image_size,
	   counterAvailabilityImageSize),
	AT(pm_availability, CUpti_PmSampling_GetCounterAvailability_Params, image,
	   pCounterAvailabilityImage),
	AT(pm_host_init, CUpti_Profiler_Host_Initialize_Params, type, profilerType),
	AT(pm_host_init, CUpti_Profiler_Host_Initialize_Params, chip, pChipName),
	AT(pm_host_init, CUpti_Profiler_Host_Initialize_Params, availability,
	   pCounterAvailabilityImage),
	AT(pm_host_init, CUpti_Profiler_Host_Initialize_Params, host, pHostObject),
	AT(pm_host, CUpti_Profiler_Host_Deinitialize_Params, host, pHostObject),
	AT(pm_chips, CUpti_Profiler_Host_GetSupportedChips_Params, cnt, numChips),
	AT(pm_chips, CUpti_Profiler_Host_GetSupportedChips_Params, chips, ppChipNames),
	AT(pm_base_metrics, CUpti_Profiler_Host_GetBaseMetrics_Params, type, metricType),
	AT(pm_base_metrics, CUpti_Profiler_Host_GetBaseMetrics_Params, names, ppMetricNames),
	AT(pm_base_metrics, CUpti_Profiler_Host_GetBaseMetrics_Params, cnt, numMetrics),
	AT(pm_add_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, names, ppMetricNames),
	AT(pm_add_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, cnt, numMetrics),
	AT(pm_config_size, CUpti_Profiler_Host_GetConfigImageSize_Params, size, configImageSize),
	AT(pm_config_image, CUpti_Profiler_Host_GetConfigImage_Params, image, pConfigImage),
	AT(pm_passes, CUpti_Profiler_Host_GetNumOfPasses_Params, image, pConfigImage),
	AT(pm_passes, CUpti_Profiler_Host_GetNumOfPasses_Params, passes, numOfPasses),
	AT(pm_evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params, image, pCounterDataImage),
	AT(pm_evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params, index, rangeIndex),
	AT(pm_evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params, names, ppMetricNames),
	AT(pm_evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params, values, pMetricValues),
	AT(pm_enable, CUpti_PmSampling_Enable_Params, object, pPmSamplingObject),
	AT(pm_object, CUpti_PmSampling_Start_Params, object, pPmSamplingObject),
	AT(pm_object, CUpti_PmSampling_Stop_Params, object, pPmSamplingObject),
	AT(pm_object, CUpti_PmSampling_Disable_Params, object, pPmSamplingObject),
	AT(pm_set_config, CUpti_PmSampling_SetConfig_Params, config, pConfig),
	AT(pm_set_config, CUpti_PmSampling_SetConfig_Params, buffer_size, hardwareBufferSize),
	AT(pm_set_config, CUpti_PmSampling_SetConfig_Params, interval, samplingInterval),
	AT(pm_set_config, CUpti_PmSampling_SetConfig_Params, trigger, triggerMode),
	AT(pm_set_config, CUpti_PmSampling_SetConfig_Params, append, hwBufferAppendMode),
	AT(pm_data_size, CUpti_PmSampling_GetCounterDataSize_Params, names, pMetricNames),
	AT(pm_data_size, CUpti_PmSampling_GetCounterDataSize_Params, samples, maxSamples),
	AT(pm_data_size, CUpti_PmSampling_GetCounterDataSize_Params, size, counterDataSize),
	AT(pm_data_init, CUpti_PmSampling_CounterDataImage_Initialize_Params, size,
	   counterDataSize),
	AT(pm_data_init, CUpti_PmSampling_CounterDataImage_Initialize_Params, image, pCounterData),
	AT(pm_decode, CUpti_PmSampling_DecodeData_Params, image, pCounterDataImage),
	AT(pm_decode, CUpti_PmSampling_DecodeData_Params, stop_reason, decodeStopReason),
	AT(pm_decode, CUpti_PmSampling_DecodeData_Params, overflow, overflow),
	AT(pm_data_info, CUpti_PmSampling_GetCounterDataInfo_Params, populated,
	   numPopulatedSamples),
	AT(pm_data_info, CUpti_PmSampling_GetCounterDataInfo_Params, completed,
	   numCompletedSamples),
	AT(pm_sample_info, CUpti_PmSampling_CounterData_GetSampleInfo_Params, index, sampleIndex),
	AT(pm_sample_info, CUpti_PmSampling_CounterData_GetSampleInfo_Params, end, endTimestamp),
};
static const struct {
	const char *name;
	int ours, theirs;
} numbers[] = {
	{"HARDWARE_BUSY", PM_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY},
	{"NOT_SUPPORTED", PM_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED},
	{"INVALID_METRIC_NAME", PM_INVALID_METRIC_NAME, CUPTI_ERROR_INVALID_METRIC_NAME},
	{"INVALID_OPERATION", PM_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION},
	{"OUT_OF_MEMORY", PM_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY},
	{"VIRTUALIZED", PM_VIRTUALIZED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED},
	{"INSUFFICIENT_PRIVILEGES", PM_INSUFFICIENT_PRIVILEGES,
	 CUPTI_ERROR_INSUFFICIENT_PRIVILEGES},
	{"VIRTUALIZED_PRIVILEGES", PM_VIRTUALIZED_PRIVILEGES,
	 CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES},
	{"CONFIDENTIAL", PM_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED},
	{"MINING", PM_MINING, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED},
	{"MIG", PM_MIG, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED},
	{"SLI", PM_SLI, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED},
	{"WSL", PM_WSL, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED},
	{"INVALID_CHIP_NAME", PM_INVALID_CHIP_NAME, CUPTI_ERROR_INVALID_CHIP_NAME},
	{"type", PM_PROFILER_TYPE, CUPTI_PROFILER_TYPE_PM_SAMPLING},
	{"api", PM_PROFILER_API, CUPTI_PROFILER_PM_SAMPLING},
	{"supported", PM_LEVEL_SUPPORTED, CUPTI_PROFILER_CONFIGURATION_SUPPORTED},
	{"time", PM_TRIGGER_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL},
	{"keep latest", PM_KEEP_LATEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST},
	{"full", PM_STOP_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL},
	{"end", PM_STOP_END_OF_RECORDS, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS},
};
#endif

static void fields_lie_where_the_headers_have_them(void **state)
{
	(void)state;
#ifdef HAS_HEADERS
	unsigned bad = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const struct place *p = &places[i];

		if (p->offset == p->want_offset && p->bytes == p->want_bytes)
			continue;
		print_message("%s: at %zu of %zu bytes, not at %zu of %zu\n", p->name,
			      p->want_offset, p->want_bytes, p->offset, p->bytes);
		bad++;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].ours != numbers[i].theirs) {
			print_message("%s: %d, not %d\n", numbers[i].name, numbers[i].theirs,
				      numbers[i].ours);
			bad++;
		}
	assert_int_equal(bad, 0);
#else
	skip();
#endif
}

/* Those of the first library that has the call (metrics known by its headers: CUDA 12.6, of SetConfig 12.8). */
static void sizes_are_those_of_the_first_library(void **state)
{
	(void)state;
	assert_int_equal(PM_BYTES(struct pm_device_supported, api), 52);
	assert_int_equal(PM_BYTES(struct pm_chip_name, chip), 32);
	assert_int_equal(PM_BYTES(struct pm_availability, image), 40);
	assert_int_equal(PM_BYTES(struct pm_host_init, host), 48);
	assert_int_equal(PM_BYTES(struct pm_host, host), 24);
	assert_int_equal(PM_BYTES(struct pm_chips, chips), 32);
	assert_int_equal(PM_BYTES(struct pm_base_metrics, cnt), 48);
	assert_int_equal(PM_BYTES(struct pm_add_metrics, cnt), 40);
	assert_int_equal(PM_BYTES(struct pm_config_size, size), 32);
	assert_int_equal(PM_BYTES(struct pm_config_image, image), 40);
	assert_int_equal(PM_BYTES(struct pm_passes, passes), 40);
	assert_int_equal(PM_BYTES(struct pm_evaluate, values), 72);
	assert_int_equal(PM_BYTES(struct pm_enable, object), 32);
	assert_int_equal(PM_BYTES(struct pm_object, object), 24);
	assert_int_equal(PM_BYTES(struct pm_set_config, append), 64);
	assert_int_equal(PM_BYTES(struct pm_set_config, trigger), 60);
	assert_int_equal(PM_BYTES(struct pm_data_size, size), 56);
	assert_int_equal(PM_BYTES(struct pm_data_init, image), 40);
	assert_int_equal(PM_BYTES(struct pm_decode, overflow), 45);
	assert_int_equal(PM_BYTES(struct pm_data_info, completed), 56);
	assert_int_equal(PM_BYTES(struct pm_sample_info, end), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_lie_where_the_headers_have_them),
		cmocka_unit_test(sizes_are_those_of_the_first_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
