-- title: DX12 GPU Command List PIX Ranges Summary
-- about: Time of PIX ranges of Direct3D 12 command lists on the GPU, per text.
-- needs: DX12_WORKLOAD.textId = DX12 GPU debug markers
-- default: 160 quiet
-- alias: dx12gpumarkersum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all ranges of the text
-- column: Instances = how many
-- include: stats_heads
-- column: Range = text of the range
--
-- The first step sorts all rows once into a histogram (key, value, how many), from which all figures follow.
-- A row without text is a workload of its own, not a range of the program.
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(coalesce(value, '[unknown ' || textId || ']'), end - start)
		FROM DX12_WORKLOAD LEFT JOIN StringIds ON StringIds.id = textId
		WHERE textId IS NOT NULL
	))
	WHERE key IS NOT NULL
)
-- include: ranges_table
