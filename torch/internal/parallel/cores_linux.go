package parallel

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"syscall"
)

// This file counts the cores of a Linux machine.

// physicalCores counts the cores of the processors that the process may use, as the folder dir of
// the system tells of them: processors of one core name the same siblings. It is 0 where one tells nothing.
func physicalCores(dir string) int {
	var all cpuSet
	if _, ok := all.call(syscall.SYS_SCHED_GETAFFINITY); !ok {
		return 0
	}
	cores := map[string]bool{}
	for word, set := range all {
		for ; set != 0; set &= set - 1 {
			cpu := 64*word + bits.TrailingZeros64(set)
			siblings, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("cpu%d/topology/thread_siblings_list", cpu)))
			if err != nil {
				return 0
			}
			cores[string(siblings)] = true
		}
	}
	return len(cores)
}
