/* nsysrep.c - reports of Nsight Systems made by hand become databases: rows, settings, shapes of releases. */
#include "tests/unit/read/nsysrep_test.h"

/* ---- events ---- */

static void calls_become_rows(void **state)
{
	(void)state;
	rep_call(&r, 0, 1, 100, 200, 9);
	rep_call(&r, 1, 1, (uint64_t)-5, 0, 10);
	rep_call(&r, 3, 4, 1, 2, 0);
	rep_call(&r, 27, 2, 300, 310, 0);
	rep_call(&r, 103, 4, 5, 6, 7);
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "");
	assert_rows("SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME",
		    "100|200|0|281476268556365|9|1|0|- ; -5|0|1|281476268556365|10|1|0|-");
	assert_rows("SELECT start, end, nameId, overheadType FROM PROFILER_OVERHEAD", "1|2|4|0");
	assert_rows("SELECT start, end, eventClass, nameId, nestingLevel, callchainId, argumentsId "
		    "FROM OSRT_API",
		    "300|310|27|2|-|0|0");
	assert_rows("SELECT start, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_OVERHEAD",
		    "5|7|4");
}

static void work_of_gpus_becomes_rows(void **state)
{
	(void)state;
	REP_WORK(&r, 79, 101, 10, 20, 9, 1, 3, 2, 4, 3, 4, 10, 64, 11, 2, 12, 1, 13, 256, 14, 1, 15,
		 1, 16, 48, 17, 96, 19, 4096, 20, 5, 21, 32, 22, 8192, 23, 1, 24, 1, 28, 1, 31, 2,
		 36, 66);
	REP_WORK(&r, 80, 102, 30, 40, 10, 1, 4096, 2, 1, 4, 0, 5, 2, 16, 1);
	REP_WORK(&r, 80, 103, 50, 60, 11, 1, 16, 2, 255, 4, 2);
	REP_WORK(&r, 106, 105, 70, 80, 12, 1, 0xffffffff, 2, 3);
	REP_WORK(&r, 106, 105, 71, 81, 13, 1, 6, 3, 8, 4, 1);
	REP_WORK(&r, 127, 106, 0, 0, 14, 1, 6, 2, 8);
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "");
	assert_rows(
		"SELECT start, end, deviceId, contextId, greenContextId, streamId, correlationId, "
		"globalPid, demangledName, shortName, mangledName, gridX, gridY, blockX, "
		"registersPerThread, staticSharedMemory, dynamicSharedMemory, localMemoryTotal, "
		"gridId, sharedMemoryExecuted, cacheConfig, launchType, sharedMemoryLimitConfig, "
		"clusterX, maxActiveClusters, graphNodeId FROM CUPTI_ACTIVITY_KIND_KERNEL",
		"10|20|0|1|-|7|9|281476268556288|3|4|4|64|2|256|32|48|96|4096|5|8192|1|1|1|2|66|-");
	assert_rows(
		"SELECT start, bytes, copyKind, srcKind, dstKind, copyCount, migrationCause FROM "
		"CUPTI_ACTIVITY_KIND_MEMCPY",
		"30|4096|1|0|2|1|-");
	assert_rows("SELECT start, value, bytes, memKind FROM CUPTI_ACTIVITY_KIND_MEMSET",
		    "50|255|16|2");
	assert_rows("SELECT start, syncType, deprecatedSyncType, eventId, eventSyncId FROM "
		    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
		    "70|3|3|4294967295|- ; 71|1|-|6|8");
	assert_rows("SELECT timestamp, correlationId, eventId, eventSyncId FROM "
		    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
		    "0|14|6|8");
}

