"""The function that makes a batch of samples is slow, in a worker process. reason: SLEEP"""
import sys
import time

import torch
from torch.utils.data import DataLoader

BAD = sys.argv[1] == "bad"
torch.set_num_threads(1)


def collate(samples):
    if BAD:
        time.sleep(0.03)  # CULPRIT
    return torch.stack(samples)


if __name__ == "__main__":
    data = [torch.full((8,), float(i)) for i in range(160)]
    total = 0.0
    for batch in DataLoader(data, batch_size=8, num_workers=1, collate_fn=collate):
        total += batch.sum().item()
    print(total)
