#!/usr/bin/env python3
"""gc_rank.py FILE STEPS WORK_MS LATE_RANK LATE_MS - ../gpu/ranks.c in Python: the late rank collects garbage for so long in each step."""
import ctypes
import gc
import mmap
import os
import struct
import sys
import time

path, steps, work, late_rank, late = sys.argv[1], *map(int, sys.argv[2:6])
rank, size = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
os.environ['JOB_ID'] = path
ctypes.CDLL(None).setenv(b'JOB_ID', path.encode(), 1)
cuda = ctypes.CDLL('libcudart.so.13', mode=ctypes.RTLD_GLOBAL)
nccl = ctypes.CDLL('libnccl.so.2', mode=ctypes.RTLD_GLOBAL)
lib = ctypes.CDLL(None)


class Id(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_char * 128)]


def must(status):
    if status:
        sys.exit(f'status {status}')


def arrive(i):
    """Counts this rank in, and waits for the others."""
    with open(f'{path}.{i}', 'ab') as f:
        f.write(b'x')
    while os.path.getsize(f'{path}.{i}') < size:
        time.sleep(0.001)


stream, data, comm, unique = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), Id()
must(lib.cudaStreamCreateWithFlags(ctypes.byref(stream), 1))
must(lib.cudaMalloc(ctypes.byref(data), ctypes.c_size_t(4096)))
must(lib.ncclGetUniqueId(ctypes.byref(unique)))
lib.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int]
must(lib.ncclCommInitRank(ctypes.byref(comm), size, unique, rank))
garbage = []
for _ in range(50000 if rank == late_rank else 0):
    a, b = {}, {}
    a['b'], b['a'] = b, a
    garbage.append(a)
gc.disable()


def step():
    time.sleep(work / 1e3)
    if rank == late_rank:
        end = time.thread_time() + late / 1e3
        while time.thread_time() < end:
            gc.collect()
    must(lib.ncclAllReduce(data, data, ctypes.c_size_t(1024), 7, 0, comm, stream))
    must(lib.cudaStreamSynchronize(stream))


for i in range(steps):
    if os.path.exists(path + '.stop'):
        break
    arrive(i)
    step()
must(lib.ncclCommDestroy(comm))
