-- title: Wall time
-- about: Of the root process, from its start to its end; where these are unknown, from the first to the last event.
-- unit: ns
-- default: 10 single whole
SELECT '', NULL, ns, 1 FROM wall;
