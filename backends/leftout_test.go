package backends

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
)

// This file calls every operator with all of its optional arguments left out, in
// compiled functions, and compares what comes out with eager. The calls are made
// from the operator table: a new row is tested without a word here.

// notCalled are functions for which no call is found, with the reason. The list may
// only become shorter.
var notCalled = map[string]string{
	"(*tcdbg/torch.Tensor).Clamp":                         "refused without min and max",
	"(*tcdbg/torch.Tensor).Clamp_":                        "refused without min and max",
	"(*tcdbg/torch.Tensor).Clip":                          "refused without min and max",
	"(*tcdbg/torch.Tensor).Clip_":                         "refused without min and max",
	"tcdbg/torch.Clamp":                                   "refused without min and max",
	"tcdbg/torch.Clip":                                    "refused without min and max",
	"tcdbg/torch.SegmentReduce":                           "refused without lengths and offsets",
	"(*tcdbg/torch.Tensor).Imag":                          "takes complex tensors alone",
	"tcdbg/torch.Imag":                                    "takes complex tensors alone",
	"tcdbg/torch.ViewAsReal":                              "takes complex tensors alone",
	"tcdbg/torch/nn/functional.Interpolate":               "refused without size and scale_factor",
	"tcdbg/torch/nn/functional.MultiHeadAttentionForward": "takes eleven arguments that fit each other",
}

// notWhole are operators, and calls of them, that no graph holds although their row does
// not say so, with the reason. The list may only become shorter.
var notWhole = map[string]string{
	"repeat_interleave":   "repeats in a tensor give a shape that depends on data",
	"F.OneHot(in[0], -1)": "without num_classes the shape depends on data",
}

// fresh are operators whose results show their input's memory in eager, and have memory
// of their own where a graph makes them: the strides differ. The list may only become
// shorter.
var fresh = map[ops.ID]string{
	ops.Einsum:   "a diagonal alone",
	ops.Meshgrid: "expanded views",
}

// sample is a tensor that calls are tried with: how a program writes it, and itself.
type sample struct {
	code string
	make func() *torch.Tensor
}

func ramp(shape ...int) sample {
	n := 1
	for _, s := range shape {
		n *= s
	}
	first := sync.OnceValue(func() *torch.Tensor { return torch.Arange(n).Add(1).Div(float64(n + 1)).Reshape(shape...) })
	return sample{fmt.Sprintf("ramp(%s)", list(shape)), func() *torch.Tensor { return first().Clone() }} // calls may write it
}

func list(ints []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ints), " ", ", "), "[]")
}

var flat = ramp(2, 3)

// samples are tried in this order; the first ones have a dimension of size 1.
var samples = []sample{
	ramp(1, 3, 1), flat, ramp(3),
	{"definite()", func() *torch.Tensor { return torch.Eye(3).Mul(2).Add(torch.Ones(3, 3)) }},
	ramp(1, 3, 4), ramp(1, 3, 4, 4), ramp(1, 3, 4, 4, 4), ramp(),
	{"picks()", func() *torch.Tensor { return torch.NewTensor([]int{2, 0, 1}) }},
	{"pick()", func() *torch.Tensor { return torch.NewTensor([][]int{{1, 0, 1}}) }},
	{"mask()", func() *torch.Tensor { return torch.NewTensor([]bool{true, false, true}) }},
	ramp(3, 2), ramp(4, 3), ramp(2, 3, 2), ramp(2, 3, 2, 2), ramp(2, 3, 2, 2, 2), ramp(3, 2, 2), ramp(3, 2, 2, 2),
	ramp(3, 2, 2, 2, 2), ramp(1, 4, 4, 4),
	{"ramp(2, 3).To(torch.Float64)", func() *torch.Tensor { return flat.make().To(torch.Float64) }},
	ramp(1, 2, 2, 2, 3),
	{"places(1, 1, 2, 2)", func() *torch.Tensor { return torch.Arange(4).Reshape(1, 1, 2, 2) }},
	{"places(1, 1, 2, 2, 2)", func() *torch.Tensor { return torch.Arange(8).Reshape(1, 1, 2, 2, 2) }},
	{"torch.NewTensor(2)", func() *torch.Tensor { return torch.NewTensor(2) }},
	{"torch.NewTensor([]int{3})", func() *torch.Tensor { return torch.NewTensor([]int{3}) }},
	{"torch.NewTensor([]int{0, 2, 3})", func() *torch.Tensor { return torch.NewTensor([]int{0, 2, 3}) }},
	{"torch.NewTensor([][]int{{1, 2, 0}, {0, 1, 2}})", func() *torch.Tensor { return torch.NewTensor([][]int{{1, 2, 0}, {0, 1, 2}}) }},
}

