package export

import (
	_ "embed"
	"strings"
	"sync"
)

// This file is the arguments of PyTorch's operators: in the text of a graph they stand by position, and
// only PyTorch's own order says which is which. scripts/aten-schemas.py writes the list.

//go:embed signatures.txt
var signatureText string

// Signature is the arguments of one operator in their order.
type Signature struct {
	Names      []string
	Positional int // of these, those that may stand by position
	Results    int // ListResult: as many as the arguments say
}

// ListResult is the number of results of a call that gives a list, AnyResult of a function that may give one
// tensor or several.
const (
	ListResult = -1
	AnyResult  = -2
)

// signatures are by name: aten.add.Tensor, nn.functional.silu.
var signatures = sync.OnceValue(func() map[string]Signature {
	out := map[string]Signature{}
	for line := range strings.Lines(signatureText) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "(")
		list, results, ok := strings.Cut(rest, ") ")
		if !ok {
			panic("export: a line of signatures.txt is none: " + line)
		}
		s := Signature{Positional: -1, Results: ListResult}
		for a := range strings.SplitSeq(list, ", ") {
			switch a {
			case "*":
				s.Positional = len(s.Names)
			case "":
			default:
				s.Names = append(s.Names, a)
			}
		}
		if s.Positional < 0 {
			s.Positional = len(s.Names)
		}
		switch results {
		case "list":
		case "any":
			s.Results = AnyResult
		default:
			s.Results = int(results[0] - '0')
		}
		out[name] = s
	}
	return out
})

// SignatureOf is the signature of torch.ops.aten.add.Tensor or torch.nn.functional.silu.
func SignatureOf(target string) (Signature, bool) {
	s, ok := signatures()[strings.TrimPrefix(shortTarget(target), "torch.")]
	return s, ok
}
