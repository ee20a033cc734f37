package app

import (
	"testing"

	"tcdbg/explain/fold"
)

// TestReadingIsNoEnd: of a saved run that is not read to its end nothing is said of the whole.
func TestReadingIsNoEnd(t *testing.T) {
	st := &feedState{done: make(chan struct{}), fold: fold.New(nil)}
	f := &feed{state: st}
	if !f.Run().Reading {
		t.Error("it is not said to be read")
	}
	close(st.done)
	if f.Run().Reading {
		t.Error("it is read for ever")
	}
}