static void samples_have_the_number_of_their_chain_and_calls_one_of_their_own(void **state)
{
	size_t at;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		REP_FIELDS(&m, 1, 10 * i, 3, i, 6, 1, 11, REP_TID);
		if (i != 1)
			rep_frame(&m, 4, 1, 4, 0xabc + i);
		at = proto_open(&m, 5);
		REP_FIELDS(&m, 1, 1, 2, 777);
		proto_close(&m, at);
		rep_event(&r, 31, 104, &m);
	}
	for (uint64_t i = 0; i < 3; i++) {
		REP_FIELDS(&m, 1, 10 * i, 2, 10 * i + 5, 6, 27, 7, 1, 13, REP_TID);
		if (i != 1) {
			rep_frame(&m, 15, 1, 4, 1);
			rep_frame(&m, 15, 2, 4, 2);
		}
		rep_event(&r, 48, 108, &m);
	}
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "");
	assert_rows("SELECT * FROM COMPOSITE_EVENTS",
		    "1|0|0|1|281476268556365|777 ; 2|10|1|1|281476268556365|777 ; "
		    "3|20|2|1|281476268556365|777");
	assert_rows("SELECT * FROM SAMPLING_CALLCHAINS",
		    "1|1|4|0|0|0|-|2748|7|0 ; 3|1|4|0|0|0|-|2750|7|0");
	assert_rows("SELECT callchainId FROM OSRT_API", "1 ; 0 ; 2");
	assert_rows("SELECT id, symbol, originalIP, stackDepth FROM OSRT_CALLCHAINS",
		    "1|1|1|0 ; 1|2|2|1 ; 2|1|1|0 ; 2|2|2|1");
}

static void switches_ranges_messages_and_processes_become_rows(void **state)
{
	size_t at;

	(void)state;
	REP_FIELDS(&m, 1, 5, 3, 2, 4, 1, 5, 0, 6, REP_TID, 7, 1);
	rep_event(&r, 41, 106, &m);
	REP_FIELDS(&m, 1, 59, 2, 100, 9, REP_TID, 10, 200, 13, 0, 14, 1);
	proto_bytes(&m, 7, "step", 4);
	rep_event(&r, 59, 102, &m);
	REP_FIELDS(&m, 1, 59, 2, 300, 9, REP_TID, 12, 4, 13, 0, 14, 1);
	rep_event(&r, 59, 102, &m);
	at = proto_open(&m, 1);
	REP_FIELDS(&m, 1, (uint64_t)-17, 2, 1, 3, 1);
	proto_close(&m, at);
	REP_FIELDS(&m, 2, 3, 3, 2, 5, REP_PID);
	proto_bytes(&m, 4, "Profiling has started.", 22);
	rep_event(&r, 49, 110, &m);
	for (int i = 0; i < 2; i++) { /* seen twice: one row */
		REP_FIELDS(&m, 2, REP_PID);
		proto_bytes(&m, 5, "./prog -x", 9);
		rep_event(&r, 27, 113, &m);
	}
	REP_FIELDS(&m, 2, REP_PID + (1 << 24));
	proto_bytes(&m, 5, "/bin/sh", 7);
	proto_bytes(&m, 6, "sh", 2);
	rep_event(&r, 27, 113, &m);
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "");
	assert_rows("SELECT * FROM SCHED_EVENTS", "5|2|1|281476268556365|0|-");
	assert_rows(
		"SELECT start, end, eventType, text, textId, domainId, globalTid FROM NVTX_EVENTS",
		"100|200|59|step|-|0|281476268556365 ; 300|-|59|-|4|0|281476268556365");
	assert_rows("SELECT * FROM DIAGNOSTIC_EVENT",
		    "-17|1|3|2|Profiling has started.|281476268556288");
	assert_rows("SELECT pid, name FROM PROCESSES", "77|./prog -x ; 78|sh");
	assert_rows("SELECT * FROM ThreadNames", "1|20|281476268556365");
	assert_rows("SELECT value FROM StringIds ORDER BY id",
		    " ; main ; open ; kernel<int>(int) ; kernel");
}

/* ---- what is not known ---- */

