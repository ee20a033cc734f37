package inductor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcdbg/graph"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/lower"
	"tcdbg/inductor/sched"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Options steer a compilation.
type Options struct {
	Target cpp.Target
	Cores  int    // shards that can be compiled at once
	Params []bool // placeholders that change rarely: a module's parameters
	// Replaces maps outputs to the placeholders, by position, whose content they
	// replace and nobody else wants: they may be written in place.
	Replaces map[int]int
	ID       logs.CompileID
	Log      logs.Sink // may be nil
	// Decisions ends the search for fusions after so many; 0: no limit, -1: nothing
	// is fused.
	Decisions int
}

// Compile turns a graph of core operators into a program.
func Compile(g *graph.Graph, opt Options) (*Program, error) {
	c, err := compile(g, opt)
	if err != nil {
		return nil, err
	}
	return c.out, nil
}

// compile is Compile with its insides, which Replay wants.
func compile(g *graph.Graph, opt Options) (*compiler, error) {
	start := time.Now()
	p, err := lower.Lower(g, lower.Options{Params: opt.Params})
	if err != nil {
		return nil, err
	}
	markOnce(p)
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("inductor: lowering of %s: %w", g.Name, err)
	}
	c := newCompiler(g, p, opt)
	c.out.IR = p.String()
	c.pass("lower", g.Code(), c.out.IR, start)
	c.schedule(g)
	start = time.Now()
	c.groups = sched.Schedule(p, sched.Options{Record: c.fusion, Decisions: opt.Decisions})
	if err := sched.CheckOrder(c.groups); err != nil {
		return nil, fmt.Errorf("inductor: %s: %w", g.Name, err)
	}
	c.pass("fuse", c.out.IR, groupsText(c.groups), start)
	c.generate(g)
	return c, nil
}

func newCompiler(g *graph.Graph, p *ir.Program, opt Options) *compiler {
	return &compiler{
		opt: opt, ir: p, slots: map[*ir.Buffer]int{}, sizes: map[string]int{}, shapes: map[string]string{},
		out: &Program{Name: g.Name, Entry: "tc_entry_" + graph.Word(g.Name), Lanes: opt.Target.Lanes},
	}
}

// generate makes the program of the groups.
func (c *compiler) generate(g *graph.Graph) {
	c.noteHoisted()
	c.kernels()
	c.buffers(g)
	c.plan()
	c.code()
	c.finish()
}

// compiler holds one compilation.
type compiler struct {
	opt     Options
	ir      *ir.Program
	groups  []*sched.Group
	ks      []*sched.Kernel // [] /* group */; nil for extern ones
	names   []string        // [] /* group */
	slots   map[*ir.Buffer]int
	sizes   map[string]int
	codes   []*cpp.Code       // [] /* group */
	shapes  map[string]string // kernel text without names -> symbol
	traffic *traffic
	hoisted map[*ir.Buffer]bool // made by the prologue
	check   *ir.Buffer          // set by kernels whose data is not as it must be; may be nil
	out     *Program
}

// fusion keeps and logs one decision of the scheduler.
func (c *compiler) fusion(s logs.FusionStep) {
	c.out.Fusions = append(c.out.Fusions, s)
	if c.opt.Log != nil {
		c.opt.Log.Emit(logs.Artifact(c.opt.ID, s))
	}
}

// groupsText prints a schedule: each group with its nodes.
func groupsText(groups []*sched.Group) string {
	var sb strings.Builder
	for _, g := range groups {
		sb.WriteString(g.String())
	}
	return sb.String()
}

func (c *compiler) pass(name, before, after string, start time.Time) {
	if c.opt.Log == nil {
		return
	}
	c.opt.Log.Emit(logs.Artifact(c.opt.ID, logs.PassStep{
		Stage: "inductor", Pass: name, Before: before, After: after, Micros: time.Since(start).Microseconds(),
	}))
}

// shared finds the buffers that more than one group touches: those that are
// read elsewhere, and those that several groups write in pieces.
func (c *compiler) shared() map[*ir.Buffer]bool {
	first := map[*ir.Buffer]*sched.Group{}
	out := map[*ir.Buffer]bool{}
	for _, g := range c.groups {
		touch := func(b *ir.Buffer, _ *ir.Index) {
			if first[b] == nil {
				first[b] = g
			}
			if first[b] != g {
				out[b] = true
			}
		}
		for _, it := range g.Items {
			it.Node.Reads(touch)
			it.Node.Writes(touch)
		}
	}
	return out
}

