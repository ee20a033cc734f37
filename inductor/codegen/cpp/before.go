package cpp

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
)

// This file writes what makes the image of a convolution. It is a part of the epilogue's
// function, which the runtime asks for it by a number of rows below 0: pixels n0 to n0 + n of
// block m0 of image b are stored at T, a vector of channels for each.

// before writes that part, where the kernel has one.
func (e template) before() {
	b := e.k.Before
	if b == nil {
		return
	}
	k, names, lanes := e.k, e.names, e.lanes
	image := k.Steps[0].Node.MM.A
	block, _ := b.Loops[3].Size.IsConst()
	own := *b
	own.Place = map[*ir.Buffer]sched.Place{}
	for w := range b.Place {
		own.Place[w] = sched.Register
	}
	e.k, e.names = &own, []string{"b", "m0", "pixel", "lane"}
	e.lanes = min(lanes, int(block))
	e.code.widths = append(e.code.widths, e.lanes)
	e.open("if (m < 0)")
	if int(block) == e.lanes {
		e.names[3] = "0"
	} else {
		e.open("for (i64 lane = 0; lane < %d; lane += %d)", block, e.lanes)
	}
	still := func(v *ir.Value) bool { return !v.Index.Uses(2) }
	e.copies = "_b"
	for i := range own.Steps {
		e.loads(i, still)
	}
	e.open("for (i64 q = 0; q < n; q++)")
	e.p("const i64 pixel = n0 + q;")
	for i := range own.Steps {
		e.others(i, still)
	}
	e.p("*(f%du *)((float *)T + %d * q + %s) = %s;", e.lanes, block, e.names[3], e.regs[image].text)
	e.close()
	if int(block) != e.lanes {
		e.close()
	}
	e.p("return;")
	e.close()
	e.k, e.names, e.lanes, e.copies = k, names, lanes, ""
	clear(e.vals)
	clear(e.regs)
}

// loads writes what step i loads for all pixels of a block.
func (e template) loads(i int, still func(v *ir.Value) bool) {
	st := &e.k.Steps[i]
	for j := range st.Body {
		if v := &st.Body[j]; v.Op == ir.Load && !e.own(v.Buf) && still(v) {
			e.value(i, j, e.lanes, false)
		}
	}
}

// others writes what loads leaves.
func (e template) others(i int, still func(v *ir.Value) bool) {
	st := &e.k.Steps[i]
	for j := range st.Body {
		if v := &st.Body[j]; v.Op != ir.Load || e.own(v.Buf) || !still(v) {
			e.value(i, j, e.lanes, false)
		}
	}
}

// withBefore are the steps of a kernel and of what makes its image.
func withBefore(k *sched.Kernel) []sched.Step {
	if k.Before == nil {
		return k.Steps
	}
	return append(slices.Clone(k.Before.Steps), k.Steps...)
}
