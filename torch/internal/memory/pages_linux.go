package memory

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// This file asks for huge pages, which the system gives where it has them. Memory that was in use before comes five times as fast
// in them, and what streams from memory crosses fewer of them. But on a virtual machine whose host takes back what is
// free, it is the huge pages that the host has to bring again, while small ones were in use a moment ago: then a first
// call takes twice as long. So some pages of memory that compiled code keeps are timed.

const (
	madvHugepage   = 14
	madvNohugepage = 15

	hugePage = 2 << 20
	// slowPage is well between 0.2 ms, of a page that was in use before, and 2 to 5 ms, of one that the host brings.
	slowPage = time.Millisecond
	// sample is how many bytes one timed page speaks for.
	sample = 8 << 20
	// patience is for how many bytes no huge pages are asked for after a slow one; firstPatience, of a process: one slow page
	// takes as long as all small ones of a small model.
	patience      = 256 << 20
	firstPatience = 16 << 20
)

// pages is how huge pages come in this process.
var pages = newPager(syscall.Madvise, touch)

type pager struct {
	without atomic.Int64 // so many bytes are mapped without huge pages
	advise  func(b []byte, advice int) error
	touch   func(at *byte) time.Duration
}

func newPager(advise func([]byte, int) error, touch func(*byte) time.Duration) *pager {
	p := &pager{advise: advise, touch: touch}
	p.without.Store(firstPatience)
	return p
}

// touch writes to a page that was not written to, and returns how long that took.
func touch(at *byte) time.Duration {
	start := time.Now()
	*at = 0
	return time.Since(start)
}

// hugeBytes maps n bytes. kept tells that compiled code keeps them.
func hugeBytes(n int, kept bool) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return alignedBytes(n)
	}
	if kept {
		pages.offer(b)
	} else {
		_ = pages.advise(b, madvHugepage) // a hint: without it pages are small
	}
	return b
}

// offer asks for huge pages for b, unless they have just been slow to come.
func (p *pager) offer(b []byte) {
	if p.without.Load() > 0 {
		p.without.Add(-int64(len(b)))
		return
	}
	at := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % hugePage)
	for ; at+hugePage <= len(b); at += sample {
		part := b[at:min(at+sample, len(b))]
		if p.advise(part, madvHugepage) != nil {
			return
		}
		if p.touch(&part[0]) > slowPage {
			_ = p.advise(part, madvNohugepage)
			p.without.Store(patience)
			return
		}
	}
}

// releaseHuge unmaps a block of hugeBytes; others are left to the collector.
func releaseHuge(b []byte) {
	if len(b) >= hugeBlock {
		_ = syscall.Munmap(b) // refuses what was not mapped, which is right
	}
}