// kernels finishes the groups.
func (c *compiler) kernels() {
	shared := c.shared()
	for i, g := range c.groups {
		if g.Extern {
			n := g.Items[0].Node
			c.ks = append(c.ks, nil)
			c.names = append(c.names, "extern_"+n.Origins[0].Op+"_"+fmt.Sprint(i))
			continue
		}
		k := sched.NewKernel(g, func(b *ir.Buffer) bool { return b.Kind == ir.Result || shared[b] })
		k.Name = sched.KernelName(k.Origins(), i)
		c.ks = append(c.ks, k)
		c.names = append(c.names, k.Name)
	}
}

// buffers lists what needs memory and gives each its slot in the table of
// pointers.
func (c *compiler) buffers(g *graph.Graph) {
	add := func(b *ir.Buffer, role Role) {
		c.slots[b] = len(c.out.Buffers)
		c.out.Buffers = append(c.out.Buffers, Buffer{
			Name: b.Name, DType: b.DType, Shape: b.Shape, Stride: b.Stride,
			Span: b.Span(), Offset: -1, Role: role,
		})
	}
	for _, b := range c.ir.Inputs {
		if b == nil {
			c.out.Inputs = append(c.out.Inputs, -1)
			continue
		}
		c.out.Inputs = append(c.out.Inputs, len(c.out.Buffers))
		add(b, RoleInput)
	}
	private := map[*ir.Buffer]bool{}
	used := map[*ir.Buffer]bool{}
	for i, k := range c.ks {
		if k != nil {
			for b, place := range k.Place {
				private[b] = place != sched.Memory
			}
		}
		for _, it := range c.groups[i].Items {
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { used[b] = true })
		}
	}
	over := c.inPlace()
	for _, b := range c.ir.Buffers {
		switch {
		case b.Kind == ir.Input || !used[b] || private[b]:
		case c.once(b):
			add(b, RolePacked)
		case b.Kind == ir.Result:
			add(b, RoleOutput)
			if i, ok := over[b]; ok {
				last := &c.out.Buffers[len(c.out.Buffers)-1]
				last.Role, last.Over = RoleOver, i
			}
		default:
			add(b, RoleArena)
		}
	}
	if slices.ContainsFunc(c.ks, func(k *sched.Kernel) bool { return k != nil && k.Checks() }) {
		one := []sym.Int{sym.Const(1)}
		c.check = &ir.Buffer{Name: "check", DType: ops.Int64, Shape: one, Stride: one}
		add(c.check, RoleCheck)
	}
	c.symbols(g)
}

// symbols finds where each dynamic size can be read.
func (c *compiler) symbols(g *graph.Graph) {
	seen := map[*sym.Symbol]bool{}
	note := func(x sym.Int, input, dim int, stride bool) {
		if s, ok := x.AsSymbol(); ok && !seen[s] {
			seen[s] = true
			c.out.Symbols = append(c.out.Symbols, Symbol{Sym: s, Input: input, Dim: dim, Stride: stride})
		}
	}
	for i, ph := range g.Placeholders() {
		if x, ok := ph.Meta.(sym.Int); ok {
			note(x, i, -1, false)
		}
		if !ph.IsTensor() {
			continue
		}
		for d, x := range ph.TensorMeta().Shape {
			note(x, i, d, false)
		}
		for d, x := range ph.TensorMeta().Stride {
			note(x, i, d, true)
		}
	}
}

// plan places the arena's buffers by the steps at which they live.
func (c *compiler) plan() {
	lives := map[*ir.Buffer]*sched.Life{}
	var order []*ir.Buffer
	touch := func(b *ir.Buffer, step int) {
		slot, ok := c.slots[b]
		if !ok || c.out.Buffers[slot].Role != RoleArena {
			return
		}
		l := lives[b]
		if l == nil {
			l = &sched.Life{Name: b.Name, Bytes: b.Bytes(), From: step}
			lives[b] = l
			order = append(order, b)
		}
		l.To = step
	}
	for i, g := range c.groups {
		for _, it := range g.Items {
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { touch(b, i) })
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { touch(b, i) })
		}
	}
	for _, b := range order {
		c.out.lives = append(c.out.lives, lives[b])
		c.out.arena = append(c.out.arena, c.slots[b])
	}
	c.out.Arena = sched.Plan(c.out.lives)
	for i, l := range c.out.lives {
		c.out.Buffers[c.out.arena[i]].Offset = l.Offset
	}
	c.out.Plan = sched.MemoryPlan(c.out.lives, c.out.Arena)
}

// size numbers the expressions that kernels take as arguments.
func (c *compiler) size(x sym.Int) int {
	key := x.String()
	i, ok := c.sizes[key]
	if !ok {
		i = len(c.out.Sizes)
		c.sizes[key] = i
		c.out.Sizes = append(c.out.Sizes, x)
	}
	return i
}

// logged emits an artifact when somebody listens.
func (c *compiler) logged(a logs.Versioned) {
	if c.opt.Log != nil {
		c.opt.Log.Emit(logs.Artifact(c.opt.ID, a))
	}
}
