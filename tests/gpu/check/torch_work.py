"""torch_work.py KIND [TRACE]: a piece of PyTorch work on a GPU, the same in every run.

KIND: eager, graphs, compile, loader, ddp, loop, step, short, reduce, twice. With TRACE the whole of it runs under
torch.profiler, which leaves its trace there: the truth for what a report must hold; twice: it runs again under another
one, TRACE.first is then the first's. loop and step print what one launch and one step took, in ns. reduce is
torch.compile(mode="reduce-overhead"), whose last steps are a capture.
"""
import os
import sys
import time

import torch
from torch import nn

KIND = sys.argv[1]
TRACE = sys.argv[2] if len(sys.argv) > 2 else None
DEVICE = torch.device("cuda", 0)


def model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256), nn.GELU(), nn.Linear(256, 10)).to(DEVICE)


def train(net, batches, steps):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loss = None
    for step in range(steps):
        x, y = batches(step)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def synthetic(step):
    g = torch.Generator().manual_seed(step)
    return torch.randn(64, 256, generator=g).to(DEVICE), torch.randint(0, 10, (64,), generator=g).to(DEVICE)


def eager():
    return train(model(), synthetic, 30)


def graphs():
    net = model()
    x, y = synthetic(0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for _ in range(20):
        graph.replay()
    return loss.item()


def compiled():
    return train(torch.compile(model()), synthetic, 20)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64 * 20

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(256, generator=g), i % 10


def loader():
    batches = iter(torch.utils.data.DataLoader(Numbers(), batch_size=64, num_workers=4, pin_memory=True, multiprocessing_context="fork"))

    def take(_):
        x, y = next(batches)
        return x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True)

    return train(model(), take, 20)


def short():
    x = torch.ones(64, 64, device=DEVICE)
    return (x @ x).sum().item()


def reduce():
    net = torch.compile(model().eval(), mode="reduce-overhead")
    x, _ = synthetic(0)
    with torch.no_grad():
        for _ in range(5):  # graphs are recorded in the first few
            net(x)
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        for _ in range(10):
            result = net(x).sum()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
    return result.item()


def ddp():
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.distributed.init_process_group("nccl", rank=0, world_size=1)
    net = nn.parallel.DistributedDataParallel(model(), device_ids=[0])
    loss = train(net, synthetic, 20)
    torch.distributed.destroy_process_group()
    return loss


def timed(cnt, before, work):
    for _ in range(before):
        work()
    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    for _ in range(cnt):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - begin) / cnt


def loop():
    x = torch.zeros(1024, device=DEVICE)
    return timed(20000, 500, lambda: x.add_(1))


def step():
    net = model()
    x, y = synthetic(0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def one():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    return timed(300, 20, one)


def profiled(work, trace):
    kinds = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as p:
        result = work()
        torch.cuda.synchronize()
    p.export_chrome_trace(trace)
    return result


def main():
    work = {
        "eager": eager,
        "graphs": graphs,
        "compile": compiled,
        "loader": loader,
        "ddp": ddp,
        "loop": loop,
        "step": step,
        "short": short,
        "reduce": reduce,
        "twice": eager,
    }[KIND]
    if not TRACE:
        result = work()
        torch.cuda.synchronize()
    else:
        if KIND == "twice":
            profiled(work, TRACE + ".first")
        result = profiled(work, TRACE)
    print(result)


if __name__ == "__main__":
    main()
