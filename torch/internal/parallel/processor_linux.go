package parallel

import (
	"runtime"
	"syscall"
	"unsafe"
)

// This file is the way to move a thread on Linux.

// cpuSet is a mask of processors as the system reads it.
type cpuSet [1024 / 64]uint64

func (s *cpuSet) call(number uintptr) (bytes int, ok bool) {
	n, _, err := syscall.RawSyscall(number, 0, unsafe.Sizeof(*s), uintptr(unsafe.Pointer(s)))
	return int(n), err == 0
}

// leaveProcessor moves the running thread off a processor, if it may use another one,
// and reports whether it did. Afterwards it may use what it could before.
func leaveProcessor(cpu int) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all cpuSet
	if _, ok := all.call(syscall.SYS_SCHED_GETAFFINITY); !ok || cpu >= 64*len(all) {
		return false
	}
	others := all
	others[cpu/64] &^= 1 << (cpu % 64)
	if others == (cpuSet{}) {
		return false
	}
	_, moved := others.call(syscall.SYS_SCHED_SETAFFINITY)
	_, back := all.call(syscall.SYS_SCHED_SETAFFINITY)
	return moved && back
}
