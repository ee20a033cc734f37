package remedy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/tracer/breaks"
)

// This file is the table of switches that a trial can set, and what a program's author
// writes to have the same.

// Switch is one setting of a trial.
type Switch struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (s Switch) String() string { return s.Name + "=" + s.Value }

// switchRow is one row of the table.
type switchRow struct {
	name   string
	values []string // "" among them: what parse says
	parse  func(value string) error
	goDoes bool // our own engine has it
	text   func(value string) string
	goSet  func(value string) string // what sets it in a Go program
	pySet  func(value string) string // and in a Python program
}

var flagValues = []string{"true", "false"}

func config(name string) func(string) string {
	return func(value string) string {
		return "torch._dynamo.config." + name + " = " + strings.ToUpper(value[:1]) + value[1:]
	}
}

// setting sets a field of the compiler's settings.
func setting(field string) func(string) string {
	return func(value string) string {
		return "compiler.Configure(func(s *compiler.Settings) { s." + field + " = " + value + " })"
	}
}

// switchTable has the switches; docs and --only read it.
var switchTable = []switchRow{
	{
		name: "dynamic", values: []string{"true", "false", "auto"}, goDoes: true,
		text: func(v string) string {
			return map[string]string{
				"true":  "compile sizes as symbols from the first call on",
				"false": "compile each size as a constant",
				"auto":  "let a size that changes become a symbol",
			}[v]
		},
		goSet: func(v string) string {
			if v == "auto" {
				return "leave kw.Dynamic out of torch.Compile"
			}
			return "torch.Compile(f, kw.Dynamic(" + v + "))"
		},
		pySet: func(v string) string {
			return "torch.compile(f, dynamic=" + map[string]string{"true": "True", "false": "False", "auto": "None"}[v] + ")"
		},
	},
	{
		name: "mark_dynamic", parse: func(v string) error { _, err := ParseMark(v); return err }, goDoes: true,
		text: func(v string) string {
			m, _ := ParseMark(v)
			return fmt.Sprintf("mark size %d of %s as dynamic before calls of %s", m.Dim, m.Name, m.Function)
		},
		goSet: func(v string) string {
			m, _ := ParseMark(v)
			return fmt.Sprintf("compiler.MarkDynamic(%s, %d) before the first call of %s", m.Name, m.Dim, m.Function)
		},
		pySet: func(v string) string {
			m, _ := ParseMark(v)
			return fmt.Sprintf("torch._dynamo.maybe_mark_dynamic(%s, %d) before each call of %s", m.Name, m.Dim, m.Function)
		},
	},
	{
		name: "recompile_limit", parse: positive, goDoes: true,
		text:  func(v string) string { return "allow " + v + " entries of a function" },
		goSet: func(v string) string { return "torch.Compile(f, kw.RecompileLimit(" + v + "))" },
		pySet: func(v string) string { return "torch._dynamo.config.recompile_limit = " + v },
	},
	{
		name: "mode", values: []string{"default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"}, goDoes: true,
		text:  func(v string) string { return "compile with mode " + v },
		goSet: func(v string) string { return "torch.Compile(f, kw.Mode(" + strconv.Quote(v) + "))" },
		pySet: func(v string) string { return "torch.compile(f, mode=" + strconv.Quote(v) + ")" },
	},
	{
		name: "backend", values: []string{"eager", "aot_eager", "inductor"}, goDoes: true,
		text: func(v string) string {
			return map[string]string{
				"eager":     "run captured graphs as they are, without compiling them",
				"aot_eager": "run graphs eagerly after AOTAutograd, without Inductor",
				"inductor":  "compile with Inductor",
			}[v]
		},
		goSet: func(v string) string { return "torch.Compile(f, kw.Backend(" + strconv.Quote(v) + "))" },
		pySet: func(v string) string { return "torch.compile(f, backend=" + strconv.Quote(v) + ")" },
	},
	{
		name: "capture_scalar_outputs", values: flagValues, goDoes: true,
		text:  func(v string) string { return onOff(v, "capture numbers that are read out of a tensor (.item())") },
		goSet: setting("CaptureScalarOutputs"),
		pySet: config("capture_scalar_outputs"),
	},
	{
		name: "capture_dynamic_output_shape_ops", values: flagValues, goDoes: true,
		text:  func(v string) string { return onOff(v, "capture operators whose result's shape depends on the data") },
		goSet: setting("CaptureDynamicOutputShapeOps"),
		pySet: config("capture_dynamic_output_shape_ops"),
	},
	{
		name: "allow_unspec_int_on_nn_module", values: flagValues, goDoes: true,
		text:  func(v string) string { return onOff(v, "let an int of a module be an input of the graph") },
		goSet: setting("AllowUnspecIntOnNNModule"),
		pySet: config("allow_unspec_int_on_nn_module"),
	},
	{
		name: "reorderable_logging_functions", values: []string{"print", "warnings.warn"},
		text:  func(v string) string { return "let calls of " + v + " wait until the graph has run" },
		pySet: func(v string) string { return "torch._dynamo.config.reorderable_logging_functions.add(" + v + ")" },
	},
	{
		name: "ignore_logging_functions", values: []string{"logging"},
		text: func(string) string { return "leave calls of loggers out of compiled functions" },
		pySet: func(string) string {
			return "torch._dynamo.config.ignore_logging_functions |= {logging.Logger.info, logging.Logger.debug, logging.Logger.warning}"
		},
	},
	{
		name: "cudagraphs", values: []string{"false"},
		text:  func(string) string { return "compile without CUDA graphs" },
		pySet: func(string) string { return "torch._inductor.config.triton.cudagraphs = False" },
	},
}

