package app

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"syscall"

	"tcdbg/logs/regular"
)

// This file is the kernel-fault page: one page of the run folder, mapped
// shared by the engine's C runtime. Its signal handler fills the page when a
// fault happens inside a kernel and leaves with code 70; the viewer reads it.

// FaultPageSize is the size of the page, and the constants below are where its
// fields lie: the signal (0: no fault), the faulting address, and two names
// that end with NUL.
const (
	FaultPageSize = 4096
	faultSignalAt = 0   // int32
	faultAddrAt   = 8   // uint64
	faultGraphAt  = 64  // up to 447 bytes
	faultKernelAt = 512 // up to 511 bytes
	faultNamesEnd = 1024
)

// kernelFault is a fault that happened inside a compiled kernel.
type kernelFault struct {
	Signal        syscall.Signal
	Addr          uint64
	Graph, Kernel string
}

// newFaultPage makes the file of a run's page.
func newFaultPage(path string) error {
	return os.WriteFile(path, make([]byte, FaultPageSize), 0o644)
}

// fault is the kernel fault that ended the run's program; nil: none, or nobody knows.
func (r *Run) fault() *kernelFault {
	if r.unrecorded() {
		return nil
	}
	return readFault(r.file(faultFile))
}

// readFault reads the page; nil when no kernel faulted.
func readFault(path string) *kernelFault {
	page, err := regular.Read(path, FaultPageSize)
	if err != nil || len(page) < faultNamesEnd {
		return nil
	}
	sig := int32(binary.LittleEndian.Uint32(page[faultSignalAt:]))
	if sig == 0 {
		return nil
	}
	return &kernelFault{
		Signal: syscall.Signal(sig),
		Addr:   binary.LittleEndian.Uint64(page[faultAddrAt:]),
		Graph:  cString(page[faultGraphAt:faultKernelAt]),
		Kernel: cString(page[faultKernelAt:faultNamesEnd]),
	}
}

// cString is the text up to the first NUL, safe to print.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	if len(b) == 0 {
		return "(unknown)"
	}
	return shown(string(b))
}

// String is the one line that names graph and kernel.
func (f *kernelFault) String() string {
	return fmt.Sprintf("kernel fault: %s at address %#x in kernel %s of graph %s",
		signalName(f.Signal), f.Addr, f.Kernel, f.Graph)
}
