package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file is exponentials: k*x is n*ln2 + k*r, and exp(k*x) is 2^n times a polynomial of r.

// exp replaces x by its exponential.
func (l *lane) exp(x reg.VecPhysical) {
	l.min(x, l.float(expHigh), x)
	l.max(x, l.float(expLow), x)
	l.expWithin(x)
}

// Beyond these bounds an exponential is infinite, or zero.
const expHigh, expLow = 89, -104.04

// expWithin is exp of a number between the bounds, or NaN.
func (l *lane) expWithin(x reg.VecPhysical) {
	n, p := l.tmp(), l.tmp()
	q := l.reduceExp(1, x, n, p, 2*bias)
	l.horner(append([]float64{1, 1}, q...), x, p)
	l.scale(p, n, x)
	l.next -= 2
}

// normalLow is from where on an exponential is at least the least normal number; below
// normalZero expNormal is zero.
const normalLow, normalZero = -87, -88

// expNormal is exp of a number between normalZero and 88, or NaN, where results below the
// normal numbers may be zero.
func (l *lane) expNormal(x reg.VecPhysical) {
	n, p := l.tmp(), l.tmp()
	// Not VSCALEFPS, whose results go on below the normal numbers: exp(normalZero) is not zero.
	q := l.reduceCounted(1, x, n, p, bias)
	l.horner(append([]float64{1, 1}, q...), x, p)
	l.VPSLLD(operand.Imm(23), n, n)
	l.mul(p, n, x)
	l.next -= 2
}

// onePlusExp is 1+exp(-x), infinite where the exponential is.
func (l *lane) onePlusExp(x, to reg.VecPhysical) {
	l.max(x, l.float(-expHigh), to)
	l.min(to, l.float(-normalLow), to)
	n, p := l.tmp(), l.tmp()
	// Half of 2^n is finite where the exponential is; the polynomial is twice as large.
	q := l.reduceExp(-1, to, n, p, bias-1)
	c := append([]float64{1, -1}, q...)
	if l.w == avx512 {
		l.horner(c, to, p)
		l.VSCALEFPS(n, p, p)
		l.add(p, l.float(1), to)
	} else {
		for i := range c {
			c[i] *= 2
		}
		l.horner(c, to, p)
		l.VPSLLD(operand.Imm(23), n, to)
		l.VFMADD213PS(l.float(1), p, to)
	}
	l.next -= 2
}

// bias is what the exponent of one is stored as.
const bias = 127

// reduceExp replaces x by r and returns the coefficients of q with
// exp(k*r) = 1 + k*r + r^2*q(r), k one or minus one. more is room. In n it
// leaves n, which AVX-512 scales by as it is; in AVX2 n is as reduceCounted leaves it.
func (l *lane) reduceExp(k float64, x, n, more reg.VecPhysical, offset int) []float64 {
	if l.w != avx512 {
		return l.reduceCounted(k, x, n, more, offset)
	}
	l.mul(x, l.float(k*math.Log2E), n)
	l.VRNDSCALEPS(operand.Imm(8), n, n)
	return l.restOfExp(k, x, n)
}

// reduceCounted is reduceExp that leaves in n a number so large that its last bits
// are an integer: n+offset.
func (l *lane) reduceCounted(k float64, x, n, whole reg.VecPhysical, offset int) []float64 {
	counted := float64(3<<22 + offset)
	l.load(l.float(counted), n)
	l.VFMADD231PS(l.float(k*math.Log2E), x, n)
	l.sub(n, l.float(counted), whole)
	return l.restOfExp(k, x, whole)
}

// restOfExp takes from x what the power of two makes up, whole*ln2/k, and returns
// reduceExp's coefficients.
func (l *lane) restOfExp(k float64, x, whole reg.VecPhysical) []float64 {
	// In two parts of ln2: the first has few bits.
	high := float64(math.Float32frombits(math.Float32bits(math.Ln2) &^ 0xfff))
	l.VFNMADD231PS(l.float(high/k), whole, x)
	l.VFNMADD231PS(l.float((math.Ln2-high)/k), whole, x)
	const bound = math.Ln2/2 + 1e-4
	q := plainVariable(fit(expRest, -bound, bound, 4), -bound, bound)
	for i := range q {
		q[i] *= math.Pow(k, float64(i+2))
	}
	return q
}

// scale is p times two to the power of n, which has twice the bias, in steps that neither
// overflow nor lose denormal results. It uses n and p;
// to is none of them.
func (l *lane) scale(p, n, to reg.VecPhysical) {
	if l.w == avx512 {
		l.VSCALEFPS(n, p, to)
		return
	}
	half := to
	l.VPSRLD(operand.Imm(1), n, half)
	l.VPSUBD(half, n, n)
	l.VPSLLD(operand.Imm(23), half, half) // each with the bias once
	l.VPSLLD(operand.Imm(23), n, n)
	l.mul(p, half, p)
	l.mul(p, n, to)
}

// expm1Within replaces x, between 0 and 40 or NaN, by exp(x)-1, exact near zero
// too: 2^n*(exp(r)-1) + (2^n-1).
func (l *lane) expm1Within(x reg.VecPhysical) {
	n, p := l.tmp(), l.tmp()
	q := l.reduceExp(1, x, n, p, bias)
	l.horner(q, x, p)
	l.mul(p, x, p)
	l.VFMADD213PS(x, x, p)
	if power := n; l.w == avx512 {
		l.load(l.float(1), x)
		l.VSCALEFPS(n, x, power)
	} else {
		l.VPSLLD(operand.Imm(23), n, power)
	}
	l.sub(n, l.float(1), x)
	l.VFMADD231PS(p, n, x)
	l.next -= 2
}
