package torch

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"tcdbg/ops"
	"tcdbg/torch/export"
	"tcdbg/torch/internal/memory"
)

// This file loads what PyTorch's torch.export.save wrote: a program with its weights.

// ExportedProgram is a program that PyTorch exported. Call runs it: under `go run` operator by
// operator, under tcdbg compiled. Its weights are its own; two goroutines must not call it at once
// where it changes buffers.
type ExportedProgram struct {
	prog    *export.Program
	stored  []*Tensor // of prog.Inputs; nil for what a caller gives
	named   map[string]*Tensor
	example []any // arguments, the last one keyword arguments; nil without
	path    string
}

// LoadExported reads a file of torch.export.save, which PyTorch 2.9 to 2.15 write. It refuses
// a program with operators that are not supported and names them all.
func LoadExported(path string) (*ExportedProgram, error) {
	p, err := loadExported(path)
	if err != nil {
		return nil, fmt.Errorf("torch.LoadExported: %s: %w", path, err)
	}
	p.path = path
	return p, nil
}

func loadExported(path string) (*ExportedProgram, error) {
	f, size, err := openSaved(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readExported(f, size)
}

// Places in the archive.
const (
	exportedModel     = "models/model.json"
	exportedWeights   = "data/weights/"
	exportedConstants = "data/constants/"
	exportedInputs    = "data/sample_inputs/model.pt"
)

// readExported reads the archive of size bytes that r reads. Its errors name what the file holds, in one line.
func readExported(r io.ReaderAt, size int64) (*ExportedProgram, error) {
	p, err := unpackExported(r, size)
	if err != nil && export.Plain(err.Error()) != err.Error() {
		err = errors.New(export.Plain(err.Error()))
	}
	return p, err
}

func unpackExported(r io.ReaderAt, size int64) (*ExportedProgram, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("it is no archive of torch.export.save: %w", err)
	}
	l := &loader{storages: map[string]rawStorage{}, left: freeUnpacked + maxUnpacked*size}
	if l.locate, err = locationOf(nil); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "serialized_exported_program.json" }) {
		return nil, errors.New("it is an archive of a PyTorch before 2.8: export and save the model again with PyTorch 2.9 to 2.15")
	}
	if l.files, err = archiveFiles(z); err != nil {
		return nil, err
	}
	if err := l.checkOrder(); err != nil {
		return nil, err
	}
	texts, err := l.exportedTexts()
	if err != nil {
		return nil, err
	}
	prog, err := export.Read(texts)
	if err != nil {
		return nil, err
	}
	if err := prog.Check(); err != nil {
		return nil, err
	}
	p := &ExportedProgram{prog: prog, named: map[string]*Tensor{}, stored: make([]*Tensor, len(prog.Inputs))}
	for i, in := range prog.Inputs {
		if in.Kind == export.User || in.Kind == export.Fixed {
			continue
		}
		if p.stored[i], err = l.weight(p, in.Target); err != nil {
			return nil, fmt.Errorf("%s: %w", in.Target, err)
		}
	}
	return p, p.loadExample(l)
}

