package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"tcdbg/backends/codecache"
)

var warmIn string // the folder of warmCache, once it was asked for

// warmCache is a folder of compiled code for all sessions that do not ask what is in theirs:
// in a folder of its own each would wait for a C compiler to build the runtime library, which
// is built here.
var warmCache = sync.OnceValues(func() (string, error) {
	bin, err := buildBinary()
	if err != nil {
		return "", err
	}
	if warmIn, err = os.MkdirTemp("", "tcdbg-test-cache"); err != nil {
		return "", err
	}
	cmd := exec.Command(bin, "run", "--plain", "fixtures/sincos/model.go")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(warmIn, "state"), "XDG_CACHE_HOME="+warmIn)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return warmIn, nil
})

// warmFolder is the folder of warmCache.
func warmFolder(t *testing.T) string {
	t.Helper()
	dir, err := warmCache()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// freshCache is a folder for compiled code that holds none but the runtime library.
func freshCache(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	codecache.Seed(filepath.Join(dir, "tcdbg"), filepath.Join(warmFolder(t), "tcdbg"))
	return dir
}

// warmSession is newSession with compiled code of other tests.
func warmSession(t *testing.T, env ...string) *session {
	t.Helper()
	s := newSession(t, env...)
	s.cache = warmFolder(t)
	return s
}

// coldSession is newSession with nothing compiled.
func coldSession(t *testing.T) *session {
	t.Helper()
	s := newSession(t)
	s.cache = t.TempDir()
	return s
}
