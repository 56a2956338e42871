#!/usr/bin/env python3
"""gpu_torch.py: PyTorch for CUDA on the stand-ins: training with a DataLoader, autocast, convolutions, a captured graph,
NCCL, NVTX.

Says what does not depend on numbers: kernels of the stand-ins compute nothing. 77: no such PyTorch.
"""
import os
import sys

try:
    import torch
except ImportError as error:
    print(error)
    sys.exit(77)
if torch.version.cuda is None:
    print("PyTorch %s is built without CUDA" % torch.__version__)
    sys.exit(77)

from torch import nn

DEVICE = torch.device("cuda", 0)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((32,), float(i)), i % 10


def model():
    return nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 10)).to(DEVICE)


def train(net, steps):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2, pin_memory=True)
    for step, (x, y) in zip(range(steps), loader):
        with torch.cuda.nvtx.range("step %d" % step), torch.autocast("cuda", dtype=torch.float16, enabled=step % 2 > 0):
            loss = nn.functional.cross_entropy(net(x.to(DEVICE, non_blocking=True)), y.to(DEVICE, non_blocking=True))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    print("trained", steps, loss.shape, loss.device)


def pictures():
    """Convolutions by the graph API of cuDNN, normalization by its older one."""
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.AdaptiveAvgPool2d(1))
    net = net.to(DEVICE)
    for _ in range(3):
        net(torch.zeros(2, 3, 16, 16, device=DEVICE)).sum().backward()
    with torch.no_grad():
        y = net.eval()(torch.zeros(2, 3, 16, 16, device=DEVICE))
    print("convolved", y.shape, torch.backends.cudnn.version())


def captured(net):
    x = torch.zeros(8, 32, device=DEVICE)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        net(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(10):
        graph.replay()
    end.record()
    end.synchronize()
    print("replayed", y.shape, begin.elapsed_time(end) > 0)


def distributed():
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", USE_LIBUV="0")
    torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=1)
    net = nn.parallel.DistributedDataParallel(model(), device_ids=[0])
    net(torch.zeros(8, 32, device=DEVICE)).sum().backward()
    torch.distributed.all_reduce(torch.ones(10, device=DEVICE))
    torch.distributed.destroy_process_group()
    print("reduced")


print(torch.cuda.device_count(), torch.cuda.get_device_name(0))
net = model()
train(net, 6)
pictures()
captured(net)
distributed()
values = torch.arange(1000, device=DEVICE)
print(torch.sort(values).values.cpu().shape, values.pin_memory().is_pinned() if not values.is_cuda else values.device)
torch.cuda.synchronize()
