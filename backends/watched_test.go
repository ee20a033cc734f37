package backends

import (
	"slices"
	"testing"

	"tcdbg/torch"
	"tcdbg/tracer"
)

// witness notes what it is told of kernels.
type witness struct {
	on     bool
	before []string
	after  []string
}

func (w *witness) Kernels() bool { return w.on }

func (w *witness) BeforeKernel(k *tracer.KernelRun) { w.before = append(w.before, k.Name) }

func (w *witness) AfterKernel(k *tracer.KernelRun) {
	w.after = append(w.after, k.Name)
	if k.Graph != "timed" || len(k.Inputs) == 0 || len(k.Outputs) == 0 || len(k.Ops) == 0 {
		w.after = append(w.after, "incomplete")
	}
}

// TestWatchedKernels: a debugger is told of every kernel in its order, with what it reads and
// writes, and the results are those of a run without one, bit for bit.
func TestWatchedKernels(t *testing.T) {
	configs := map[string]Config{"plain": {CC: "none", CacheDir: t.TempDir()}}
	if _, err := findCompiler(""); err == nil && canLoad {
		configs["compiled"] = Config{CacheDir: sharedCache}
	}
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			_, run, in := timedProgramWith(t, cfg, w)
			want := run(in)
			if len(w.before) > 0 {
				t.Errorf("told of %v although nothing is wanted", w.before)
			}
			w.on = true
			got := run(in)
			order := []string{"fused_exp_tan_sin_0", "fused_neg_1", "extern_sort_2"}
			if len(w.before) < 4 || !slices.Equal(w.before[:3], order) || !slices.Equal(w.before, w.after) {
				t.Errorf("before %v, after %v", w.before, w.after)
			}
			for i := range want {
				a, b := want[i].(*torch.Tensor), got[i].(*torch.Tensor)
				if !slices.Equal(a.Storage().Bytes(), b.Storage().Bytes()) {
					t.Errorf("result %d differs", i)
				}
			}
		})
	}
}
