package export

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/ops/sym"
)

// This file reads size expressions: sympy's srepr, Mul(Integer(4), Symbol('s0', integer=True)),
// and its plain text, 4*s0.

// readSize reads an expression; symbol gives the size of a name.
func readSize(text string, symbol func(name string) (sym.Int, error)) (sym.Int, error) {
	if !strings.Contains(text, "Symbol(") && !strings.Contains(text, "Integer(") {
		if strings.Count(text, "(") > maxDepth {
			return sym.Int{}, fmt.Errorf("the size %s is nested too deeply", clip(text))
		}
		return sym.Parse(text, symbol)
	}
	r := &sizeReader{rest: text, symbol: symbol}
	x, err := r.expr(0)
	if err == nil && r.rest != "" {
		err = fmt.Errorf("unexpected %s", clip(r.rest))
	}
	if err != nil {
		return sym.Int{}, fmt.Errorf("the size %s: %w", clip(text), err)
	}
	return x, nil
}

type sizeReader struct {
	rest   string
	symbol func(string) (sym.Int, error)
}

// word takes the name or number at the start of the rest.
func (r *sizeReader) word() string {
	r.rest = strings.TrimLeft(r.rest, " ")
	n := 0
	for n < len(r.rest) && (r.rest[n] == '_' || r.rest[n] == '-' || r.rest[n] == '.' || isWord(r.rest[n])) {
		n++
	}
	w := r.rest[:n]
	r.rest = r.rest[n:]
	return w
}

func isWord(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func (r *sizeReader) accept(tok string) bool {
	r.rest = strings.TrimLeft(r.rest, " ")
	var ok bool
	r.rest, ok = strings.CutPrefix(r.rest, tok)
	return ok
}

func (r *sizeReader) expr(depth int) (sym.Int, error) {
	if depth > maxDepth {
		return sym.Int{}, fmt.Errorf("it is nested too deeply")
	}
	w := r.word()
	if !r.accept("(") {
		v, err := strconv.ParseInt(w, 10, 64)
		if err != nil || v > maxElements || v < -maxElements {
			return sym.Int{}, fmt.Errorf("%s is no size", clip(w))
		}
		return sym.Const(v), nil
	}
	if w == "Symbol" {
		return r.name()
	}
	var args []sym.Int
	for !r.accept(")") {
		if len(args) > 0 && !r.accept(",") {
			return sym.Int{}, fmt.Errorf("a comma is missing at %s", clip(r.rest))
		}
		if len(args) >= maxRank {
			return sym.Int{}, fmt.Errorf("it has too many parts")
		}
		a, err := r.expr(depth + 1)
		if err != nil {
			return sym.Int{}, err
		}
		args = append(args, a)
	}
	return apply(w, args)
}

// name reads what follows Symbol(: its name and what sympy knows of it.
func (r *sizeReader) name() (sym.Int, error) {
	inner, rest, ok := strings.Cut(r.rest, ")")
	quoted, _, _ := strings.Cut(inner, ",")
	name := strings.Trim(strings.TrimSpace(quoted), "'")
	if !ok || name == "" {
		return sym.Int{}, fmt.Errorf("a symbol without a name")
	}
	r.rest = rest
	return r.symbol(name)
}

// apply is a function of sympy, or of torch.utils._sympy.
func apply(name string, args []sym.Int) (sym.Int, error) {
	fold := map[string]func(a, b sym.Int) sym.Int{"Add": sym.Add, "Mul": sym.Mul, "Max": sym.Max, "Min": sym.Min}[name]
	pair := map[string]func(a, b sym.Int) sym.Int{
		"FloorDiv": sym.FloorDiv, "CleanDiv": sym.FloorDiv, "Mod": sym.Mod, "PythonMod": sym.Mod,
	}[name]
	switch {
	case (name == "Integer" || name == "TruncToInt") && len(args) == 1:
		return args[0], nil
	case fold != nil && len(args) > 0:
		x := args[0]
		for _, a := range args[1:] {
			x = fold(x, a)
		}
		return x, nil
	case pair != nil && len(args) == 2:
		if c, ok := args[1].IsConst(); ok && c == 0 {
			return sym.Int{}, fmt.Errorf("a division by 0")
		}
		return pair(args[0], args[1]), nil
	case name == "Pow" && len(args) == 2:
		n, ok := args[1].IsConst()
		if !ok || n < 0 || n > 8 {
			break
		}
		x := sym.Const(1)
		for range n {
			x = sym.Mul(x, args[0])
		}
		return x, nil
	}
	return sym.Int{}, fmt.Errorf("%s of %d numbers is not supported", clip(name), len(args))
}

// Bounds is the range of a symbol as a condition: >= 2, or between 2 and 64.
func (s *Symbol) Bounds() string {
	if s.Max == math.MaxInt64 {
		return fmt.Sprintf(">= %d", s.Min)
	}
	return fmt.Sprintf("between %d and %d", s.Min, s.Max)
}

// Symbol is the name of the symbol that a size is, "" where it is something else.
func (s Size) Symbol() string {
	if m := oneSymbol.FindStringSubmatch(s.Expr); m != nil {
		if m[1] != "" {
			return m[1]
		}
		return s.Expr
	}
	return ""
}

// Eval is the value of a size where the symbols have those values.
func (s Size) Eval(symbols map[string]int64) (int64, error) {
	if s.Expr == "" {
		return s.Value, nil
	}
	x, err := readSize(s.Expr, func(name string) (sym.Int, error) {
		v, ok := symbols[name]
		if !ok {
			return sym.Int{}, fmt.Errorf("no input says what the size %s is", clip(name))
		}
		return sym.Const(v), nil
	})
	return x.Hint(), err
}

// SizeOf is what the program says of an input that is a number.
func (p *Program) SizeOf(in *Input) Size { return Size{Expr: p.sizes[in.Name]} }
