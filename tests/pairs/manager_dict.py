"""Each item is stored in a dictionary of another process. reason: KERNEL"""
import multiprocessing as mp
import sys

BAD = sys.argv[1] == "bad"

if __name__ == "__main__":
    with mp.Manager() as manager:
        shared = manager.dict()
        if BAD:
            for i in range(5000):
                shared[i] = i * i  # CULPRIT
        else:
            shared.update({i: i * i for i in range(5000)})
        print(sum(shared.values()))
