package logs

import "testing"

// TestRankInName: the first number after the word.
func TestRankInName(t *testing.T) {
	for name, want := range map[string]int{
		"dedicated_log_torch_trace_rank_3_x1.log": 3, "rank12.log": 12, "rank-0.txt": 0, "a.log": -1, "rank.log": -1,
		"rank_-4.log": -1, "ranked_rank_5.log": 5, "rank99999999999999999999999": -1,
	} {
		if got := rankInName(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
