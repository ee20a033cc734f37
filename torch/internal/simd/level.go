package simd

import (
	"os"
	"sync/atomic"
)

// This file says which of the three implementations runs.

// Level is an instruction set.
type Level int32

// The levels, each of which needs more of the machine than the one before.
const (
	Plain Level = iota
	AVX2
	AVX512
)

var names = []string{"plain", "avx2", "avx512"}

func (l Level) String() string { return names[l] }

// Env names the environment variable that holds the level down: plain, avx2 or
// avx512. A level that the machine lacks, or a word that is none, is ignored.
const Env = "TCDBG_SIMD"

// Best is the highest level of this machine.
var Best = bestLevel()

var active = newActive(os.Getenv(Env))

func newActive(word string) *atomic.Int32 {
	a := new(atomic.Int32)
	a.Store(int32(startLevel(word)))
	return a
}

func startLevel(word string) Level {
	for i, n := range names {
		if n == word && Level(i) <= Best {
			return Level(i)
		}
	}
	return Best
}

// Active is the level that kernels use now.
func Active() Level { return Level(active.Load()) }

// Force makes l the active level and returns what undoes it. It is for tests.
func Force(l Level) (restore func()) {
	if l > Best {
		panic("simd: this machine has no " + l.String())
	}
	was := active.Swap(int32(l))
	return func() { active.Store(was) }
}

// Levels are all levels that this machine can run, the plain one first.
func Levels() []Level {
	var out []Level
	for l := Plain; l <= Best; l++ {
		out = append(out, l)
	}
	return out
}
