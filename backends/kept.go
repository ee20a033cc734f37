package backends

import (
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"tcdbg/backends/codecache"
	"tcdbg/graph"
	"tcdbg/graph/pass"
	"tcdbg/inductor"
	"tcdbg/logs"
	"tcdbg/ops/wire"
	"tcdbg/tracer"
)

// This file keeps what compiling a graph came to, by the graph itself: how its program runs, which code it calls, and
// the records that the compile has written. Who has the same graph compiled again, by the same build of tcdbg for the
// same machine, gets all of it without lowering, fusing and writing anything. What is not kept is compiled, and finds its
// code by its text.

// keptVersion changes with the form of what is kept.
const keptVersion = "3"

// keeping is one compile that may be found, or kept.
type keeping struct {
	engine *engine
	parts  []string // that it depends on; those of what is found by their sum alone are not known
	sum    [32]byte // of the parts
	graph  func() *graph.Graph
	opt    inductor.Options
	log    logs.Sink
	said   *recorder // nil where nobody listens
}

// keeps reports whether what a request comes to may be found, or kept.
func (e *engine) keeps(r *tracer.Request) bool {
	return e.cc != nil && e.cache != nil && buildID() != "" && r.Options.CachesCode() && e.set.cfg.Faults == nil && !pass.Dumping()
}

// dependsOn is all that compiling g depends on; ok is false for a graph that has no key.
func (e *engine) dependsOn(g *graph.Graph, r *tracer.Request, opt inductor.Options) (parts []string, ok bool) {
	key, ok := g.AppendKey(make([]byte, 0, 1<<16))
	opt.Log, opt.ID, opt.Faults = nil, logs.CompileID{}, nil
	return []string{
		keptVersion, buildID(), string(key), fmt.Sprintf("%+v", opt), fmt.Sprintf("%+v", r.Options), fmt.Sprint(r.Log != nil),
		e.cc.id, e.cpu.Flags,
	}, ok
}

// keeping prepares it; nil for a graph that is compiled always: without the cache, or one that has no key.
func (e *engine) keeping(g *graph.Graph, r *tracer.Request, opt inductor.Options) *keeping {
	if !e.keeps(r) {
		return nil
	}
	parts, ok := e.dependsOn(g, r, opt)
	if !ok {
		return nil
	}
	k := &keeping{
		engine: e, parts: parts, sum: codecache.PlanSum(parts), graph: func() *graph.Graph { return g }, opt: opt, log: opt.Log,
	}
	if opt.Log != nil {
		k.said = &recorder{to: opt.Log, id: opt.ID, whole: true}
	}
	return k
}

// find is the program, loaded, and what writes the records of its compile; nil where it was not kept. Its code is looked for
// here, so that nothing is written of a program that has to be compiled.
func (k *keeping) find() (x *executable, write func()) {
	head, rest, ok := k.engine.cache.Plan(k.sum)
	if !ok {
		return nil, nil
	}
	sum, prog, records, err := readKept(head, rest.Len())
	if err != nil {
		k.engine.cache.DropPlan(k.sum, err)
		return nil, nil
	}
	x = newExecutable(prog)
	if !k.engine.cache.Found(codeKind, sum, x.open) {
		return nil, nil
	}
	x.kept = k.sum
	x.rt, x.graph, x.code = k.engine.rt, cstring(prog.Name), codecache.Name(codeKind, sum)
	opt := k.opt
	opt.Log = nil
	x.planned = sync.OnceValue(func() *inductor.Program { return again(k.graph(), opt) })
	return x, func() { writeAgain(k.log, k.opt.ID, records, rest) }
}

// writeAgain writes the records of a compile. Their payloads are megabytes, which are read beside it.
func writeAgain(log logs.Sink, id logs.CompileID, records []keptRecord, rest codecache.Later) {
	payloads := logs.Ahead(log, func() []byte {
		return rest.Read(func(n int) []byte {
			b := make([]byte, n)
			hugePages(b)
			return b
		})
	})
	at := 0
	for _, o := range records {
		o.ID = id
		from, to := at, at+o.size
		logs.EmitMade(log, o.Out, func() []byte { return payloads()[from:to:to] })
		at = to
	}
}

// again compiles a graph as it was compiled once.
func again(g *graph.Graph, opt inductor.Options) *inductor.Program {
	p, err := inductor.Compile(g, opt)
	if err != nil {
		panic(fmt.Sprintf("inductor: %s was compiled, and now is not: %v", g.Name, err))
	}
	p.DropText()
	return p
}

