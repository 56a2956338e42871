/* status.c - status records: problems with CUPTI as a sentence for the user, with the remedy. */
#include "preload/cupti/guest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOST "kernels, copies and what else the GPU did are not recorded, calls are"

__attribute__((format(printf, 2, 0))) static void write_status(struct sl_gpu_status *s,
							       const char *format, va_list args)
{
	char text[4600];

	s->version = guest.version;
	vsnprintf(text, sizeof(text), format, args);
	s->text = guest.host->string(text, strlen(text));
	guest.host->record(SL_GPU_REC_STATUS, s, sizeof(*s));
}

void status_record(enum sl_gpu_status_code code, int detail, const char *format, ...)
{
	struct sl_gpu_status s = {.code = code, .detail = (uint32_t)detail};
	va_list args;

	va_start(args, format);
	write_status(&s, format, args);
	va_end(args);
}

void status_record_since(uint64_t since, enum sl_gpu_status_code code, int detail,
			 const char *format, ...)
{
	struct sl_gpu_status s = {.code = code, .detail = (uint32_t)detail, .since = since};
	va_list args;

	va_start(args, format);
	write_status(&s, format, args);
	va_end(args);
}

const char *status_name(int result)
{
	const char *name = NULL;

	if (!guest.cupti.GetResultString ||
	    guest.cupti.GetResultString(result, &name) != CUPTI_OK || !name)
		return "unknown error";
	return name;
}

const char *status_remedy(const char *better)
{
	static char text[128];

	if (guest.is_programs)
		snprintf(text, sizeof(text), "the program itself loads this one: have it load %s",
			 better);
	else
		snprintf(text, sizeof(text), "set SIGHTLINE_CUPTI to %s", better);
	return text;
}

bool status_is_final(int result)
{
	switch (result) {
	case CUPTI_NOT_INITIALIZED:
	case CUPTI_VIRTUALIZED:
	case CUPTI_INSUFFICIENT_PRIVILEGES:
	case CUPTI_TAKEN:
	case CUPTI_VIRTUALIZED_PRIVILEGES:
	case CUPTI_CONFIDENTIAL:
	case CUPTI_MINING:
	case CUPTI_MIG:
	case CUPTI_SLI:
	case CUPTI_WSL:
	case CUPTI_UNKNOWN:
		return true;
	default:
		return false;
	}
}

/* Records the tool that is subscribed. CUPTI reports it to another attempt, which fails as well, or is undone. */
static void record_taken(void)
{
	char who[CUPTI_SUBSCRIBER_NAME] = "";
	struct cupti_subscriber names = {sizeof(names), "Sightline", who, sizeof(who)};
	void *subscriber = NULL;

	if (guest.cupti.Subscribe_v2 &&
	    guest.cupti.Subscribe_v2(&subscriber, graph_callback, NULL, &names) == CUPTI_OK)
		guest.cupti.Unsubscribe(subscriber);
	who[sizeof(who) - 1] = 0;
	status_record(SL_GPU_STATUS_TAKEN, CUPTI_TAKEN,
		      "CUPTI serves one tool per process and %s%s%s has it: " LOST
		      "; trace without that tool, or profile with it",
		      *who ? "\"" : "", *who ? who : "another profiler (or debugger)",
		      *who ? "\"" : "");
}

void status_failed(int result, const char *what)
{
	char version[64];

	find_version_text(version, sizeof(version));
	switch (result) {
	case CUPTI_TAKEN:
		record_taken();
		break;
	case CUPTI_NOT_INITIALIZED:
	case CUPTI_UNKNOWN:
		status_record(
			SL_GPU_STATUS_TOO_OLD, result,
			"CUPTI of CUDA %s does not work with this machine's NVIDIA driver (%s; "
			"too old, or none): " LOST "; update the driver, or %s",
			version, status_name(result), status_remedy("an older libcupti"));
		break;
	case CUPTI_INSUFFICIENT_PRIVILEGES:
	case CUPTI_VIRTUALIZED_PRIVILEGES:
		status_record(SL_GPU_STATUS_NO_PERMISSION, result,
			      "The NVIDIA driver does not let this user trace the GPU (%s): " LOST
			      "; run as root, or load the driver with "
			      "NVreg_RestrictProfilingToAdminUsers=0",
			      status_name(result));
		break;
	case CUPTI_VIRTUALIZED:
	case CUPTI_CONFIDENTIAL:
	case CUPTI_MINING:
	case CUPTI_MIG:
	case CUPTI_SLI:
	case CUPTI_WSL:
		status_record(SL_GPU_STATUS_NO_PERMISSION, result,
			      "CUPTI of CUDA %s cannot trace on this kind of GPU set-up (%s): " LOST
			      "; a newer CUPTI and driver may (%s), or the "
			      "administrator of the machine",
			      version, status_name(result), status_remedy("a newer libcupti"));
		break;
	default:
		status_record(SL_GPU_STATUS_OTHER, result, "CUPTI refuses %s (%s, %d): " LOST, what,
			      status_name(result), result);
	}
}
