package simd

// assembly are the kernels that cmd/gensimd wrote.
func assembly() []kernels {
	return []kernels{
		{
			lanes: 8, tiles: [2][]tileFunc{tiles2[0][:], tiles2[1][:]},
			packRows: packRows2, packTurned: packTurned2, packRuns: packRuns2, peak: peak2,
		},
		{
			lanes: 16, tiles: [2][]tileFunc{tiles512[0][:], tiles512[1][:]},
			packRows: packRows512, packTurned: packTurned512, packRuns: packRuns512, peak: peak512,
		},
	}
}
