package fold

import (
	"os"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

const sourceProgram = `import torch

class M(torch.nn.Module):
    def forward(self, x,
                y):
        # what it adds
        z = x + y

        def inner(v):
            return v.item()
        return inner(z)

def one(x): return x[0]
x = torch.ones(3)
`

// The lines of a function are read where the file still has the recorded line.
func TestFunctionAroundAPlace(t *testing.T) {
	reads := 0
	src := explain.NewSource(func(file string) ([]string, error) {
		reads++
		if file != "/m/net.py" {
			return nil, os.ErrNotExist
		}
		return strings.Split(sourceProgram, "\n"), nil
	})
	for _, c := range []struct {
		file, code  string
		line        int
		first, last string
		at          int
	}{
		{"/m/net.py", "z = x + y", 7, "    def forward(self, x,", "        return inner(z)", 3},
		{"/m/net.py", "return v.item()", 10, "        def inner(v):", "            return v.item()", 1},
		{"/m/net.py", "def one(x): return x[0]", 13, "def one(x): return x[0]", "def one(x): return x[0]", 0},
		{"/m/net.py", "x = torch.ones(3)", 14, "", "", 0},
		{"/m/net.py", "z = x - y", 7, "", "", 0},
		{"/m/net.py", "z = x + y", 700, "", "", 0},
		{"/m/gone.py", "z = x + y", 7, "", "", 0},
		{"/v/lib/python3.11/site-packages/lib/net.py", "z = x + y", 7, "", "", 0},
	} {
		body, at := src.Function(logs.Pos{File: c.file, Line: c.line, Code: c.code})
		for len(body) > 0 && strings.TrimSpace(body[len(body)-1]) == "" {
			body = body[:len(body)-1]
		}
		if len(body) == 0 {
			if c.first != "" {
				t.Errorf("%s:%d: no function", c.file, c.line)
			}
			continue
		}
		if body[0] != c.first || body[len(body)-1] != c.last || at != c.at {
			t.Errorf("%s:%d: from %q to %q, at %d", c.file, c.line, body[0], body[len(body)-1], at)
		}
	}
	if reads != 2 {
		t.Errorf("two files were read %d times", reads)
	}
	if body, _ := (*explain.Source)(nil).Function(logs.Pos{File: "/m/net.py", Line: 7, Code: "z = x + y"}); body != nil {
		t.Error("a report without files has lines")
	}
}

// The setting for RNNs does not help one that is given packed sequences: it is not named where
// the program's file packs any, in whichever function.
func TestRNNOfAProgramThatPacks(t *testing.T) {
	b := &explain.Break{
		Pos: logs.Pos{File: "/m/net.py", Line: 2, Code: "out, _ = self.rnn(seq)"},
		Raw: "TorchDynamo purposely graph breaks on RNN, GRU, LSTMs",
	}
	for other, want := range map[string]string{
		"packed = pack_padded_sequence(x, n)":    "Packed sequences are never compiled",
		"packed = nn.utils.rnn.pack_sequence(x)": "Packed sequences are never compiled",
		"x = x + 1":                              "allow_rnn",
	} {
		src := explain.NewSource(func(string) ([]string, error) {
			return []string{other, "    out, _ = self.rnn(seq)"}, nil
		})
		if got := diagnose.FixBreakAt(b, "PyTorch 2.15.0", false, src).Text; !strings.Contains(got, want) {
			t.Errorf("%s: %q", other, got)
		}
	}
}
