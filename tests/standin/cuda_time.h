/*
 * cuda_time.h - how fast the stand-in GPU is; tests compute from it what a report must hold. The figures are of the
 * size that a GPU on PCIe has: what is slow there must be slow here, or nothing could be learnt from it.
 */
#pragma once

/* ---- the GPU ---- */
#define STANDIN_BUS_BYTES_PER_NS      16  /* between page-locked host memory and device */
#define STANDIN_PAGEABLE_BYTES_PER_NS 4   /* pageable memory goes through a buffer of the driver */
#define STANDIN_DEVICE_BYTES_PER_NS   512 /* inside a device: copies, memset */
#define STANDIN_ROW_NS                32 /* over the bus, for a row that has a gap behind it: at least */
#define STANDIN_LEAST_NS              500  /* of any copy or memset */
#define STANDIN_LAUNCH_NS             3500 /* from the call to the earliest begin on the GPU */

/* ---- what a call takes of the caller, beside waiting ---- */
#define STANDIN_LAUNCH_CALL_NS 2500     /* kernel, copy, fill */
#define STANDIN_ALLOC_NS       100000   /* device memory made or freed, not from a pool */
#define STANDIN_PIN_NS_PER_MIB 100000   /* host memory made, beside the above */
#define STANDIN_LOAD_NS        300000   /* a module */
#define STANDIN_COMPILE_NS     10000000 /* a module that is PTX, beside the above */

/* Copies from pageable memory to the device come back before they are over up to this size. */
#define STANDIN_STAGED_BYTES 65536
