// Package order sorts and selects the elements of a row, and finds equal ones where
// PyTorch finds them. It knows no Tensor and imports the standard library alone. Open
// selection.go first.
package order
