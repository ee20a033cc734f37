package loops

import (
	"strings"
	"testing"
	"time"
)

const text = `BEFORE FUSION
op0: SchedulerNode(ComputedBuffer)
op0.writes = [MemoryDep('buf0', c0, {c0: 2048})]
op0.unmet_dependencies = []
op0.met_dependencies = 
    [   MemoryDep('primals_1', 64*c0 + 1024*c1 + c2, {c0: 16, c1: 2, c2: 64}),
        MemoryDep('primals_2', c2, {c0: 16, c1: 2, c2: 64})]
op0.outputs = [
    buf0: ComputedBuffer
    buf0.layout = FixedLayout('cpu', torch.float32, size=[16, 2, 64], stride=[128, 64, 1])
    buf0.users = [
        NodeUser(node=ExternKernelSchedulerNode(name='op1'), can_inplace=False, is_weak=False),
        NodeUser(node=OUTPUT, can_inplace=False, is_weak=False),
        NodeUser(node=SchedulerNode(name='op9'), can_inplace=False, is_weak=True),
    ]
]
op0.group.device = cpu
op0.sizes = ([16, 2, 64], [])
primals_1_layout = FixedLayout('cpu', torch.float32, size=[2, 16, 64], stride=[1024, 64, 1])
primals_2_layout = FixedLayout('cpu', torch.float32, size=[64], stride=[1])
class op0_loop_body:
    var_ranges = {p0: 16, p1: 2, p2: 64}


op1: ExternKernelSchedulerNode(ExternKernelOut)
op1.writes = [StarDep(name='buf1', mode=None)]
op1.unmet_dependencies = [StarDep(name='buf0', mode=None), WeakDep(name='buf7', mutating_buf='buf8', is_fake=False)]
op1.met_dependencies = [MemoryDep('x', ModularIndexing(c0, 1, 4) + tmp0, {c0: 8}, atomic_add), MemoryDep('y', c0, {c0: s0})]
op1.outputs = [
    buf1: ExternKernelOut
    buf1.layout = FixedLayout('cpu', torch.bfloat16, size=[s0, 192], stride=[192, 1])
    buf1.users = [NodeUser(node=SchedulerNode(name='op2'), can_inplace=False, is_weak=False)]
]
`

// TestNodesOfASchedule: reads and writes with their loops, buffers with bytes and users, also where
// a list goes on over several lines.
func TestNodesOfASchedule(t *testing.T) {
	p := Parse(text)
	if p == nil || len(p.Nodes) != 2 {
		t.Fatalf("%+v", p)
	}
	n := p.Nodes["op0"]
	if n.Ranges != "([16, 2, 64], [])" || len(n.Accesses) != 3 {
		t.Fatalf("%+v", n)
	}
	a := &n.Accesses[1]
	if a.Buffer != "primals_1" || a.Index != "64*c0 + 1024*c1 + c2" || len(a.Loops) != 3 || a.Write || !n.Accesses[0].Write {
		t.Errorf("%+v", a)
	}
	if got := p.Bytes(a); got != 8192 {
		t.Errorf("%d bytes read", got)
	}
	if got := p.Bytes(&n.Accesses[2]); got != 256 { // a broadcast reads its 64 elements
		t.Errorf("%d bytes of a broadcast", got)
	}
	b := p.Buffers["buf0"]
	if b.Bytes != 8192 || !b.Output || !b.Known || strings.Join(b.Users, " ") != "op1" {
		t.Errorf("%+v", b)
	}
	x := p.Nodes["op1"]
	if len(x.Accesses) != 4 || !x.Accesses[0].Whole || x.Accesses[2].Mode != "atomic_add" || x.Accesses[2].Index !=
		"ModularIndexing(c0, 1, 4) + tmp0" {
		t.Errorf("%+v", x.Accesses)
	}
	for i := range x.Accesses { // sizes that are no numbers, an index from memory, buffers without a layout
		if a := &x.Accesses[i]; a.Buffer != "buf0" && p.Bytes(a) != -1 {
			t.Errorf("%s: %d bytes", a.Buffer, p.Bytes(a))
		}
	}
	if Parse("nothing\n") != nil || Parse("op0") != nil {
		t.Error("a program of nothing")
	}
}

// A node in one line, as the hooks of tcdbg exec write it, says what one in many lines does.
func TestNodesInOneLine(t *testing.T) {
	p := Parse(`tcdbg: nodes before fusion
 op0: SchedulerNode(ComputedBuffer); op0.writes = [MemoryDep('buf0', c0, {c0: 2048})]; op0.met_dependencies = [` +
		`MemoryDep('x', 64*c0 + c1, {c0: 32, c1: 64}), StarDep(name='w', mode=None)]; buf0: ComputedBuffer; buf0.layout = ` +
		`FixedLayout('cpu', torch.float32, size=[2048], stride=[1]); buf0.users = [NodeUser(node=SchedulerNode(name='op1')), ` +
		`NodeUser(node=OUTPUT), NodeUser(node=SchedulerNode(name='op9'), is_weak=True)]; op0.sizes = ([2048], []); ` +
		`w_layout = FixedLayout('cpu', torch.float16, size=[8])
 op1: ExternKernelSchedulerNode(ExternKernelOut); op1.writes = []; op1.met_dependencies = [StarDep(name='buf0', mode=None)]
`)
	if p == nil || len(p.Nodes) != 2 {
		t.Fatalf("%+v", p)
	}
	n, b := p.Nodes["op0"], p.Buffers["buf0"]
	if n.Ranges != "([2048], [])" || len(n.Accesses) != 3 || p.Bytes(&n.Accesses[0]) != 8192 || p.Bytes(&n.Accesses[2]) != 16 {
		t.Errorf("%+v", n)
	}
	if !b.Output || !b.Known || strings.Join(b.Users, " ") != "op1" || p.Writer("buf0") != "op0" || len(p.Nodes["op1"].Accesses) != 1 {
		t.Errorf("%+v, %+v", b, p.Nodes["op1"])
	}
}

// A node writes what its lists of writes name, whatever the order of the lists; many lists are no more work than one long one.
func TestWriters(t *testing.T) {
	p := Parse("op0: X(Y)\nop0.met_dependencies = [StarDep(name='in')]\nop0.writes = [StarDep(name='out')]\n")
	if p.Writer("in") != "" || p.Writer("out") != "op0" {
		t.Errorf("%q wrote in, %q wrote out", p.Writer("in"), p.Writer("out"))
	}
	start := time.Now()
	Parse("op0: X(Y)\n" + strings.Repeat("op0.writes = [StarDep(name='out')]\n", 50_000))
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(text)
	f.Add("op0: X(\nop0.writes = [MemoryDep('a', c0, {c0: 99999999999999999999}), MemoryDep('")
	f.Fuzz(func(_ *testing.T, s string) {
		if p := Parse(s); p != nil {
			for _, n := range p.Nodes {
				for i := range n.Accesses {
					p.Bytes(&n.Accesses[i])
				}
			}
		}
	})
}
