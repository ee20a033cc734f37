//go:build !nodlopen

package backends

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of the pages that the system is asked for.
const hugePage = 2 << 20

// hugePages asks for large pages for the part of b that fills some: what streams
// through the kernels from memory crosses page after page. A system without them
// refuses, and nothing is lost.
func hugePages(b []byte) {
	if len(b) < hugePage {
		return
	}
	first := int(-uintptr(unsafe.Pointer(&b[0])) % hugePage)
	if n := (len(b) - first) &^ (hugePage - 1); n > 0 {
		_ = syscall.Madvise(b[first:first+n], 14) // MADV_HUGEPAGE
	}
}
