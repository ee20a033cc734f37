package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tcdbg/ops"
	"tcdbg/torch/export"
)

// This file walks through a program and writes its calls.

// Weight gives the bytes of the stored tensor of that name, contiguous as C has them.
type Weight func(target string) []byte

// Write writes a program as an ONNX model. Its error is *export.Missing where calls have no form in ONNX.
func Write(out io.Writer, p *export.Program, weight Weight) error {
	c := &converter{
		p: p, names: map[string]string{}, missing: map[string]int{}, graph: &message{}, weight: weight, alias: map[string]string{},
		scalars: map[string]string{},
	}
	c.inputs()
	for i := range p.Nodes {
		c.node(i)
	}
	if len(c.missing) > 0 {
		return &export.Missing{Counts: c.missing, Why: "have no form in ONNX"}
	}
	if err := c.outputs(); err != nil {
		return err
	}
	for _, m := range c.constants {
		c.graph.part(5, m)
	}
	c.graph.text(2, "main")
	return model(c.graph).writeTo(out)
}

// converter is one model being written.
type converter struct {
	p         *export.Program
	graph     *message
	constants []*message
	names     map[string]string // values of ONNX by those of the program: another one after an in-place call
	alias     map[string]string // views, by what they show
	missing   map[string]int
	weight    Weight
	fresh     int
	scalars   map[string]string // constants that are there already
	at        int               // the call that is written
}

// errForm is the error of a call that has no form; its text says why.
type errForm string

func (e errForm) Error() string { return string(e) }

func (c *converter) name(base string) string {
	c.fresh++
	return fmt.Sprintf("%s__%d", base, c.fresh)
}

// emit writes a node with one result and returns its name.
func (c *converter) emit(op string, a attrs, inputs ...string) string {
	out := c.name(strings.ToLower(op))
	c.emitTo(op, a, inputs, out)
	return out
}

func (c *converter) emitTo(op string, a attrs, inputs []string, outputs ...string) {
	m := &message{}
	for _, in := range inputs {
		m.text(1, in)
	}
	for _, out := range outputs {
		m.text(2, out)
	}
	m.text(3, fmt.Sprintf("%s_%d", strings.ToLower(op), c.fresh))
	m.text(4, op)
	for _, key := range sortedKeys(a) {
		m.part(5, attribute(key, a[key]))
	}
	c.fresh++
	c.graph.part(1, m)
}

