package inductor

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/graph"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/inductor/tune"
	"tcdbg/logs"
	"tcdbg/ops"
)

// This file replays the schedule after any fusion decision from what the
// trace holds: the graph as text and the decisions' number. Nothing needs to be
// kept of the states between.

// Group is one kernel (or extern call) of a schedule.
type Group struct {
	Name   string   // of the scheduler, as fusion steps call it: op0_op1
	Ranges string   // its loops: [4, 8]
	Ops    []string // operators in it, PyTorch's names
	Kernel string   // name of the kernel
	Source string   // "" for an extern call
}

// logSchedule writes down what the scheduler starts from.
func (c *compiler) logSchedule() {
	if c.opt.Log == nil {
		return
	}
	g := c.graph
	s := logs.Schedule{
		Graph: g.Name, Code: g.Code(), Params: c.opt.Params, Hints: map[string]int64{},
		Replaces: c.opt.Replaces, Trained: c.trained(),
		Lanes: c.opt.Machine.Lanes, Cache: c.opt.Machine.Cache, BFloat: int(c.opt.Machine.BFloat), Threads: c.opt.Machine.Threads,
		NoEpilogueFusion: c.unfused(), NoLayout: c.opt.NoLayout, NoPatterns: c.opt.NoPatterns, MaxFusion: c.maxFusion(),
		Layout: c.images(), Externs: c.opt.Tuned.Externs,
	}
	if g.Env != nil { // one without dynamic sizes needs none
		for _, x := range g.Env.Symbols {
			if v, fixed := x.Fixed(); fixed || !x.Unbacked {
				s.Hints[x.Name] = v
			}
		}
	}
	s.Ops, s.Nodes = opsByNumber(c.ir.Nodes)
	c.logged(s)
}

// trained are the placeholders of a training graph that want gradients, which its text does not tell; nil: none.
func (c *compiler) trained() (out []bool) {
	if !c.opt.Training {
		return nil
	}
	for i, p := range c.graph.Placeholders() {
		if m, ok := p.Meta.(*ops.TensorMeta); ok && m.RequiresGrad {
			out = append(out, make([]bool, i+1-len(out))...)
			out[i] = true
		}
	}
	return out
}

// opsByNumber is the operator of op0, op1, ..., and the nodes of the graph that each
// computes; numbers that lowering has given up stay empty.
func opsByNumber(nodes []*ir.Node) (ops []string, of [][]string) {
	for _, n := range nodes {
		i, err := strconv.Atoi(strings.TrimPrefix(n.Name, "op"))
		if err != nil || len(n.Origins) == 0 {
			continue
		}
		for len(ops) <= i {
			ops, of = append(ops, ""), append(of, nil)
		}
		ops[i] = n.Origins[0].Op
		for _, o := range n.Origins {
			if o.Node != "" {
				of[i] = append(of[i], o.Node)
			}
		}
	}
	return ops, of
}

// Replay returns the groups after so many decisions of the scheduler (-1: before
// the first) in the order in which they would run, and those decisions. It fails
// where the text of the graph cannot be read back.
func Replay(s logs.Schedule, decisions int) (groups []Group, steps []logs.FusionStep, err error) {
	defer func() {
		if v := recover(); v != nil {
			groups, steps, err = nil, nil, fmt.Errorf("inductor: replaying %s: %v", s.Graph, v)
		}
	}()
	g, err := graph.ParseSized(s.Graph, s.Code, s.Hints)
	if err != nil {
		return nil, nil, err
	}
	for i, p := range g.Placeholders() {
		if m, ok := p.Meta.(*ops.TensorMeta); ok && i < len(s.Trained) {
			m.RequiresGrad = s.Trained[i]
		}
	}
	machine := cpp.Machine{Lanes: s.Lanes, Cache: s.Cache, BFloat: cpp.BFloat(s.BFloat), Threads: s.Threads}
	c, err := compile(g, Options{
		Machine: machine, Cores: 1, Decisions: decisions,
		Params: s.Params, Replaces: s.Replaces, Training: len(s.Trained) > 0,
		NoEpilogueFusion: s.NoEpilogueFusion, NoLayout: s.NoLayout, NoPatterns: s.NoPatterns, MaxFusion: s.MaxFusion,
		Tuned: tune.Choices{Layout: s.Layout, Externs: s.Externs},
	})
	if err != nil {
		return nil, nil, err
	}
	for i, gr := range c.groups {
		groups = append(groups, c.group(i, gr))
	}
	return groups, c.out.Fusions, nil
}

// group describes group i of a finished compilation.
func (c *compiler) group(i int, g *sched.Group) Group {
	out := Group{Name: g.Name(), Kernel: c.plan.Names[i], Ranges: g.Ranges()}
	for _, it := range g.Members() {
		for _, o := range it.Node.Origins {
			if n := len(out.Ops); n == 0 || out.Ops[n-1] != o.Op {
				out.Ops = append(out.Ops, o.Op)
			}
		}
	}
	out.Source = c.module.Parts[i].Code
	return out
}
