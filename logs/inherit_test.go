package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNamesOfTheParent: a forked process writes numbers of files that only its parent's
// trace names, in whatever order the two are read.
func TestNamesOfTheParent(t *testing.T) {
	names := func(list ...string) string {
		var b strings.Builder
		for i, n := range list {
			fmt.Fprintf(&b, "%s{\"str\": [%q, %d]}\n", prefix, n, i)
		}
		return b.String()
	}
	start := func(rank string) string {
		return prefix + `{"dynamo_start": {"stack": [{"line": 3, "name": "f", "filename": 1}]}` + rank +
			`, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}` + "\n"
	}
	const child = "a.log" // is read first
	own := prefix + `{"str": ["/w/own.py", 2]}` + "\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"the only parent", map[string]string{child: own + start(""), "b.log": names("/v/torch.py", "/w/a.py")}, "/w/a.py"},
		{"no parent", map[string]string{child: own + start("")}, "(unknown)"},
		{"no child", map[string]string{
			child:   prefix + `{"str": ["/w/x.py", 0]}` + "\n" + start(""),
			"b.log": names("/v/torch.py", "/w/a.py"),
		}, "(unknown)"},
		{"parents that agree", map[string]string{
			child: start(""), "b.log": names("/v/torch.py", "/w/a.py"),
			"c.log": names("/v/torch.py", "/w/a.py"),
		}, "/w/a.py"},
		{"parents that do not", map[string]string{
			child: start(""), "b.log": names("/v/torch.py", "/w/a.py"),
			"c.log": names("/v/torch.py", "/w/b.py"),
		}, "(unknown)"},
		{"the parent of the rank", map[string]string{
			"a_rank_1_x.log": start(`, "rank": 1`),
			"t_rank_0_x.log": names("/v/torch.py", "/w/a.py"), "t_rank_1_x.log": names("/v/torch.py", "/w/b.py"),
			"t_rank_2_x.log": names("/v/torch.py", "/w/c.py"),
		}, "/w/b.py"},
		{"a brother", map[string]string{child: start(""), "b.log": own + start("")}, "(unknown)"},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		st, err := Open([]string{dir}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		err = st.Read(t.Context(), func(r *Record) {
			if r.Kind == "dynamo_start" && got == "" {
				got = r.Stack("stack")[0].File
			}
		})
		if err != nil || got != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNamesInLongLines: a table is found among records of any length.
func TestNamesInLongLines(t *testing.T) {
	text := prefix + `{"link": {"name": "` + strings.Repeat("x", 600<<10) + `"}}` + "\n" + prefix + `{"str": ["/w/a.py", 0]}` +
		"\nno record\n" + prefix + `{"str": ["/w/b.py", 1]}`
	if got := namesIn(strings.NewReader(text)); len(got) != 1 || got[0] != "/w/a.py" { // the last line has not ended
		t.Errorf("%v", got)
	}
}
