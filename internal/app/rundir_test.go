package app

import (
	"os"
	"testing"
)

// What a viewer that was killed was about to make run.json goes when somebody looks at the
// runs; that of a viewer which lives stays.
func TestHalfMadeRunGoes(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, c := range []struct {
		name  string
		kill  func(r *Run)
		stays bool
	}{
		{"alive", func(*Run) {}, true},
		{"killed while it ran", func(r *Run) { r.lock.Close() }, false},
		{"killed before it began", func(r *Run) {
			r.lock.Close()
			if err := os.Remove(r.file(infoFile)); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := newRun("exec", []string{"train.py"}, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.lock.Close()
			if err := os.WriteFile(r.file(newInfoFile), []byte(`{"v":`), 0o600); err != nil {
				t.Fatal(err)
			}
			c.kill(r)
			if _, err := listRuns(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(r.file(newInfoFile)); (err == nil) != c.stays {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
