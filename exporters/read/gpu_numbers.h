/*
 * gpu_numbers.h - one number per GPU: a process counts the devices that it may use (CUDA_VISIBLE_DEVICES), so device 0 of two
 * processes may be two GPUs.
 *
 *   sl_gpu(GLOBALPID, DEVICE)
 *
 * is TARGET_INFO_GPU.id of the GPU that the process means by the device; the device itself where the report does not say. Outputs that
 * name a GPU name it by this; columns called deviceId have the process's number, as in reports of nsys.
 */
#pragma once

#include <sqlite3.h>

/* Adds the function. It reads TARGET_INFO_CUDA_DEVICE once. SQLite's result code. */
int gpu_numbers_register(sqlite3 *db);
