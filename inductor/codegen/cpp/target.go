package cpp

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/inductor/codegen"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file makes C a target: it distributes the kernels over translation units,
// writes the entry that runs a segment of them, and the listing that people read.

// Target writes C for a machine.
type Target struct {
	Machine
	Cores int // shards that can be compiled at once
	// Forms are those of convolutions that were chosen by timing, by their keys.
	Forms map[string]int
}

// Name is the language.
func (t *Target) Name() string { return "c" }

// repaid is how many products have to read a weight that training changes to have it packed before them.
const repaid = 4

// Packing packs a product's right operand and a convolution's weight where they are
// parameters. What training changes would have to be packed again in each step, all of it at
// once, to memory and back: it is packed where it is used instead, but for the weight of a recurrent net, which the
// products of so many steps read, each of a few rows.
func (t *Target) Packing(p *plan.Plan, n *ir.Node, uses int) (*ir.Buffer, plan.ConvForm, int64) {
	mm := n.MM
	if mm.Conv != nil {
		return t.packedFilter(p, n)
	}
	if mm.Grad != nil {
		return nil, 0, 0
	}
	k, kok := mm.K.IsConst()
	cols, nok := n.Outer[len(n.Outer)-1].IsConst()
	if !p.Fixed(mm.B) || mm.B.Trained && uses < repaid || !kok || !nok || usesBatch(mm.BIdx, len(n.Outer)-2) {
		return nil, 0, 0
	}
	if uses == 1 && readInRuns(n) {
		return nil, 0, 0
	}
	width := int64(2 * t.Lanes)
	switch {
	case mm.B.DType == ops.BFloat16 && t.BFloat == BFloatTiles: // of 32 rows each
		k = (k + 31) / 32 * 16
	case mm.B.DType != ops.Float32: // two numbers in the place of one
		k = (k + 1) / 2
	}
	return mm.B, 0, (cols + width - 1) / width * width * k
}

// A product of a row or two (FewRows) reads a right operand of so many numbers (LargeRight) where it lies as fast as a packed
// copy, where its columns are runs of LongRun numbers and more, as in the weights of a linear layer. The runtime has the same numbers
// for operands that are not packed; it reads them so for some more rows.
const (
	FewRows    = 2
	LongRun    = 256
	LargeRight = 1 << 20
)

// readInRuns reports whether the product of n reads its right operand so. No copy is made then, for which the first call would
// have to find memory.
func readInRuns(n *ir.Node) bool {
	nb := len(n.Outer) - 2
	for _, x := range n.Outer[:nb] {
		if !sym.Is(x, 1) {
			return false
		}
	}
	rows, static := n.Outer[nb].IsConst()
	k, _ := n.MM.K.IsConst()
	cols, _ := n.Outer[nb+1].IsConst()
	return static && rows <= FewRows && k >= LongRun && k*cols >= LargeRight &&
		n.MM.B.DType == ops.Float32 && sym.Is(n.MM.BIdx.Coef[nb+2], 1)
}

// packedFilter packs the weight of a convolution, a panel of channels after another for
// each group.
func (t *Target) packedFilter(p *plan.Plan, n *ir.Node) (*ir.Buffer, plan.ConvForm, int64) {
	if !packsFilter(n, p.Fixed) {
		return nil, 0, 0
	}
	v := n.ConvView()
	k, channels, groups := sym.Force(n.MM.K), sym.Force(v.Channels), sym.Force(v.Groups)
	form := unpackedForm(t.Lanes, n)
	if pixels, ok := v.Pixels.IsConst(); ok && groups == 1 {
		form = ChooseConv(t.Machine, channels, k, pixels, n.MM.Conv)
	}
	if chosen, ok := t.Forms[convKey(n)]; ok && slices.Contains(convForms(t.Lanes, n), plan.ConvForm(chosen)) {
		form = plan.ConvForm(chosen)
	}
	if t.convTiles(n) {
		form = plan.ConvTiles
	}
	return v.Weight, form, PackedConv(form, t.Lanes, groups, channels/groups, packedTerms(form, k, n.MM.Conv))
}

// packsFilter reports whether the weight of a convolution is packed: it changes with parameters alone, and not in training.
func packsFilter(n *ir.Node, fixed func(*ir.Buffer) bool) bool {
	v := n.ConvView()
	return fixed(v.Weight) && !v.Weight.Trained && sym.AllConst([]sym.Int{n.MM.K, v.Channels, v.Groups})
}

// PacksTiles reports whether tiles, or the dot product, multiply a convolution, which then may read an image of bfloat16.
func (m Machine) PacksTiles(n *ir.Node, fixed func(*ir.Buffer) bool) bool {
	return packsFilter(n, fixed) && m.convTiles(n)
}

func usesBatch(x ir.Index, nb int) bool {
	for k := range nb {
		if x.Uses(k) {
			return true
		}
	}
	return false
}

// kernelsPerShard is how many kernels are worth a compiler process of their own.
const kernelsPerShard = 8

// maxShards bounds the compiler processes of one graph.
const maxShards = 8

