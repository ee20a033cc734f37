// Package ir is the loop intermediate representation of the inductor: buffers,
// and nodes that fill them. A node is a loop nest (pointwise or reduction) with
// a body of simple operations on affine addresses, a matrix product that a
// template computes, or an extern call of an eager operator.
//
// It imports ops, sym, graph and logs; never lower, sched or codegen, which all
// build on it. Every form prints (text.go), parses back (parse.go) and checks
// itself (check.go, addresses.go). What element operations mean is asked through Handler
// (handler.go). Open ir.go first.
package ir
