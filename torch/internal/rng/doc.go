// Package rng is PyTorch's CPU generator, a Mersenne Twister (MT19937), and the
// distributions as PyTorch draws them from it, over slices. It knows no Tensor and imports
// packages simd and parallel alone. Open source.go first, then stream.go.
package rng
