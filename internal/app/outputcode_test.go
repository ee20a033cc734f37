package app

import (
	"os"
	"strings"
	"testing"
)

// TestOutputCodeNamesFilesThatExist: the log of output code says where a file is only
// where there is one.
func TestOutputCodeNamesFilesThatExist(t *testing.T) {
	path := program(t, `import (
	"fmt"
	"tcdbg/torch"
)
func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`)
	out := run(t, tcdbg(t, t.TempDir(), "run", "--plain", "--logs", "output_code", path))
	if !strings.Contains(out.stderr, "Output code:") {
		t.Fatalf("no output code in %s", out.stderr)
	}
	for line := range strings.Lines(out.stderr) {
		if _, file, ok := strings.Cut(line, "Output code written to: "); ok {
			if _, err := os.Stat(strings.TrimSpace(file)); err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(line), err)
			}
		}
	}
}
