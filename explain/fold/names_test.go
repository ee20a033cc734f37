package fold

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tcdbg/explain/render"
	"tcdbg/logs"
)

// TestNamesOfReleases: artifacts that the sources of 2.6, 2.9 and 2.15 name and
// that no trace of testdata holds are explained too.
func TestNamesOfReleases(t *testing.T) {
	for _, name := range []string{
		"compiled_autograd_graph_pre_reordering", "aotautograd_cache_hash", "fx_graph_cache_hit", "fx_graph_cache_miss",
		"fx_graph_bundled_cache_hit", "aotautograd_cache_bypass", "precompile_cache_bypass", "dynamo_cache_bypass",
		"dynamo_cache_exception", "get_local_code_state", "add_extra_remote_code_state", "fx_net_acc_splitter_finder_events",
	} {
		r := foldText(t, payload(`{"artifact": {"name": "`+name+
			`", "encoding": "json"}, "compiled_autograd_id": 0, "attempt": 0`, "[\n1\n]"))
		if n := r.Totals.UnexplainedRecords; n != 0 {
			t.Errorf("%s is not explained", name)
		}
	}
}

// TestTimeOfNothingEnded: phases of a program that was killed while it compiled
// make no compile time of zero.
func TestTimeOfNothingEnded(t *testing.T) {
	event := func(ph, ts string) string {
		return payload(`{"chromium_event": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0`,
			`{"name": "inductor_codecache_torch_key", "ts": `+ts+`, "args": {}, "ph": "`+ph+`", "cat": "dynamo_timed", "tid": 0, "pid": 0}`)
	}
	r := foldText(t, event("B", "1000000.0")+event("E", "3000000.0"))
	var b strings.Builder
	if err := render.WriteText(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "COMPILE TIME: unknown") {
		t.Error(b.String())
	}
}

// TestPhasesThatRun: while a program runs, a phase without an end is marked and
// reaches to the newest event, a begin as well.
func TestPhasesThatRun(t *testing.T) {
	event := func(name, ph, ts string) string {
		return payload(`{"chromium_event": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0`,
			`{"name": "`+name+`", "ts": `+ts+`, "args": {}, "ph": "`+ph+`", "cat": "dynamo_timed", "tid": 0, "pid": 0}`)
	}
	log := event("dynamo", "B", "1000000") + event("bytecode_tracing", "B", "1200000") +
		event("bytecode_tracing", "E", "1500000") + event("backend_compile", "B", "2000000")
	want := map[bool]string{
		true:  "dynamo 1s open\nbytecode_tracing 300ms\nbackend_compile 0s open\n",
		false: "bytecode_tracing 300ms\n", // a trace that was cut off
	}
	for live, want := range want {
		st, err := logs.Open([]string{"-"}, logs.Options{Stdin: strings.NewReader(log)})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		f := New(st)
		f.SetLive(live)
		if err := st.Read(context.Background(), func(r *logs.Record) { f.Add(r) }); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, p := range f.Snapshot().Phases {
			fmt.Fprintf(&got, "%s %v%s\n", p.Name, p.Dur, map[bool]string{true: " open"}[p.Open])
		}
		if got.String() != want {
			t.Errorf("live %v:\n%s", live, got.String())
		}
	}
}
