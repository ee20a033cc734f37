package explain

import (
	"cmp"
	"fmt"
	"slices"
)

// This file is what the measured times of kernels say: time of a call, share,
// bytes and operations a second.

// CallNanos is what one call of the kernel takes, from the calls that were timed.
func (k *Kernel) CallNanos() (ns float64, known bool) {
	if k.Timed <= 0 || k.Nanos < 0 {
		return 0, false
	}
	return float64(k.Nanos) / float64(k.Timed), true
}

// RunNanos estimates what all calls of the kernel took: the untimed ones as long
// as the timed ones.
func (k *Kernel) RunNanos() float64 {
	ns, _ := k.CallNanos()
	return ns * float64(k.Calls)
}

// GBPerSecond is the memory traffic of a call over its time, 0 where one of them
// is unknown.
func (k *Kernel) GBPerSecond() float64 { return k.rate(k.Bytes) }

// GFLOPPerSecond is the same of arithmetic.
func (k *Kernel) GFLOPPerSecond() float64 { return k.rate(k.FLOPs) }

func (k *Kernel) rate(n int64) float64 {
	ns, ok := k.CallNanos()
	if !ok || ns == 0 || n <= 0 {
		return 0
	}
	return float64(n) / ns
}

// Backward reports whether the kernel belongs to the graph of a backward pass.
func (k *Kernel) Backward() bool { return k.Output != nil && k.Output.Role == "backward" }

// KernelNanos is the time of all kernels in all calls, 0 where none was timed.
func (r *Report) KernelNanos() float64 {
	var total float64
	for _, k := range r.Kernels {
		total += k.RunNanos()
	}
	return total
}

// BackwardNanos is the part of KernelNanos in graphs of backward passes.
func (r *Report) BackwardNanos() float64 {
	var total float64
	for _, k := range r.Kernels {
		if k.Backward() {
			total += k.RunNanos()
		}
	}
	return total
}

// CostliestKernels are the kernels, those that took most first where times are
// known; total is the time of all.
func CostliestKernels(r *Report) (list []*Kernel, total float64) {
	if total = r.KernelNanos(); total == 0 {
		return r.Kernels, 0
	}
	list = slices.Clone(r.Kernels)
	slices.SortStableFunc(list, func(a, b *Kernel) int { return cmp.Compare(b.RunNanos(), a.RunNanos()) })
	return list, total
}

// TimeText is a call's time, the kernel's share of the time of all, how often it ran and
// its rates, in columns.
func (k *Kernel) TimeText(total float64) string {
	ns, ok := k.CallNanos()
	switch {
	case k.Calls < 0:
		return fmt.Sprintf("%12s", "not measured")
	case k.Calls == 0:
		return fmt.Sprintf("%12s", "never ran")
	case !ok:
		return fmt.Sprintf("%12s %5s %12s", "not timed", "", Count(int(k.Calls), "call"))
	}
	s := fmt.Sprintf("%9.1f us %3.0f %% %12s", ns/1e3, 100*k.RunNanos()/total, Count(int(k.Calls), "call"))
	if v := k.GBPerSecond(); v > 0 {
		s += fmt.Sprintf(" %6.1f GB/s", v)
	}
	if v := k.GFLOPPerSecond(); v > 0 {
		s += fmt.Sprintf(" %6.1f GFLOP/s", v)
	}
	return s
}
