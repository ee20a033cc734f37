package jobs

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file stops the process by SIGTSTP after Go has caught it: the runtime never gives it
// back its default action.

// catchesStops says whether a stop from another process can be caught.
const catchesStops = true

const getTermios = unix.TCGETS

// stopByDefault lets SIGTSTP stop the process until back is called.
func stopByDefault() (back func()) {
	var plain, caught [8]uint64 // the kernel's struct sigaction, all zero for SIG_DFL
	const setSize = 8
	act := func(set, old *[8]uint64) syscall.Errno {
		_, _, errno := syscall.RawSyscall6(
			syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGTSTP), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), setSize, 0, 0,
		)
		return errno
	}
	if act(&plain, &caught) != 0 {
		return func() {}
	}
	return func() { _ = act(&caught, nil) }
}
