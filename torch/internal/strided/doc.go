// Package strided is arrays in memory, by shape and strides: copies between layouts and
// element types, and the loop under all pointwise operators. It knows no Tensor and no
// operator; of ops it takes the element types. Open array.go first, then loop.go.
package strided
