package eval

import (
	"reflect"
	"strings"

	"tcdbg/logs"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is the single-step log: what a trace looks at, line by line or
// instruction by instruction. It is written only when somebody asks for it.

// StepLog says how finely traces are logged.
type StepLog uint8

// The single-step logs.
const (
	StepNone         StepLog = iota
	StepLines                // when the trace comes to another line
	StepInstructions         // every instruction, with what is known of its operands
)

// logStep records the instruction that is about to be evaluated.
func (tr *Trace) logStep() {
	in := tr.th.Top().Instr()
	switch in.(type) {
	case *ssa.Phi, *ssa.DebugRef: // nothing that the program does
		return
	}
	pos := tr.Pos()
	newLine := pos.File != tr.logged.File || pos.Line != tr.logged.Line
	if pos.File == "" || tr.env.Steps == StepLines && !newLine {
		return
	}
	tr.logged = pos
	step := logs.TraceStep{Pos: pos}
	if tr.env.Steps == StepInstructions {
		step.Instr = opcode(in)
		for _, v := range in.Operands(nil) {
			if *v != nil {
				step.Stack = append(step.Stack, tr.variable(*v))
			}
		}
	}
	tr.env.Sink.Emit(logs.Artifact(tr.ID, step))
}

// opcode is an instruction's kind: Call, BinOp +, Store.
func opcode(in ssa.Instruction) string {
	switch in := in.(type) {
	case *ssa.BinOp:
		return "BinOp " + in.Op.String()
	case *ssa.UnOp:
		return "UnOp " + in.Op.String()
	}
	return reflect.TypeOf(in).Elem().Name()
}

// variable says what the trace knows of an operand, in the words of Dynamo's
// variables.
func (tr *Trace) variable(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.Const:
		return constantText(tr.frames, v, "ConstantVariable(", func(v *ssa.Const) string {
			return strings.TrimSuffix(v.Name(), ":"+v.Type().String())
		})
	case *ssa.Global:
		return "LazyVariableTracker(G['" + v.Name() + "'])"
	case *ssa.Function:
		return constantText(tr.frames, v, "UserFunctionVariable(", value.FuncName)
	case *ssa.Builtin:
		return "BuiltinVariable(" + v.Name() + ")"
	}
	if t, ok := tr.TensorOf(v); ok {
		return "TensorVariable(" + tr.Nodes[t].Name + ")"
	}
	r := tr.top().known(v) // not tracked, which would make a source of it
	n := r.tracked
	switch {
	case !r.met && tr.top().initial >= 0:
		return "LazyVariableTracker(L['" + value.LocalName(v) + "'])"
	case n == nil:
		return constantText(tr.frames, v, "ConstantVariable(", value.LocalName)
	case n.Number != nil:
		return "SymNodeVariable(" + n.Number.String() + ")"
	case n.Size != nil:
		return "SymNodeVariable(" + n.Size.String() + ")"
	case n.Expr != nil:
		return "SymNodeVariable(" + n.Expr.String() + ")"
	case n.Src != nil:
		return "LazyVariableTracker(" + n.Src.Name + ")"
	case n.Loc != nil:
		return "PointerVariable(" + n.Loc.Name + ")"
	}
	return "UserDefinedObjectVariable(" + value.LocalName(v) + ")"
}

// constantText is what is said of a value that does not vary. One of torch's own is met in each call.
func constantText[V ssa.Value](fs *frames, v V, kind string, name func(V) string) string {
	text, known := fs.constants[v]
	if !known {
		text = kind + name(v) + ")"
		fs.constants[v] = text
	}
	return text
}
