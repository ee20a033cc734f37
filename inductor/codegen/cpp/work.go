package cpp

import (
	"cmp"
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
)

// This file tells functions that a call spends time in from those that it does not: for the
// latter a compiler need not do its best, which takes it twice as long.

// ManyKernels is from how many kernels on those of little work are units of their own.
const ManyKernels = 64

// work is what a call of a kernel computes, in simple operations on elements: in the kernel's
// own function, and in a product of the runtime library.
type work struct{ own, product int64 }

func workOf(k *sched.Kernel) work {
	outer, inner := int64(1), int64(1)
	for i, l := range k.Loops {
		if n := max(1, ir.HintOf(l.Size)); i < k.Outer || k.Group.Template {
			outer *= n
		} else {
			inner *= n
		}
	}
	var w work
	for i := range k.Steps {
		st := &k.Steps[i]
		if st.Node.MM != nil {
			w.product += outer * max(1, ir.HintOf(st.Node.MM.K))
		}
		n := outer
		if st.Inner {
			n *= inner
		}
		for j := range st.Body {
			w.own += n * st.Body[j].Op.Cost()
		}
	}
	return w
}

const (
	// littleWork is what takes a few microseconds.
	littleWork = 1 << 17
	// coldShare is one over the share of a call that may go by in functions with more than that.
	coldShare = 128
	// productsPerOp is how many multiply-adds of a product take as long as a simple operation on
	// elements, which come from a cache or memory.
	productsPerOp = 4
)

// apart parts functions into those that a call of the program spends its time in and others,
// each in their order.
func apart(functions []function, codes []*Code) (hot, cold []function) {
	total := int64(0)
	for _, c := range codes {
		if c != nil {
			total += c.work.own + c.work.product/productsPerOp
		}
	}
	byWork := slices.Clone(functions)
	slices.SortStableFunc(byWork, func(x, y function) int { return cmp.Compare(x.work, y.work) })
	limit, sum := int64(littleWork), int64(0)
	for _, f := range byWork {
		if sum += f.work; sum > total/coldShare {
			break
		}
		limit = max(limit, f.work)
	}
	for _, f := range functions {
		if f.work <= limit {
			cold = append(cold, f)
		} else {
			hot = append(hot, f)
		}
	}
	return hot, cold
}