static void unknown_events_and_fields_are_counted(void **state)
{
	(void)state;
	REP_FIELDS(&m, 1, 5);
	rep_event(&r, 117, 150, &m);
	REP_FIELDS(&m, 1, 5);
	rep_event(&r, 117, 150, &m);
	REP_FIELDS(&m, 1, 5);
	rep_event(&r, 129, 151, &m);
	rep_call(&r, 28, 1, 5, 6, 0); /* a class that is not known */
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "4 events of 3 unknown kinds were left out");
	assert_rows(
		"SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_UNKNOWN_EVENT'",
		"type 117, payload 150, class or part -1: 2 ; type 129, payload 151, class or part "
		"-1: 1 ; type 48, payload 108, class or part 28: 1");
	rep_free(&r);
	rep_init(&r);
	rep_basics(&r);
	REP_FIELDS(&m, 1, 5, 2, 6, 6, 0, 7, 1, 13, REP_TID, 3, 1, 8, 0, 50, 1, 51, 1, 77, 1);
	rep_event(&r, 48, 108, &m);
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "3 unknown fields of 3 kinds were left out");
	assert_rows("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_UNKNOWN_FIELD'",
		    "payload 108, part 0, field 50: 1 ; payload 108, part 0, field 51: 1 ; "
		    "payload 108, part 0, field 64: 1");
	assert_rows("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME", "1");
}

static void events_that_nsys_does_not_export_are_not_said_to_be_unknown(void **state)
{
	(void)state;
	rep_call(&r, 6, 1, 5, 5, 0);
	rep_call(&r, 102, 1, 5, 5, 0);
	REP_FIELDS(&m, 1, 5, 44, 1);
	rep_event(&r, 28, 109, &m);
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "");
	assert_rows("SELECT count(*) FROM sqlite_master WHERE name GLOB 'CUPTI*'", "0");
}

static void a_record_that_breaks_off_gives_what_is_in_front_of_it(void **state)
{
	(void)state;
	REP_FIELDS(&m, 2, REP_PID);
	proto_bytes(&m, 5, "/opt/app/code --type=x", 22);
	rep_raw(&m,
		"\x32\x7f"
		"co",
		4); /* a name of 127 bytes */
	rep_event(&r, 27, 113, &m);
	REP_FIELDS(&m, 2, REP_PID + (1 << 24), 8, 1);
	proto_bytes(&m, 5, "./run it", 8);
	rep_raw(&m, "\x07", 1);
	rep_event(&r, 27, 113, &m);
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "the rest of 2 damaged records were left out");
	assert_rows("SELECT name FROM PROCESSES", "code ; ./run it");
}

/* ---- releases ---- */

static void the_shape_is_that_of_the_release(void **state)
{
	(void)state;
	r.version = "1.";
	r.product = "2021.5.1.77-abc";
	rep_call(&r, 3, 1, 5, 6, 0);
	rep_call(&r, 103, 1, 5, 6, 0);
	assert_int_equal(convert(), 0);
	assert_rows("SELECT returnValue FROM PROFILER_OVERHEAD", "0");
	assert_rows(
		"SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_OVERHEAD'",
		"0");
	assert_rows("SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'",
		    "3.4.0");
	assert_rows("SELECT label FROM ENUM_NSYS_EVENT_TYPE WHERE id = 124", "NVENC");
	r.version = "2025@3@2@474-253236389321v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'",
		    "3.20.3");
	r.version = "2027@1@1@1-271v0."; /* the newest shape known */
	assert_int_equal(convert(), 0);
	assert_rows("SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'",
		    "3.25.0");
	assert_rows("SELECT count(*) FROM pragma_table_info('CUPTI_ACTIVITY_KIND_OVERHEAD')", "7");
	assert_rows("SELECT name FROM ENUM_OSRT_FILE_ACCESS_EVENT_TYPE WHERE id = 5",
		    "MultiAction");
}

static void a_version_that_is_too_long_is_not_known(void **state)
{
	char product[80] = "2024.5.1.113-";

	(void)state;
	r.version = "1.";
	r.product = product;
	for (size_t len = strlen(product); len < sizeof(product) - 1; product[len++] = 'v') {
		product[len] = 0;
		assert_int_equal(convert(), 0);
		assert_rows(
			"SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'",
			len < 64 ? "3.13.2" : "3.4.0");
	}
	r.product = NULL;
	assert_int_equal(convert(), 0);
	assert_rows("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_NSYS_VERSION'", "1");
}

static void columns_come_with_their_release(void **state)
{
	(void)state;
	REP_FIELDS(&m, 1, 5, 3, 2, 4, 0, 5, 6, 6, REP_TID, 7, 1);
	rep_event(&r, 41, 106, &m);
	REP_WORK(&r, 79, 101, 10, 20, 9, 1, 3, 2, 4);
	r.version = "2023@3@3@42-1v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM SCHED_EVENTS", "5|2|0|281476268556365");
	r.version = "2023@4@1@97-1v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM SCHED_EVENTS", "5|2|0|281476268556365|6|-");
	r.version = "2026@2@1@210-1v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT tensorSizeMinusOneElements FROM CUPTI_ACTIVITY_KIND_KERNEL", "[]");
}