func onOff(value, what string) string {
	if value == "false" {
		return "do not " + what
	}
	return what
}

func positive(v string) error {
	if n, err := strconv.Atoi(v); err != nil || n < 1 {
		return fmt.Errorf("it takes a number of 1 or more")
	}
	return nil
}

func rowOf(name string) *switchRow {
	i := slices.IndexFunc(switchTable, func(r switchRow) bool { return r.name == name })
	if i < 0 {
		return nil
	}
	return &switchTable[i]
}

// Text is what a switch does.
func (s Switch) Text() string { return rowOf(s.Name).text(s.Value) }

// SetBy is what a program's author writes to have the switch.
func (s Switch) SetBy(inGo bool) string {
	if inGo {
		return rowOf(s.Name).goSet(s.Value)
	}
	return rowOf(s.Name).pySet(s.Value)
}

// ForGo says whether our own engine has the switch.
func (s Switch) ForGo() bool { return rowOf(s.Name).goDoes }

// SwitchNames lists the switches with their values, for messages.
func SwitchNames() []string {
	var out []string
	for _, r := range switchTable {
		switch {
		case r.values != nil:
			out = append(out, r.name+"="+strings.Join(r.values, "|"))
		case r.name == "mark_dynamic":
			out = append(out, r.name+"=FUNCTION:NAME:DIM")
		default:
			out = append(out, r.name+"=N")
		}
	}
	return out
}

// RunWide lists switches for a whole program, to choose from: with their values, and a limit that is
// larger than the default one.
func RunWide(inGo bool) []string {
	var out []string
	for _, r := range switchTable {
		if inGo && !r.goDoes {
			continue
		}
		for _, v := range r.values {
			out = append(out, r.name+"="+v)
		}
		if r.name == "recompile_limit" {
			out = append(out, r.name+"=64")
		}
	}
	return out
}

// ParseSwitch reads "dynamic=true".
func ParseSwitch(text string) (Switch, error) {
	name, value, ok := strings.Cut(text, "=")
	r := rowOf(name)
	if !ok || r == nil {
		return Switch{}, fmt.Errorf("%q is neither a remedy of this program nor a switch: there are %s",
			text, strings.Join(SwitchNames(), ", "))
	}
	if r.values != nil && !slices.Contains(r.values, value) {
		return Switch{}, fmt.Errorf("%s is %s, not %q", name, strings.Join(r.values, ", "), value)
	}
	if r.parse != nil {
		if err := r.parse(value); err != nil {
			return Switch{}, fmt.Errorf("%s: %w", text, err)
		}
	}
	return Switch{name, value}, nil
}

// Mark is the value of mark_dynamic.
type Mark struct {
	Function, Name string
	Dim            int
}

// ParseMark reads "f:x:0".
func ParseMark(v string) (Mark, error) {
	function, rest, ok := strings.Cut(v, ":")
	i := strings.LastIndexByte(rest, ':')
	if !ok || i <= 0 {
		return Mark{}, fmt.Errorf("it takes FUNCTION:NAME:DIM, as f:x:0")
	}
	dim, err := strconv.Atoi(rest[i+1:])
	if err != nil {
		return Mark{}, fmt.Errorf("%q is no dimension", rest[i+1:])
	}
	return Mark{function, rest[:i], dim}, nil
}

// switchesOfBreak are the settings of PyTorch that are made for a break.
func switchesOfBreak(b *explain.Break) []Switch {
	switch b.Code {
	case breaks.TensorItem:
		return []Switch{{"capture_scalar_outputs", "true"}}
	case breaks.DynamicShapeOperator:
		return []Switch{{"capture_dynamic_output_shape_ops", "true"}}
	case breaks.BuiltinPrint:
		return []Switch{{"reorderable_logging_functions", "print"}}
	case breaks.LoggerCall:
		return []Switch{{"ignore_logging_functions", "logging"}}
	case breaks.SkippedFunction:
		if strings.Contains(b.Context, "qualname: warn,") && strings.Contains(b.Context, "warnings") {
			return []Switch{{"reorderable_logging_functions", "warnings.warn"}}
		}
	}
	return nil
}

// many are the switches that can be given several times.
var many = map[string]bool{"mark_dynamic": true, "reorderable_logging_functions": true}
