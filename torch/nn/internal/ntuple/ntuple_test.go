package ntuple

import (
	"slices"
	"testing"

	"tcdbg/torch"
)

func TestOf(t *testing.T) {
	if got := Of("MaxPool2d", 3, 2); !slices.Equal(got, []int{3, 3}) {
		t.Errorf("a number gives %v", got)
	}
	if got := Of("MaxPool2d", []int{1, 2}, 2); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("a list gives %v", got)
	}
	for _, v := range []any{[]int{1, 2, 3}, 1.5, nil} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || e.Kind != "TypeError" || e.Op != "MaxPool2d" {
					t.Errorf("%v: got %v", v, e)
				}
			}()
			Of("MaxPool2d", v, 2)
		}()
	}
}
