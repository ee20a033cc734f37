package backends

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"tcdbg/aot"
	"tcdbg/backends/codecache"
	"tcdbg/backends/library"
	"tcdbg/graph"
	"tcdbg/graph/exported"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/plan"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/torch/export"
	"tcdbg/tracer"
)

// This file makes a shared library of an exported program, as PyTorch's AOTInductor does: the runtime library, the
// program's kernels, its weights, and what runs them (package library).

// Package compiles an exported program for inference and writes lib<name>.so and <name>.h into the folder.
// fixed are the sizes, by input and dimension (x:0), that are constants of the library although the program
// has a range for them. A size of 1 is none of a range: kernels are made for 2 or more.
func (s *Set) Package(p *torch.ExportedProgram, folder, name string, fixed map[string]int64) error {
	return s.packageFor(p, folder, name, fixed, nil)
}

// packageFor is Package for processors that have more features besides.
func (s *Set) packageFor(
	p *torch.ExportedProgram, folder, name string, fixed map[string]int64, more []library.Feature,
) error {
	if !library.Word(name) {
		return fmt.Errorf("%q cannot begin the names of a C library: use letters, digits and _", name)
	}
	e := s.engine()
	if e.cc == nil {
		return fmt.Errorf("a shared library needs a C compiler: %w", e.err)
	}
	lib, err := e.packaged(p, name, fixed)
	if err != nil {
		return err
	}
	lib.Features = append(lib.Features, more...)
	dir, err := os.MkdirTemp("", "tcdbg-package-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := writeWeights(filepath.Join(dir, "weights.bin"), p, lib); err != nil {
		return err
	}
	if err := lib.Check(); err != nil {
		return err
	}
	if err := e.buildLibrary(dir, lib); err != nil {
		return err
	}
	return deliver(dir, folder, "lib"+name+".so", name+".h")
}

// packaged compiles the program's graph.
func (e *engine) packaged(p *torch.ExportedProgram, name string, fixed map[string]int64) (lib *library.Library, err error) {
	if err := packable(p.Program()); err != nil {
		return nil, err
	}
	inputs, sizes, err := p.GraphInputs(p.RandomInputs()...)
	if err != nil {
		return nil, err
	}
	chosen, err := fixedSizes(p, fixed)
	if err != nil {
		return nil, err
	}
	maps.Copy(sizes, chosen)
	defer func() {
		if v := recover(); v != nil {
			lib, err = nil, fmt.Errorf("the program cannot be compiled: %v", v)
		}
	}()
	torch.NoGrad(func() { lib, err = e.compileLibrary(p, name, inputs, sizes, chosen) })
	return lib, err
}

func (e *engine) compileLibrary(
	p *torch.ExportedProgram, name string, inputs []torch.Value, sizes, fixed map[string]int64,
) (*library.Library, error) {
	g, err := exported.Build(p, name, inputs, sizes)
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Clone(g.Env.Symbols) {
		if v, ok := fixed[s.Name]; ok {
			sym.Eq(s.Int(), sym.Const(v)) // makes a constant of it
		}
	}
	ownResults(g)
	r := &tracer.Request{Module: graph.NewModule(g), Mode: modes.Default, Changing: map[string]bool{}}
	lib := &library.Library{
		Name: name, Outputs: p.OutputNames(), BuiltOn: cmp.Or(e.cpu.Model, runtime.GOARCH),
	}
	names := p.InputNames()
	var stored []string // what inputs are called where they are kept
	for i, in := range p.Program().Inputs {
		l := library.Input{}
		if in.Kind == export.User || in.Kind == export.Fixed {
			l.Given, l.Name, names = true, names[0], names[1:]
		}
		if in.Kind == export.Fixed {
			continue
		}
		if in.Kind == export.User {
			r.Changing["L."+in.Name] = true
		}
		lib.Inputs = append(lib.Inputs, l)
		stored = append(stored, cmp.Or(in.Target, l.Name))
		r.Example = append(r.Example, inputs[i])
	}
	var written []string
	elsewhere := e.machine()
	elsewhere.Threads = 0 // nobody knows where it will run
	if e.rt != nil {      // tiles have to be asked for in each process
		elsewhere.BFloat = (e.rt.bfloat &^ hasTiles).chosen(e.set.cfg.BFloat)
	}
	ar := aotRequest(r)
	ar.Compile = func(part aot.Part) (aot.Runnable, error) {
		for i, ph := range part.Graph.Placeholders() {
			if part.Written[ph.Name] {
				written = append(written, library.Printable(stored[i]))
			}
		}
		opt := inductor.Options{Params: paramInputs(part.Graph, part.Written, r.Changing), Machine: elsewhere}
		x, err := e.compiled(part.Graph, r, opt)
		if err != nil {
			return nil, err
		}
		lib.Program = x.prog
		return x.interpreted, nil
	}
	done, err := aot.Compile(ar)
	switch {
	case err != nil:
		return nil, err
	case len(written) > 0:
		slices.Sort(written)
		return nil, changes(written)
	case !done.Whole:
		return nil, errors.New("a result of the program shows memory of an input")
	}
	halves := slices.ContainsFunc(lib.Program.Buffers, func(b plan.Buffer) bool { return b.DType == ops.BFloat16 })
	lib.Features = library.Features(runtime.GOARCH, e.lanes, halves && elsewhere.BFloat == cpp.BFloatDot)
	for _, g := range g.Env.Guards {
		if !g.Rel.Sure() {
			lib.Guards = append(lib.Guards, g.Rel)
		}
	}
	return lib, nil
}

