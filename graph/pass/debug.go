package pass

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// This file holds the switches of those who debug the compiler itself. TCDBG_CHECK=1
// checks the state after every pass and shuffles the passes that have no order; tests
// do so unless they measure or TCDBG_CHECK=0 forbids it. TCDBG_DUMP=NAME,... (or "all")
// prints what passes of these names change.

// Checking reports whether all compilations of this process are checked.
var Checking = sync.OnceValue(func() bool {
	switch os.Getenv("TCDBG_CHECK") {
	case "1":
		return true
	case "0":
		return false
	}
	bench := flag.Lookup("test.bench")
	return bench != nil && bench.Value.String() == ""
})

var dumpNames = sync.OnceValue(func() []string {
	return strings.FieldsFunc(os.Getenv("TCDBG_DUMP"), func(r rune) bool { return r == ',' })
})

// Dumping reports whether passes are printed.
func Dumping() bool { return len(dumpNames()) > 0 }

func dumped(name string) bool {
	return slices.Contains(dumpNames(), name) || slices.Contains(dumpNames(), "all")
}

func dumpStep(stage, name, before, after string, took time.Duration) {
	if before == after {
		fmt.Fprintf(os.Stderr, "---- %s: %s changed nothing, %v\n", stage, name, took)
		return
	}
	fmt.Fprintf(os.Stderr, "---- %s: before %s\n%s\n---- %s: after %s, %v\n%s\n", stage, name, before, stage, name, took, after)
}

// shuffled is the passes in some other order that their needs allow.
func (t *Table[S]) shuffled() []Pass[S] {
	out := make([]Pass[S], 0, len(t.rows))
	done := make([]bool, len(t.rows))
	for len(out) < len(t.rows) {
		var ready []int
		for i, p := range t.rows {
			if !done[i] && !slices.ContainsFunc(p.Needs, func(n Need) bool { return !done[t.at[n.Pass]] }) {
				ready = append(ready, i)
			}
		}
		i := ready[rand.IntN(len(ready))]
		done[i] = true
		out = append(out, t.rows[i])
	}
	return out
}

func names[S any](rows []Pass[S]) string {
	var out []string
	for _, p := range rows {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}
