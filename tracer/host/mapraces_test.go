package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConcurrentMaps: a program whose goroutines use one map at the same time ends as under Go,
// and the stack is the program's, whatever recovers; one whose goroutines take turns runs on.
func TestConcurrentMaps(t *testing.T) {
	const write = "m[k] = k"
	for name, c := range map[string]struct{ vars, other, want string }{
		"writes":          {"var m = map[int]int{}", write, "concurrent map writes"},
		"writes by text":  {`var m = map[int]any{}`, "m[k] = fmt.Sprint(k)", "concurrent map writes"},
		"odd types":       {"type T struct { a [3]int; b string }\nvar m = map[int]T{}", "m[k] = T{b: `x`}", "concurrent map writes"},
		"delete":          {"var m = map[int]int{}", "delete(m, k)", "concurrent map writes"},
		"clear":           {"var m = map[int]int{}", "clear(m)", "concurrent map writes"},
		"read":            {"var m = map[int]int{}", "_ = m[k]", "concurrent map "}, // or both write first
		"read of a field": {"type T struct { a [3]int; b string }\nvar m = map[int]T{}", "_ = m[k].b", "concurrent map "},
		"range":           {"var m = map[int]int{}", "for range m { }", "concurrent map "},
		"in turns":        {"var mu sync.Mutex\nvar m = map[int]int{}", "mu.Lock(); m[k]++; delete(m, k); clear(m); mu.Unlock()", ""},
		"readers":         {"var m = map[int]int{1: 2}", "_ = m[k]; for range m { }", ""},
	} {
		t.Run(name, func(t *testing.T) {
			first := c.other
			switch {
			case c.want == "":
			case strings.Contains(c.vars, "T struct"):
				first = "m[k] = T{}"
			case strings.Contains(c.vars, "any"):
				first = "m[k] = 7"
			default:
				first = write
			}
			file := filepath.Join(t.TempDir(), "main.go")
			text := fmt.Sprintf(`package main

import ("fmt"; "sync")

%s

var _ sync.Mutex

func use(k, way int) {
	defer func() { recover() }()
	for range %d {
		if way == 0 {
			%s
		} else {
			%s
		}
	}
}

func main() {
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() { use(i%%3, i%%2) })
	}
	wg.Wait()
	fmt.Println("all is well")
}
`, c.vars, map[bool]int{true: 5_000_000, false: 2_000}[c.want != ""], first, c.other)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, errs, exit := runFile(t, file)
			if c.want == "" {
				if exit.Code != 0 || out != "all is well\n" {
					t.Errorf("ended with %d: %q %q", exit.Code, out, errs)
				}
				return
			}
			if exit.Code != 2 || !strings.HasPrefix(errs, "fatal error: "+c.want) || !strings.Contains(errs, "\n\ngoroutine ") {
				t.Fatalf("ended with %d: %q %.400s", exit.Code, out, errs)
			}
			if !strings.Contains(errs, "main.use(...)\n\t"+file+":") || strings.Contains(errs, "host.") {
				t.Errorf("the stack is not the program's:\n%.800s", errs)
			}
		})
	}
}