// fixedSizes are the values of a program's symbols, by name, that the user makes constants.
func fixedSizes(p *torch.ExportedProgram, fixed map[string]int64) (map[string]int64, error) {
	out := map[string]int64{}
	var known []string
	prog, names := p.Program(), p.InputNames()
	for i := range prog.Inputs {
		in := &prog.Inputs[i]
		if in.Kind != export.User && in.Kind != export.Fixed {
			continue
		}
		name := names[0]
		names = names[1:]
		if in.Tensor == nil {
			continue
		}
		for d, size := range in.Tensor.Shape {
			at, symbol := fmt.Sprintf("%s:%d", name, d), size.Symbol()
			if symbol == "" {
				continue
			}
			known = append(known, at)
			if v, ok := fixed[at]; ok {
				if err := fixSize(prog, out, symbol, v); err != nil {
					return nil, fmt.Errorf("size %s=%d: %w", library.Printable(at), v, err)
				}
			}
		}
	}
	for at := range fixed {
		if len(known) == 0 {
			return nil, fmt.Errorf("%s is no size that varies: none of this program does", at)
		}
		if !slices.Contains(known, at) {
			return nil, fmt.Errorf("%s is no size that varies; those of this program: %s", at, library.Printable(strings.Join(known, " ")))
		}
	}
	return out, nil
}

// fixSize makes a constant of a symbol.
func fixSize(p *export.Program, out map[string]int64, symbol string, v int64) error {
	k := slices.IndexFunc(p.Symbols, func(s export.Symbol) bool { return s.Name == symbol })
	if k >= 0 && (v < p.Symbols[k].Min || v > p.Symbols[k].Max) {
		return fmt.Errorf("the program was exported for sizes %s", p.Symbols[k].Bounds())
	}
	if was, ok := out[symbol]; ok && was != v {
		return fmt.Errorf("another input has the same size, and it was made %d", was)
	}
	out[symbol] = v
	return nil
}

// packable refuses what no library does.
func packable(p *export.Program) error {
	var written, numbers []string
	for _, o := range p.Outputs {
		if o.Kind != export.Result {
			written = append(written, library.Printable(o.Target))
		}
	}
	for i := range p.Inputs {
		if in := &p.Inputs[i]; in.Kind == export.User && in.Tensor == nil {
			numbers = append(numbers, library.Printable(in.Name))
		}
	}
	switch {
	case len(written) > 0:
		return changes(written)
	case len(numbers) > 0:
		return fmt.Errorf("a library takes tensors alone, and %d inputs are numbers: %s", len(numbers), strings.Join(numbers, ", "))
	}
	return nil
}

func changes(names []string) error {
	return fmt.Errorf("a library changes neither buffers nor inputs, and the program changes %d: %s", len(names), strings.Join(names, ", "))
}

// ownResults puts a copy behind each result that is a view of something, an input, or the same as one before it:
// a caller's memory is where results lie.
func ownResults(g *graph.Graph) {
	out := g.OutputNode()
	b := &graph.Builder{G: g, Before: out}
	args := slices.Clone(out.Args)
	seen := map[*graph.Node]bool{}
	for i, a := range args {
		n, ok := a.(*graph.Node)
		if !ok || !n.IsTensor() {
			continue
		}
		row := n.OpRow()
		if row == nil || seen[n] || row.Tags.Has(ops.TagView) || row.Tags.Has(ops.TagMaybeView) {
			args[i] = b.Emit(ops.Clone, n)
		}
		seen[n] = true
	}
	out.SetArgs(args)
}

// maxWeights is what code can address beside itself, 2 GB, less room for that.
const maxWeights = 2<<30 - 64<<20

