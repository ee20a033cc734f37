package sym

import (
	"fmt"
	"strconv"
	"strings"
)

// This file reads size expressions as Int.String prints them: 2*s77 + 1,
// (s0//4), Mod(s0, 4), Max(2, s0).

// Parse reads all of text; symbol gives the size of a name.
func Parse(text string, symbol func(name string) (Int, error)) (Int, error) {
	p := &parser{s: text, symbol: symbol}
	x, err := p.sum()
	if err != nil {
		return x, err
	}
	if p.skip(); p.s != "" {
		return x, fmt.Errorf("unexpected %q in the size %q", p.s, text)
	}
	return x, nil
}

type parser struct {
	s      string // what is left
	symbol func(name string) (Int, error)
}

func (p *parser) skip() { p.s = strings.TrimLeft(p.s, " ") }

func (p *parser) accept(tok string) bool {
	p.skip()
	if strings.HasPrefix(p.s, tok) {
		p.s = p.s[len(tok):]
		return true
	}
	return false
}

func (p *parser) sum() (Int, error) {
	x, err := p.product()
	for err == nil {
		var y Int
		switch {
		case p.accept("+"):
			y, err = p.product()
			x = Add(x, y)
		case p.accept("-"):
			y, err = p.product()
			x = Sub(x, y)
		default:
			return x, nil
		}
	}
	return x, err
}

func (p *parser) product() (Int, error) {
	x, err := p.factor()
	for err == nil {
		var y Int
		switch {
		case p.accept("*"):
			y, err = p.factor()
			x = Mul(x, y)
		case p.accept("//"):
			if y, err = p.factor(); err == nil && Is(y, 0) {
				err = fmt.Errorf("division by zero")
			}
			if err == nil {
				x = FloorDiv(x, y)
			}
		default:
			return x, nil
		}
	}
	return x, err
}

func (p *parser) factor() (Int, error) {
	switch {
	case p.accept("-"):
		x, err := p.factor()
		return Neg(x), err
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
		return Int{}, fmt.Errorf("a size expected at %q", p.s)
	}
	if v, err := strconv.ParseInt(word, 10, 64); err == nil {
		return Const(v), nil
	}
	if word[0] >= '0' && word[0] <= '9' {
		return Int{}, fmt.Errorf("bad number %q", word)
	}
	if p.accept("(") {
		return p.call(word)
	}
	return p.symbol(word)
}

// paren is the rest of a parenthesis.
func (p *parser) paren() (Int, error) {
	x, err := p.sum()
	if err != nil {
		return x, err
	}
	if !p.accept(")") {
		return x, fmt.Errorf(") expected at %q", p.s)
	}
	return x, nil
}

// call reads the arguments of a function: two, and of Max and Min any number from there, as sympy writes them.
func (p *parser) call(name string) (Int, error) {
	a, err := p.sum()
	if err != nil {
		return a, err
	}
	if !p.accept(",") {
		return a, fmt.Errorf(", expected at %q", p.s)
	}
	for {
		b, err := p.sum()
		if err != nil {
			return a, err
		}
		if a, err = apply(name, a, b); err != nil {
			return a, err
		}
		if (name == "Max" || name == "Min") && p.accept(",") {
			continue
		}
		if !p.accept(")") {
			return a, fmt.Errorf(") expected at %q", p.s)
		}
		return a, nil
	}
}

func apply(name string, a, b Int) (Int, error) {
	switch name {
	case "Mod":
		if Is(b, 0) {
			return a, fmt.Errorf("division by zero")
		}
		return Mod(a, b), nil
	case "Max":
		return Max(a, b), nil
	case "Min":
		return Min(a, b), nil
	}
	return a, fmt.Errorf("unknown function %q", name)
}
