package backends

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// cpuInfo is what code generation and the cache must know of the machine.
type cpuInfo struct {
	Lanes int    // float32 elements in a vector
	Cache int64  // bytes of the last-level cache
	Model string // its maker's name for it
	Flags string // model and instruction sets: part of the cache key
}

// thisCPU reads the machine's description once.
var thisCPU = sync.OnceValue(func() cpuInfo {
	c := cpuInfo{Lanes: 4, Cache: lastLevelCache(), Flags: runtime.GOARCH}
	text := firstCPU()
	c.Model = field(text, "model name")
	c.Flags += " " + field(text, "model name") + " " + field(text, "flags") + field(text, "Features")
	has := func(f string) bool { return strings.Contains(" "+c.Flags+" ", " "+f+" ") }
	switch {
	case has("avx512f") && has("avx512dq") && has("avx512bw") && has("avx512vl"):
		c.Lanes = 16
	case has("avx2") && has("fma"):
		c.Lanes = 8
	}
	return c
})

// firstCPU is the entry of the first core in /proc/cpuinfo.
func firstCPU() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	buf := make([]byte, 16<<10)
	n, err := io.ReadFull(f, buf)
	if err != nil && n == 0 {
		return ""
	}
	text, _, _ := bytes.Cut(buf[:n], []byte("\n\n"))
	return string(text)
}

func field(text, name string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// defaultCache is used where the kernel does not tell.
const defaultCache = 8 << 20

func lastLevelCache() int64 {
	for _, level := range []string{"3", "2"} {
		b, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cache/index" + level + "/size")
		if err != nil {
			continue
		}
		s, isK := strings.CutSuffix(strings.TrimSpace(string(b)), "K")
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && isK {
			return n << 10
		}
	}
	return defaultCache
}
