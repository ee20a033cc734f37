// Package refusal is what operators panic with when arguments do not fit. It knows no
// Tensor and imports ops alone of ours. Open refusal.go first.
package refusal
