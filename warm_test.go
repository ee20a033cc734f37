package main

import (
	"os"
	"sync"
	"testing"
)

var warmIn string // the folder of warmCache, once it was asked for

// warmCache is a folder of compiled code for all sessions that do not ask what is in theirs:
// in a folder of its own each would wait for a C compiler to build the runtime library.
var warmCache = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tcdbg-test-cache")
	warmIn = dir
	return dir, err
})

// warmSession is newSession with compiled code of other tests.
func warmSession(t *testing.T, env ...string) *session {
	t.Helper()
	dir, err := warmCache()
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, env...)
	s.cache = dir
	return s
}
