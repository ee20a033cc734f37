package guard

import (
	"fmt"
	"strings"

	"tcdbg/logs"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/value"
)

// This file holds what compiler.MarkDynamic asks for against what the code made of it.

// Demands are the sizes that the program marked as dynamic.
type Demands []demand

type demand struct {
	name string // L['x'].size()[0]
	size *sym.Symbol
}

// Add notes dimension d, of that size, of the tensor t at s, where it is marked.
func (ds *Demands) Add(s *value.Source, t *torch.Tensor, d int, size sym.Int) {
	if x, ok := size.AsSymbol(); ok && t.DimMark(d) == torch.DimDynamic {
		*ds = append(*ds, demand{fmt.Sprintf("%s.size()[%d]", s.Name, d), x})
	}
}

// Violated says, in PyTorch's words, which marked sizes the code has made constants; "" for none. 0 and 1
// are constants anyway.
func (ds Demands) Violated() string {
	var names, said []string
	for _, d := range ds {
		v, fixed := d.size.Fixed()
		if !fixed || v == 0 || v == 1 {
			continue
		}
		text := fmt.Sprintf("You marked %s as dynamic but your code specialized it to be a constant (%d). If you're using MarkDynamic, "+
			"either remove it or use MaybeMarkDynamic.", d.name, v)
		if at, ok := d.size.FixedAt().(logs.Pos); ok && at.File != "" {
			text += fmt.Sprintf("\n\nUser stack:\n  File \"%s\", line %d, in %s\n    %s\n", at.File, at.Line, at.Func,
				strings.TrimSpace(at.Code))
		}
		names, said = append(names, d.name), append(said, "  - "+text)
	}
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("Constraints violated (%s)! For more information, run with TORCH_LOGS=\"+dynamic\".\n%s",
		strings.Join(names, ", "), strings.Join(said, "\n"))
}
