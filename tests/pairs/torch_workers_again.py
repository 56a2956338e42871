"""Worker processes that are made again in each epoch. reason: KERNEL"""
import sys

import torch
from torch.utils.data import DataLoader

BAD = sys.argv[1] == "bad"
torch.set_num_threads(1)

if __name__ == "__main__":
    data = [torch.full((8,), float(i)) for i in range(32)]
    loader = DataLoader(data, batch_size=8, num_workers=2, persistent_workers=not BAD)
    total = 0.0
    for epoch in range(12):
        for batch in loader:  # CULPRIT
            total += batch.sum().item()
    print(total)
