package cpp

import (
	"fmt"
	"math"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
)

// This file writes the squares of a moving average, which optimizers keep of gradients: c*x*x for a number c. Once a
// network has learned its data they are denormal numbers. To compute such a product takes a processor more than a hundred
// cycles; to add it takes no longer than to add another.

// squareText is a * x for an a that is c * x, to the bit. Products below the smallest normal number are computed as whole
// numbers of the smallest denormal one: of a sum whose last place is that number, scaled to where all that it is made of is
// normal, rounded once as the product is. near is the bits of a number: no x of which c*x*x is denormal is as large.
const squareText = `f$ square_f$(f$ a, f$ x, i32 near) {
#if defined(__FMA__) && ($ == 16 && defined(__AVX512F__) || $ == 8 && defined(__AVX2__))
  if (__builtin_expect(any_i$(((i$)x & 0x7fffffff) < near), 0)) {
    f$ s = a * 0x1p64f, y = x * 0x1p64f, q = s * y;
    i$ small = ((i$)q & 0x7fffffff) < 0x40800000, sign = (i$)q & (i32)0x80000000, one = sign | 0x40800000;
    i$ many = ((i$)fma_f$(s, y, (f$)one) - one) | sign;
    f$ rest = (f$)((i$)a & ~small) * x;
    return (f$)((small & many) | (~small & (i$)rest));
  }
#endif
  return a * x;
}`

// squareOne is the same for a number by itself, of which a loop has a few at its end.
const squareOne = `f1 square_f1(f1 a, f1 x, i32 near) { return a * x; }`

// square spells value j of step i where it is such a square.
func (e *emitter) square(i, j, lanes int) (text string, ok bool) {
	v := &e.k.Steps[i].Body[j]
	if lanes == 1 || v.Op != ir.Mul || v.DType != ops.Float32 {
		return "", false
	}
	for k, a := range v.Args {
		x := v.Args[1-k]
		if near, ok := nearDenormal(weight(e.k, i, a, x)); ok {
			return fmt.Sprintf("%s(%s, %s, %#x)", e.pre.fn("square_f", lanes), e.arg(i, a, lanes), e.arg(i, x, lanes), near), true
		}
	}
	return "", false
}

// weight is the c for which operand a of step i of a kernel is c times operand x, an element of memory; 0 for none.
func weight(k *sched.Kernel, i, a, x int) float64 {
	product, at := origin(k, i, a)
	element, _ := origin(k, i, x)
	if product.Op != ir.Mul || element.Op != ir.Load {
		return 0
	}
	for n, id := range product.Args {
		c, _ := origin(k, at, id)
		other, _ := origin(k, at, product.Args[1-n])
		if c.Op == ir.Const && other.Op == ir.Load && other.Buf == element.Buf && other.Index.Equal(element.Index) {
			return c.F
		}
	}
	return 0
}

// origin is what operand a of step i of a kernel is, and the step that computes it: not the register that hands it on.
func origin(k *sched.Kernel, i, a int) (v *ir.Value, step int) {
	v = &k.Steps[i].Body[a]
	for v.Op == ir.Load && k.Place[v.Buf] == sched.Register {
		id, from := -1, i
		for id < 0 && from > 0 {
			from--
			id = stored(k.Steps[from].Body, v.Buf)
		}
		if id < 0 {
			break
		}
		i, v = from, &k.Steps[from].Body[id]
	}
	return v, i
}

// stored is the value that a body stores in a buffer; -1 for none.
func stored(body []ir.Value, b *ir.Buffer) int {
	for k := range body {
		if body[k].Op == ir.Store && body[k].Buf == b {
			return body[k].Args[0]
		}
	}
	return -1
}

// nearDenormal is the bits of a power of two from which on c*x*x is a normal number, however it is rounded. Of numbers c that
// would have it far from where x*x is denormal there is none.
func nearDenormal(c float64) (bits uint32, ok bool) {
	if c = math.Abs(c); !(c >= 0x1p-40 && c <= 0x1p40) {
		return 0, false
	}
	x := math.Ldexp(1, int(math.Ceil((-125-math.Log2(c))/2)))
	return math.Float32bits(float32(x)), true
}