func sortedKeys(a attrs) []string {
	out := make([]string, 0, len(a))
	for k := range a {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// inputs are weights, as constants, and what the caller gives.
func (c *converter) inputs() {
	used := map[string]bool{}
	for i := range c.p.Nodes {
		for _, a := range c.p.Nodes[i].Args {
			eachRef(a.Value, func(name string) { used[name] = true })
		}
	}
	for _, o := range c.p.Outputs {
		eachRef(o.Value, func(name string) { used[name] = true })
	}
	for i := range c.p.Inputs {
		in := &c.p.Inputs[i]
		c.names[in.Name] = in.Name
		switch {
		case in.Kind == export.Fixed:
		case in.Tensor == nil:
			c.missing["a number as an input"]++
		case dataTypes[in.Tensor.DType] == 0:
			c.missing["a tensor of "+in.Tensor.DType.String()]++
		case in.Kind == export.User:
			c.graph.part(11, c.info(in.Name, in.Tensor))
		case used[in.Name]:
			c.constants = append(c.constants, tensorProto(in.Name, in.Tensor.DType, numbers(in.Tensor.Shape), c.weight(in.Target)))
		}
	}
}

func numbers(list []export.Size) []int64 {
	out := make([]int64, len(list))
	for i, s := range list {
		out[i] = s.Value
	}
	return out
}

func (c *converter) info(name string, t *export.Tensor) *message {
	dims := make([]string, len(t.Shape))
	for i, s := range t.Shape {
		dims[i] = s.Expr
	}
	return valueInfo(name, t.DType, dims, numbers(t.Shape))
}

func eachRef(a export.Arg, f func(string)) {
	switch a := a.(type) {
	case export.Ref:
		f(string(a))
	case []export.Arg:
		for _, e := range a {
			eachRef(e, f)
		}
	}
}

// outputs are the results, each a value of its own.
func (c *converter) outputs() error {
	paths := c.p.Out.Paths("out")
	for i, o := range c.p.Outputs {
		if o.Kind != export.Result {
			return fmt.Errorf("the program changes %s, which an ONNX model cannot", o.Target)
		}
		ref, ok := o.Value.(export.Ref)
		t := c.p.Value(string(ref))
		if !ok || t == nil {
			return fmt.Errorf("%s is no tensor", paths[i])
		}
		name := strings.Trim(strings.NewReplacer("[", "_", "]", "", "'", "").Replace(paths[i]), "_")
		if _, taken := c.names[name]; taken {
			name = c.name(name)
		}
		c.emitTo("Identity", nil, []string{c.names[string(ref)]}, name)
		c.graph.part(12, c.info(name, t))
	}
	return nil
}

// node writes one call.
func (c *converter) node(i int) {
	c.at = i
	n := &c.p.Nodes[i]
	short := strings.TrimPrefix(strings.TrimPrefix(n.Target, "torch.ops."), "aten.")
	err := c.call(n, short)
	if err != nil {
		text := strings.TrimPrefix("aten."+short, "aten.higher_order.") // control flow is none of aten's
		if err.Error() != "" {
			text += ": " + err.Error()
		}
		c.missing[text]++
		for _, name := range resultsOf(n) { // what follows is counted, too
			c.names[name] = name
		}
	}
}

func resultsOf(n *export.Node) []string {
	var out []string
	for _, o := range n.Outs {
		if o.Many {
			out = append(out, o.List...)
		} else {
			out = append(out, o.Name)
		}
	}
	return out
}

func (c *converter) call(n *export.Node, short string) error {
	if n.FlowOp() != "" {
		return c.flow(n)
	}
	base, _, _ := strings.Cut(short, ".")
	pure := strings.TrimSuffix(base, "_")
	r := rules[short]
	for _, name := range []string{base, pure} {
		if r == nil {
			r = rules[name]
		}
	}
	if r == nil {
		return errForm("")
	}
	args, ok := n.Bound()
	if !ok {
		return errForm("")
	}
	k := &call{converter: c, n: n, args: args}
	outs, err := k.run(r)
	if err != nil {
		return err
	}
	names := resultsOf(n)
	if len(outs) < len(names) {
		return errForm(fmt.Sprintf("it has %d results", len(names)))
	}
	for i, name := range names {
		c.names[name] = outs[i]
	}
	if t := k.tensorOut(); t != nil && dataTypes[t.DType] == 0 {
		return errForm("a tensor of " + t.DType.String())
	}
	if pure != base && !strings.HasPrefix(base, "__") {
		return c.write(n, outs[0])
	}
	if views[base] {
		if ref, ok := first(n).(export.Ref); ok {
			for _, name := range names {
				c.alias[name] = c.root(string(ref))
			}
		}
	}
	return nil
}

// views are operators whose results may show the memory of what they read.
var views = wordSet("view reshape flatten unflatten transpose permute t expand select slice narrow unsqueeze squeeze " +
	"chunk split unbind detach alias contiguous to split_with_sizes movedim swapaxes swapdims numpy_T")

func wordSet(text string) map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(text) {
		out[name] = true
	}
	return out
}

func (c *converter) root(name string) string {
	for c.alias[name] != "" {
		name = c.alias[name]
	}
	return name
}

// first is the tensor that a call is about: a view shows it, an in-place operator writes it.
func first(n *export.Node) export.Arg {
	for _, a := range n.Args {
		return a.Value
	}
	return nil
}

// write has the tensor that an in-place call changes be its result from here on. Others that show the
// same memory would have to change with it.
func (c *converter) write(n *export.Node, to string) error {
	ref, ok := first(n).(export.Ref)
	if !ok {
		return errForm("it writes no tensor")
	}
	target := string(ref)
	for i := range c.p.Inputs {
		if c.p.Inputs[i].Name == target {
			return errForm("it changes an input of the program")
		}
	}
	result := resultsOf(n)
	later := c.later()
	for name := range c.names {
		if name != target && !slices.Contains(result, name) && later[name] && c.root(name) == c.root(target) {
			return errForm("it changes a tensor that others are views of")
		}
	}
	c.names[target] = to
	if len(result) > 0 {
		c.alias[result[0]] = c.root(target)
	}
	return nil
}

// later are the values that are read after the call that is written.
func (c *converter) later() map[string]bool {
	out := map[string]bool{}
	for i := c.at + 1; i < len(c.p.Nodes); i++ {
		for _, a := range c.p.Nodes[i].Args {
			eachRef(a.Value, func(name string) { out[name] = true })
		}
	}
	for _, o := range c.p.Outputs {
		eachRef(o.Value, func(name string) { out[name] = true })
	}
	return out
}

// read reports whether a result of the call is read.
func (c *converter) read(name string) bool { return c.later()[name] }

// call is one call being written.
type call struct {
	*converter
	n    *export.Node
	args map[string]export.Arg
}

// rule writes a call and returns the names of its results.
type rule func(k *call) []string

// run runs a rule; what it refuses it panics with. Rules may panic otherwise when they are given what PyTorch
// never writes.
func (k *call) run(r rule) (outs []string, err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		var form errForm
		if e, ok := v.(error); !ok || !errors.As(e, &form) {
			form = errForm(fmt.Sprintf("it does not fit its arguments: %v", v))
		}
		outs, err = nil, form
	}()
	return r(k), nil
}

