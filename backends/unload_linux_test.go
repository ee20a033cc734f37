package backends

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestCodeIsUnloaded compiles thirty graphs of which none is needed any more and
// wants their libraries unmapped, but their times told: a process may map some
// ten thousand libraries, and a program that compiles for hours meets that limit.
func TestCodeIsUnloaded(t *testing.T) {
	if _, err := findCompiler(""); err != nil {
		t.Skip("no C compiler: nothing is loaded")
	}
	dir := seeded(t)
	set := NewSet(Config{CacheDir: dir})
	prog, err := loadText(t, `
func f(x *torch.Tensor, k int) *torch.Tensor { return x.Mul(k).Sin() }

func main() {
	c := torch.Compile(f)
	for k := range 30 {
		c(torch.Ones(8), k+2)
		compiler.Reset()
	}
	fmt.Println("done")
}`)
	if err != nil {
		t.Fatal(err)
	}
	if out, code, stderr := runText(prog, set, "inductor"); code != 0 || out != "done\n" {
		t.Fatalf("exit %d: %s%s", code, out, stderr)
	}
	left := 0
	for range 50 { // cleanups run after the collections that find them
		runtime.GC()
		runtime.Gosched()
		if left = mapped(t, dir); left <= 2 {
			break
		}
	}
	if left > 2 { // the last one may still be in a register
		t.Errorf("%d of 30 libraries are still mapped", left)
	}
	runs := int64(0)
	for _, k := range set.KernelTimes(true) {
		runs += k.Calls
	}
	if runs != 30 {
		t.Errorf("the kernels' times tell of %d runs, want 30", runs)
	}
	if more := set.KernelTimes(true); len(more) > 0 {
		t.Errorf("told again: %v", more)
	}
	if n := len(set.profiled.list); n > 2 {
		t.Errorf("%d profiles are kept", n)
	}
}

// mapped counts the libraries of graphs below dir in the process's memory.
func mapped(t *testing.T, dir string) int {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	libs := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if i := strings.Index(line, dir); i >= 0 && strings.Contains(line[i:], "graph") {
			libs[strings.TrimSpace(line[i:])] = true
		}
	}
	return len(libs)
}