static void outputs_of_processes_are_files(void **state)
{
	(void)state;
	rep_stream(&r, REP_PID, 1, 4);
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM ProcessStreams", "281476268556288|1|4");
	assert_rows("SELECT * FROM ANALYSIS_FILE", "0|main|4|281476268556288");
	r.version = "2024@6@1@1-1v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM ANALYSIS_FILE", "0|main|4|281476268556288");
	r.version = "2024@5@1@113-1v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM ANALYSIS_FILE", "0|main|kernel|281476268556288");
	r.version = "2023@3@1@1-1v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT count(*) FROM sqlite_master WHERE name = 'ANALYSIS_FILE'", "0");
}

static void each_call_of_open_is_a_file_since_2025_5(void **state)
{
	(void)state;
	rep_call(&r, 27, 2, 300, 310, 0);
	rep_call(&r, 27, 1, 400, 410, 0);
	rep_call(&r, 27, 2, 500, 510, 0);
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM OSRT_FILE_ACCESS_EVENTS",
		    "0|77|300|310|1|2|0| ; 1|77|500|510|1|2|0|");
	assert_rows("SELECT * FROM OSRT_FILE_ACCESS_DESCRIPTORS",
		    "0|77|300|0|Unknown file #0 ; 1|77|500|0|Unknown file #1");
	r.version = "2025@5@2@266-1v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM OSRT_FILE_ACCESS_EVENTS",
		    "0|77|300|310|1|2|0 ; 1|77|500|510|1|2|0");
	r.version = "2025@3@2@474-253236389321v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT count(*) FROM sqlite_master WHERE name GLOB 'OSRT_FILE*'", "0");
}

/* ---- times, machine, settings ---- */

static void add_offset(uint64_t from, uint64_t to, const char *ns)
{
	size_t at = proto_open(&m, 1);

	REP_FIELDS(&m, 1, from, 2, to);
	proto_bytes(&m, 5, ns, strlen(ns));
	proto_close(&m, at);
}

/* Offsets are 64 bits, written as texts of unsigned numbers. */
static void the_start_in_utc_comes_from_offsets_of_clocks(void **state)
{
	(void)state;
	add_offset(7, 1, "-1000000000");
	add_offset(3, 9, "16700117764943577469");
	add_offset(1, 3, "18446209561886111846");
	add_offset(9, 10, "14400000000000");
	proto_bytes(&r.target, 16, m.buf, proto_len(&m));
	r.version = "2024@6@2@25-1v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM TARGET_INFO_SESSION_START_TIME",
		    "1747160821589413917|2025-05-13T18:27:01|2025-05-13T14:27:01");
	assert_rows("SELECT * FROM ANALYSIS_DETAILS",
		    "281474976710656|2000000000|1000000000|3000000000");
}

static void a_start_that_is_cut_to_ms_cuts_the_end_too(void **state)
{
	(void)state;
	proto_reset(&r.target);
	REP_FIELDS(&r.target, 17, 823816300, 18, 8352312500);
	add_offset(7, 1, "-823000000");
	proto_bytes(&r.target, 16, m.buf, proto_len(&m));
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM ANALYSIS_DETAILS", "0|7529000000|823000000|8352000000");
}

static void add_clock(const char *id, uint64_t kind)
{
	size_t at = proto_open(&r.clocks, 1);

	proto_bytes(&r.clocks, 1, id, 16);
	proto_uint(&r.clocks, 2, kind);
	proto_close(&r.clocks, at);
}

static void add_pair(const char *from, const char *to, uint64_t a, uint64_t b)
{
	size_t at = proto_open(&r.clocks, 1), point, both;

	proto_bytes(&r.clocks, 1, from, 16);
	proto_bytes(&r.clocks, 2, to, 16);
	point = proto_open(&r.clocks, 3);
	both = proto_open(&r.clocks, 1);
	REP_FIELDS(&r.clocks, 1, a, 2, b);
	proto_close(&r.clocks, both);
	proto_close(&r.clocks, point);
	proto_close(&r.clocks, at);
}

