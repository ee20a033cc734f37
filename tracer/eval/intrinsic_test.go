package eval

import (
	"reflect"
	"strings"
	"testing"

	"tcdbg/torch"
)

// TestIntrinsicsExist holds the methods in the table against those that a tensor has.
func TestIntrinsicsExist(t *testing.T) {
	typ := reflect.TypeFor[*torch.Tensor]()
	n := 0
	for name := range intrinsics {
		method, ok := strings.CutPrefix(name, tensorMethod)
		if !ok {
			continue
		}
		n++
		if _, ok := typ.MethodByName(method); !ok {
			t.Errorf("no method %s", name)
		}
	}
	for method := range methodBreaks {
		if _, ok := typ.MethodByName(method); !ok && method != "Ptr" {
			t.Errorf("no method Tensor.%s", method)
		}
	}
	if n < 10 {
		t.Errorf("the table knows %d methods of a tensor", n)
	}
}
