package parallel

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPhysicalCores: processors that share a core count once.
func TestPhysicalCores(t *testing.T) {
	var all cpuSet
	if _, ok := all.call(syscall.SYS_SCHED_GETAFFINITY); !ok {
		t.Skip("the system does not tell which processors may be used")
	}
	dir, n := t.TempDir(), 0
	if got := physicalCores(dir); got != 0 {
		t.Errorf("%d cores where nothing is told, want 0", got)
	}
	for cpu := range 64 * len(all) {
		if all[cpu/64]>>(cpu%64)&1 == 0 {
			continue
		}
		siblings := fmt.Sprintf("%d-%d\n", n&^1, n|1)
		n++
		topology := filepath.Join(dir, fmt.Sprintf("cpu%d/topology", cpu))
		if err := os.MkdirAll(topology, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(topology, "thread_siblings_list"), []byte(siblings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := physicalCores(dir), (n+1)/2; got != want {
		t.Errorf("%d cores of %d processors, two each, want %d", got, n, want)
	}
}