// exportedTexts reads the texts of the archive.
func (l *loader) exportedTexts() (t export.Files, err error) {
	if l.files[exportedModel] == nil {
		return t, errors.New("the archive has no " + exportedModel + ": save the program with torch.export.save of PyTorch 2.9 to 2.15")
	}
	if t.Model, err = l.read(exportedModel); err != nil {
		return t, err
	}
	for name, to := range map[string]*[]byte{
		exportedWeights + "model_weights_config.json": &t.Weights, exportedConstants + "model_constants_config.json": &t.Constants,
	} {
		if l.files[name] != nil {
			if *to, err = l.read(name); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// weight loads a stored tensor; tensors of one storage share it.
func (l *loader) weight(p *ExportedProgram, name string) (*Tensor, error) {
	if t := p.named[name]; t != nil {
		return t, nil
	}
	w := p.prog.Weights[name]
	st, ok := l.storages[w.Path]
	if !ok {
		f, err := l.file("data/" + w.Path)
		if err != nil {
			return nil, err
		}
		size := int(f.UncompressedSize64)
		st.st = memory.NewStorage(size)
		if err := unpackInto(f, st.st.Bytes()[:size]); err != nil {
			return nil, err
		}
		l.storages[w.Path] = st
	}
	shape, stride := plainSizes(w.Tensor.Shape), plainSizes(w.Tensor.Stride)
	offset := int(w.Tensor.Offset.Value)
	if !within(st.st.Size()/w.Tensor.DType.Size(), shape, stride, offset) {
		return nil, fmt.Errorf("a tensor of size %v, stride %v and offset %d is outside of its storage", shape, stride, offset)
	}
	t := FromStorage((*Storage)(st.st), w.Tensor.DType, shape, stride, offset)
	if w.Param && w.Tensor.Grad && (t.DType().IsFloat() || t.DType().IsComplex()) {
		t.RequiresGrad_()
	}
	p.named[name] = t
	return t, nil
}

func plainSizes(list []export.Size) []int {
	out := make([]int, len(list))
	for i, s := range list {
		out[i] = int(s.Value)
	}
	return out
}

// loadExample reads the inputs that the program was exported with, where they are kept.
func (p *ExportedProgram) loadExample(l *loader) error {
	if l.files[exportedInputs] == nil {
		return nil
	}
	data, err := l.read(exportedInputs)
	if err != nil {
		return err
	}
	v, err := loadArchive(strings.NewReader(string(data)), int64(len(data)), l.locate)
	if err != nil {
		return nil // classes of the model's author: the program runs without an example
	}
	both, ok := v.([]any)
	if !ok || len(both) != 2 {
		return nil
	}
	args, ok := both[0].([]any)
	kwargs, dict := both[1].(OrderedDict)
	if !ok || !dict {
		return nil
	}
	if _, err := p.flatten(append(args[:len(args):len(args)], kwargs)); err == nil {
		p.example = append(args[:len(args):len(args)], kwargs)
	}
	return nil
}

// Program is the program without its weights, for a compiler.
func (p *ExportedProgram) Program() *export.Program { return p.prog }

// Stored are the weights that belong to the inputs of the program's graph; nil where a caller gives the input.
func (p *ExportedProgram) Stored() []*Tensor { return p.stored }

// Path is the file that the program was loaded from.
func (p *ExportedProgram) Path() string { return p.path }

// StateDict are the parameters, buffers and constants of the program by name.
func (p *ExportedProgram) StateDict() map[string]*Tensor {
	out := make(map[string]*Tensor, len(p.named))
	for name, t := range p.named {
		out[name] = t
	}
	return out
}

// InputNames are the values that Call takes, by the names of forward's parameters: x, pair[0].
func (p *ExportedProgram) InputNames() []string { return p.prog.InputPaths() }

// OutputNames are the values that Call returns, as Python reaches them: out, out[0], out['logits'].
func (p *ExportedProgram) OutputNames() []string { return p.prog.Out.Paths("out") }

// ExampleInputs are the arguments that the program was exported with, as Call takes them; false
// where the file does not keep them.
func (p *ExportedProgram) ExampleInputs() ([]any, bool) {
	if p.example == nil {
		return nil, false
	}
	n := len(p.example) - 1
	out := append([]any{}, p.example[:n]...)
	for _, item := range p.example[n].(OrderedDict) {
		if name, ok := item.Key.(string); ok {
			out = append(out, Option{Name: name, Value: item.Value})
		}
	}
	return out, true
}

// RandomInputs makes arguments of the recorded shapes: normal floats, and zeros of other
// types, which are always valid indices.
func (p *ExportedProgram) RandomInputs() []any {
	var leaves []any
	for _, in := range p.prog.Inputs {
		switch {
		case in.Kind == export.Fixed:
			leaves = append(leaves, plainValue(in.Value))
		case in.Kind != export.User:
		case in.Tensor == nil:
			leaves = append(leaves, int(p.hintOf(&in)))
		default:
			leaves = append(leaves, p.randomOf(&in))
		}
	}
	args := fill(p.prog.In.Kids[0], &leaves).([]any)
	for i, k := range p.prog.In.Kids[1].Kids {
		args = append(args, Option{Name: p.prog.In.Kids[1].Keys[i], Value: fill(k, &leaves)})
	}
	return args
}

func (p *ExportedProgram) hintOf(in *export.Input) int64 {
	_, symbol := p.prog.Env(func(s *export.Symbol) int64 { return s.Hint })
	m, err := p.prog.InputMeta(in, symbol)
	if x, ok := m.(interface{ Hint() int64 }); ok && err == nil {
		return x.Hint()
	}
	return 0
}

func (p *ExportedProgram) randomOf(in *export.Input) *Tensor {
	_, symbol := p.prog.Env(func(s *export.Symbol) int64 { return s.Hint })
	m, err := in.Tensor.Meta(symbol)
	if err != nil { // Check has read it
		panic(err)
	}
	size := ShapeHint(m.Shape)
	dtype := Option{Name: "dtype", Value: m.DType}
	if m.DType.IsFloat() {
		return Randn(size, dtype)
	}
	return Zeros(size, dtype)
}

// fill makes the value of a tree of leaves, which it takes from the front.
func fill(t *export.Tree, leaves *[]any) any {
	if t.Kind == export.Leaf {
		v := (*leaves)[0]
		*leaves = (*leaves)[1:]
		return v
	}
	if t.Kind == export.Dict {
		var d OrderedDict
		for i, k := range t.Kids {
			d = append(d, DictItem{t.Keys[i], fill(k, leaves)})
		}
		return d
	}
	list := []any{}
	for _, k := range t.Kids {
		list = append(list, fill(k, leaves))
	}
	return list
}

// plainValue is a constant of a program as Go has it.
func plainValue(v any) any {
	switch v := v.(type) {
	case int64:
		return int(v)
	case ops.Device:
		return string(v)
	}
	return v
}

// exportedRun is what RunExported was given.
var exportedRun atomic.Pointer[ExportedRunner]

// ExportedRunner runs an exported program: inputs are those of the program's graph, sizes the values of its
// symbols. It returns the outputs of the graph.
type ExportedRunner func(p *ExportedProgram, inputs []Value, sizes map[string]int64) []Value

// RunExported has exported programs run by f; nil ends that. It is for the compiler.
func RunExported(f ExportedRunner) {
	if f == nil {
		exportedRun.Store(nil)
		return
	}
	exportedRun.Store(&f)
}