func refuse(format string, args ...any) { panic(errForm(fmt.Sprintf(format, args...))) }

// tensorOut describes the first result.
func (k *call) tensorOut() *export.Tensor { return k.p.Value(resultsOf(k.n)[0]) }

// out is tensorOut of a call that gives a tensor.
func (k *call) out() *export.Tensor {
	t := k.tensorOut()
	if t == nil {
		refuse("its result is no tensor")
	}
	return t
}

// meta describes the tensor that an argument names, nil for others.
func (k *call) meta(arg string) *export.Tensor {
	ref, _ := k.args[arg].(export.Ref)
	return k.p.Value(string(ref))
}

// in is meta of an argument that is a tensor.
func (k *call) in(arg string) *export.Tensor {
	t := k.meta(arg)
	if t == nil {
		refuse("%s is no tensor", arg)
	}
	return t
}

// t is the name of the tensor of an argument; empty for none.
func (k *call) t(arg string) string { return k.ref(k.args[arg]) }

func (k *call) ref(a export.Arg) string {
	ref, ok := a.(export.Ref)
	if !ok {
		return ""
	}
	name, ok := k.names[string(ref)]
	if !ok {
		refuse("it reads a value that is not there")
	}
	return name
}

// list are the names of the tensors of a list.
func (k *call) list(arg string) []string {
	var out []string
	l, _ := k.args[arg].([]export.Arg)
	for _, a := range l {
		out = append(out, k.ref(a))
	}
	return out
}

// int is a whole number that is known.
func (k *call) int(arg string) int {
	n, ok := k.args[arg].(int64)
	if !ok {
		refuse("%s is no constant", arg)
	}
	return int(n)
}

// ints are whole numbers that are known; one stands for all of n.
func (k *call) ints(arg string, n int) []int {
	if v, ok := k.args[arg].(int64); ok {
		return slices.Repeat([]int{int(v)}, max(n, 1))
	}
	l, ok := k.args[arg].([]export.Arg)
	if !ok {
		refuse("%s is no list of constants", arg)
	}
	var out []int
	for _, a := range l {
		v, ok := a.(int64)
		if !ok {
			refuse("%s has sizes that are no constants", arg)
		}
		out = append(out, int(v))
	}
	if len(out) == 1 && n > 1 {
		return slices.Repeat(out, n)
	}
	return out
}

