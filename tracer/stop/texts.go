package stop

import (
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"tcdbg/tracer/host"
)

// textsOf are the texts of a program's files by absolute path, as a second process is to
// load them: the user may change them meanwhile.
func textsOf(prog *host.Program) map[string]string {
	out := map[string]string{}
	prog.Fset.Iterate(func(f *token.File) bool {
		name := f.Name()
		if strings.HasPrefix(name, "$") || !strings.HasSuffix(name, ".go") {
			return true
		}
		if path, err := filepath.Abs(name); err == nil {
			if text, err := os.ReadFile(path); err == nil && len(text) == f.Size() {
				out[path] = string(text)
			}
		}
		return true
	})
	return out
}
