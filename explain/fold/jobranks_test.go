package fold

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/render"
	"tcdbg/internal/test/traces"
)

// This file makes jobs of many ranks out of the trace of a real one: PyTorch 2.11 under DDP.

// rankRecord is a record of a trace: its first line, and its payload as recorded.
type rankRecord struct{ head, payload string }

var (
	rankOf    = regexp.MustCompile(`"rank": \d+`)
	md5Of     = regexp.MustCompile(`"has_payload": "[0-9a-f]+"`)
	frameTime = regexp.MustCompile(`"entire_frame_compile_time_s": ([0-9.]+)`)
	stampOf   = regexp.MustCompile(`"ts": ([0-9.]+)`)
)

// recordsOfRank reads the trace of rank 0, without the texts of stages, which no rank is compared by.
func recordsOfRank(t testing.TB) []rankRecord {
	t.Helper()
	text := traces.Unpacked(t, "../testdata/traces/pytorch-2.11/ddp_cuda/dedicated_log_torch_trace_rank_0.log.zst")
	var out []rankRecord
	skip := false
	for line := range bytes.Lines(text) {
		s := string(line)
		if !strings.HasPrefix(s, "\t") {
			skip = strings.Contains(s, `_graph"`) && !strings.Contains(s, "dynamo_output_graph") || strings.Contains(s, "fx_graph_runnable")
			if !skip {
				out = append(out, rankRecord{head: s})
			}
		} else if !skip {
			out[len(out)-1].payload += s
		}
	}
	return out
}

// deviant changes what one rank recorded.
type deviant func(r *rankRecord)

// writeRank writes the trace of a rank.
func writeRank(t testing.TB, dir string, rank int, list []rankRecord, change ...deviant) {
	t.Helper()
	var b strings.Builder
	for _, r := range list {
		before := r.payload
		for _, c := range change {
			c(&r)
		}
		r.head = rankOf.ReplaceAllString(r.head, `"rank": `+strconv.Itoa(rank))
		if r.payload != before {
			plain := strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(r.payload, "\t"), "\n\t", "\n"), "\n")
			sum := md5.Sum([]byte(plain))
			r.head = md5Of.ReplaceAllString(r.head, `"has_payload": "`+hex.EncodeToString(sum[:])+`"`)
		}
		b.WriteString(r.head)
		b.WriteString(r.payload)
	}
	path := filepath.Join(dir, fmt.Sprintf("dedicated_log_torch_trace_rank_%d_x.log", rank))
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The deviants.
var (
	// otherBreak breaks at another line.
	otherBreak deviant = func(r *rankRecord) {
		if strings.Contains(r.head, "dynamo_graph_break_reason") {
			r.payload = strings.Replace(r.payload, "distributed.py:1566", "distributed.py:1571", 1)
			r.payload = strings.Replace(r.payload, "set_runtime_stats_and_log", "set_timings", -1)
		}
	}
	// cached finds in the cache what the others do not.
	cached deviant = func(r *rankRecord) { r.head = strings.Replace(r.head, "fx_graph_cache_miss", "fx_graph_cache_hit", 1) }
	// slow takes 20 s longer for what Inductor does in its scheduler.
	slow = func() deviant {
		inside := false
		return func(r *rankRecord) {
			if !strings.Contains(r.head, `"chromium_event"`) {
				if strings.Contains(r.head, `"compilation_metrics": {"compile_id": "4/0"`) {
					r.head = frameTime.ReplaceAllString(r.head, `"entire_frame_compile_time_s": 2$1`)
				}
				return
			}
			if inside {
				r.payload = stampOf.ReplaceAllStringFunc(r.payload, func(s string) string {
					ts, _ := strconv.ParseFloat(strings.TrimPrefix(s, `"ts": `), 64)
					return fmt.Sprintf(`"ts": %.1f`, ts+20e6)
				})
			}
			inside = inside || strings.Contains(r.payload, `"GraphLowering.run"`)
		}
	}
	// otherCollective gathers where the others reduce.
	otherCollective deviant = func(r *rankRecord) {
		if strings.Contains(r.head, "inductor_collective_schedule") {
			r.payload = strings.ReplaceAll(r.payload, "all_reduce_", "all_gather_into_tensor")
		}
	}
	// otherTensor has a batch of 4.
	otherTensor deviant = func(r *rankRecord) {
		if strings.Contains(r.head, "describe_tensor") {
			r.head = strings.ReplaceAll(r.head, `"size": [8, 32]`, `"size": [4, 32]`)
		}
	}
)

