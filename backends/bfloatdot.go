package backends

// DotProduct is what a processor's dot product of bfloat16 is good for, by the runtime library's numbers.
type DotProduct int

// There are processors without it, and some (of Intel, where AMX is left out) on which multiply-adds of numbers made
// float32 first are up to twice as fast.
const (
	NoDot DotProduct = iota
	SlowDot
	FastDot
)

// DotUse is when the dot product computes products of bfloat16; where it does not, float32 does.
type DotUse int

// UseFastDot is the default.
const (
	UseFastDot DotUse = iota
	UseAnyDot
	UseNoDot
)

// used reports whether products are by the dot product.
func (d DotProduct) used(u DotUse) bool {
	switch u {
	case UseAnyDot:
		return d != NoDot
	case UseNoDot:
		return false
	}
	return d == FastDot
}
