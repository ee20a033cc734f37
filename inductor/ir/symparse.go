package ir

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/internal/sym"
)

// symParser reads size expressions as sym prints them: 2*s77 + 1, (s0//4),
// Mod(s0, 4), Max(2, s0). Unknown names become symbols of its own Env.
type symParser struct {
	env  *sym.Env
	syms map[string]sym.Int
	s    string
}

// parsedHint is the hint of symbols that a text brings in.
const parsedHint = 64

func newSymParser() *symParser { return &symParser{env: &sym.Env{}, syms: map[string]sym.Int{}} }

// parse reads all of text.
func (p *symParser) parse(text string) (sym.Int, error) {
	p.s = text
	x, err := p.sum()
	if err != nil {
		return x, err
	}
	if p.skip(); p.s != "" {
		return x, fmt.Errorf("unexpected %q in the size %q", p.s, text)
	}
	return x, nil
}

func (p *symParser) skip() { p.s = strings.TrimLeft(p.s, " ") }

func (p *symParser) accept(tok string) bool {
	p.skip()
	if strings.HasPrefix(p.s, tok) {
		p.s = p.s[len(tok):]
		return true
	}
	return false
}

func (p *symParser) sum() (sym.Int, error) {
	x, err := p.product()
	for err == nil {
		var y sym.Int
		switch {
		case p.accept("+"):
			y, err = p.product()
			x = sym.Add(x, y)
		case p.accept("-"):
			y, err = p.product()
			x = sym.Sub(x, y)
		default:
			return x, nil
		}
	}
	return x, err
}

func (p *symParser) product() (sym.Int, error) {
	x, err := p.factor()
	for err == nil && p.accept("*") {
		var y sym.Int
		y, err = p.factor()
		x = sym.Mul(x, y)
	}
	return x, err
}

func (p *symParser) factor() (sym.Int, error) {
	switch {
	case p.accept("-"):
		x, err := p.factor()
		return sym.Neg(x), err
	case p.accept("("):
		return p.paren()
	}
	p.skip()
	n := 0
	for n < len(p.s) && (p.s[n] == '_' || '0' <= p.s[n] && p.s[n] <= '9' || 'a' <= p.s[n]|0x20 && p.s[n]|0x20 <= 'z') {
		n++
	}
	word := p.s[:n]
	p.s = p.s[n:]
	if word == "" {
		return sym.Int{}, fmt.Errorf("a size expected at %q", p.s)
	}
	if v, err := strconv.ParseInt(word, 10, 64); err == nil {
		return sym.Const(v), nil
	}
	if word[0] >= '0' && word[0] <= '9' {
		return sym.Int{}, fmt.Errorf("bad number %q", word)
	}
	if p.accept("(") {
		return p.call(word)
	}
	if loopName(word) {
		return sym.Int{}, fmt.Errorf("the loop %s inside a size", word)
	}
	x, ok := p.syms[word]
	if !ok {
		x = p.env.NewSymbol(word, "", parsedHint)
		p.syms[word] = x
	}
	return x, nil
}

// loopName reports whether a name can only mean a loop: i0, r1, k.
func loopName(s string) bool {
	return s == "k" || len(s) > 1 && (s[0] == 'i' || s[0] == 'r') && strings.Trim(s[1:], "0123456789") == ""
}

// paren is the rest of a parenthesis: a sum, or a floor division.
func (p *symParser) paren() (sym.Int, error) {
	x, err := p.sum()
	if err != nil {
		return x, err
	}
	if p.accept("//") {
		y, err := p.sum()
		if err != nil {
			return x, err
		}
		if sym.Is(y, 0) {
			return x, fmt.Errorf("division by zero")
		}
		x = sym.FloorDiv(x, y)
	}
	if !p.accept(")") {
		return x, fmt.Errorf(") expected at %q", p.s)
	}
	return x, nil
}

func (p *symParser) call(name string) (sym.Int, error) {
	a, err := p.sum()
	if err != nil {
		return a, err
	}
	if !p.accept(",") {
		return a, fmt.Errorf(", expected at %q", p.s)
	}
	b, err := p.sum()
	if err != nil {
		return a, err
	}
	if !p.accept(")") {
		return a, fmt.Errorf(") expected at %q", p.s)
	}
	switch name {
	case "Mod":
		if sym.Is(b, 0) {
			return a, fmt.Errorf("division by zero")
		}
		return sym.Mod(a, b), nil
	case "Max":
		return sym.Max(a, b), nil
	case "Min":
		return sym.Min(a, b), nil
	}
	return a, fmt.Errorf("unknown function %q", name)
}