// keep keeps what a compile came to, once its code is built and loaded.
func (k *keeping) keep(x *executable, code [32]byte) {
	if head, rest, ok := k.written(x.prog, code); ok && k.engine.keepPlan(k.sum, head, rest, x.prog.Name) {
		x.kept = k.sum
	}
}

func (e *engine) keepPlan(sum [32]byte, head, rest []byte, name string) bool {
	err := e.cache.KeepPlan(sum, head, rest)
	if err != nil {
		e.set.warnOnce("the plan of %s is not kept: %v", name, err)
	}
	return err == nil
}

// written is the hash of the code, the program and the records without their payloads, each behind its length; and the payloads.
func (k *keeping) written(p *inductor.Program, code [32]byte) (head, payloads []byte, ok bool) {
	prog, ok := p.Append(nil)
	if !ok || k.said != nil && !k.said.whole {
		return nil, nil, false
	}
	w := wire.Writer{B: slices.Clone(code[:])}
	w.Bytes(prog)
	head, payloads = k.said.append(w)
	return head, payloads, true
}

// append writes what was recorded; nothing where nobody listened.
func (r *recorder) append(w wire.Writer) (head, payloads []byte) {
	if r == nil {
		w.Len(0)
		return w.B, nil
	}
	w.Len(len(r.list))
	for _, o := range r.list {
		w.Texts(o.Kind, o.Place)
		meta, _ := o.Meta.(map[string]string)
		w.Len(len(meta))
		for _, name := range slices.Sorted(maps.Keys(meta)) {
			w.Texts(name, meta[name])
		}
		w.Texts(logs.PayloadSum(o.Payload))
		w.Len(len(o.Payload))
		payloads = append(payloads, o.Payload...)
	}
	return w.B, payloads
}

var errKept = errors.New("its parts are not those that were written")

// keptRecord is a record whose payload is so many of the bytes that come after those of the one before.
type keptRecord struct {
	logs.Out
	size int
}

// readKept reads what written has made, of which the payloads are so many bytes.
func readKept(head []byte, payloads int) (code [32]byte, p *inductor.Program, records []keptRecord, err error) {
	r := wire.Reader{B: head}
	copy(code[:], r.Take(len(code)))
	prog := r.Bytes()
	if records, err = readRecords(&r, payloads); err == nil {
		p, err = inductor.Read(prog)
	}
	return code, p, records, err
}

// readRecords reads to the end what a recorder has written.
func readRecords(r *wire.Reader, payloads int) ([]keptRecord, error) {
	list := wire.List(r, func() keptRecord {
		o := keptRecord{Out: logs.Out{Kind: r.Text(), Place: r.Text()}}
		if n := r.Len(); n > 0 {
			meta := make(map[string]string, n)
			for ; n > 0; n-- {
				name := r.Text()
				meta[name] = r.Text()
			}
			o.Meta = meta
		}
		o.Sum, o.size = r.Text(), r.AtMost(payloads)
		payloads -= o.size
		return o
	})
	if !r.Done() || payloads != 0 {
		return nil, errKept
	}
	return list, nil
}

// recorder passes records on and keeps them.
type recorder struct {
	to    logs.Sink
	id    logs.CompileID
	list  []logs.Out
	whole bool // what was written can be written again
}

// Emit implements logs.Sink.
func (r *recorder) Emit(o logs.Out) {
	r.to.Emit(o)
	meta, named := o.Meta.(map[string]string)
	if r.whole = r.whole && (o.Meta == nil || named && len(meta) > 0) && o.ID == r.id && o.Payload != nil; r.whole {
		r.list = append(r.list, logs.Untimed(o))
	}
}

// Stack implements logs.Sink. Its answer is good for one trace alone.
func (r *recorder) Stack(s []logs.Frame) any {
	r.whole = false
	return r.to.Stack(s)
}

// buildID tells this build of the program from all others, so that what one has decided is never taken for what another
// would; "" where that is not known. Go's linker writes it: a hash of all that the program was built from.
var buildID = sync.OnceValue(func() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	s := f.Section(".note.go.buildid")
	if s == nil || s.Size > 4096 {
		return ""
	}
	note, err := s.Data()
	if err != nil || len(note) <= noteHead {
		return ""
	}
	return string(note[noteHead:])
})

// noteHead is what a note has before its content: three words and the owner's name.
const noteHead = 16