// module is one program in C.
type module struct {
	*Target
	plan    *plan.Plan
	codes   []*Code        // [] /* group */
	numbers map[string]int // size expression -> its position in sizes
	sizes   []sym.Int
	build   *codegen.Build
}

// Writer begins the module of a plan.
func (t *Target) Writer(p *plan.Plan) codegen.Writer {
	return &module{Target: t, plan: p, codes: make([]*Code, len(p.Kernels)), numbers: map[string]int{}}
}

// Kernel generates one kernel.
func (m *module) Kernel(i int) (*codegen.Code, error) {
	env := &Env{Machine: m.Machine, Slot: m.plan.Slot, Size: m.size, Streams: m.streams(i), Packing: m.plan.PackOf(i), Check: m.plan.Check}
	if a := m.plan.AttentionAt(i); a != nil {
		if a.Softmax != nil {
			env.Remark = seldomRun
		}
		if a.Causal != nil && i == a.First {
			env.Causal = a.Causal
		}
		env.Ends = a.Causal != nil && i == a.First+1
	}
	m.codes[i] = Kernel(env, m.plan.Kernels[i])
	return &codegen.Code{Text: m.codes[i].Text, Lines: m.codes[i].Lines}, nil
}

// streams tells for the buffers that a step writes whether they are stored past
// the caches.
func (m *module) streams(step int) func(b *ir.Buffer) bool {
	return func(b *ir.Buffer) bool {
		if k := m.plan.Kernels[step]; k.Rereads(b) || slices.Contains(k.Cached, b) {
			return false
		}
		return m.plan.UntilRead(b, step) > m.Cache && m.plan.SinceRead(b, step) > m.Cache
	}
}

// size numbers the expressions that kernels take as arguments.
func (m *module) size(x sym.Int) int {
	key := x.String()
	i, ok := m.numbers[key]
	if !ok {
		i = len(m.sizes)
		m.numbers[key] = i
		m.sizes = append(m.sizes, x)
	}
	return i
}

