package backends

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcdbg/internal/test"
	"tcdbg/logs"
	"tcdbg/tracer"
)

// failingCompiler is a compiler that says its version, makes the runtime library and does what $TC_HOW
// says with all else.
func failingCompiler(t *testing.T) string {
	t.Helper()
	cc, err := findCompiler("")
	if err != nil || !canLoad {
		t.Skip("no C compiler: its failures are not tested")
	}
	file := filepath.Join(t.TempDir(), "cc")
	text := "#!/bin/sh\ncase \"$*\" in --version|*TC_LANES*|*unit1.c.o*) exec " + cc.path +
		" \"$@\";; esac\nfor out; do :; done\neval \"$TC_HOW\"\n"
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCompilerFailures wants graphs whose code cannot be made in the interpreter, with
// right results, one message for two graphs, a record for each, and nothing left in the
// cache.
func TestCompilerFailures(t *testing.T) {
	test.Long(t, "the runtime library is built again for each failure")
	cc, dir := failingCompiler(t), filepath.Join(t.TempDir(), "cache")
	for name, c := range map[string]struct{ how, want string }{
		"error":         {"echo unit0.c:7: error: no such thing >&2; exit 1", "no such thing"},
		"killed":        {"kill -KILL $$", "killed"},
		"crash":         {"kill -SEGV $$", "segmentation fault"},
		"junk":          {"echo junk > \"$out\"", "loading compiled code"},
		"nothing":       {":", "no such file"},
		"an empty file": {": > \"$out\"", "empty"},
		"hang":          {"sleep 100 & wait", "no end after 500ms"},
		"much output":   {"yes no such thing | head -c 100000000; exit 1", "no such thing"},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			t.Setenv("TC_HOW", c.how)
			set := NewSet(Config{CC: cc, CacheDir: dir, Threads: 2, Stderr: &said})
			if set.engine().cc == nil {
				t.Fatal(set.engine().err)
			}
			if name == "hang" { // a machine at work takes its time for the others
				set.engine().cc.limit = 500 * time.Millisecond
			}
			b, err := set.Get("inductor")
			if err != nil {
				t.Fatal(err)
			}
			var failures []logs.CompilerFailure
			for i := range 2 {
				m, in := barModule()
				m.G.Name = []string{"first", "second"}[i]
				log := sinkOf(func(o logs.Out) {
					if meta, ok := o.Meta.(map[string]string); ok && meta["name"] == "tcdbg_compiler_failure" {
						var a struct{ Data logs.CompilerFailure }
						if err := json.Unmarshal(o.Payload, &a); err != nil {
							t.Error(err)
						}
						failures = append(failures, a.Data)
					}
				})
				run, err := b.Compile(&tracer.Request{Module: m, Example: in, Log: log})
				if err != nil {
					t.Fatal(err)
				}
				if err := sameValues(run(in), m.Run(in), 1e-6); err != nil {
					t.Error(err)
				}
			}
			if len(failures) != 2 || failures[0].Graph != "first" || !strings.Contains(strings.ToLower(failures[1].Error), c.want) {
				t.Errorf("records: %+v", failures)
			}
			if s := said.String(); strings.Count(s, "first runs in the interpreter") != 1 || strings.Contains(s, "second") ||
				strings.Count(s, "\n") > 8 {
				t.Errorf("it said %q", s)
			}
			left, _ := filepath.Glob(filepath.Join(dir, "[gb]*"))
			if len(left) > 0 {
				t.Errorf("left in the cache: %v", left)
			}
		})
	}
}

// TestCompilerOutputIsBounded: of a compiler that says too much the beginning is kept.
func TestCompilerOutputIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cc")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nyes no such thing | head -c 10000000; exit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := findCompiler(file)
	if err != nil {
		t.Skip("no script can be run: ", err)
	}
	err = c.run(t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), "exit status 1:\nno such thing\n") || len(err.Error()) > outputKept+100 {
		t.Errorf("it failed with %.100v, of %d bytes", err, len(fmt.Sprint(err)))
	}
}

type sinkOf func(logs.Out)

func (f sinkOf) Emit(o logs.Out)        { f(o) }
func (f sinkOf) Stack([]logs.Frame) any { return nil }
