package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFresh fails when the committed assembly is not what the generator writes.
func TestFresh(t *testing.T) {
	dir := t.TempDir()
	for part := range parts {
		if err := write(part, dir); err != nil {
			t.Fatal(err)
		}
		for _, ext := range []string{".s", ".go"} {
			name := "zz_" + part + "_amd64" + ext
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join("..", "..", "torch", "internal", "simd", name))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%s is stale: go generate ./torch/internal/simd", name)
			}
		}
	}
}