const leftOutPrelude = `
func ramp(shape ...int) *torch.Tensor {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return torch.Arange(n).Add(1).Div(float64(n + 1)).Reshape(shape...)
}

func places(shape ...int) *torch.Tensor { return ramp(shape...).Mul(float64(ramp(shape...).Numel() + 1)).Sub(1).Round().To(torch.Int64) }

func definite() *torch.Tensor { return torch.Eye(3).Mul(2).Add(torch.Ones(3, 3)) }
func picks() *torch.Tensor    { return torch.NewTensor([]int{2, 0, 1}) }
func pick() *torch.Tensor     { return torch.NewTensor([][]int{{1, 0, 1}}) }
func mask() *torch.Tensor     { return torch.NewTensor([]bool{true, false, true}) }

func try(name string, values bool, f func([]*torch.Tensor) []*torch.Tensor, in ...*torch.Tensor) {
	fmt.Println("==", name)
	defer func() {
		if r := recover(); r != nil {
			fmt.Println("panics:", r)
		}
	}()
	torch.ManualSeed(3)
	for _, list := range [][]*torch.Tensor{f(in), in} {
		for _, t := range list {
			fmt.Println(t.Shape(), t.DType())
			fmt.Println("strides", t.Stride())
			if values {
				fmt.Println(t)
			}
		}
	}
}
`

// argument is one value that a parameter may get.
type argument struct {
	code  string // "%d" is the position of the tensor in the list of inputs
	value func() ops.Arg
	in    []sample
}

func plainArg(code string, v ops.Arg) argument {
	return argument{code: code, value: func() ops.Arg { return v }}
}

// argumentsFor are the values that are tried for a required parameter.
func argumentsFor(p *ops.Param) []argument {
	var out []argument
	if p.Optional() {
		out = append(out, plainArg("nil", nil))
	}
	one := func(s sample) argument {
		return argument{code: "in[%d]", value: func() ops.Arg { return s.make() }, in: []sample{s}}
	}
	switch p.Base() {
	case "Tensor", "Operand":
		for _, s := range samples {
			out = append(out, one(s))
		}
	case "Tensor[]", "Tensor?[]":
		for _, s := range samples {
			out = append(out, argument{
				code: "[]*torch.Tensor{in[%d]}", value: func() ops.Arg { return []ops.Value{s.make()} },
				in: []sample{s},
			},
				argument{
					code: "[]*torch.Tensor{in[%d], in[%d]}", value: func() ops.Arg { return []ops.Value{s.make(), s.make()} },
					in: []sample{s, s},
				})
		}
		out = append(out, argument{
			code:  "[]*torch.Tensor{in[%d], in[%d]}",
			value: func() ops.Arg { return []ops.Value{samples[1].make(), samples[11].make()} }, in: []sample{samples[1], samples[11]},
		})
	case "Scalar", "Scalar|str", "float":
		out = append(out, plainArg("0.5", 0.5), plainArg("2.0", 2.0))
		if p.Base() != "float" {
			out = append(out, plainArg("2", 2))
		}
	case "int":
		out = append(out, plainArg("0", 0), plainArg("1", 1), plainArg("2", 2), plainArg("3", 3), plainArg("-1", -1))
	case "int[]", "int[]|str":
		for _, v := range [][]int{{0}, {3}, {2, 2}, {1, 0}, {1, 3}, {2, 2, 2}, {1, 3, 1}, {1, 1}, {}} {
			out = append(out, plainArg("[]int{"+list(v)+"}", v))
		}
	case "float[]":
		out = append(out, plainArg("[]float64{0.5}", []float64{0.5}), plainArg("[]float64{0.5, 0.5}", []float64{0.5, 0.5}))
	case "bool":
		out = append(out, plainArg("false", false), plainArg("true", true))
	case "bool[]":
		out = append(out, plainArg("[]bool{true}", []bool{true}))
	case "str":
		out = append(out, plainArg(`"ii->i"`, "ii->i"), plainArg(`"mean"`, "mean"), plainArg(`"ij->j"`, "ij->j"),
			plainArg(`"i,i->i"`, "i,i->i"))
	case "dtype":
		out = append(out, plainArg("torch.Float64", torch.Float64))
	case "device":
		out = append(out, plainArg("torch.CPU", ops.CPU))
	}
	return out
}

// leftOut is one call without its optional arguments.
type leftOut struct {
	name string // of the Go function
	row  *ops.Op
	code string   // of the call
	in   []sample // its tensors
}

