/*
 * nvtx_real.c - NVTX by NVIDIA's own headers, where they are installed: the loader and the structures are then not our
 * reading of the interface. Prints the rows that must be in the report, in the order of their start. Version 3, or with
 * NVTX_TWO version 2, whose loader is in a library (libnvToolsExt.so.1). Also C++, and with older headers, which have no
 * extended payloads.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(NVTX_TWO)
#include <nvToolsExt.h>
#include <nvToolsExtCudaRt.h>
#include <nvToolsExtSync.h>
#elif __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>
#if __has_include(<nvtx3/nvToolsExtPayload.h>) && !defined(__cplusplus)
#define HAVE_PAYLOADS
#include <nvtx3/nvToolsExtPayload.h>
#endif
#endif

#ifdef NVTX_VERSION
#include <pthread.h>
#include <wchar.h>

static nvtxDomainHandle_t domain;
static nvtxRangeId_t range;

static void *end_it(void *arg)
{
	(void)arg;
	nvtxDomainRangeEnd(domain, range);
	return NULL;
}

#ifdef HAVE_PAYLOADS
static void payloads(nvtxEventAttributes_t *a)
{
	struct {
		int rank;
		size_t bytes;
	} data = {3, 4096};
	const nvtxPayloadSchemaEntry_t entry[] = {
		{0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank", NULL, 0, 0, NULL, NULL},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", NULL, 0, 8, NULL, NULL},
	};
	nvtxPayloadSchemaAttr_t schema = {
		.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
		.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
		.entries = entry,
		.numEntries = 2,
		.payloadStaticSize = sizeof(data),
		.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 2,
	};
	nvtxPayloadData_t blob = {nvtxPayloadSchemaRegister(domain, &schema), sizeof(data), &data};

	a->payloadType = NVTX_PAYLOAD_TYPE_EXT;
	a->reserved0 = 1;
	a->payload.ullValue = (uint64_t)(uintptr_t)&blob;
	a->message.ascii = "ncclAllReduce";
	nvtxDomainRangePushEx(domain, a);
	printf("59|real|ncclAllReduce|0|{\"Rank\":3,\"Message size [bytes]\":4096}\n");
	nvtxDomainRangePop(domain);
	blob.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
	blob.payload = &(double){0.5};
	blob.size = 8;
	nvtxMarkPayload(domain, &blob, 1);
	printf("34|real||1|0.5\n");
	if (!nvtxDomainIsEnabled(domain))
		printf("the domain is not enabled\n");
}
#endif

int main(void)
{
	nvtxEventAttributes_t a;
	nvtxSyncUserAttributes_t sync;
	nvtxSyncUser_t handle;
	pthread_t t;

	memset(&a, 0, sizeof(a));
	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "a mark";
	memset(&sync, 0, sizeof(sync));
	sync.version = NVTX_VERSION;
	sync.size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE;
#ifndef NVTX_TWO
	nvtxInitialize(NULL);
#endif
	nvtxRangePushA("outer");
	printf("59|-|outer|0|\n");
	if (nvtxRangePushW(L"inner \u00df") != 1)
		printf("the second level is not 1\n");
	printf("59|-|inner \xc3\x9f|0|\n");
	nvtxRangePop();
	domain = nvtxDomainCreateA("real");
	printf("75|real|real|1|\n");
	nvtxDomainMarkEx(domain, &a);
	printf("34|real|a mark|1|\n");
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(domain, "a registered range");
	range = nvtxDomainRangeStartEx(domain, &a);
	printf("60|real|a registered range|0|\n");
	pthread_create(&t, NULL, end_it, NULL);
	pthread_join(t, NULL);
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
#ifdef HAVE_PAYLOADS
	payloads(&a);
#endif
	nvtxNameCudaStreamA(NULL, "default stream");
	handle = nvtxDomainSyncUserCreate(domain, &sync);
	nvtxDomainSyncUserAcquireStart(handle);
	nvtxDomainSyncUserAcquireSuccess(handle);
	nvtxDomainSyncUserReleasing(handle);
	nvtxDomainSyncUserDestroy(handle);
	nvtxRangePop();
	return 0;
}
#else
int main(void)
{
	printf("no headers\n");
	return 0;
}
#endif
