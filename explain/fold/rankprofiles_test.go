package fold

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tcdbg/internal/test/traces"
)

// TestFolderOfChromeTraces: a folder of profiles, some packed, opens, with the rank that each tells or that its name has; what
// else ends in .json there is left alone, and nobody says that the ranks compiled the same.
func TestFolderOfChromeTraces(t *testing.T) {
	dir := t.TempDir()
	trace := func(info string) []byte {
		return fmt.Appendf(nil, `{%s"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":5}]}`, info)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(trace(`"distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8},`))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"host_71.json.gz": packed.Bytes(), "step_rank-3.json": trace(""), "package.json": []byte(`{"name": "x"}`),
		"empty.json": nil, "cut.json.gz": packed.Bytes()[:4],
		"host_rank_0.json": trace(`"distributedInfo": {"rank": 7},`), // the trace knows better than its name
		"plain.json":       trace(`"distributedInfo": {"rank": -2},`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := All(traces.Open(t, dir), "profiles")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, c := range r.Traces {
		got[filepath.Base(c.File)] = c.Rank
	}
	want := map[string]int{"host_71.json.gz": 5, "step_rank-3.json": 3, "host_rank_0.json": 7, "plain.json": -1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the ranks are %v, want %v", got, want)
	}
	if len(r.Ranks) > 0 || len(r.RankGroups) > 0 {
		t.Errorf("%d ranks in %d groups are compared by compiles that nobody recorded", len(r.Ranks), len(r.RankGroups))
	}
}
