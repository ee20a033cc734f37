package tracer

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tcdbg/tracer/value"
)

// This file reads the text of guards on expressions back.

// randomExpr is an expression of kind k over ints i and j, a narrow n and floats x and y.
func randomExpr(r *rand.Rand, k value.ScalarKind, depth int) *value.Expr {
	leaf := func(name string, b types.BasicKind) *value.Expr {
		return value.LeafExpr(&value.Source{Type: types.Typ[b], Name: name})
	}
	narrow, word, real := value.ScalarKind{Class: value.SignedInt, Bits: 32}, value.ScalarKind{
		Class: value.SignedInt,
		Bits:  64,
	}, value.ScalarKind{Class: value.Floating, Bits: 64}
	if depth == 0 {
		switch k {
		case boolean64:
			return leaf("L['b']", types.Bool)
		case real:
			return []*value.Expr{
				leaf("L['x']", types.Float64), leaf("L['s'].y", types.Float64),
				value.ConstExpr(k, value.Scalar{F: -1.5}),
			}[r.Intn(3)]
		case narrow:
			return leaf("L['n']", types.Int32)
		}
		return []*value.Expr{leaf("L['i']", types.Int), leaf("L['s'].j", types.Int), value.ConstExpr(k, value.Scalar{I: -3})}[r.Intn(3)]
	}
	sub := func(k value.ScalarKind) *value.Expr { return randomExpr(r, k, r.Intn(depth)) }
	numeric := []value.ScalarKind{narrow, word, real}
	switch {
	case k == boolean64 && r.Intn(3) == 0:
		return &value.Expr{Op: token.NOT, Kind: k, X: sub(k)}
	case k == boolean64:
		of := numeric[r.Intn(3)]
		return &value.Expr{
			Op: []token.Token{token.LSS, token.LEQ, token.EQL, token.NEQ, token.GTR}[r.Intn(5)], Kind: k,
			X: sub(of), Y: sub(of),
		}
	case r.Intn(3) == 0:
		return &value.Expr{Op: token.ARROW, Kind: k, X: sub(numeric[r.Intn(3)])}
	case r.Intn(4) == 0:
		return &value.Expr{Op: token.SUB, Kind: k, X: sub(k)}
	case k == real:
		return &value.Expr{Op: []token.Token{token.ADD, token.SUB, token.MUL, token.QUO}[r.Intn(4)], Kind: k, X: sub(k), Y: sub(k)}
	}
	return &value.Expr{Op: []token.Token{
		token.ADD, token.SUB, token.MUL, token.QUO, token.REM, token.AND, token.OR, token.XOR,
		token.AND_NOT,
	}[r.Intn(9)], Kind: k, X: sub(k), Y: sub(k)}
}

var boolean64 = value.ScalarKind{Class: value.Boolean, Bits: 8}

var sourceName = regexp.MustCompile(`L\['(\w+)'\](\.\w+)?`)

// TestTextOfExpressionsReadsBack parses the text of random expressions, by Go's own
// parser, and wants the tree that was printed.
func TestTextOfExpressionsReadsBack(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	for range 5000 {
		e := randomExpr(r, []value.ScalarKind{
			boolean64,
			{Class: value.SignedInt, Bits: 64},
			{Class: value.Floating, Bits: 64},
		}[r.Intn(3)], 1+r.Intn(4))
		text := e.String()
		goText := strings.ReplaceAll(sourceName.ReplaceAllString(text, "$1$2"), "not ", "!")
		tree, err := parser.ParseExpr(goText)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got, want := shapeOfText(t, tree), shapeOfExpr(e); got != want {
			t.Fatalf("%s\nreads as %s\nis       %s", text, got, want)
		}
	}
}

// shapeOfText is a parsed text with all its parentheses.
func shapeOfText(t *testing.T, n ast.Expr) string {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return shapeOfText(t, n.X)
	case *ast.BinaryExpr:
		return "(" + shapeOfText(t, n.X) + n.Op.String() + shapeOfText(t, n.Y) + ")"
	case *ast.UnaryExpr:
		if lit, ok := n.X.(*ast.BasicLit); ok && n.Op == token.SUB {
			return "-" + lit.Value
		}
		return "(" + n.Op.String() + shapeOfText(t, n.X) + ")"
	case *ast.CallExpr:
		return shapeOfText(t, n.Fun) + "[" + shapeOfText(t, n.Args[0]) + "]"
	case *ast.SelectorExpr:
		return shapeOfText(t, n.X) + "." + n.Sel.Name
	case *ast.Ident:
		return n.Name
	case *ast.BasicLit:
		return n.Value
	}
	t.Fatalf("unexpected %T", n)
	return ""
}

// shapeOfExpr is it for an expression; conversions that change no value are not there.
func shapeOfExpr(e *value.Expr) string {
	switch {
	case e.Leaf != nil:
		return sourceName.ReplaceAllString(e.Leaf.Name, "$1$2")
	case e.Op == token.ILLEGAL && e.Kind.Class == value.Floating:
		return strconv.FormatFloat(e.Const.F, 'g', -1, 64)
	case e.Op == token.ILLEGAL:
		return fmt.Sprint(e.Const.I)
	case e.Op == token.ARROW && value.KeepsValue(e.X.Kind, e.Kind):
		return shapeOfExpr(e.X)
	case e.Op == token.ARROW:
		return e.Kind.Name() + "[" + shapeOfExpr(e.X) + "]"
	case e.Y == nil:
		return "(" + e.Op.String() + shapeOfExpr(e.X) + ")"
	}
	return "(" + shapeOfExpr(e.X) + e.Op.String() + shapeOfExpr(e.Y) + ")"
}

// TestGuardOnConvertedDifference is the guard of a schedule that warms up.
func TestGuardOnConvertedDifference(t *testing.T) {
	got := both(t, `
type sched struct{ step, warm, total int }

func f(x *torch.Tensor, s *sched) *torch.Tensor {
	if float64(s.step-s.warm)/float64(s.total-s.warm) > 0.5 {
		return x.Mul(2)
	}
	return x.Add(1)
}

func main() {
	fast := torch.Compile(f)
	for i := range 8 {
		fmt.Println(fast(torch.Ones(3), &sched{i, 1, 8}))
	}
}`)
	var guards []string
	for _, m := range got.recompiles() {
		guards = append(guards, m.Failures[0].Guard.Text)
	}
	want := "(float(L['s'].step - L['s'].warm) / float(L['s'].total - L['s'].warm)) > 0.5"
	if len(guards) == 0 || !strings.Contains(guards[0], want) {
		t.Errorf("failed guards %q, want %s", guards, want)
	}
}
