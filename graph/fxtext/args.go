package fxtext

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/torch/export"
)

// This file reads arguments as Python writes them: names of nodes, numbers, lists, dtypes, devices.

const (
	maxText  = 1 << 20 // bytes of one call's arguments
	maxDepth = 50
)

// argument is one argument of a call; Name is "" for one that stands by position.
type argument struct {
	name  string
	value export.Arg
}

// arguments reads a list of arguments.
func (t *reader) arguments(text string) ([]argument, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("arguments of %d bytes", len(text))
	}
	p := &parser{t: t, s: text}
	var out []argument
	for !p.end() {
		a := argument{}
		if name, ok := p.keyword(); ok {
			a.name = name
		}
		v, err := p.value(0)
		if err != nil {
			return nil, err
		}
		a.value = v
		out = append(out, a)
		if !p.accept(",") && !p.end() {
			return nil, fmt.Errorf("its arguments cannot be read at %s", clip(p.s))
		}
	}
	return out, nil
}

type parser struct {
	t *reader
	s string // what is left
}

func (p *parser) end() bool {
	p.s = strings.TrimLeft(p.s, " ")
	return p.s == ""
}

func (p *parser) accept(tok string) bool {
	p.s = strings.TrimLeft(p.s, " ")
	var ok bool
	p.s, ok = strings.CutPrefix(p.s, tok)
	return ok
}

// keyword takes "name = ".
func (p *parser) keyword() (string, bool) {
	p.s = strings.TrimLeft(p.s, " ")
	n := wordEnd(p.s)
	rest := strings.TrimLeft(p.s[n:], " ")
	if n == 0 || strings.Contains(p.s[:n], ".") || !strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "==") {
		return "", false
	}
	name := p.s[:n]
	p.s = rest[1:]
	return name, true
}

// wordEnd is the length of the dotted name that s begins with.
func wordEnd(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] == '.' || '0' <= s[n] && s[n] <= '9' || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'z') {
		n++
	}
	if n > 0 && (s[0] == '.' || '0' <= s[0] && s[0] <= '9') {
		return 0
	}
	return n
}

func (p *parser) value(depth int) (export.Arg, error) {
	if depth > maxDepth {
		return nil, errors.New("its arguments are nested too deeply")
	}
	if p.end() {
		return nil, errors.New("an argument is missing")
	}
	switch c := p.s[0]; {
	case c == '[':
		p.s = p.s[1:]
		return p.list("]", depth)
	case c == '(':
		p.s = p.s[1:]
		return p.list(")", depth)
	case c == '{':
		p.s = p.s[1:]
		return p.dict(depth)
	case c == '\'' || c == '"':
		return p.quoted(c)
	case c == '-' || c == '.' || '0' <= c && c <= '9':
		return p.number()
	}
	n := wordEnd(p.s)
	if n == 0 {
		return nil, fmt.Errorf("its arguments cannot be read at %s", clip(p.s))
	}
	word := p.s[:n]
	p.s = p.s[n:]
	return p.word(word, depth)
}

func (p *parser) list(end string, depth int) (export.Arg, error) {
	out := []export.Arg{}
	for !p.accept(end) {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if !p.accept(",") {
			if p.accept(end) {
				break
			}
			return nil, fmt.Errorf("a list cannot be read at %s", clip(p.s))
		}
	}
	return out, nil
}

// dict reads over a dict, which no operator of ours takes.
func (p *parser) dict(depth int) (export.Arg, error) {
	for !p.accept("}") {
		if _, err := p.value(depth + 1); err != nil {
			return nil, err
		}
		if !p.accept(":") {
			return nil, fmt.Errorf("a dict cannot be read at %s", clip(p.s))
		}
		if _, err := p.value(depth + 1); err != nil {
			return nil, err
		}
		p.accept(",")
	}
	return export.Unread("dict"), nil
}

func (p *parser) quoted(quote byte) (export.Arg, error) {
	i := strings.IndexByte(p.s[1:], quote)
	if i < 0 {
		return nil, errors.New("a text does not end")
	}
	text := p.s[1 : i+1]
	p.s = p.s[i+2:]
	return text, nil
}

func (p *parser) number() (export.Arg, error) {
	n := 0
	if p.s[0] == '-' {
		n = 1
	}
	if inf, ok := strings.CutPrefix(p.s[n:], "inf"); ok {
		p.s = inf
		return math.Inf(1 - 2*n), nil
	}
	for n < len(p.s) {
		c := p.s[n]
		if '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || (c == '-' || c == '+') && (p.s[n-1]|0x20) == 'e' {
			n++
			continue
		}
		break
	}
	word := p.s[:n]
	p.s = p.s[n:]
	if strings.HasPrefix(p.s, "j") {
		return nil, fmt.Errorf("the complex number %sj is not supported", clip(word))
	}
	if i, err := strconv.ParseInt(word, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Errorf("%s is no number", clip(word))
	}
	return f, nil
}

// words are the values that PyTorch writes as names.
var words = map[string]export.Arg{
	"None": nil, "True": true, "False": false, "inf": math.Inf(1), "nan": math.NaN(), "Ellipsis": rest{}, "torch.strided": export.Layout(7),
	"torch.contiguous_format": export.MemoryFormat(1), "torch.channels_last": export.MemoryFormat(2),
	"torch.channels_last_3d": export.MemoryFormat(3), "torch.preserve_format": export.MemoryFormat(4),
}

// word reads a name: a value's, a constant's, or what device( begins.
func (p *parser) word(w string, depth int) (export.Arg, error) {
	if v, ok := words[w]; ok {
		return v, nil
	}
	if p.t.known[w] {
		return p.t.ref(w), nil
	}
	if name, ok := strings.CutPrefix(w, "torch."); ok {
		if d, ok := ops.ParseDType(name); ok {
			return d, nil
		}
	}
	switch {
	case (w == "device" || w == "torch.device") && p.accept("("):
		return p.device()
	case w == "slice" && p.accept("("):
		return p.span(depth + 1)
	case w == "torch.Size" && p.accept("("):
		v, err := p.value(depth + 1)
		if err == nil && !p.accept(")") {
			err = errors.New("a size cannot be read")
		}
		return v, err
	case p.accept("("):
		if _, err := p.list(")", depth+1); err != nil {
			return nil, err
		}
	}
	return export.Unread(clip(w)), nil
}

// device reads type='cuda', index=0). On which device a call's result is, its annotation says.
func (p *parser) device() (export.Arg, error) {
	_, rest, ok := strings.Cut(p.s, ")")
	if !ok {
		return nil, errors.New("a device cannot be read")
	}
	p.s = rest
	return ops.CPU, nil
}

// ref is the value of a node.
func (t *reader) ref(name string) export.Ref {
	if to, ok := t.as[name]; ok {
		name = to
	}
	return export.Ref(name)
}