func (m *module) sizeText(x sym.Int) string {
	if v, ok := x.IsConst(); ok {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("S[%d]", m.size(x))
}

// Head links the shards, by which all sizes are known, and lists what a run does.
func (m *module) Head() string {
	m.link()
	return m.callText()
}

// Gap parts the kernels.
func (m *module) Gap() string { return "\n" }

// Tail is empty: the entry is for the compiler alone.
func (m *module) Tail() (string, error) { return "", nil }

// Build is the translation units.
func (m *module) Build() *codegen.Build { return m.build }

// link writes the entry function and puts the translation units together.
func (m *module) link() {
	functions := functions(m.codes)
	b := &codegen.Build{Entry: "tc_entry", Lanes: m.Lanes}
	entry := Entry(b.Entry, m.segments())
	b.Sizes = m.sizes
	hot, cold := functions, []function(nil)
	if len(m.codes) >= ManyKernels {
		hot, cold = apart(functions, m.codes)
	}
	if len(hot) > 0 || len(cold) == 0 {
		m.units(b, hot, len(entry))
	}
	if len(cold) > 0 {
		b.Cold = -len(b.Shards)
		m.units(b, cold, len(entry))
		b.Cold += len(b.Shards)
	}
	b.Shards[0] += entry
	for _, f := range functions {
		if f.own {
			b.Start += f.text
		}
	}
	b.Start += entry
	m.build = b
}

// units adds translation units of functions; the entry function is to be in the first of all.
func (m *module) units(b *codegen.Build, functions []function, entry int) {
	if len(b.Shards) > 0 {
		entry = 0
	}
	n := max(1, min(m.Cores, (len(functions)+kernelsPerShard-1)/kernelsPerShard, maxShards))
	for _, s := range shards(functions, n, entry) {
		head := s.prelude.text()
		b.Heads = append(b.Heads, head)
		b.Libm = b.Libm || s.prelude.libm
		b.Shards = append(b.Shards, head+"\n"+withoutComments(s.body.String()))
	}
}

// segments are the kernels of each segment; the prologue's also pack the weights.
func (m *module) segments() []Segment {
	var out []Segment
	for _, st := range m.plan.Steps {
		if st.Segment >= 0 {
			out = append(out, m.segment(st.Groups))
		}
	}
	for _, st := range m.plan.Prologue {
		var s Segment
		for i, group := range st.Groups {
			if k := m.plan.ProloguePack(i); k != nil {
				s.Kernels = append(s.Kernels, m.pack(k))
			} else {
				s.Kernels = append(s.Kernels, m.codes[group])
			}
		}
		out = append(out, s)
	}
	return out
}

func (m *module) segment(groups []int) Segment {
	var s Segment
	for _, i := range groups {
		if a := m.plan.AttentionAt(i); a != nil && a.First == i {
			m.codes[i].attention = m.attention(a)
		}
		s.Kernels = append(s.Kernels, m.codes[i])
	}
	return s
}

// pack is the prologue's call that packs an operand.
func (m *module) pack(k *plan.Packing) *Code {
	mm, outer := k.Node.MM, k.Node.Outer
	nb := len(outer) - 2
	if mm.Conv != nil {
		return m.packFilter(k)
	}
	return m.packRight(k, outer[nb+1], mm.BIdx.Coef[nb+2], mm.BIdx.Coef[nb+1], mm.BIdx.Off)
}

// packRight packs a right operand of cols columns: row and col are its strides along k
// and from column to column.
func (m *module) packRight(k *plan.Packing, cols, row, col, off sym.Int) *Code {
	return &Code{Name: k.Name(), Pack: true, Text: fmt.Sprintf(
		"{ const tc_gemm_args g = {0, %s, %s, 0, {0}, {0}, {0}, 0, 0, %s, %s, 0, %s, 0, 0%s}; R->pack(&g, "+
			"(float *)B[%d], \"pack_%s\"); }  // for %s",
		m.sizeText(cols), m.sizeText(k.Node.MM.K), m.sizeText(row), m.sizeText(col),
		locate(k.Operand, m.plan.Slot(k.Operand), m.sizeText(off)).text(), m.typeText(k.Operand.DType),
		m.plan.Slot(k.Buffer), k.Operand.Name, m.plan.Names[k.Groups[0]])}
}

// packFilter packs the weight of a convolution.
func (m *module) packFilter(k *plan.Packing) *Code {
	n, v := k.Node, k.Node.ConvView()
	return &Code{Name: k.Name(), Pack: true, Text: fmt.Sprintf(
		"{ const tc_gemm_args g = {%s, 0, %s, 2, {1, %s}, {0, %s}, {0}, %s, %s, 0, 0, (const float *)B[%d] + %s, 0, 0, 0%s}; "+
			"R->pack(&g, (float *)B[%d], \"pack_%s\"); }  // for %s",
		m.sizeText(v.Rows), m.sizeText(n.MM.K), m.sizeText(v.Groups), m.sizeText(v.NextFilter), m.sizeText(v.Row), m.sizeText(v.K),
		m.plan.Slot(v.Weight), m.sizeText(v.WeightOff), convText(m.Lanes, n, k),
		m.plan.Slot(k.Buffer), v.Weight.Name, m.plan.Names[k.Groups[0]])}
}

// computedOnTiles is said of an attention that is a softmax.
const computedOnTiles = "// what they make is softmax of sums times %g: the runtime computes that itself, on the tiles of the first " +
	"product; these three\n// run step by step, where their operands fit no cache and where numbers are too large for it\n"

// seldomRun is said of each of its three kernels.
const seldomRun = "of an attention whose softmax the runtime computes itself: this runs\n" +
	"where that cannot (operands beyond the caches, huge numbers) and in\nsingle steps"

// callText lists what a run does, step by step.
func (m *module) callText() string {
	var sb strings.Builder
	fmt.Fprintf(
		&sb, "// %s: %d kernels, %d extern calls, arena %d bytes\n", m.plan.Name, m.plan.Count(false),
		m.plan.Count(true), m.plan.Arena,
	)
	for i, s := range m.sizes {
		fmt.Fprintf(&sb, "// S[%d] = %s\n", i, s)
	}
	for i, b := range m.plan.Buffers {
		place := [...]string{"input", "arena", "output", "packed", "in place of ", "check"}[b.Role]
		if b.Role == plan.RoleOver {
			place += m.plan.IR.Inputs[b.Over].Name
		}
		if b.Role == plan.RoleArena {
			place = fmt.Sprintf("arena+%d", b.Offset)
		}
		fmt.Fprintf(
			&sb, "// B[%d] = %s: %s%s stride %s, %s\n", i, b.Name, b.DType.Short(), ops.ShapeText(b.Shape),
			ops.ShapeText(b.Stride), place,
		)
	}
	for _, k := range m.plan.HoistedKernels() {
		fmt.Fprintf(&sb, "// once %s\n", k.Name)
	}
	for _, st := range m.plan.Steps {
		if st.Extern != nil {
			fmt.Fprintf(&sb, codegen.FlowMark+"%s  (%s)\n", st.Extern.Name, st.Extern.Reason)
			if st.Extern.Flow != nil {
				for _, line := range m.plan.FlowText(st.Extern) {
					fmt.Fprintf(&sb, codegen.FlowIndent+"%s\n", line)
				}
			}
			continue
		}
		for i, k := range st.Kernels {
			if a := m.plan.AttentionAt(st.Groups[i]); a != nil && a.First == st.Groups[i] {
				fmt.Fprintf(
					&sb, "// the next three run together, a band of rows at a time: %s and %s hold one band and stay in a cache\n",
					a.Scores.Name, a.Weights.Name,
				)
				if a.Softmax != nil {
					fmt.Fprintf(&sb, computedOnTiles, a.Softmax.Scale)
				}
				if a.Causal != nil {
					fmt.Fprintf(&sb, "// of a row no more than the first columns are computed, up to its own and %s\n", a.Causal.Past)
				}
			}
			fmt.Fprintf(&sb, "// run  %s\n", k.Name)
		}
	}
	return sb.String()
}