static void the_start_in_utc_comes_from_pairs_of_clocks(void **state)
{
	static const char utc[] = "uuuuuuuuuuuuuuuu", local[] = "llllllllllllllll",
			  boot[] = "bbbbbbbbbbbbbbbb";
	size_t at = proto_open(&r.clocks, 1);

	(void)state;
	add_clock(utc, 11);
	add_clock(local, 12);
	proto_close(&r.clocks, at);
	at = proto_open(&r.clocks, 2);
	add_pair(utc, boot, 1769308001907592870, 900000000);
	add_pair(local, utc, 1769336801907592870, 1769308001907592870);
	proto_close(&r.clocks, at);
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM TARGET_INFO_SESSION_START_TIME",
		    "1769308002007592870|2026-01-25T02:26:42|2026-01-25T10:26:42|1000000000");
}

static void add_setting(struct proto *list, uint64_t number, const void *value, size_t len)
{
	size_t at = proto_open(list, 1);

	proto_uint(list, 1, number);
	proto_bytes(list, 2, value, len);
	proto_close(list, at);
}

static void settings_of_the_machine_are_texts_and_json(void **state)
{
	struct proto list;
	size_t at;

	(void)state;
	proto_init(&list);
	add_setting(&list, 1, "16", 2);
	add_setting(&list, 610, "A=1\0B=2", 7);
	add_setting(&list, 4711, "?", 1); /* not known */
	add_setting(&list, 894, "", 0);   /* an empty message */
	add_setting(&list, 905, "\x08\x00\x08\x03", 4);
	at = proto_open(&m, 1);
	proto_uint(&m, 1, 0);
	proto_bytes(&m, 2, "mlx5_0\n", 7);
	REP_FIELDS(&m, 3, 4117, 4, 5555, 5, 1, 6, UINT64_MAX);
	proto_close(&m, at);
	add_setting(&list, 910, m.buf, proto_len(&m));
	add_setting(&list, 891, "\x48\x01", 2); /* a field that is not known */
	proto_reset(&r.target);
	at = proto_open(&r.target, 1);
	proto_bytes(&r.target, 1, "Local (CLI)", 11);
	proto_bytes(&r.target, 2, list.buf, proto_len(&list));
	proto_uint(&r.target, 3, REP_VM);
	proto_close(&r.target, at);
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "2 unknown settings were left out");
	assert_rows(
		"SELECT name, nameEnum, value FROM TARGET_INFO_SYSTEM_ENV",
		"CpuCores|1|16 ; DeviceEnvironment|610|A=1;B=2 ; SupportedFTraceEvents|894|{} ; "
		"GpuMetricsSupportedGpus|905|{\"Ids\":[0,3]} ; "
		"NicInfo|910|{\"Nics\":[{\"Id\":0,\"Name\":\"mlx5_0\\n\",\"DeviceId\":4117,"
		"\"VendorId\":5555,\"LinkLayer\":1,\"GUID\":\"18446744073709551615\"}]}");
	assert_rows("SELECT * FROM TARGET_INFO_NIC_INFO", "-1|Local (CLI)|0|mlx5_0\n|4117|5555|1");
	proto_free(&list);
}

