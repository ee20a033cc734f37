package tracer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/tracer/host"
)

// guardProgram calls a compiled function that does no tensor work b.N times; it
// checks n fields on every call. It prints nanoseconds a call.
func guardProgram(fields, calls int) string {
	var decl, use strings.Builder
	for i := range fields {
		fmt.Fprintf(&decl, "\tF%d int\n", i)
		fmt.Fprintf(&use, "\tif c.F%d != %d { return -1 }\n", i, i)
	}
	var set strings.Builder
	for i := range fields {
		fmt.Fprintf(&set, "\tc.F%d = %d\n", i, i)
	}
	return fmt.Sprintf(`package main

import (
	"fmt"
	"time"
	"tcdbg/torch"
)

type Config struct {
%s}

func f(c *Config) int {
%s	return 1
}

func main() {
	c := &Config{}
%s	g := torch.Compile(f)
	g(c)
	start := time.Now()
	for range %d { g(c) }
	fmt.Print(int(time.Since(start)) / %d)
}
`, decl.String(), use.String(), set.String(), calls, calls)
}

func nanosPerCall(b *testing.B, fields, calls int, recorded bool) float64 {
	b.Helper()
	file := filepath.Join(b.TempDir(), "model.go")
	if err := os.WriteFile(file, []byte(guardProgram(fields, calls)), 0o600); err != nil {
		b.Fatal(err)
	}
	prog, err := host.Load(host.LoadConfig{Paths: []string{file}})
	if err != nil {
		b.Fatal(err)
	}
	var out, errs bytes.Buffer
	cfg := host.Config{Stdout: &out, Stderr: &errs}
	tr := New(prog, Config{Sink: (*logs.Writer)(nil), Calls: recorded, Backend: func(string) (Backend, error) { return nil, nil }})
	tr.Install(&cfg)
	in := host.New(prog, cfg)
	tr.Attach(in)
	in.Run()
	ns, err := strconv.ParseFloat(out.String(), 64)
	if err != nil {
		b.Fatalf("%v: %s", err, errs.String())
	}
	return ns
}

// BenchmarkGuardedCall is a call of a compiled function without operators: one
// guard, and the slope over 60 more; and what recording it adds.
func BenchmarkGuardedCall(b *testing.B) {
	const calls = 200_000
	few, many := nanosPerCall(b, 1, calls, false), nanosPerCall(b, 61, calls, false)
	off, on := few, nanosPerCall(b, 1, calls, true)
	for range 12 { // the shortest of each, in turns
		off, on = min(off, nanosPerCall(b, 1, calls, false)), min(on, nanosPerCall(b, 1, calls, true))
	}
	b.ReportMetric(few, "ns/call")
	b.ReportMetric((many-few)/60, "ns/guard")
	b.ReportMetric(on-off, "ns/record")
	b.ReportMetric(0, "ns/op")
}