// TestManyRanksAreGroups: 256 ranks of which five do something else are six rows, and each says
// what parted it first.
func TestManyRanksAreGroups(t *testing.T) {
	const ranks = 256
	dir, list := t.TempDir(), recordsOfRank(t)
	changes := map[int][]deviant{
		17: {otherBreak, cached}, 100: nil, 200: {slow(), cached}, 250: {otherCollective, cached}, 251: {otherTensor, cached},
	}
	for rank := range ranks {
		change, deviates := changes[rank]
		if !deviates {
			change = []deviant{cached}
		}
		writeRank(t, dir, rank, list, change...)
	}
	r, err := All(traces.Open(t, dir), "job")
	if err != nil {
		t.Fatal(err)
	}
	if r.Stats.MD5Mismatch+r.Stats.BadJSON > 0 {
		t.Fatalf("the traces that were made are no traces: %+v", r.Stats)
	}
	want := []struct {
		ranks string
		kind  explain.PartKind
		text  string
	}{
		{"0-16, 18-99, 101-199, 201-249, 252-255", "", ""},
		{"17", explain.PartBreak, "breaks in "},
		{"100", explain.PartCache, "rank 0: "},
		{"200", explain.PartTime, "GraphLowering.run 20.00 s more"},
		{"250", explain.PartCollective, "collective 1 is all_gather_into_tensor.default here, all_reduce_.default on rank 0"},
		{"251", explain.PartTensor, "L['args'][0] is int64[4, 32] cuda here, int64[8, 32] cuda on rank 0"},
	}
	if len(r.RankGroups) != len(want) {
		for _, g := range r.RankGroups {
			t.Logf("%s: %s %s %q", g.Title(), g.Parted.Kind, g.Parted.Text, g.Differs)
		}
		t.Fatalf("%d groups, want %d", len(r.RankGroups), len(want))
	}
	for i, w := range want {
		g := r.RankGroups[i]
		if explain.RankRanges(g.Ranks) != w.ranks || g.Parted.Kind != w.kind || !strings.Contains(g.Parted.Text, w.text) ||
			g.Usual != (i == 0) {
			t.Errorf("group %d: %s, %s: %s; want %s, %s: %s", i,
				explain.RankRanges(g.Ranks), g.Parted.Kind, g.Parted.Text, w.ranks, w.kind, w.text)
		}
		if (len(g.Differs) > 0) == g.Usual {
			t.Errorf("group %d tells %q", i, g.Differs)
		}
	}
	if len(r.Stragglers) != 1 || r.Stragglers[0].Rank != 200 {
		t.Errorf("stragglers: %+v", r.Stragglers)
	}
	ranksInText(t, r)
}

// ranksInText: the text lists frames, graphs and kernels of one rank of those that did the same.
func ranksInText(t *testing.T, r *explain.Report) {
	t.Helper()
	var text strings.Builder
	if err := render.WriteText(&text, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "of ranks that did the same one is listed: rank 0 of 251\n"); n != 3 {
		t.Errorf("%d sections say which ranks are listed", n)
	}
	shown := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  \[?r(\d+) `).FindAllStringSubmatch(text.String(), -1) {
		shown[m[1]] = true
	}
	for _, rank := range []string{"0", "17", "100", "200", "250", "251"} {
		if !shown[rank] {
			t.Errorf("rank %s is not listed", rank)
		}
		delete(shown, rank)
	}
	if len(shown) > 0 {
		t.Errorf("listed, too: %v", shown)
	}
}

// TestOtherGraphParts: of ranks of which one captures another operator, that one is told apart.
func TestOtherGraphParts(t *testing.T) {
	dir, list := t.TempDir(), recordsOfRank(t)
	otherGraph := func(r *rankRecord) {
		if strings.Contains(r.head, "dynamo_output_graph") {
			r.payload = strings.Replace(r.payload, "torch.nn.functional.relu(", "torch.nn.functional.silu(", 1)
		}
	}
	for rank := range 16 {
		if rank == 13 {
			writeRank(t, dir, rank, list, otherGraph)
		} else {
			writeRank(t, dir, rank, list)
		}
	}
	r, err := All(traces.Open(t, dir), "job")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.RankGroups) != 2 || r.Stats.MD5Mismatch > 0 {
		t.Fatalf("%d groups, %+v", len(r.RankGroups), r.Stats)
	}
	if g := r.RankGroups[1]; explain.RankRanges(g.Ranks) != "13" || g.Parted.Kind != explain.PartGraph ||
		!strings.Contains(g.Parted.Text, "captures a different graph of ") {
		t.Errorf("ranks %s: %s: %s", explain.RankRanges(g.Ranks), g.Parted.Kind, g.Parted.Text)
	}
}
