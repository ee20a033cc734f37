//go:build !amd64

package torch

import "unsafe"

func tile32(k int, a, b, c unsafe.Pointer, ldc int, first bool) { tilePlain(k, a, b, c, ldc, first) }
