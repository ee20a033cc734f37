package inductor

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/inductor/codegen/triton"
	"tcdbg/internal/test/golden"
)

// TestTritonText writes every kernel of the small graphs as Triton; Python, where
// there is one, must be able to parse it.
func TestTritonText(t *testing.T) {
	var sb strings.Builder
	for _, g := range graphs {
		b := newBuild(g.name)
		p := b.compile(t, g.make(b)...)
		for _, st := range p.Steps {
			for _, k := range st.Kernels {
				var text string
				if src, err := triton.Generate(k); err != nil {
					text = "# " + err.Error() + "\n"
				} else {
					text = src.Text
				}
				sb.WriteString(text + "\n")
			}
		}
	}
	golden.Equal(t, filepath.Join("testdata", "triton.py.txt"), []byte(sb.String()))
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python: the text is not parsed")
	}
	cmd := exec.Command(python, "-c", "import ast, sys; ast.parse(sys.stdin.read())")
	cmd.Stdin = strings.NewReader(sb.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