static void settings_of_the_recording_have_their_words(void **state)
{
	struct proto *o = &r.options;
	size_t at, inner;

	(void)state;
	proto_bytes(o, 1, "Local (CLI)", 11);
	proto_bytes(o, 2, "\x08\x0c\x08\x7b", 4);
	REP_FIELDS(o, 4, 2, 5, 3, 8, 3, 32, 1972);
	at = proto_open(o, 26);
	proto_uint(o, 1, 4);
	proto_bytes(o, 10, "./prog", 6);
	proto_bytes(o, 11, "-x", 2);
	proto_bytes(o, 11, "y", 1);
	proto_uint(o, 20, 1);
	inner = proto_open(o, 30);
	proto_bytes(o, 1, "HOME", 4);
	proto_bytes(o, 2, "/root", 5);
	proto_close(o, inner);
	proto_close(o, at);
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "");
	assert_rows("SELECT value FROM META_DATA_CAPTURE WHERE name = 'CAPTURE_EVENT_TYPE'",
		    "NvtxEvents ; Cuda");
	assert_rows("SELECT name, value FROM META_DATA_CAPTURE WHERE name GLOB 'PROCESS_0:[ACEH]*'",
		    "PROCESS_0:HOW_TO_ATTACH|LaunchAnother ; PROCESS_0:COMMAND|./prog ; "
		    "PROCESS_0:ARGUMENT_0|-x ; PROCESS_0:ARGUMENT_1|y ; "
		    "PROCESS_0:COLLECT_NVTX_TRACE|true ; PROCESS_0:COLLECT_CUDA_TRACE|false ; "
		    "PROCESS_0:COLLECT_CPU_TRACE|false ; PROCESS_0:COLLECT_NVMEDIA_TRACE|false ; "
		    "PROCESS_0:COLLECT_VIDEO_API_TRACE|false ; "
		    "PROCESS_0:ENVIRONMENT_VARIABLE|HOME=\"/root\" ; "
		    "PROCESS_0:CUDA_FLUSH_PERIODICALLY|false ; PROCESS_0:CUDA_FLUSH_PERIOD|0 ; "
		    "PROCESS_0:CUDA_SKIP_SOME_API_CALLS|false ; "
		    "PROCESS_0:COLLECT_GPU_MEMORY_USAGE|false ; "
		    "PROCESS_0:COLLECT_UVM_CPU_PAGE_FAULTS|false ; "
		    "PROCESS_0:COLLECT_UVM_GPU_PAGE_FAULTS|false ; "
		    "PROCESS_0:COLLECT_GL_WORKLOAD|false ; PROCESS_0:COLLECT_DX12_TRACE|false ; "
		    "PROCESS_0:COLLECT_DX11_TRACE|false ; PROCESS_0:COLLECT_VULKAN_TRACE|false ; "
		    "PROCESS_0:CUDA_FLUSH_ON_CUDA_PROFILER_STOP|false");
	assert_rows("SELECT value FROM META_DATA_CAPTURE WHERE name = 'HOTKEY_ENABLED'", "false");
	/* Where a field is not known, a setting whose field is not known may be anything. */
	proto_uint(o, 99, 1);
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "1 unknown setting was left out");
	assert_rows("SELECT value FROM META_DATA_CAPTURE WHERE name = 'HOTKEY_ENABLED'", "");
	assert_rows("SELECT value FROM META_DATA_CAPTURE WHERE name = 'RUN_DURATION_MS'", "1972");
}

static void settings_that_are_missing_or_of_another_type_are_no_rows(void **state)
{
	struct proto *o = &r.options;

	(void)state;
	proto_uint(o, 1, 5);               /* a text */
	proto_bytes(o, 3, "\x05", 1);      /* a number */
	proto_uint(o, 5, 99);              /* a word that is not known */
	proto_bytes(o, 12, "\x08\xff", 2); /* a message that breaks off */
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "1 unknown setting, the rest of 1 damaged record were left out");
	assert_rows("SELECT count(*) FROM META_DATA_CAPTURE WHERE name IN ('DEVICE_ID', 'RATE_HZ', "
		    "'START_TRIGGER', 'STOP_TRIGGER') OR name GLOB 'OS_RUNTIME*'",
		    "0");
	assert_rows("SELECT value FROM META_DATA_CAPTURE WHERE name = 'RUN_DURATION_MS'", "0");
}

