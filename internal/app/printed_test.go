package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tcdbg/logs"
)

// TestPrinted: what a program prints between the messages of a text log is output, line
// by line; a trace has none.
func TestPrinted(t *testing.T) {
	const head = "V1122 10:00:00.000000 1 torch/_dynamo/guards.py:1 [0/0] [__guards] "
	for _, c := range []struct {
		name, text string
		holds      bool
		want       []string
	}{
		{
			"text log", "epoch 0\n  loss \x1b[31m1.5\x1b[0m\n" + head + "GUARDS:\n" + head + "| x\nepoch 1\n", true,
			[]string{"epoch 0", "  loss 1.5", "epoch 1"},
		},
		{"trace", "V1122 10:00:00.000000 1 torch/_dynamo/guards.py:1] {\"str\": [\"m.py\", 0]}\n", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.log")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			st, err := logs.Open([]string{path}, logs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			p := newPrintedLog(st)
			if err := st.Read(context.Background(), p.add); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range p.Len() {
				got = append(got, p.Line(i).Text)
			}
			if p.holds() != c.holds || !slices.Equal(got, c.want) {
				t.Errorf("holds %v, lines %q; want %v, %q", p.holds(), got, c.holds, c.want)
			}
		})
	}
}
