package backends

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/tracer"
)

// This file tests what happens when a kernel faults: the process leaves with
// code 70 and the page names signal, graph and kernel, in whichever thread it
// was. The faulting process is this test binary run again.

const (
	faultEnv = "TCDBG_TEST_FAULT_PAGE"
	noPage   = "none" // the child has none
	rowsEnv  = "TCDBG_TEST_FAULT_ROWS"
)

// TestFaultChild is the process that faults; it does nothing by itself.
func TestFaultChild(t *testing.T) {
	page := os.Getenv(faultEnv)
	if page == "" {
		t.Skip("runs as a child of TestKernelFault only")
	}
	if page == noPage {
		page = ""
	}
	set := NewSet(Config{CacheDir: os.Getenv("TCDBG_TEST_CACHE"), FaultPage: page, Threads: 2})
	b, err := set.Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	g := newTestGraph("faulty")
	var m *graph.Module
	if os.Getenv(rowsEnv) == "" {
		m = g.outputs(g.Emit(ops.Silu, g.input(filled(ops.Float32, 1, 1<<20))))
	} else {
		x, w := g.input(filled(ops.Float32, 1, 2, 576)), g.param(filled(ops.Float32, 2, 576, 144))
		m = g.outputs(g.Emit(ops.Mm, x, w))
	}
	run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
	if err != nil {
		t.Fatal(err)
	}
	if err := nilDereference(); err == nil {
		t.Fatal("Go's own nil dereference does not panic any more")
	}
	run(g.in)
	fmt.Println("survived")
}

// nilDereference faults in Go code and recovers.
func nilDereference() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	var p *struct{ x [100]int }
	return fmt.Errorf("read %d", p.x[3]/1) // faults
}

func TestKernelFault(t *testing.T) {
	needCompiler(t)
	for _, c := range []struct{ name, trap string }{
		{"caller", "fused_silu_0"}, {"pool thread", "fused_silu_0,pool"}, {"any kernel", "*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := filepath.Join(t.TempDir(), "fault")
			if err := os.WriteFile(page, make([]byte, faultPageSize), 0o644); err != nil {
				t.Fatal(err)
			}
			out, code := faultChild(t, page, c.trap)
			if code != 70 {
				t.Fatalf("exit code %d, want 70\n%s", code, out)
			}
			b, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			if sig := binary.LittleEndian.Uint32(b); sig != 11 {
				t.Errorf("signal %d, want 11", sig)
			}
			if addr := binary.LittleEndian.Uint64(b[8:]); addr != 8 {
				t.Errorf("address %#x, want 0x8", addr)
			}
			if g, k := text(b[64:512]), text(b[512:1024]); g != "faulty" || k != "fused_silu_0" {
				t.Errorf("the page names kernel %q of graph %q", k, g)
			}
		})
	}
	t.Run("no page", func(t *testing.T) {
		out, code := faultChild(t, noPage, "fused_silu_0")
		if code != 70 || !strings.Contains(out, "tcdbg: a fault in kernel fused_silu_0 of graph faulty\n") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
	t.Run("none", func(t *testing.T) {
		page := filepath.Join(t.TempDir(), "fault")
		_ = os.WriteFile(page, make([]byte, faultPageSize), 0o644)
		if out, code := faultChild(t, page, ""); code != 0 || !strings.Contains(out, "survived") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
}

// The weights of a product of two rows are read by several threads, few as its multiply-adds are.
func TestFewRowsAreShared(t *testing.T) {
	needCompiler(t)
	t.Setenv(rowsEnv, "1")
	out, code := faultChild(t, noPage, "*,pool")
	if code != 70 || !strings.Contains(out, "tcdbg: a fault in kernel fused_mm_0 of graph faulty") {
		t.Errorf("exit code %d, want a fault of the product in a pool thread\n%s", code, out)
	}
}

func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

func faultChild(t *testing.T, page, trap string) (string, int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultChild$", "-test.v")
	cmd.Env = append(os.Environ(), faultEnv+"="+page, "TCDBG_TEST_CACHE="+sharedCache, "TCDBG_TRAP_KERNEL="+trap)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// A fault of Go code is Go's, a panic, also where the libraries of several widths were started in
// turns: each hands on to what was there before it.
func TestFaultsOfGoAmongLibraries(t *testing.T) {
	for _, lanes := range []int{4, 8, 4, 8} {
		g := newTestGraph("plain")
		x := g.input(filled(ops.Float32, 1, 4))
		m := g.outputs(g.Emit(ops.Sin, x))
		run, err := inductorAt(t, lanes).Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		run(g.in)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			var none *convCase
			_ = none.n
		}()
	}
}