static void gpus_contexts_and_streams_become_rows(void **state)
{
	size_t at = proto_open(&r.gpus, 1), list, gpu;

	(void)state;
	proto_uint(&r.gpus, 1, REP_VM);
	list = proto_open(&r.gpus, 2);
	gpu = proto_open(&r.gpus, 7);
	REP_FIELDS(&r.gpus, 1, 0, 4, 1, 9, 0, 11, 85899345920, 14, 132, 15, 0, 43, 9, 44, 0);
	proto_bytes(&r.gpus, 2, "H100", 4);
	proto_close(&r.gpus, gpu);
	gpu = proto_open(&r.gpus, 9);
	REP_FIELDS(&r.gpus, 1, 0, 2, 0, 3, 77, 6, 132);
	proto_close(&r.gpus, gpu);
	proto_close(&r.gpus, list);
	proto_close(&r.gpus, at);
	at = proto_open(&r.gpus, 14);
	REP_FIELDS(&r.gpus, 1, 7, 2, 0, 3, 1, 4, 77, 5, 0, 6, 1);
	proto_close(&r.gpus, at);
	at = proto_open(&r.gpus, 15);
	REP_FIELDS(&r.gpus, 1, 13, 2, 0, 3, 1, 4, 77, 5, 1, 6, 4294967291, 7, 2);
	proto_close(&r.gpus, at);
	assert_int_equal(convert(), 0);
	assert_rows("SELECT vmId, id, name, isDiscrete, totalMemory, smCount, smMajor, uuid FROM "
		    "TARGET_INFO_GPU",
		    "281474976710656|0|H100|1|85899345920|132|9|-");
	assert_rows("SELECT * FROM TARGET_INFO_CUDA_DEVICE", "0|0|77|-|132");
	assert_rows("SELECT nullStreamId, processId, contextId FROM TARGET_INFO_CUDA_CONTEXT_INFO",
		    "7|77|1");
	assert_rows("SELECT * FROM TARGET_INFO_CUDA_STREAM", "13|0|1|77|1|4294967291|2");
	r.version = "2023@3@1@1-1v0.";
	assert_int_equal(convert(), 0);
	assert_rows("SELECT * FROM TARGET_INFO_CUDA_NULL_STREAM", "7|0|1|77|0|1");
}

/* ---- blocks ---- */

static void a_large_block_is_unpacked_into_a_file_without_a_name(void **state)
{
	uint64_t before = nr_mapped_from;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++)
		rep_call(&r, 0, 1, i, i + 1, i);
	nr_mapped_from = 4096;
	assert_int_equal(convert(), 0);
	assert_rows("SELECT count(*), sum(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME",
		    "5000|12497500");
	assert_rows("SELECT value FROM StringIds WHERE id = 4", "kernel");
	setenv("TMPDIR", "/proc", 1);
	assert_int_equal(convert(), -1);
	assert_non_null(strstr(why, "no room for a block of"));
	unsetenv("TMPDIR");
	nr_mapped_from = before;
}

static void events_go_over_many_blocks(void **state)
{
	(void)state;
	r.block_bytes = 100;
	for (uint64_t i = 0; i < 1000; i++)
		rep_call(&r, 0, 1, i, i + 1, i);
	assert_int_equal(convert(), 0);
	assert_rows(
		"SELECT count(*), sum(start), sum(correlationId) FROM CUPTI_ACTIVITY_KIND_RUNTIME",
		"1000|499500|499500");
	assert_rows("SELECT count(*) FROM StringIds", "5");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(calls_become_rows),
		TEST(work_of_gpus_becomes_rows),
		TEST(samples_have_the_number_of_their_chain_and_calls_one_of_their_own),
		TEST(switches_ranges_messages_and_processes_become_rows),
		TEST(unknown_events_and_fields_are_counted),
		TEST(events_that_nsys_does_not_export_are_not_said_to_be_unknown),
		TEST(a_record_that_breaks_off_gives_what_is_in_front_of_it),
		TEST(the_shape_is_that_of_the_release),
		TEST(a_version_that_is_too_long_is_not_known),
		TEST(columns_come_with_their_release),
		TEST(outputs_of_processes_are_files),
		TEST(each_call_of_open_is_a_file_since_2025_5),
		TEST(the_start_in_utc_comes_from_offsets_of_clocks),
		TEST(a_start_that_is_cut_to_ms_cuts_the_end_too),
		TEST(the_start_in_utc_comes_from_pairs_of_clocks),
		TEST(settings_of_the_machine_are_texts_and_json),
		TEST(settings_of_the_recording_have_their_words),
		TEST(settings_that_are_missing_or_of_another_type_are_no_rows),
		TEST(gpus_contexts_and_streams_become_rows),
		TEST(events_go_over_many_blocks),
		TEST(a_large_block_is_unpacked_into_a_file_without_a_name),
	};
#undef TEST

#ifndef SL_HAVE_LZ4
	return 0;
#endif
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
