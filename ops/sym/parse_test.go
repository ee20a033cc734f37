package sym

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"math/rand"
	"strconv"
	"strings"
	"testing"
)

// TestParseReadsWhatIsPrinted: an expression is the same after the way through its
// text, and what is none is refused by a word about it.
func TestParseReadsWhatIsPrinted(t *testing.T) {
	env := &Env{}
	names := map[string]Int{}
	for _, name := range []string{"s0", "s77", "u_1"} {
		names[name] = env.NewSymbol(name, "", 7)
	}
	lookup := func(name string) (Int, error) {
		if x, ok := names[name]; ok {
			return x, nil
		}
		return Int{}, fmt.Errorf("no size is called %q", name)
	}
	a, b := names["s0"], names["s77"]
	for _, want := range []Int{
		Const(12), Const(-3), a, names["u_1"], Neg(a), Add(Mul(Const(2), b), Const(1)), Mul(a, Add(b, Const(-4))),
		FloorDiv(a, Const(4)), FloorDiv(Add(a, b), Const(3)), Mod(a, Const(4)),
		Max(Const(5), a), Max(Max(a, b), Const(7)), Min(a, b), Mod(FloorDiv(b, a), Const(3)),
	} {
		got, err := Parse(want.String(), lookup)
		if err != nil || !Same(got, want) {
			t.Errorf("%s: %s, %v", want, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "a size expected", "s0 +": "a size expected", "s1": `no size is called "s1"`, "3x": "bad number", "(s0": ") expected",
		"s0 s77":  "unexpected",
		"Mod(s0)": ", expected", "Mod(s0, 0)": "division by zero", "(s0//0)": "division by zero",
		"Log(s0, 2)": `unknown function "Log"`, "Max(s0, 2": ") expected",
	} {
		if got, err := Parse(text, lookup); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}

// TestTextReadsBackByPrecedence parses the text of random expressions by Go's own
// parser, whose precedence of * // + - is Python's, and evaluates the tree; and that
// of their Go form.
func TestTextReadsBackByPrecedence(t *testing.T) {
	env, r := &Env{}, rand.New(rand.NewSource(3))
	values := map[string]int64{"s0": 7, "s1": 12, "s2": 5}
	var leaves []Int
	for _, name := range []string{"s0", "s1", "s2"} {
		leaves = append(leaves, env.NewSymbol(name, "", values[name]))
	}
	var grow func(depth int) Int
	grow = func(depth int) Int {
		if depth == 0 || r.Intn(5) == 0 {
			return append(leaves, Const(2), Const(3))[r.Intn(5)]
		}
		a, b := grow(depth-1), grow(depth-1)
		switch r.Intn(7) {
		case 0, 1:
			return Add(a, b)
		case 2:
			return Add(Mul(Const(2), a), Const(1))
		case 3:
			return Mul(a, b)
		case 4:
			return Max(a, b)
		case 5:
			return Mod(a, Add(b, Const(1)))
		}
		return FloorDiv(a, Mul(leaves[r.Intn(3)], Add(b, Const(int64(1+r.Intn(2))))))
	}
	names := func(name string) (Int, error) { return leaves[name[1]-'0'], nil }
	for range 3000 {
		x := grow(3)
		want := x.Hint()
		for _, text := range []string{strings.ReplaceAll(x.String(), "//", "/"), x.GoText()} {
			tree, err := goparser.ParseExpr(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got := evaluate(t, tree, values); got != want {
				t.Fatalf("%s is %d, the size is %d", text, got, want)
			}
		}
		if got, err := Parse(x.String(), names); err != nil || !Same(got, x) {
			t.Fatalf("%s is read as %s, %v", x, got, err)
		}
	}
}

func evaluate(t *testing.T, n ast.Expr, values map[string]int64) int64 {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return evaluate(t, n.X, values)
	case *ast.Ident:
		return values[n.Name]
	case *ast.BasicLit:
		v, _ := strconv.ParseInt(n.Value, 10, 64)
		return v
	case *ast.UnaryExpr:
		return -evaluate(t, n.X, values)
	case *ast.CallExpr:
		a, b := evaluate(t, n.Args[0], values), evaluate(t, n.Args[1], values)
		switch n.Fun.(*ast.Ident).Name {
		case "Mod":
			return a % b
		case "Max", "max":
			return max(a, b)
		}
		return min(a, b)
	case *ast.BinaryExpr:
		a, b := evaluate(t, n.X, values), evaluate(t, n.Y, values)
		switch n.Op {
		case token.ADD:
			return a + b
		case token.SUB:
			return a - b
		case token.MUL:
			return a * b
		case token.REM:
			return a % b
		}
		return a / b
	}
	t.Fatalf("unexpected %T", n)
	return 0
}
