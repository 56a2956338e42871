"""torch_work.py WHICH: what people do with PyTorch on a GPU, small. Prints what does not depend on numbers: kernels of the
stand-ins compute nothing. 77: this PyTorch has no such thing, with the reason."""
import collections
import os
import sys
import tempfile

import torch
from torch import nn

DEVICE = torch.device("cuda", 0)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        return torch.full((32,), float(i)), i % 10


def model():
    return nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 10)).to(DEVICE)


def steps(net, batches, autocast=False):
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda", enabled=autocast)
    for step, (x, y) in enumerate(batches):
        with torch.cuda.nvtx.range("step %d" % step), torch.autocast("cuda", dtype=torch.float16, enabled=autocast):
            loss = nn.functional.cross_entropy(net(x.to(DEVICE, non_blocking=True)), y.to(DEVICE, non_blocking=True))
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print("trained", step + 1, loss.shape, loss.device)


def batches(cnt):
    return [(torch.ones(8, 32), torch.zeros(8, dtype=torch.long)) for _ in range(cnt)]


def eager():
    """Training, plainly and in half precision; convolutions; attention; sorting; a graph that is captured and replayed."""
    steps(model(), batches(4))
    steps(model(), batches(4), autocast=True)
    picture = torch.zeros(2, 3, 16, 16, device=DEVICE)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.AdaptiveAvgPool2d(1)).to(DEVICE)
    for _ in range(2):
        net(picture).sum().backward()
    print("convolved", net.eval()(picture).shape)
    q = torch.zeros(2, 4, 16, 32, device=DEVICE)
    print("attended", nn.functional.scaled_dot_product_attention(q, q, q).shape)
    values = torch.arange(1000, device=DEVICE)
    print("sorted", torch.sort(values).values.cpu().shape, torch.topk(values.float(), 3).values.shape)
    print("transformed", torch.fft.rfft(torch.zeros(64, device=DEVICE)).shape)
    captured()


def captured():
    net, x = model(), torch.zeros(8, 32, device=DEVICE)
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
    for _ in range(5):
        graph.replay()
    end.record()
    end.synchronize()
    print("replayed", y.shape, begin.elapsed_time(end) > 0)


def loader():
    """Workers that are forked, before and after CUDA is used, and spawned; pinned memory."""
    for kind in ("fork", "spawn"):
        data = torch.utils.data.DataLoader(
            Numbers(), batch_size=8, num_workers=2, pin_memory=True, multiprocessing_context=kind, persistent_workers=kind == "spawn"
        )
        for _ in range(2):
            steps(model(), data)
        print("loaded", kind)


def compiled():
    """Inductor and Triton; then CUDA graphs of them."""
    for mode in ("default", "reduce-overhead"):
        net = model()
        f = torch.compile(lambda x, net=net: net(x).relu().sum(), mode=mode)
        for _ in range(3):
            net.zero_grad(set_to_none=True)
            f(torch.ones(8, 32, device=DEVICE)).backward()
        print("compiled", mode, f(torch.ones(8, 32, device=DEVICE)).shape)


def rank(which, cnt, store):
    torch.cuda.set_device(which)
    torch.distributed.init_process_group("nccl", init_method="file://" + store, rank=which, world_size=cnt)
    net = nn.parallel.DistributedDataParallel(nn.Linear(32, 10).cuda(), device_ids=[which])
    for _ in range(3):
        net(torch.zeros(8, 32, device="cuda")).sum().backward()
    given = torch.ones(10, device="cuda")
    torch.distributed.all_reduce(given)
    all_of_them = [torch.empty_like(given) for _ in range(cnt)]
    torch.distributed.all_gather(all_of_them, given)
    torch.cuda.synchronize()
    torch.distributed.destroy_process_group()
    if which == 0:
        print("reduced", len(all_of_them))


def ddp():
    """Two processes, each with a device."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(rank, (2, os.path.join(folder, "store")), nprocs=2)
    print("joined")


def seen(cnt):
    """What torch.profiler finds, and how often."""
    net, x = model(), torch.zeros(8, 32, device=DEVICE)
    net(x)
    torch.cuda.synchronize()
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    for _ in range(cnt):
        with torch.profiler.profile(activities=kinds) as profiler:
            for _ in range(3):
                net(x).sum().backward()
            torch.cuda.synchronize()
        found = collections.Counter(e.name for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA)
        for name, n in sorted(found.items()):
            print("profiled", n, name[:60])


def profiled():
    """torch.profiler twice, in the midst of work."""
    steps(model(), batches(2))
    seen(2)
    steps(model(), batches(2))


def ranged(work):
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    work()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def before():
    """torch.profiler twice, then a capture."""
    seen(2)
    ranged(lambda: steps(model(), batches(2)))


def after():
    """A capture, then torch.profiler twice."""
    ranged(lambda: steps(model(), batches(2)))
    seen(2)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
