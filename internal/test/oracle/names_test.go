package oracle

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tcdbg/torch"
)

// TestInPlaceNames holds the list of PyTorch's in-place methods: each is a
// method of our tensors, or the list says why it is not.
func TestInPlaceNames(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "inplace-methods.txt"))
	if err != nil {
		t.Fatal(err)
	}
	methods := reflect.TypeFor[*torch.Tensor]()
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, ": ")
		_, ours := methods.MethodByName(goMethod(name))
		switch {
		case !ours && reason == "":
			t.Errorf("%s is no method of Tensor, and the list does not say why", name)
		case ours && reason != "":
			t.Errorf("%s is a method of Tensor: take its reason off the list", name)
		}
	}
}

// goMethod is the Go spelling of a method: "index_add_" is IndexAdd_.
func goMethod(name string) string {
	var sb strings.Builder
	for _, word := range strings.Split(strings.TrimSuffix(name, "_"), "_") {
		sb.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return sb.String() + "_"
}
