-- title: DX11 PIX Range Summary
-- about: Time of PIX ranges of Direct3D 11 on the CPU, per text.
-- needs: D3D11_PIX_DEBUG_API.textId = DX11 CPU debug markers
-- default: 150 quiet
-- alias: dx11pixsum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all ranges of the text
-- column: Instances = how many
-- include: stats_heads
-- column: Range = text of the range
--
-- The first step sorts all rows once into a histogram (key, value, how many), from which all figures follow.
-- A row without text is a call that marks nothing (it ends a range). Markers without duration count as ranges of
-- no time: whether nsys lists them is not documented.
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(coalesce(value, '[unknown ' || textId || ']'), end - start)
		FROM D3D11_PIX_DEBUG_API LEFT JOIN StringIds ON StringIds.id = textId
		WHERE textId IS NOT NULL
	))
	WHERE key IS NOT NULL
)
-- include: ranges_table
