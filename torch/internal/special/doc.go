// Package special holds the functions of one or two numbers that package math lacks, or
// that PyTorch computes otherwise: gamma, zeta, error and Bessel functions, orthogonal
// polynomials. It knows no Tensor and imports the standard library alone. Open the file
// of the function: gamma.go, zeta.go, erf.go, erfinv.go, bessel.go, bessel_modified.go,
// airy.go, polynomials.go, elementary.go.
package special