// spots are the parameters that a call has to give, the receiver among them.
func spots(b torch.Binding, row *ops.Op, ints bool) []int {
	var at []int
	if b.Method {
		at = append(at, 0)
	}
	at = append(at, b.Params...)
	params := row.Params()
	switch {
	case b.Variadic == torch.VariadicTensors:
		at = append(at, b.VariadicArg)
	case ints && (b.Variadic == torch.VariadicInts || b.Variadic == torch.VariadicMixed):
		at = append(at, b.VariadicArg)
	}
	for i := range params {
		if params[i].KwOnly && !params[i].HasDef || b.Variadic == torch.VariadicPositional && !params[i].HasDef && !slices.Contains(at, i) {
			at = append(at, i)
		}
	}
	return at
}

// callsOf finds calls of a function that eager takes: two at most, whose first
// tensors have different shapes.
func callsOf(name string, b torch.Binding) []leftOut {
	row := ops.Get(b.Op)
	var found []leftOut
	for _, ints := range []bool{false, true} {
		at := spots(b, row, ints)
		choices := make([][]argument, len(at))
		for i, p := range at {
			choices[i] = argumentsFor(&row.Params()[p])
		}
		budget, first := 40_000, 0
		pick := make([]argument, len(at))
		var search func(i int) bool
		search = func(i int) bool {
			if i < len(at) {
				for _, c := range choices[i] {
					pick[i] = c
					if search(i+1) && i > 0 {
						return true // the next one begins with another first argument
					}
					if first == 2 || budget <= 0 {
						return false
					}
				}
				return false
			}
			budget--
			if !eagerTakes(b, row, at, pick) {
				return false
			}
			first++
			found = append(found, leftOut{name: name, row: row, code: callText(name, b, row, at, pick), in: inputs(pick)})
			return true
		}
		search(0)
		if b.Variadic != torch.VariadicInts && b.Variadic != torch.VariadicMixed {
			break
		}
	}
	return found
}

func inputs(pick []argument) []sample {
	var in []sample
	for _, a := range pick {
		in = append(in, a.in...)
	}
	return in
}

// eagerTakes reports whether a call goes through.
func eagerTakes(b torch.Binding, row *ops.Op, at []int, pick []argument) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	kw := map[string]ops.Arg{}
	for i, p := range at {
		kw[row.Params()[p].Name] = pick[i].value()
	}
	if v := b.VariadicArg; (b.Variadic == torch.VariadicInts || b.Variadic == torch.VariadicMixed) && !slices.Contains(at, v) &&
		!row.Params()[v].Optional() {
		kw[row.Params()[v].Name] = []int{}
	}
	bound, err := ops.Bind(row, nil, kw)
	if err != nil {
		return false
	}
	row, bound = ops.OverInput(row, bound)
	torch.Call(row.ID, bound)
	return true
}

// callText is the call as a program writes it.
func callText(name string, b torch.Binding, row *ops.Op, at []int, pick []argument) string {
	next := 0
	var args []string
	for i, p := range at {
		text := pick[i].code
		for range pick[i].in {
			text = strings.Replace(text, "%d", fmt.Sprint(next), 1)
			next++
		}
		param := row.Params()[p]
		inTurn := b.Method && p == 0 || slices.Contains(b.Params, p)
		switch {
		case param.KwOnly && !inTurn:
			text = fmt.Sprintf("torch.Option{Name: %q, Value: %s}", param.Name, text)
		case b.Variadic == torch.VariadicTensors && p == b.VariadicArg:
			text += "..."
		case (b.Variadic == torch.VariadicInts || b.Variadic == torch.VariadicMixed) && p == b.VariadicArg:
			if text = strings.TrimSuffix(strings.TrimPrefix(text, "[]int{"), "}"); text == "nil" {
				continue
			}
		}
		args = append(args, text)
	}
	short := name[strings.LastIndex(name, ".")+1:]
	switch {
	case b.Method:
		return fmt.Sprintf("%s.%s(%s)", args[0], short, strings.Join(args[1:], ", "))
	case strings.Contains(name, "nn/functional"):
		return fmt.Sprintf("F.%s(%s)", short, strings.Join(args, ", "))
	}
	return fmt.Sprintf("torch.%s(%s)", short, strings.Join(args, ", "))
}

// function is the Go function that makes the call.
func (c *leftOut) function(i int) string {
	rets := c.row.Returns()
	body := fmt.Sprintf("return []*torch.Tensor{%s}", c.code)
	if c.row.ID == ops.Item {
		body = fmt.Sprintf("return []*torch.Tensor{torch.NewTensor(%s)}", c.code)
	}
	if rets[0] == "Tensor[]" {
		body = "return " + c.code
	} else if n := len(rets); n > 1 {
		names := []string{"a", "b", "c", "d"}[:n]
		body = fmt.Sprintf("%s := %s; return []*torch.Tensor{%[1]s}", strings.Join(names, ", "), c.code)
	}
	return fmt.Sprintf("func f%d(in []*torch.Tensor) []*torch.Tensor { %s }\n", i, body)
}

