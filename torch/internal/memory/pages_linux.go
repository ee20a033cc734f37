package memory

import "syscall"

// hugeBytes maps n bytes, in huge pages where the kernel has them.
func hugeBytes(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return alignedBytes(n)
	}
	const madvHugepage = 14
	_ = syscall.Madvise(b, madvHugepage) // a hint: without it pages are small
	return b
}

// releaseHuge unmaps a block of hugeBytes; others are left to the collector.
func releaseHuge(b []byte) {
	if len(b) >= hugeBlock {
		_ = syscall.Munmap(b) // refuses what was not mapped, which is right
	}
}
