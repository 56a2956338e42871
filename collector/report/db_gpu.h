/*
 * db_gpu.h - rows of the tables of GPU programs that take no batches. Part of db.h, apart for its length.
 */
#pragma once

#include "collector/report/db.h"

/* Rows that come seldom, or with texts: kept while the disk is full, as all of db.h but batches. */
enum db_gpu_table {
	DB_GPU_TARGET,  /* TARGET_INFO_GPU */
	DB_GPU_DEVICE,  /* TARGET_INFO_CUDA_DEVICE */
	DB_GPU_CONTEXT, /* TARGET_INFO_CUDA_CONTEXT_INFO */
	DB_GPU_STREAM,  /* TARGET_INFO_CUDA_STREAM */
	DB_GPU_MEMORY,  /* CUDA_GPU_MEMORY_USAGE_EVENTS */
	DB_GPU_JIT,     /* CUPTI_ACTIVITY_KIND_JIT */
};

/*
 * A row: its integers and its texts (NULL: none) in the order of the columns that have values, which db_ops.c lists.
 */
int db_gpu_row(struct db *db, enum db_gpu_table table, const int64_t *numbers,
	       const char *const *texts);
