// Package test tells the two forms of the tests apart. The short one is what `go test ./...`
// runs: every feature at least once, in a few minutes. The long one is everything: full
// models, all backends and vector widths, sweeps of many rounds. CI runs both.
//
// It imports nothing of ours, and only tests import it. There is one file.
package test

import (
	"os"
	"testing"
)

// LongVar is the environment variable that asks for the long form, with any value.
const LongVar = "TCDBG_LONG"

// IsLong reports whether the long form was asked for.
func IsLong() bool { return os.Getenv(LongVar) != "" }

// Long skips what only the long form runs, and says why and how to run it.
func Long(t testing.TB, why string) {
	t.Helper()
	if !IsLong() {
		t.Skipf("the long form alone runs this (%s): %s=1 go test, or make test-all", why, LongVar)
	}
}

// Some is a list in the long form, and as many of it as given, spread over all of it,
// in the short one. Where a test leaves some out, t says how many.
func Some[E any](t testing.TB, n int, all []E) []E {
	t.Helper()
	if IsLong() || n >= len(all) {
		return all
	}
	out := make([]E, n)
	for i := range out {
		out[i] = all[i*len(all)/n]
	}
	t.Logf("%d of %d: the long form runs all (%s=1 go test, or make test-all)", n, len(all), LongVar)
	return out
}
