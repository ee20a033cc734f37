// Package conv is convolution over slices and its gradients: on planes that hold the
// image with its padding, by Winograd's form, or as columns of windows. It knows no
// Tensor. Open conv.go first, then planes.go.
package conv
