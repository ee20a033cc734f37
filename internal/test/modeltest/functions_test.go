package modeltest

import (
	"os"
	"os/exec"
	"testing"
)

// TestFunctionsCompile runs testdata/functions under inductor, or in the long form
// under each backend: each case is one graph, and gives what it gives eagerly.
func TestFunctionsCompile(t *testing.T) {
	bin := buildTcdbg(t)
	for _, backend := range allBackends(t) {
		cmd := exec.Command(bin, "run", "--plain", "testdata/functions/model.go")
		cmd.Env = append(os.Environ(), "TCDBG_BACKEND="+backend, "XDG_STATE_HOME="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "compared 23\n" {
			t.Errorf("%s: %v\n%s", backend, err, out)
		}
	}
}
