package fold

import "tcdbg/explain"

// This file bounds what a fold holds. A log may be made of tens of millions of
// tiny records, each of which opens a compile of its own.

// maxHeld is how much a fold holds, roughly: an eighth of it for a gigabyte of true logs, two
// thirds for 20,000 breaks in as many functions. What comes beyond is counted and left out.
const maxHeld = 192 << 20

// What one of each holds, with what hangs on it in the report; strings that are
// not shared come on top.
const (
	heldRank    = 1 << 10
	heldFrame   = 512
	heldCompile = 2 << 10
	heldBreak   = 768
	heldKernel  = 512
	heldOutput  = 256
	heldStage   = 192
	heldName    = 16
	heldEvent   = 256 // cache events, symbols, passes, steps of fusion, failures
)

// hold notes that n bytes more are held.
func (f *Fold) hold(n int) { f.held += int64(n) }

// full says whether further records are left out.
func (f *Fold) full() bool { return f.held > f.maxHeld }

// maxOpen bounds the phases of one thread that are open at a time: each end looks
// through them for its begin.
const maxOpen = explain.MostOpen
