//go:build !linux

package parallel

// leaveProcessor would move the running thread off a processor.
func leaveProcessor(int) bool { return false }

// physicalCores is not known here.
func physicalCores(string) int { return 0 }
