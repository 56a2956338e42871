/* cuda_time.h - how fast the stand-in GPU is; tests compute from it what a report must hold. */
#ifndef STANDIN_CUDA_TIME_H
#define STANDIN_CUDA_TIME_H

#define STANDIN_BUS_BYTES_PER_NS    16   /* between host and device */
#define STANDIN_DEVICE_BYTES_PER_NS 512  /* inside a device: copies, memset */
#define STANDIN_LEAST_NS            500  /* of any copy or memset */
#define STANDIN_LAUNCH_NS           1000 /* from the call to the earliest begin on the GPU */

#endif
