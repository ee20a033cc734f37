package simd

import "unsafe"

// This file is results that are too large for the caches: written past them,
// they cost no reading of the memory that they overwrite.

// line is the bytes of a line of cache.
const line = 64

// Stream copies src to dst, which has the same length, around the caches. What
// it wrote is there for other threads after StreamEnd.
func (l Level) Stream(dst, src []byte) {
	dst = dst[:len(src)]
	if table[l].stream == nil {
		copy(dst, src)
		return
	}
	head, lines := wholeLines(unsafe.Pointer(unsafe.SliceData(dst)), len(src))
	copy(dst[:head], src)
	if lines > head {
		table[l].stream((*float32)(unsafe.Pointer(&dst[head])), (*float32)(unsafe.Pointer(&src[head])), (lines-head)/4)
	}
	copy(dst[lines:], src[lines:])
}

// wholeLines are the bytes from head to end of n at p that fill lines of cache.
func wholeLines(p unsafe.Pointer, n int) (head, end int) {
	head = min(int(-uintptr(p)%line), n)
	return head, head + (n-head)&^(line-1)
}

// StreamEnd makes what Stream wrote visible before anything that is stored
// later.
func StreamEnd() { storeFence() }
