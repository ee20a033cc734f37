package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/logs/printable"
)

// This file gives the commands run folders with any bytes in them.

// FuzzRunFolder has any run.json, output and fault page in a received run: every command
// that reads one answers or refuses it, and sends nothing but text to the terminal.
func FuzzRunFolder(f *testing.F) {
	hostile, err := os.ReadFile("../../testdata/hostile/run/run.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, info := range []string{
		string(hostile), "", "{", "null", "[]", `{"id": 1}`, `{"state": "running", "left": 1}`, `{"v":1,"id":"last","kind":"run"}`,
		`{"v":1,"id":"a","kind":"run","program":["/x/model.go"],"args":["1"],"dir":"/x","start":"2026-01-01T00:00:00Z",` +
			`"end":"2026-01-01T00:00:01Z","state":"crashed","code":70,"crash":"kernel fault","engine":{"logs":"+dynamo","pause":true}}`,
		`{"program":[""],"args":[""],"dir":"\u0000","start":"9999-12-31T23:59:59Z","end":"0001-01-01T00:00:00Z"}`,
	} {
		f.Add([]byte(info), []byte("Traceback (most recent call last):\n  x\nE: y\n"), []byte("{}"))
	}
	dir := f.TempDir()
	f.Setenv("XDG_STATE_HOME", dir)
	run := filepath.Join(dir, "tcdbg", "runs", "20260101-000000-received-0000")
	if err := os.MkdirAll(filepath.Join(run, traceFile), 0o755); err != nil {
		f.Fatal(err)
	}
	trace := "V1121 12:00:00.000000 7 torch/a.py:1] {\"dynamo_start\": {\"stack\": []}, \"frame_id\": 0, \"frame_compile_id\": 0}\n"
	if err := os.WriteFile(filepath.Join(run, traceFile, "a.log"), []byte(trace), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, info, errs, fault []byte) {
		for name, text := range map[string][]byte{infoFile: info, stderrFile: errs, stdoutFile: errs, faultFile: fault} {
			if err := os.WriteFile(filepath.Join(run, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{
			{"report", run},
			{"report", "--format", "json", run},
			{"report", "last"},
			{"runs"},
			{"check", "--max-breaks", "0", run},
			{"diff", run, run},
		} {
			answers(t, args)
		}
	})
}

// answers runs a command in this process and looks at what it says.
func answers(t *testing.T, args []string) {
	t.Helper()
	var files [2]*os.File
	for i := range files {
		file, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		files[i] = file
	}
	code := Main(Process{Args: args, Stdin: nil, Stdout: files[0], Stderr: files[1]})
	var said [2]string
	for i, file := range files {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		said[i] = string(text)
		plain := strings.NewReplacer("\n", "", "\t", "").Replace(said[i])
		if printable.Clean(plain) != plain {
			t.Errorf("%q: %q reaches the terminal", args, said[i])
		}
	}
	if !slices.Contains([]int{0, 1, ExitUsage, ExitData, ExitNoFile}, code) || strings.Contains(said[1], "internal error") {
		t.Errorf("%q: exit %d, %s", args, code, said[1])
	}
	if code >= ExitUsage && strings.Count(said[1], "\n") != 1 {
		t.Errorf("%q: exit %d, and no one line says why: %q", args, code, said[1])
	}
	if slices.Contains(args, "json") && code == 0 && !json.Valid([]byte(said[0])) {
		t.Errorf("%q: no JSON", args)
	}
}
