package cpp

import (
	"fmt"
	"strings"
)

// This file reads every second element, as pooling and convolutions with a stride
// of two do: two vectors and a shuffle in place of a load for each lane.

// everySecond is the helper even_f or even_i. The second vector ends with the last
// element that is wanted, so that nothing after it is read.
func everySecond(name string, lanes int) (helper, bool) {
	kind, ok := strings.CutPrefix(name, "even_")
	if !ok || lanes < 2 || len(kind) != 1 {
		return helper{}, false
	}
	var from []string
	for k := range lanes {
		at := 2 * k
		if at >= lanes { // the second vector begins at element lanes-1
			at += 1
		}
		from = append(from, fmt.Sprint(at))
	}
	list := strings.Join(from, ", ")
	return helper{text: fmt.Sprintf(`%[1]s$ even_%[1]s$(const %[1]s1 *p) {
  const %[1]s$ a = *(const %[1]s$u *)p, b = *(const %[1]s$u *)(p + $ - 1);
#if defined(__clang__)
  return __builtin_shufflevector(a, b, %[2]s);
#else
  return __builtin_shuffle(a, b, (i$){%[2]s});
#endif
}`, kind, list)}, true
}
