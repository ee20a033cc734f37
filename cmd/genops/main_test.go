package main

import "testing"

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"log_softmax": "LogSoftmax", "add_": "Add_", "mm": "Mm", "clamp_min_": "ClampMin_",
		"_to_copy": "ToCopy",
	} {
		if got := camel(in); got != want {
			t.Errorf("camel(%s) = %s, want %s", in, got, want)
		}
	}
}
