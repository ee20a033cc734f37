package backends

import (
	"debug/elf"
	"encoding/binary"
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
	"tcdbg/tracer"
)

// This file keeps what compiling a graph came to, by the graph itself: how its program runs, which code it calls, and
// the records that the compile has written. Who has the same graph compiled again, by the same build of tcdbg for the
// same machine, gets all of it without lowering, fusing and writing anything. What is not kept is compiled, and finds its
// code by its text.

// keptVersion changes with the form of what is kept.
const keptVersion = "1"

// keeping is one compile that may be found, or kept.
type keeping struct {
	engine *engine
	parts  []string // that it depends on
	graph  *graph.Graph
	opt    inductor.Options
	log    logs.Sink
	said   *recorder // nil where nobody listens
}

// keeping prepares it; nil for a graph that is compiled always: without the cache, or one that has no key.
func (e *engine) keeping(g *graph.Graph, r *tracer.Request, opt inductor.Options) *keeping {
	build := buildID()
	if e.cc == nil || e.cache == nil || build == "" || !r.Options.CachesCode() || e.set.cfg.Faults != nil || pass.Dumping() {
		return nil
	}
	key, ok := g.AppendKey(make([]byte, 0, 1<<16))
	if !ok {
		return nil
	}
	k := &keeping{engine: e, graph: g, opt: opt, log: opt.Log}
	if opt.Log != nil {
		k.said = &recorder{to: opt.Log, id: opt.ID, whole: true}
	}
	asked := opt
	asked.Log, asked.ID, asked.Faults = nil, logs.CompileID{}, nil
	k.parts = []string{
		keptVersion, build, string(key), fmt.Sprintf("%+v", asked), fmt.Sprintf("%+v", r.Options), fmt.Sprint(k.said != nil),
		e.cc.id, e.cpu.Flags,
	}
	return k
}

// find is the program, loaded, with its records written; nil where it was not kept. Its code is looked for first, so that
// nothing is written of a program that has to be compiled.
func (k *keeping) find() *executable {
	content := k.engine.cache.Plan(k.parts, func(n int) []byte {
		b := make([]byte, n)
		hugePages(b)
		return b
	})
	if content == nil {
		return nil
	}
	sum, prog, records, err := readKept(content)
	if err != nil {
		k.engine.cache.DropPlan(k.parts, err)
		return nil
	}
	x := newExecutable(prog)
	if !k.engine.cache.Found(codeKind, sum, x.open) {
		return nil
	}
	x.rt, x.graph, x.code = k.engine.rt, cstring(prog.Name), codecache.Name(codeKind, sum)
	opt := k.opt
	opt.Log = nil
	x.planned = sync.OnceValue(func() *inductor.Program { return again(k.graph, opt) })
	for _, o := range records {
		o.ID = k.opt.ID
		k.log.Emit(o)
	}
	return x
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
func (k *keeping) keep(p *inductor.Program, code [32]byte) {
	content, ok := k.written(p, code)
	if !ok {
		return
	}
	if err := k.engine.cache.KeepPlan(k.parts, content); err != nil {
		k.engine.set.warnOnce("the plan of %s is not kept: %v", p.Name, err)
	}
}

// written is the hash of the code, the program and the records, each behind its length.
func (k *keeping) written(p *inductor.Program, code [32]byte) (content []byte, ok bool) {
	prog, ok := p.Append(nil)
	if !ok || k.said != nil && !k.said.whole {
		return nil, false
	}
	b := appendPart(append([]byte(nil), code[:]...), prog)
	if k.said == nil {
		return binary.AppendUvarint(b, 0), true
	}
	b = binary.AppendUvarint(b, uint64(len(k.said.list)))
	for _, o := range k.said.list {
		b = appendPart(appendPart(b, []byte(o.Kind)), []byte(o.Place))
		meta := o.Meta.(map[string]string)
		b = binary.AppendUvarint(b, uint64(len(meta)))
		for _, name := range slices.Sorted(maps.Keys(meta)) {
			b = appendPart(appendPart(b, []byte(name)), []byte(meta[name]))
		}
		b = appendPart(appendPart(b, []byte(logs.PayloadSum(o.Payload))), o.Payload)
	}
	return b, true
}

func appendPart(b, part []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

var errKept = errors.New("its parts are not those that were written")

// readKept reads what written has made.
func readKept(b []byte) (code [32]byte, p *inductor.Program, records []logs.Out, err error) {
	r := keptReader{b: b}
	copy(code[:], r.take(len(code)))
	prog := r.part()
	for n := r.count(); n > 0; n-- {
		o := logs.Out{Kind: string(r.part()), Place: string(r.part())}
		meta := map[string]string{}
		for m := r.count(); m > 0; m-- {
			name := string(r.part())
			meta[name] = string(r.part())
		}
		o.Meta, o.Sum, o.Payload = meta, string(r.part()), r.part()
		records = append(records, o)
	}
	if r.bad || len(r.b) != 0 {
		return code, nil, nil, errKept
	}
	p, err = inductor.Read(prog)
	return code, p, records, err
}

// keptReader takes parts off; bad says that one was not there.
type keptReader struct {
	b   []byte
	bad bool
}

func (r *keptReader) take(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// count is a number of parts, or of bytes: no more than there are bytes.
func (r *keptReader) count() int {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 || v > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

func (r *keptReader) part() []byte { return r.take(r.count()) }

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
	_, named := o.Meta.(map[string]string)
	if r.whole = r.whole && named && o.ID == r.id && o.Payload != nil; r.whole {
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
