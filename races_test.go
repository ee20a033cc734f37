package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tcdbg/internal/test"
)

// This file is what a program's author learns of its data races.

const racy = `package main

import (
	"fmt"
	"sync"

	"tcdbg/torch"
)

var total float64

func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Mul(2) }

func main() {
	g := torch.Compile(f)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				total += g(torch.Ones(4)).Sum().Item() // the race
			}
		})
	}
	wg.Wait()
	fmt.Println(total > 0)
}
`

// TestRaceReport: Go's race detector reports the race of a program with the program's line,
// and nothing of torch; tcdbg run runs it and reports no race.
func TestRaceReport(t *testing.T) {
	test.Long(t, "it builds torch again, for the race detector")
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("the race detector needs cgo, and there is no gcc")
	}
	s := newSession(t)
	file := program(t, racy)
	dir := filepath.Dir(file)
	if out, errs, code := s.run(t, "init", dir); code != 0 {
		t.Fatalf("init: exit %d\n%s%s", code, out, errs)
	}
	cmd := exec.Command("go", "run", "-race", "model.go")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "CGO_ENABLED=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	_ = cmd.Run() // exit 66 of the program is 1 of go run
	report := errs.String()
	if strings.Contains(report, "-race is not supported") {
		t.Skip(report)
	}
	line := 1 + strings.Count(racy[:strings.Index(racy, "// the race")], "\n")
	places := regexp.MustCompile(`\w+\.go:\d+`).FindAllString(report, -1)
	if !strings.Contains(report, "WARNING: DATA RACE") || len(places) == 0 {
		t.Fatalf("no report:\n%s", report)
	}
	for _, p := range places {
		if !strings.HasPrefix(p, "model.go:") && !strings.HasPrefix(p, "waitgroup.go:") { // where goroutines begin
			t.Errorf("the report names %s:\n%s", p, report)
		}
	}
	if want := "model.go:" + strconv.Itoa(line); !slices.Contains(places, want) {
		t.Errorf("the report lacks %s:\n%s", want, report)
	}
	out, said, code := s.run(t, "run", "--plain", "--logs", "", file)
	if out != "true\n" || code != 0 || strings.Contains(said, "DATA RACE") {
		t.Errorf("tcdbg run: exit %d, %q %q", code, out, said)
	}
}
