package simd

import "testing"

// BenchmarkPeak is the limit of one core: multiply-adds on registers alone.
func BenchmarkPeak(b *testing.B) {
	for _, l := range Levels() {
		if l == Plain {
			continue
		}
		b.Run(l.String(), func(b *testing.B) {
			flops := 0
			for b.Loop() {
				flops += l.PeakFlops(1000)
			}
			b.ReportMetric(float64(flops)/b.Elapsed().Seconds()/1e9, "GF/s")
		})
	}
}
