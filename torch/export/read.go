package export

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tcdbg/ops"
)

// This file reads the texts of an archive. All that it refuses, it refuses in one line.

// The schemas that are read: those of PyTorch 2.9 to 2.15. A file of a later minor
// version may have fields that mean nothing here; of another major version nothing is sure.
const schemaMajor = 8

// Bounds of what a file may say.
const (
	maxRank     = 64
	maxElements = 1 << 47
	maxText     = 4096 // characters of a name or an expression
)

// Files are the texts of an archive.
type Files struct {
	Model     []byte // models/model.json
	Weights   []byte // data/weights/model_weights_config.json
	Constants []byte // data/constants/model_constants_config.json
}

// Read reads a program.
func Read(f Files) (*Program, error) {
	var file fileProgram
	if err := json.Unmarshal(f.Model, &file); err != nil {
		return nil, fmt.Errorf("the model is no text of torch.export.save: %w", err)
	}
	if v := file.Version; v.Major != schemaMajor {
		return nil, fmt.Errorf(
			"the file has version %d.%d of PyTorch's export schema, and version %d is read: export it again with PyTorch 2.9 to 2.15",
			v.Major, v.Minor, schemaMajor,
		)
	}
	p := &Program{
		Torch: clip(file.Torch), values: map[string]*Tensor{}, sizes: map[string]string{}, hints: map[string]int64{},
		Weights: map[string]Weight{},
	}
	if len(file.GraphModule.Graph.Custom) > 0 {
		return nil, errors.New("the program has objects of a TorchScript class, which are not supported: export it without them")
	}
	for _, step := range []func() error{
		func() error { return p.readValues(&file.GraphModule.Graph) },
		func() error { return p.readRanges(file.Ranges) },
		func() error { return p.readWeights("weights", f.Weights) },
		func() error { return p.readWeights("constants", f.Constants) },
		func() error { return p.readInputs(file.GraphModule.Signature.Inputs) },
		func() error { return p.readNodes(file.GraphModule.Graph.Nodes) },
		func() error { return p.readOutputs(file.GraphModule.Signature.Outputs) },
		func() error { return p.readTrees(file.GraphModule.Calls) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// clip makes a text of a file short enough for a message, and one line of it.
func clip(s string) string {
	if len(s) > 80 {
		s = s[:80]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0xfffd {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

func (p *Program) readValues(g *fileGraph) error {
	for name, ft := range g.Tensors {
		t, err := p.tensor(&ft)
		if err != nil {
			return fmt.Errorf("tensor %s: %w", clip(name), err)
		}
		p.values[name] = t
	}
	for name, x := range g.Ints {
		s, err := p.size(x)
		if err != nil {
			return fmt.Errorf("number %s: %w", clip(name), err)
		}
		if p.sizes[name] = s.Expr; s.Expr == "" {
			p.sizes[name] = strconv.FormatInt(s.Value, 10)
		}
	}
	return nil
}

// dtypes are ours by PyTorch's numbers in the schema.
var dtypes = map[int]ops.DType{
	1: ops.Uint8, 2: ops.Int8, 3: ops.Int16, 4: ops.Int32, 5: ops.Int64, 6: ops.Float16, 7: ops.Float32, 8: ops.Float64,
	10: ops.Complex64, 12: ops.Bool, 13: ops.BFloat16,
}

// otherTypes are PyTorch's names of those that we do not have.
var otherTypes = map[int]string{
	9: "complex32", 11: "complex128", 28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz",
	32: "float8_e5m2fnuz", 33: "float8_e8m0fnu", 34: "uint32", 35: "uint64",
}

func dtypeOf(n int) (ops.DType, error) {
	if d, ok := dtypes[n]; ok {
		return d, nil
	}
	return 0, fmt.Errorf("dtype torch.%s is not supported", cmp.Or(otherTypes[n], strconv.Itoa(n)))
}

func (p *Program) tensor(f *fileTensor) (*Tensor, error) {
	d, err := dtypeOf(f.DType)
	if err != nil {
		return nil, err
	}
	if len(f.Sizes) > maxRank || len(f.Sizes) != len(f.Strides) {
		return nil, fmt.Errorf("%d sizes and %d strides", len(f.Sizes), len(f.Strides))
	}
	t := &Tensor{DType: d, Grad: f.Grad, Device: clip(f.Device.Type), Strided: Layout(f.Layout) == stridedLayout}
	if t.Shape, err = p.sizeList(f.Sizes); err != nil {
		return nil, err
	}
	if t.Stride, err = p.sizeList(f.Strides); err != nil {
		return nil, err
	}
	if t.Offset, err = p.size(f.Offset); err != nil {
		return nil, err
	}
	if !t.Strided {
		return nil, errors.New("a layout other than torch.strided is not supported")
	}
	return t, nil
}

func (p *Program) sizeList(list []fileSymInt) ([]Size, error) {
	out := make([]Size, len(list))
	for i, f := range list {
		var err error
		if out[i], err = p.size(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *Program) size(f fileSymInt) (Size, error) {
	switch {
	case f.Int != nil:
		if *f.Int < -maxElements || *f.Int > maxElements {
			return Size{}, fmt.Errorf("size %d is out of range", *f.Int)
		}
		return Size{Value: *f.Int}, nil
	case f.Expr == nil:
		return Size{}, errors.New("a size without a value")
	case len(f.Expr.Text) > maxText:
		return Size{}, errors.New("a size expression is too long")
	}
	if h := f.Expr.Hint; h != nil && h.Int != nil {
		for _, m := range oneSymbol.FindAllStringSubmatch(f.Expr.Text, 1) {
			if m[0] == f.Expr.Text {
				p.hints[m[1]] = *h.Int
			}
		}
	}
	return Size{Expr: f.Expr.Text}, nil
}

// oneSymbol is an expression that is nothing but a symbol.
var oneSymbol = regexp.MustCompile(`^(?:Symbol\('([A-Za-z_]\w*)'[^()]*\)|[A-Za-z_]\w*)$`)

func (p *Program) readRanges(ranges map[string]fileRange) error {
	names := slices.Collect(maps.Keys(ranges))
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	for _, name := range names {
		if len(name) > maxText || clip(name) != name {
			return errors.New("a symbol has no usable name")
		}
		r := ranges[name]
		s := Symbol{Name: name, Max: math.MaxInt64}
		if r.Min != nil {
			s.Min = *r.Min
		}
		if r.Max != nil {
			s.Max = *r.Max
		}
		if s.Min > s.Max || s.Max < 0 {
			return fmt.Errorf("symbol %s has the range [%d, %d], which holds nothing", name, s.Min, s.Max)
		}
		s.Min = max(s.Min, 0)
		hint, ok := p.hints[name]
		if !ok || hint < s.Min || hint > s.Max {
			hint = min(max(s.Min, 2), s.Max)
		}
		s.Hint = hint
		p.Symbols = append(p.Symbols, s)
	}
	return nil
}

func (p *Program) readWeights(what string, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	var f fileWeights
	if err := json.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("the list of %s: %w", what, err)
	}
	for name, w := range f.Config {
		switch {
		case w.Pickle:
			return fmt.Errorf("%s %s is a tensor subclass, which is not supported: export a model of plain tensors", what, clip(name))
		case w.Tensor == nil:
			return fmt.Errorf("%s %s is no tensor, which is not supported", what, clip(name))
		}
		t, err := p.tensor(w.Tensor)
		if err != nil {
			return fmt.Errorf("%s %s: %w", what, clip(name), err)
		}
		for _, list := range [][]Size{t.Shape, t.Stride, {t.Offset}} {
			if slices.ContainsFunc(list, func(s Size) bool { return s.Expr != "" || s.Value < 0 }) {
				return fmt.Errorf("%s %s has sizes that are no numbers", what, clip(name))
			}
		}
		if _, twice := p.Weights[name]; twice {
			return fmt.Errorf("two tensors are named %s", clip(name))
		}
		p.Weights[name] = Weight{Path: what + "/" + w.Path, Param: w.Param, Tensor: t}
	}
	return nil
}

func (p *Program) readInputs(specs []map[string]json.RawMessage) error {
	for i, spec := range specs {
		in, err := p.input(spec)
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		p.Inputs = append(p.Inputs, in)
	}
	return nil
}

func (p *Program) input(spec map[string]json.RawMessage) (Input, error) {
	for kind, raw := range spec {
		var s struct {
			Arg       json.RawMessage `json:"arg"`
			Name      string          `json:"name"`
			Value     json.RawMessage `json:"value"`
			Parameter string          `json:"parameter_name"`
			Buffer    string          `json:"buffer_name"`
			Constant  string          `json:"tensor_constant_name"`
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return Input{}, err
		}
		switch kind {
		case "user_input":
			return p.userInput(s.Arg)
		case "parameter":
			return p.stored(Parameter, s.Arg, s.Parameter)
		case "buffer":
			return p.stored(Buffer, s.Arg, s.Buffer)
		case "tensor_constant":
			return p.stored(Constant, s.Arg, s.Constant)
		case "constant_input":
			v, err := p.arg(s.Value)
			return Input{Kind: Fixed, Name: s.Name, Value: v}, err
		}
		return Input{}, fmt.Errorf("an input of kind %s is not supported", clip(kind))
	}
	return Input{}, errors.New("it is empty")
}

func (p *Program) userInput(raw json.RawMessage) (Input, error) {
	a, err := p.arg(raw)
	if err != nil {
		return Input{}, err
	}
	ref, ok := a.(Ref)
	if !ok {
		return Input{Kind: Fixed, Value: a}, nil
	}
	in := Input{Kind: User, Name: string(ref), Tensor: p.values[string(ref)]}
	if in.Tensor == nil && p.sizes[in.Name] == "" {
		return Input{}, fmt.Errorf("%s is neither a tensor nor a number", clip(in.Name))
	}
	return in, nil
}

func (p *Program) stored(kind InputKind, arg json.RawMessage, target string) (Input, error) {
	var a fileName
	if err := json.Unmarshal(arg, &a); err != nil {
		return Input{}, err
	}
	in := Input{Kind: kind, Name: a.Name, Target: target, Tensor: p.values[a.Name]}
	w, ok := p.Weights[target]
	switch {
	case in.Tensor == nil:
		return in, fmt.Errorf("%s is no tensor of the graph", clip(a.Name))
	case !ok:
		return in, fmt.Errorf("the archive has no tensor %s", clip(target))
	case w.Tensor.DType != in.Tensor.DType || !slices.Equal(w.Tensor.Shape, in.Tensor.Shape):
		return in, fmt.Errorf("the stored %s has another dtype or shape than the graph says", clip(target))
	}
	return in, nil
}

func (p *Program) readOutputs(specs []map[string]json.RawMessage) error {
	for i, spec := range specs {
		out, err := p.output(spec)
		if err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		p.Outputs = append(p.Outputs, out)
	}
	return nil
}

func (p *Program) output(spec map[string]json.RawMessage) (Output, error) {
	for kind, raw := range spec {
		var s struct {
			Arg       json.RawMessage `json:"arg"`
			Buffer    string          `json:"buffer_name"`
			Parameter string          `json:"parameter_name"`
			Input     string          `json:"user_input_name"`
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return Output{}, err
		}
		if kind == "user_output" {
			a, err := p.arg(s.Arg)
			return Output{Kind: Result, Value: a}, err
		}
		var a fileName
		if err := json.Unmarshal(s.Arg, &a); err != nil {
			return Output{}, err
		}
		switch kind {
		case "buffer_mutation", "parameter_mutation":
			return Output{Kind: BufferMutation, Value: Ref(a.Name), Target: s.Buffer + s.Parameter}, nil
		case "user_input_mutation":
			return Output{Kind: InputMutation, Value: Ref(a.Name), Target: s.Input}, nil
		}
		return Output{}, fmt.Errorf("an output of kind %s is not supported", clip(kind))
	}
	return Output{}, errors.New("it is empty")
}

func (p *Program) readNodes(nodes []fileNode) error {
	for i := range nodes {
		n, err := p.node(&nodes[i])
		if err != nil {
			return fmt.Errorf("node %d (%s): %w", i, clip(nodes[i].Target), err)
		}
		p.Nodes = append(p.Nodes, n)
	}
	return nil
}

func (p *Program) node(f *fileNode) (Node, error) {
	n := Node{Target: clip(f.Target), Name: f.Name, Stack: stackOf(f.Metadata["stack_trace"])}
	for _, in := range f.Inputs {
		a, err := p.arg(in.Arg)
		if err != nil {
			return n, fmt.Errorf("argument %s: %w", clip(in.Name), err)
		}
		n.Args = append(n.Args, NamedArg{Name: in.Name, Keyword: in.Kind == 2, Value: a})
	}
	for _, raw := range f.Outputs {
		a, err := p.arg(raw)
		if err != nil {
			return n, fmt.Errorf("result: %w", err)
		}
		o := Out{}
		switch a := a.(type) {
		case nil:
		case Ref:
			o.Name = string(a)
		case []Arg:
			o.Many = true
			for _, e := range a {
				r, _ := e.(Ref)
				o.List = append(o.List, string(r))
			}
		case *Sub:
			n.Args = append(n.Args, NamedArg{Value: Unread("as_graph")})
		default: // found with its operator, when the program is tried
			n.Args = append(n.Args, NamedArg{Value: Unread(fmt.Sprint(a))})
		}
		n.Outs = append(n.Outs, o)
	}
	return n, nil
}

// traceLine is a place in a stack trace.
var traceLine = regexp.MustCompile(`^\s*File "(.*)", line (\d{1,9}), in (.*)$`)

// stackOf reads a Python stack trace, outermost frame first.
func stackOf(text string) []Frame {
	var out []Frame
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := traceLine.FindStringSubmatch(line); m != nil && len(out) < maxRank {
			n, _ := strconv.Atoi(m[2])
			out = append(out, Frame{File: Plain(m[1]), Line: n, Func: Plain(m[3])})
		} else if m == nil && len(out) > 0 && out[len(out)-1].Code == "" {
			out[len(out)-1].Code = Plain(strings.TrimSpace(line))
		}
	}
	return out
}

// Plain takes control characters out of a text that is shown.
func Plain(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
