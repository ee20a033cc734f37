package fold

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tcdbg/explain/render"
	"tcdbg/internal/test"
	"tcdbg/internal/test/traces"
)

// TestStacksOfOurFramesAlone: whatever a record tells, its stack may have no frame but those of
// the hooks that run a program, which are left out.
func TestStacksOfOurFramesAlone(t *testing.T) {
	for _, path := range test.Some(t, 12, traces.Files(t, "../testdata/traces")) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		z, err := zstd.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		text, err := io.ReadAll(z)
		if err != nil {
			continue // a folder of ranks
		}
		// files of the trace's table of strings, and those that text logs name
		for _, begin := range []string{`{"str": ["`, `File "`} {
			text = bytes.ReplaceAll(text, []byte(begin), []byte(begin+"/run"+strings.TrimSuffix(hookFiles, "/")+"/"))
		}
		r, err := All(traces.OfText(t, string(text)), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := render.WriteText(io.Discard, r); err != nil {
			t.Error(err)
		}
	}
}
