package tracer

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"tcdbg/tracer/host"
)

// TestCollectorComesLessOftenInCompiles: while one runs, and as before when the last has ended; a
// pace that somebody has chosen stays.
func TestCollectorComesLessOftenInCompiles(t *testing.T) {
	percent := func() int {
		p := debug.SetGCPercent(usualPercent)
		debug.SetGCPercent(p)
		return p
	}
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	first := compiling()
	second := compiling()
	first()
	if p := percent(); p <= usualPercent || p > mostPercent {
		t.Errorf("in a compile: %d", p)
	}
	second()
	if p := percent(); p != usualPercent {
		t.Errorf("after all compiles: %d", p)
	}
	debug.SetGCPercent(50)
	end := compiling()
	if p := percent(); p != 50 {
		t.Errorf("in a compile of a program with a pace of its own: %d", p)
	}
	end()
	if p := percent(); p != 50 {
		t.Errorf("after it: %d", p)
	}
}

// TestCollectorWaitsAtStart: until the first collection, after which it comes as ever.
func TestCollectorWaitsAtStart(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	percent := func(p *pace) int { // what the collector was told, under the lock of what tells it
		p.Lock()
		defer p.Unlock()
		now := debug.SetGCPercent(usualPercent)
		debug.SetGCPercent(now)
		return now
	}
	p := &pace{chosen: usualPercent, now: usualPercent}
	p.start()
	if now := percent(p); now != firstPercent {
		t.Fatalf("at the start: %d", now)
	}
	if before := p.choose(50); before != usualPercent || percent(p) != 50 {
		t.Errorf("a program that chooses 50 is told %d, and has %d", before, percent(p))
	}
	if before := p.choose(usualPercent); before != 50 || percent(p) != firstPercent {
		t.Errorf("a program that takes it back is told %d, and has %d", before, percent(p))
	}
	for range 1000 {
		runtime.GC()
		if percent(p) == usualPercent {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("after a collection: %d", percent(p))
}

// TestProgramsPaceIsItsOwn: a program that sets the collector's percent is told what it has set, not what
// the tracer has.
func TestProgramsPaceIsItsOwn(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	pacing.Lock()
	pacing.chosen, pacing.now = usualPercent, usualPercent
	pacing.Unlock()
	end := compiling()
	defer end()
	file := filepath.Join(t.TempDir(), "model.go")
	text := "package main\n\nimport (\n\"fmt\"\n\"runtime/debug\"\n)\n\n" +
		"func main() { fmt.Println(debug.SetGCPercent(70), debug.SetGCPercent(100)) }\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	prog, err := host.Load(host.LoadConfig{Paths: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	got := runLoaded(prog, eager{t})
	if got.stdout != "100 70\n" {
		t.Errorf("%q%s", got.stdout, got.stderr)
	}
}