// breaks reports whether the call breaks the graph by what its row says, or by the list.
func (c *leftOut) breaks() bool {
	return notWhole[c.row.Name]+notWhole[c.code] != "" || c.row.Tags.Has(ops.TagDataDependent) || ops.Reshapes(c.row)
}

// unwritten are operators whose results hold whatever the memory held.
func (c *leftOut) unwritten() bool {
	return strings.HasPrefix(c.row.Name, "empty") || strings.HasPrefix(c.row.Name, "new_empty")
}

// call is the statement of main that makes it, compiled.
func (c *leftOut) call(i int) string {
	made := make([]string, len(c.in))
	for k, s := range c.in {
		made[k] = ", " + s.code
	}
	option := ""
	if !c.breaks() {
		option = ", kw.Fullgraph(true)"
	}
	return fmt.Sprintf("\ttry(%q, %v, torch.Compile(f%d, kw.Name(\"f%[3]d\")%s)%s)\n", c.title(), !c.unwritten(), i, option,
		strings.Join(made, ""))
}

func (c *leftOut) title() string {
	made := make([]string, len(c.in))
	for k, s := range c.in {
		made[k] = s.code
	}
	return c.code + " of " + strings.Join(made, ", ")
}

// breakSink keeps which functions broke.
type breakSink struct {
	mu     sync.Mutex
	frames []string
}

func (s *breakSink) Emit(o logs.Out) {
	name, _ := logs.Break{}.ArtifactName()
	if meta, ok := o.Meta.(map[string]string); !ok || meta["name"] != name {
		return
	}
	var body struct{ Data logs.Break }
	if err := json.Unmarshal(o.Payload, &body); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, body.Data.Frame)
}

func (s *breakSink) Stack(f []logs.Frame) any { return f }

func (s *breakSink) broke(frame string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.frames, frame)
}

func withoutStrides(text string) string {
	return regexp.MustCompile(`(?m)^strides.*$`).ReplaceAllString(text, "")
}

// TestOptionalArgumentsLeftOut compares every operator, called without its optional
// arguments in a compiled function, with eager.
func TestOptionalArgumentsLeftOut(t *testing.T) {
	bindings := torch.Bindings()
	var names []string
	for n := range bindings {
		names = append(names, n)
	}
	slices.Sort(names)
	var calls []leftOut
	for _, n := range names {
		if short := n[strings.LastIndex(n, ".")+1:]; short[0] >= 'a' && short[0] <= 'z' {
			continue // nn/functional's own
		}
		found := callsOf(n, bindings[n])
		if _, listed := notCalled[n]; listed == (len(found) > 0) {
			t.Errorf("%s: %d calls found, listed in notCalled: %v", n, len(found), listed)
		}
		calls = append(calls, found...)
	}
	var sb, run strings.Builder
	sb.WriteString(leftOutPrelude)
	for i := range calls {
		sb.WriteString(calls[i].function(i))
		run.WriteString(calls[i].call(i))
	}
	text := sb.String() + "\nfunc main() {\n" + run.String() + "}\n"
	if dir := os.Getenv("TCDBG_LEFTOUT"); dir != "" {
		_ = os.WriteFile(dir, []byte(text), 0o600)
	}
	prog, err := loadText(t, text)
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := runText(prog, nil, "")
	plain := strings.Split(want, "== ")
	differ := map[ops.ID]bool{}
	ways := differentials(t)
	for _, w := range test.Some(t, 1, []differential{ways[1], ways[0]}) {
		sink := &breakSink{}
		got, _, stderr := runLogged(prog, NewSet(w.cfg), w.backend, sink)
		compiled := strings.Split(got, "== ")
		if len(compiled) != len(plain) || len(plain) != len(calls)+1 {
			t.Fatalf("under %s %d of %d calls ran\n%s", w.name, len(compiled)-1, len(plain)-1, stderr)
		}
		for i := range calls {
			if calls[i].breaks() && !sink.broke(fmt.Sprintf("f%d", i)) {
				t.Errorf("under %s: %s does not break the graph", w.name, calls[i].title())
			}
		}
		for i := range plain {
			d := differs(plain[i], compiled[i])
			if i > 0 && w.name == "aot_eager" && fresh[calls[i-1].row.ID] != "" {
				differ[calls[i-1].row.ID] = differ[calls[i-1].row.ID] || d != ""
				d = differs(withoutStrides(plain[i]), withoutStrides(compiled[i]))
			}
			if d != "" {
				t.Errorf("under %s: %s%s", w.name, plain[i][:strings.IndexByte(plain[i], '\n')+1], d)
			}
		}
	}
	for id := range fresh {
		if !differ[id] {
			t.Errorf("%s needs no row in fresh", ops.Get(id).Name)
		}
	}
	t.Logf("%d calls of %d functions", len(calls), len(names)-len(notCalled))
}
