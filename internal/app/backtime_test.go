package app

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tcdbg/internal/test"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// How long steps back take late in a training that runs for a while: the first runs it again,
// those after it are shown at once.
func TestBackTimes(t *testing.T) {
	if !test.IsLong() {
		t.Skip("it measures: in the long form")
	}
	needCompiler(t)
	text, err := os.ReadFile(fixture("models_spiral"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(strings.ReplaceAll(string(text), "range steps", "range 24*steps"), "package main")
	d := debugKept(t, program(t, body))
	begin := time.Now()
	d.send(ctl.Break, fmt.Sprintf("model.go:%d", lineOf(t, d, "torch.NoGrad(func()")))
	var s logs.Stop
	for range 3 {
		d.send(ctl.Continue, "")
		s = d.next()
	}
	t.Logf("the program stopped at moment %d, %v from its start", s.Moment, time.Since(begin))
	for i := range 8 {
		begin = time.Now()
		d.send(ctl.Back, "line")
		s := d.next()
		took := time.Since(begin)
		t.Logf("step %d back, to line %d: %v", i+1, s.Where.Line, took)
		if i > 0 && took > time.Second {
			t.Errorf("step %d back took %v", i+1, took)
		}
	}
}
