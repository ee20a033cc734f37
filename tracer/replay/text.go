package replay

import (
	"fmt"
	"go/types"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file writes down what a cache entry does on every hit, as PyTorch's modified bytecode
// tells it of a frame: one line for each step, in the order in which they are made.

// Text is the steps of the entry, one a line.
func (e *Entry) Text(in *host.Interp) string {
	w := writer{in: in}
	for _, s := range e.Replaced {
		w.line("drop %s", s.Name)
	}
	w.run(e)
	w.made(e)
	for _, b := range e.Writes {
		w.line("%s = %s", b.Loc.Name, w.text(b.From))
	}
	for _, s := range e.Stores {
		if s.Val.From == nil {
			w.line("delete(%s, %s)", s.Src.Name, s.Key.Text)
			continue
		}
		w.line("%s[%s] = %s", s.Src.Name, s.Key.Text, w.text(s.Val.From))
	}
	for _, l := range e.Logged {
		w.line("%s(%s)", l.Name, w.list(results(l.Args)))
	}
	if e.Break == nil {
		w.line("%s", strings.TrimSpace("return "+w.list(results(e.Results))))
		return w.String()
	}
	for i, f := range e.Frames {
		kept := "in"
		if i >= e.Kept {
			kept = "push"
		}
		w.line("%s %s, at %s:", kept, value.FuncName(f.Fn), strings.TrimSpace(instruction(in.Code(f.Fn), f.PC)))
		for _, r := range f.Regs {
			w.line("    %s = %s", r.V.Name(), w.text(r.From))
		}
	}
	w.line("go on without the graph: %s (%s)", BreakTitle(e.Break), e.Break.Code)
	return w.String()
}

// WriteCode writes the instructions of a function with their numbers, and marks the one at pc.
func WriteCode(b *strings.Builder, code *host.Code, pc int) {
	fmt.Fprintf(b, "func %s\n", code.Fn)
	for i := range code.Instrs {
		mark := "  "
		if i == pc {
			mark = "=>"
		}
		fmt.Fprintf(b, "%s %s\n", mark, instruction(code, i))
	}
}

// instruction is one of a function, with its number.
func instruction(code *host.Code, i int) string {
	if code == nil || i < 0 || i >= len(code.Instrs) {
		return fmt.Sprintf("%3d", i)
	}
	in := code.Instrs[i]
	if v, ok := in.(ssa.Value); ok && v.Name() != "" {
		return fmt.Sprintf("%3d %s = %s", i, v.Name(), in)
	}
	return fmt.Sprintf("%3d %s", i, in)
}

type writer struct {
	strings.Builder
	in *host.Interp
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// run is the call of the graph.
func (w *writer) run(e *Entry) {
	if e.Graph == nil {
		return
	}
	inputs := make([]string, len(e.Inputs))
	for i, x := range e.Inputs {
		switch {
		case x.Expr != nil:
			inputs[i] = x.Expr.String()
		default:
			inputs[i] = x.Src.Name
		}
	}
	w.line("graph_out = %s(%s)", e.Graph.Name, strings.Join(inputs, ", "))
}

// made is what each run makes anew.
func (w *writer) made(e *Entry) {
	for i, o := range e.Objects {
		switch {
		case o.Count > 0:
			w.line("object_%d = new [%d]%s%s", i, o.Count, value.TypeName(o.Typ), w.filled(o.Fill))
		default:
			w.line("object_%d = new %s%s", i, value.TypeName(o.Typ), w.filled(o.Fill))
		}
	}
	for i, c := range e.Closures {
		w.line("func_%d = %s%s", i, value.FuncName(c.Fn), w.filled(c.Free))
	}
	for i, m := range e.Maps {
		parts := make([]string, len(m.Keys))
		for k, key := range m.Keys {
			parts[k] = fmt.Sprintf("%v: %s", key, w.text(m.Vals[k]))
		}
		w.line("map_%d = %s{%s}", i, value.TypeName(m.Typ), strings.Join(parts, ", "))
	}
}

// filled is what new memory is filled with; nothing where that is constant.
func (w *writer) filled(list []Reconstruction) string {
	if len(list) == 0 {
		return ""
	}
	return "{" + w.list(list) + "}"
}

func results(list []Result) []Reconstruction {
	out := make([]Reconstruction, len(list))
	for i, r := range list {
		out[i] = r.From
	}
	return out
}

// textParts is how many parts of a composite are written out.
const textParts = 16

func (w *writer) list(list []Reconstruction) string {
	var parts []string
	for i, r := range list {
		if i == textParts {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, w.text(r))
	}
	return strings.Join(parts, ", ")
}

// text is a value that is made again.
func (w *writer) text(r Reconstruction) string {
	switch r := r.(type) {
	case Const:
		return w.constant(r.Typ, r.Bits)
	case FromEntry:
		return r.Src.Name
	case Converted:
		return fmt.Sprintf("%s(%s)", value.TypeName(r.Typ), r.Src.Name)
	case Computed:
		return r.E.String()
	case FromSize:
		return r.X.String()
	case FromNumber:
		return fmt.Sprintf("graph_out[%d].Item()", r.I)
	case Output:
		return fmt.Sprintf("graph_out[%d]", r.I)
	case Address:
		return "&" + r.Loc.Name
	case IntoObject:
		if r.Off == 0 {
			return fmt.Sprintf("&object_%d", r.Obj)
		}
		return fmt.Sprintf("&object_%d + %d bytes", r.Obj, r.Off)
	case Slice:
		return fmt.Sprintf("(%s)[:%d:%d]", w.text(r.Data), r.Len, r.Cap)
	case ElementAddress:
		return fmt.Sprintf("&%s[0] + %d bytes", r.Base.Name, r.Off)
	case Parts:
		return "{" + w.list(r.Parts) + "}"
	case Interface:
		return fmt.Sprintf("%s(%s)", value.TypeName(r.Dyn), w.text(r.Inner))
	case FromClosure:
		return fmt.Sprintf("func_%d", r.I)
	case FromMap:
		return fmt.Sprintf("map_%d", r.I)
	case Error:
		return fmt.Sprintf("error(%q)", r.Spec.Text)
	}
	return fmt.Sprintf("%T", r)
}

// constant is a value that is the same in every run; of memory only its type is told.
func (w *writer) constant(t types.Type, p unsafe.Pointer) string {
	v := reflect.NewAt(w.in.Rep(t), p).Elem()
	switch {
	case value.KindOf(t).Class != value.NotScalar || v.Kind() == reflect.String:
		return guard.ValueText(w.in, t, p)
	case v.IsZero() && (v.Kind() == reflect.Struct || v.Kind() == reflect.Array):
		return value.TypeName(t) + "{}"
	case v.IsZero():
		return "nil"
	case v.Kind() != reflect.Interface:
		return "a constant " + value.TypeName(t)
	}
	switch x := v.Elem(); x.Kind() {
	case reflect.String:
		return strconv.Quote(x.String())
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float32, reflect.Float64:
		return fmt.Sprintf("%v", x)
	default:
		return "a constant " + value.TypeName(t)
	}
}
