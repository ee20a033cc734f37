package tracer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tcdbg/logs"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/guard"
)

// This file holds what torch.Export is told of sizes against what the code makes of them.

// violation is the error of code that fixes what was said to be dynamic.
func violation(names, why string) error {
	return &torch.Error{Op: "torch.Export", Kind: "ConstraintViolationError", Msg: fmt.Sprintf(
		"Constraints violated (%s)! For more information, run with TORCH_LOGS=\"+dynamic\".\n  - %s", names, why,
	)}
}

// constraints holds what the code asks of sizes against what was said of them, in PyTorch's words.
func (x *exporting) constraints() error {
	var names, said, fixes []string
	tr := x.got.tr
	note := func(name, why, fix string) {
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
		said = append(said, why)
		if fix != "" {
			fixes = append(fixes, fix)
		}
	}
	x.narrow()
	for _, s := range tr.Shapes.Symbols {
		dim := tr.Symbols[s].Named
		if dim == nil || dim.Auto {
			continue
		}
		if v, fixed := s.Fixed(); fixed {
			why := fmt.Sprintf("You marked %s = %s as dynamic but your code specialized it to be a constant (%d). Either leave it "+
				"out of dynamic_shapes or use AutoDim.%s", dim.Name, s.Source, v, siteText(s.FixedAt()))
			note(dim.Name, why, fmt.Sprintf("%s = %d", dim.Name, v))
			continue
		}
		if s.Min > int64(max(dim.Min, 2)) || s.Max < int64(dim.Max) {
			note(dim.Name, fmt.Sprintf("Not all values of %s = %s in the specified range %s satisfy the generated guard %s%s",
				dim.Name, s.Source, rangeOf(dim.Name, int64(dim.Min), int64(dim.Max)), rangeOf(s.Source, s.Min, s.Max), x.siteOf(s)),
				fmt.Sprintf("%s = NewDim(%q%s)", dim.Name, dim.Name, dimOptions(s.Min, s.Max)))
		}
	}
	for _, g := range tr.Shapes.Guards {
		if name, why := x.relation(g); why != "" {
			note(name, why, "")
		}
	}
	if len(said) == 0 {
		return nil
	}
	text := strings.Join(said, "\n  - ")
	if len(fixes) > 0 {
		text += "\nSuggested fixes:\n  " + strings.Join(fixes, "\n  ")
	}
	return violation(strings.Join(names, ", "), text)
}

// relation is what a guard asks beyond the range of one size.
func (x *exporting) relation(g sym.Guard) (name, why string) {
	r := g.Rel
	left, right := open(r.A), open(r.B)
	if len(left)+len(right) == 0 {
		return "", ""
	}
	_, a := r.A.AsSymbol()
	_, b := r.B.AsSymbol()
	if a && len(right) == 0 || b && len(left) == 0 || sure(r) {
		return "", ""
	}
	var names []string
	for _, s := range append(left, right...) {
		if d := x.got.tr.Symbols[s].Named; d != nil && d.Name != "" && !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	if a && b && r.Op == sym.OpEq {
		return strings.Join(names, ", "), fmt.Sprintf("The values of %s must always be equal: give them one Dim%s",
			strings.Join(x.called(left[0], right[0]), " and "), siteText(g.Site))
	}
	return strings.Join(names, ", "), fmt.Sprintf("The code asks for %s, which a range does not say%s", guard.RelText(r), siteText(g.Site))
}

// narrow leaves 1 out of the ranges of sizes where that settles what the code asks for: a size of 1 is a
// constant in PyTorch, too.
func (x *exporting) narrow() {
	for _, g := range x.got.tr.Shapes.Guards {
		if sure(g.Rel) {
			continue
		}
		list := append(open(g.Rel.A), open(g.Rel.B)...)
		old := make([]int64, len(list))
		for i, s := range list {
			old[i] = s.Min
			s.Min = max(s.Min, 2)
		}
		if sure(g.Rel) {
			continue
		}
		for i, s := range slices.Backward(list) {
			s.Min = old[i]
		}
	}
}

// sure reports whether a relation holds for all sizes within their ranges, also where both sides are multiples of
// a size: s0 < s0*s0 is 1 < s0.
func sure(r sym.Rel) bool {
	if r.Sure() {
		return true
	}
	a, b := factors(r.A), factors(r.B)
	left := a[:0:0]
	for _, f := range a {
		i := slices.IndexFunc(b, func(g sym.Int) bool { return sym.Same(f, g) })
		if s, ok := f.AsSymbol(); i < 0 || !ok || s.Min < 1 {
			left = append(left, f)
			continue
		}
		b = slices.Delete(b, i, i+1)
	}
	return sym.Rel{Op: r.Op, A: sym.Product(left), B: sym.Product(b)}.Sure()
}

// factors are those of a product.
func factors(x sym.Int) []sym.Int {
	if form, args := x.Parts(); form == sym.Times {
		return slices.Clone(args)
	}
	return []sym.Int{x}
}

// open are the symbols of an expression that are no constants.
func open(e sym.Int) []*sym.Symbol {
	return slices.DeleteFunc(e.Symbols(), func(s *sym.Symbol) bool { _, fixed := s.Fixed(); return fixed })
}

// called are symbols as PyTorch names them: batch = L['x'].size()[0].
func (x *exporting) called(list ...*sym.Symbol) []string {
	var out []string
	for _, s := range list {
		name := s.Source
		if d := x.got.tr.Symbols[s].Named; d != nil && d.Name != "" {
			name = d.Name + " = " + name
		}
		out = append(out, name)
	}
	return out
}

// siteText names the line that a decision on a size comes from.
func siteText(site any) string {
	at, ok := site.(logs.Pos)
	if !ok || at.File == "" {
		return ""
	}
	return fmt.Sprintf("\n    at %s:%d in %s: %s", at.File, at.Line, at.Func, strings.TrimSpace(at.Code))
}

// siteOf is the line of the first decision that narrowed the range of a size.
func (x *exporting) siteOf(s *sym.Symbol) string {
	for _, g := range x.got.tr.Shapes.Guards {
		for _, side := range []sym.Int{g.Rel.A, g.Rel.B} {
			if y, ok := side.AsSymbol(); ok && y == s && g.Rel.Op != sym.OpNe {
				return siteText(g.Site)
			}
		}
	}
	return ""
}

// rangeOf is a range as Python compares: 2 <= batch <= 64.
func rangeOf(name string, low, high int64) string {
	text := name
	if low > 0 {
		text = fmt.Sprintf("%d <= %s", low, name)
	}
	if high < math.MaxInt64 {
		text += fmt.Sprintf(" <= %d", high)
	}
	return text
}

// dimOptions are the options of NewDim for a range.
func dimOptions(low, high int64) string {
	var sb strings.Builder
	if low > 2 {
		fmt.Fprintf(&sb, ", kw.Min(%d)", low)
	}
	if high < math.MaxInt64 {
		fmt.Fprintf(&sb, ", kw.Max(%d)", high)
	}
	return sb.String()
}