// writeWeights writes the weights, each once, and notes where they lie.
func writeWeights(path string, p *torch.ExportedProgram, lib *library.Library) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	type place struct {
		at    uintptr
		bytes int
	}
	seen, end, next := map[place]int64{}, int64(0), 0
	for i, in := range p.Program().Inputs {
		if in.Kind == export.Fixed {
			continue
		}
		to := &lib.Inputs[next]
		next++
		t := p.Stored()[i]
		if t == nil {
			continue
		}
		data := memoryOf(t)
		key := place{uintptr(t.Ptr()), len(data)}
		at, ok := seen[key]
		if !ok {
			if _, err := f.Write(data); err != nil {
				return err
			}
			const line = 64
			pad := -len(data) & (line - 1)
			if _, err := f.Write(make([]byte, pad)); err != nil {
				return err
			}
			at, seen[key] = end, end
			if end += int64(len(data) + pad); end > maxWeights {
				return fmt.Errorf("the weights are more than the %d MB that a library holds", maxWeights>>20)
			}
		}
		to.Weight = at
	}
	return nil
}

// memoryOf is the memory from the first element of a tensor to its last.
func memoryOf(t *torch.Tensor) []byte {
	shape, stride, _ := t.Layout()
	n := 1
	for d, s := range shape {
		if s == 0 {
			return nil
		}
		n += (s - 1) * stride[d]
	}
	return unsafe.Slice((*byte)(t.Ptr()), n*t.DType().Size())
}

// buildLibrary compiles and links a library in dir, where its weights are.
func (e *engine) buildLibrary(dir string, lib *library.Library) error {
	p := lib.Program
	machine := []string{"-fvisibility=hidden"}
	for _, f := range lib.Features {
		machine = append(machine, "-m"+f.Name)
	}
	if runtime.GOARCH == "amd64" {
		machine = append(machine, "-mtune=native")
	}
	lanes := fmt.Sprintf("-DTC_LANES=%d", e.lanes)
	units := []unit{
		{"weights.s", library.Weights("weights.bin"), []string{"-Wa,-I," + dir}},
		{"library.c", lib.Unit(), []string{"-O2", "-fwrapv", "-fvisibility=hidden"}},
	}
	flags := append(withoutNative(graphFlags), machine...)
	for i, text := range p.Shards {
		units = append(units, unit{fmt.Sprintf("kernels%d.c", i), text, flags})
	}
	if err := os.WriteFile(filepath.Join(dir, lib.Name+".h"), []byte(lib.Header()), 0o644); err != nil {
		return err
	}
	objects, err := e.cc.objects(dir, units)
	if err != nil {
		return err
	}
	shared := filepath.Join(dir, "runtime.o")
	if err := e.runtimeObject(shared, append(withoutNative(runtimeFlags), append(machine, lanes)...)); err != nil {
		return err
	}
	objects = append(objects, shared)
	file := "lib" + lib.Name + ".so"
	args := []string{"-shared", "-o", filepath.Join(dir, file), "-Wl,-soname," + file, "-Wl,-z,defs", "-Wl,-z,noexecstack"}
	return e.cc.run(dir, slices.Concat(args, objects, []string{"-lpthread", "-lm"}))
}

// runtimeObject writes the runtime library as an object file to out. Compiling it takes longer than most programs do, so
// that the cache keeps it.
func (e *engine) runtimeObject(out string, flags []string) error {
	_, err := e.cache.Load(codecache.Request{
		Kind: codecache.Runtime, Parts: []string{"object", runtimeText(), strings.Join(flags, " "), e.cc.id, e.cpu.Flags},
		Build: func(dir, to string) error {
			objects, err := e.cc.objects(dir, []unit{{"runtime.c", runtimeText(), flags}})
			if err != nil {
				return err
			}
			return os.Rename(objects[0], to)
		},
		Load: func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(out, data, 0o644)
		},
	})
	return err
}

// withoutNative are flags without those that mean this machine.
func withoutNative(flags []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f == "-march=native" })
}

// deliver copies files of dir into a folder; each is there as a whole or not at all.
func deliver(dir, folder string, files ...string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, name := range files {
		if err := deliverFile(filepath.Join(dir, name), folder, name); err != nil {
			return err
		}
	}
	return nil
}

func deliverFile(from, folder, name string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	to, err := os.CreateTemp(folder, "."+name+"-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(to, in)
	err = errors.Join(err, to.Chmod(0o644), to.Close())
	if err == nil {
		err = os.Rename(to.Name(), filepath.Join(folder, name))
	}
	if err != nil {
		_ = os.Remove(to.Name())
	}
	return err
}
