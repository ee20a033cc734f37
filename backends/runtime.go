package backends

import (
	"embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"tcdbg/backends/codecache"
	"tcdbg/torch"
)

// runtimeFiles hold the library's text; runtimeText puts them in their order.
//
//go:embed runtime/*.c.txt
var runtimeFiles embed.FS

// runtimeParts are the files, each of which uses those before it.
var runtimeParts = []string{
	"units", "pool", "gemm", "half", "small", "thin", "runs", "short", "long", "halved", "planes", "pixels", "winograd", "depthwise",
	"conv", "endings", "direct", "made", "winoblocks", "winolots", "depthgrad", "grad", "tiles", "convtiles", "product", "attention",
	"softmax", "calls",
}

// runtimeText is the library, of which units.c.txt says what a unit has of it.
var runtimeText = sync.OnceValue(func() string {
	var sb strings.Builder
	for _, part := range runtimeParts {
		text, err := runtimeFiles.ReadFile("runtime/" + part + ".c.txt")
		if err != nil {
			panic(err)
		}
		sb.Write(text)
		sb.WriteByte('\n')
	}
	return sb.String()
})

// runtimeLevels are how far the compiler goes in each unit. Products and attention are as fast with the second level, measured with
// AVX-512, and take little more than half of the time to compile.
var runtimeLevels = []string{"-O2", "-O2", "-O3", "-O3", "-O3"}

// runtimeUnits are the library as units that are compiled side by side.
func runtimeUnits(flags []string) []unit {
	units := make([]unit, len(runtimeLevels))
	for i, level := range runtimeLevels {
		units[i] = unit{fmt.Sprintf("unit%d.c", i), runtimeText(), slices.Concat(flags, []string{fmt.Sprintf("-DTC_UNIT=%d", i), level})}
	}
	return units
}

// runtimeLib is the loaded runtime library. There is one of each width in a
// process: it owns the thread pool and the fault handler.
type runtimeLib struct {
	run, one, packed, regions uintptr
	threads                   int
	bfloat                    bfloatWays // of the processor
	leftOut                   uintptr    // how many panels attentions have left out
}

// runtimes holds the loaded libraries by path, so that several sets in one
// process (tests) share a pool.
var runtimes struct {
	sync.Mutex
	byPath map[string]*runtimeLib
}

// loadRuntime builds the library, once per machine, loads it and starts its
// pool and its fault handler.
func (e *engine) loadRuntime() (*runtimeLib, error) {
	flags := append([]string{fmt.Sprintf("-DTC_LANES=%d", e.lanes)}, runtimeFlags...)
	if e.set.cfg.BFloat == MadeUpTiles {
		flags = append(flags, "-DTC_TILES")
	}
	var lib *runtimeLib
	_, err := e.cache.Load(codecache.Request{
		Kind:  codecache.Runtime,
		Parts: []string{runtimeText(), strings.Join(flags, " "), strings.Join(runtimeLevels, " "), e.cc.id, e.cpu.Flags},
		Build: func(dir, out string) error { return e.cc.build(dir, runtimeUnits(flags), nil, out) },
		Load: func(path string) (err error) {
			lib, err = e.runtimeAt(path)
			return err
		},
	})
	return lib, err
}

// runtimeAt is the library at path, which is started when it is loaded first.
func (e *engine) runtimeAt(path string) (*runtimeLib, error) {
	runtimes.Lock()
	defer runtimes.Unlock()
	if r := runtimes.byPath[path]; r != nil {
		return r, nil
	}
	r, err := e.startRuntime(path)
	if err != nil {
		return nil, err
	}
	if runtimes.byPath == nil {
		runtimes.byPath = map[string]*runtimeLib{}
	}
	runtimes.byPath[path] = r
	return r, nil
}

func (e *engine) startRuntime(path string) (*runtimeLib, error) {
	lib, err := dlopen(path)
	if err != nil {
		return nil, err
	}
	syms := map[string]uintptr{}
	for _, name := range []string{
		"tc_start", "tc_faults", "tc_trap", "tc_run", "tc_run_one", "tc_packed", "tc_regions", "tc_bfloat", "tc_left_out",
	} {
		if syms[name], err = dlsym(lib, name); err != nil {
			return nil, err
		}
	}
	threads := e.set.cfg.Threads
	if threads <= 0 {
		threads = torch.GetNumThreads()
	}
	page, err := mapFaultPage(e.set.cfg.FaultPage)
	if err != nil { // no fault of the library
		e.set.warnOnce("%v: a fault in a kernel would not be explained", err)
	}
	ccall(syms["tc_faults"], page)
	if t := e.set.cfg.Trap; t != "" {
		kernel, where, _ := strings.Cut(t, ",")
		if kernel == "*" {
			kernel = ""
		}
		worker := uintptr(0)
		if where == "pool" {
			worker = 1
		}
		ccall(syms["tc_trap"], uintptr(unsafe.Pointer(cstring(kernel))), worker)
	}
	n := ccall(syms["tc_start"], uintptr(threads))
	return &runtimeLib{
		run: syms["tc_run"], one: syms["tc_run_one"], packed: syms["tc_packed"], regions: syms["tc_regions"], threads: int(n),
		bfloat: bfloatWays(ccall(syms["tc_bfloat"])), leftOut: syms["tc_left_out"],
	}, nil
}

// faultPageSize is the size of the page that internal/app lays out.
const faultPageSize = 4096

// mapFaultPage maps the page for the life of the process; 0 without one.
func mapFaultPage(path string) (uintptr, error) {
	if path == "" {
		return 0, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, fmt.Errorf("kernel-fault page: %w", err)
	}
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), 0, faultPageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return 0, fmt.Errorf("kernel-fault page: %w", err)
	}
	return uintptr(unsafe.Pointer(&mem[0])), nil
}

// pinned keeps C strings that C holds on to.
var pinned sync.Map

// cstring returns a copy of s with a final zero that lives as long as the
// process.
func cstring(s string) *byte {
	if p, ok := pinned.Load(s); ok {
		return p.(*byte)
	}
	b := make([]byte, len(s)+1)
	copy(b, s)
	p, _ := pinned.LoadOrStore(s, &b[0])
	return p.(*byte)
}
