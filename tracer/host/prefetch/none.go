//go:build !amd64 && !arm64

package prefetch

// Lines does nothing where the processor cannot be asked.
func Lines([]uintptr) {}