func (k *call) bool(arg string) bool { b, _ := k.args[arg].(bool); return b }

// number is a number as a float.
func (k *call) number(arg string) float64 {
	switch v := k.args[arg].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case bool:
		if v {
			return 1
		}
		return 0
	}
	refuse("%s is no number", arg)
	return 0
}

// dim is a dimension from the front.
func dim(d, rank int) int {
	if d < 0 {
		d += max(rank, 1)
	}
	return d
}

func dims(list []int, rank int) []int {
	out := make([]int, len(list))
	for i, d := range list {
		out[i] = dim(d, rank)
	}
	return out
}

// all are the dimensions of a tensor.
func all(rank int) []int {
	out := make([]int, rank)
	for i := range out {
		out[i] = i
	}
	return out
}

// constant is a tensor of numbers; those without dimensions are written once.
func (c *converter) constant(d ops.DType, shape []int64, v ...float64) string {
	key := fmt.Sprint(d, shape, v)
	if name, ok := c.scalars[key]; ok {
		return name
	}
	var data []byte
	for _, x := range v {
		data = append(data, element(d, x)...)
	}
	name := c.name("constant")
	c.constants = append(c.constants, tensorProto(name, d, shape, data))
	c.scalars[key] = name
	return name
}

// element is a number as bytes.
func element(d ops.DType, x float64) []byte {
	switch d {
	case ops.Float32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	case ops.Float64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
	case ops.Int64:
		return binary.LittleEndian.AppendUint64(nil, uint64(int64(x)))
	case ops.Int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(int32(x)))
	case ops.Int16:
		return binary.LittleEndian.AppendUint16(nil, uint16(int16(x)))
	case ops.Int8, ops.Uint8:
		return []byte{byte(int64(x))}
	case ops.Bool:
		if x != 0 {
			return []byte{1}
		}
		return []byte{0}
	}
	refuse("a number of %s", d)
	return nil
}

// vector is a list of whole numbers, of which some may be computed.
func (k *call) vector(list []export.Arg) string {
	var parts []string
	var known []float64
	flush := func() {
		if len(known) > 0 {
			parts = append(parts, k.constant(ops.Int64, []int64{int64(len(known))}, known...))
			known = nil
		}
	}
	for _, a := range list {
		if v, ok := a.(int64); ok {
			known = append(known, float64(v))
			continue
		}
		flush()
		parts = append(parts, k.ref(a))
	}
	flush()
	switch len(parts) {
	case 0:
		return k.constant(ops.Int64, []int64{0})
	case 1:
		return parts[0]
	}
	return k.emit("Concat", attrs{"axis": 0}, parts...)
}

func (k *call) intVector(list ...int) string {
	v := make([]export.Arg, len(list))
	for i, n := range list {
		v[i] = int64(n)
	}
	return k.vector(v)
}

// size is a whole number of an argument as a vector of one.
func (k *call) size(a export.Arg) string { return k.vector([]export.Arg{a}) }

// cast is x as a dtype that it may not have.
func (c *converter) cast(x string, from, to ops.DType) string {
	if from == to {
		return x
	}
	if dataTypes[to] == 0 {
		refuse("a tensor of %s", to)
	}
	return c.emit("Cast", attrs{"to": int(dataTypes[to])}, x)
}

// operand is a tensor or a number of an argument in a dtype.
func (k *call) operand(arg string, d ops.DType) string {
	if t := k.meta(arg); t != nil {
		return k.cast(k.t(arg), t.DType, d)
	}
	if name := k.t(arg); name != "" { // a size
		return k.cast(k.emit("Squeeze", nil, name, k.intVector(0)), ops.Int64, d)
	}
	return k.scalar(d, k.number(arg))
}

// scalar is a number as a tensor without dimensions.
func (c *converter) scalar(d ops.DType, v float64) string {
	if d == ops.Float16 || d == ops.BFloat16 {
		return c.cast(c.constant(ops.Float32, nil, v), ops.Float32, d)
	}
	return c.constant(d, nil, v)
}
