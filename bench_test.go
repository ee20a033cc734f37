package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// This file measures what a user waits for, with whole processes.

// BenchmarkFirstLine is the time from exec of the viewer to the program's first
// line of output under --plain.
func BenchmarkFirstLine(b *testing.B) {
	file := filepath.Join(b.TempDir(), "model.go")
	text := "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	firstLine(b, file, b.TempDir(), func() {})
}

// BenchmarkColdBar is the time to the first output of a freshly built kernel
// with an empty cache of graphs; the runtime library, which is built once per
// machine, is there already.
func BenchmarkColdBar(b *testing.B) {
	cache := b.TempDir()
	firstLine(b, "fixtures/bar/model.go", cache, func() {
		for _, pattern := range []string{"tcdbg/graph*", "tcdbg/*/graph*"} {
			old, _ := filepath.Glob(filepath.Join(cache, pattern))
			for _, f := range old {
				_ = os.RemoveAll(f)
			}
		}
	})
}

// BenchmarkWarmBar is the same program with its kernels in the cache.
func BenchmarkWarmBar(b *testing.B) {
	firstLine(b, "fixtures/bar/model.go", b.TempDir(), func() {})
}

func firstLine(b *testing.B, model, cache string, before func()) {
	b.Helper()
	bin, err := buildBinary()
	if err != nil {
		b.Fatal(err)
	}
	state := b.TempDir()
	var total time.Duration
	for i := range b.N + 1 {
		before()
		cmd := exec.Command(bin, "run", "--plain", model)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+cache)
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		if i > 0 { // the first run builds the runtime library
			total += time.Since(start)
		}
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms/run")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCompiledSteps holds what a compiled step must not be: slower than the same
// step in eager mode, which runs in turn with it. It reports the ratio of their times.
func BenchmarkCompiledSteps(b *testing.B) {
	bin, err := buildBinary()
	if err != nil {
		b.Fatal(err)
	}
	state, cache := b.TempDir(), b.TempDir()
	steps := func(arg ...string) string {
		cmd := exec.Command(bin, append([]string{"run", "--plain", "testdata/steps/model.go"}, arg...)...)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+cache, "TCDBG_BACKEND=inductor")
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		return string(out)
	}
	for _, name := range strings.Fields(steps()) {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				var eager, compiled float64
				if _, err := fmt.Sscan(steps(name), &eager, &compiled); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(compiled/eager, "compiled/eager")
				if compiled > eager {
					b.Errorf("a compiled step takes %.3f ms, an eager one %.3f", compiled, eager)
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
