SELECT monotonic, realtime, isSynchronized, errorNs, maxErrorNs FROM SL_CLOCK_SNAPSHOTS;
