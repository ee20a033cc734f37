package torch

import (
	"strings"
	"testing"
)

// TestStridedWithinStorage refuses views that would show memory of others.
func TestStridedWithinStorage(t *testing.T) {
	x := Arange(10)
	if got := x.AsStrided([]int{2, 2}, []int{5, 4}).Int64s(); got[3] != 9 {
		t.Errorf("the last element is %d", got[3])
	}
	if n := x.AsStrided([]int{0, 2}, []int{50, 50}).Numel(); n != 0 {
		t.Errorf("%d elements of none", n)
	}
	for want, call := range map[string]func(){
		"setStorage: sizes [2, 2], strides [1, 2], storage offset 10, and itemsize 8 requiring a storage size of 112 are out of " +
			"bounds for storage of size 80": func() { x.AsStrided([]int{2, 2}, []int{1, 2}, Option{Name: "storage_offset", Value: 10}) },
		"Negative strides are not supported": func() { x.AsStrided([]int{2}, []int{-1}) },
		"invalid storage offset -1":          func() { x.AsStrided([]int{2}, []int{1}, Option{Name: "storage_offset", Value: -1}) },
		"requiring a storage size of 88":     func() { x.AsStridedScatter(Arange(2), []int{2}, []int{10}) },
	} {
		func() {
			defer func() {
				if e, _ := recover().(*Error); e == nil || !strings.Contains(e.Msg, want) {
					t.Errorf("got %v, want a refusal with %q", e, want)
				}
			}()
			call()
		}()
	}
}
