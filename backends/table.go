package backends

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"tcdbg/inductor"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer"
)

// Config is what the backends of a process share.
type Config struct {
	CC       string // C compiler; empty: $CC, then cc, gcc, clang; "none": the interpreter
	CacheDir string // compiled code, an absolute path; empty: $XDG_CACHE_HOME/tcdbg or ~/.cache/tcdbg
	// Guard is the command, without its last argument, the cache's folder, of a process
	// that runs Guard; empty: compilers may outlive this process when it is killed.
	Guard     []string
	FaultPage string    // file that a faulting kernel reports to; empty: none
	Threads   int       // of the kernels' pool; 0: torch.GetNumThreads() when it starts
	Lanes     int       // float32 elements in a vector; 0: what the CPU has
	Trap      string    // for tests: "KERNEL" or "KERNEL,pool" faults on purpose; empty: $TCDBG_TRAP_KERNEL
	Stderr    io.Writer // for warnings; nil: os.Stderr
	// BFloat is for tests: how products of bfloat16 are computed; zero: as is fastest.
	BFloat BFloatUse

	Faults *inductor.Faults // for tests: wrong on purpose
}

// Set is the backends of one process.
type Set struct {
	cfg     Config
	once    sync.Once
	started atomic.Bool // the engine has
	eng     *engine     // of the inductor backend
	warn    sync.Map
	widths  sync.Map     // lanes -> *engine, where they are not the machine's
	lowered atomic.Int64 // graphs that were compiled to C; those that were found are not
	pure    atomic.Int64 // captured graphs that were made pure; the same

	profiled profiled
}

// NewSet returns the backends with one configuration.
func NewSet(cfg Config) *Set {
	if cfg.Stderr == nil {
		cfg.Stderr = os.Stderr
	}
	if cfg.Trap == "" {
		cfg.Trap = os.Getenv("TCDBG_TRAP_KERNEL")
	}
	return &Set{cfg: cfg}
}

// row makes one backend of a set.
type row struct {
	name, doc string
	make      func(s *Set) tracer.Backend
}

var rows = []row{
	{"aot_eager", "the graph after decomposition, run operator by operator", func(*Set) tracer.Backend { return aotEager{} }},
	{"eager", "the graph as captured, run operator by operator", func(*Set) tracer.Backend { return eager{} }},
	{"inductor", "fused kernels in C", func(s *Set) tracer.Backend { return &inductorBackend{s} }},
}

// Names lists the backends.
func Names() []string {
	var out []string
	for _, r := range rows {
		out = append(out, r.name)
	}
	return out
}

// Get returns the backend of that name.
func (s *Set) Get(name string) (tracer.Backend, error) {
	if err := modes.CheckBackend(name); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
	return rows[i].make(s), nil
}

// Note writes what is no error to the warnings, once.
func (s *Set) Note(text string) { s.warnOnce("%s", text) }

// warnOnce writes a warning the first time that it comes up.
func (s *Set) warnOnce(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if _, said := s.warn.LoadOrStore(text, true); !said {
		fmt.Fprintln(s.cfg.Stderr, "tcdbg: "+text)
	}
}
