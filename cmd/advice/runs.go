package main

import (
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// This file keeps what programs printed and traced, so that a change of a row, or of how
// traces are read, needs no program to run again: the verdict is found each time, by the
// rows and the reading of today, from a run of the very same text on the very same PyTorch.

// stored is a run as it is kept.
type stored struct {
	Code                  int
	Stdout, Stderr, Trace []byte
}

// key names a run by all that it depends on.
func (r *runner) key(name, text string, rounds int) string {
	sum := sha256.New()
	for _, part := range []string{r.env, r.version, runnerText, name, text, fmt.Sprint(rounds)} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// recall reads a run that was kept.
func (r *runner) recall(key string) (*run, bool) {
	if r.cache == "" {
		return nil, false
	}
	f, err := os.Open(filepath.Join(r.cache, key))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	var s stored
	if err := gob.NewDecoder(f).Decode(&s); err != nil {
		return nil, false // half written: it runs again
	}
	return &run{code: s.Code, stdout: string(s.Stdout), stderr: string(s.Stderr), trace: s.Trace}, true
}

// remember keeps a run.
func (r *runner) remember(key string, res *run) error {
	if r.cache == "" {
		return nil
	}
	if err := os.MkdirAll(r.cache, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(r.cache, "new")
	if err != nil {
		return err
	}
	err = gob.NewEncoder(f).Encode(&stored{res.code, []byte(res.stdout), []byte(res.stderr), res.trace})
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return os.Rename(f.Name(), filepath.Join(r.cache, key))
}
