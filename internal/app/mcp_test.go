package app

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// client starts tcdbg mcp in a folder and connects the SDK's client to it.
func client(t *testing.T, state, dir string, args ...string) *sdk.ClientSession {
	t.Helper()
	c := tcdbg(t, state, append([]string{"mcp"}, args...)...)
	c.Dir, c.Stderr = dir, os.Stderr
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// called calls a tool and reads its answer into out; it reports the error that the tool gave.
func called(t *testing.T, s *sdk.ClientSession, tool string, args map[string]any, out any) string {
	t.Helper()
	r, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if r.IsError {
		return r.Content[0].(*sdk.TextContent).Text
	}
	text, err := json.Marshal(r.StructuredContent)
	if err == nil && len(text) > 100_000 {
		t.Errorf("%s: %d bytes", tool, len(text))
	}
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return ""
}

// answer is what the tools' answers have.
type answer struct {
	Run      string
	ExitCode int `json:"exit_code"`
	Output   string
	Text     string
	Worse    bool
	Findings json.RawMessage
}

type found struct{ ID, Kind, Code, File, Source, Fix string }

// TestMCP: an assistant runs a program, reads what was found and the source, changes the
// program, and compares.
func TestMCP(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	body := `package main

import (
	"fmt"

	"tcdbg/torch"
)

func f(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2)
	fmt.Println("within")
	return y.Add(1)
}

func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }
`
	model := filepath.Join(dir, "model.go")
	write := func(text string) {
		if err := os.WriteFile(model, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(body)
	s := client(t, state, dir, "--write")
	var first answer
	if bad := called(t, s, "run", map[string]any{"command": []string{"model.go"}}, &first); bad != "" {
		t.Fatal(bad)
	}
	if first.Run == "" || first.ExitCode != 0 || !strings.Contains(first.Output, "within") {
		t.Fatalf("%+v", first)
	}
	var list struct {
		Findings []found
		LeftOut  int `json:"left_out"`
	}
	if bad := called(t, s, "findings", map[string]any{"kind": "break"}, &list); bad != "" || len(list.Findings) != 1 {
		t.Fatalf("%s %+v", bad, list)
	}
	b := list.Findings[0]
	if b.Kind != "break" || !strings.Contains(b.Source, "fmt.Println") || b.Fix == "" {
		t.Errorf("%+v", b)
	}
	var src answer
	if bad := called(t, s, "source", map[string]any{"finding": b.ID, "context": 2}, &src); bad != "" ||
		!strings.Contains(src.Text, `>    11      fmt.Println("within")`) {
		t.Errorf("%s %s", bad, src.Text)
	}
	var tried answer
	if bad := called(t, s, "try", map[string]any{"command": []string{"model.go"}}, &tried); bad != "" ||
		!strings.Contains(tried.Output, "✓ patch:GB0059@model.go:11") || !strings.Contains(tried.Output, "proven: 1 break fewer") {
		t.Errorf("%s %+v", bad, tried)
	}
	if now, err := os.ReadFile(model); err != nil || string(now) != body {
		t.Error("a trial changed the program")
	}
	write(strings.Replace(body, "\tfmt.Println(\"within\")\n", "", 1))
	var second, diff answer
	if bad := called(t, s, "run", map[string]any{"command": []string{"model.go"}}, &second); bad != "" {
		t.Fatal(bad)
	}
	if bad := called(t, s, "diff", map[string]any{"old": first.Run, "new": second.Run}, &diff); bad != "" || diff.Worse ||
		!strings.Contains(diff.Text, "1 fixed") {
		t.Errorf("%s %+v", bad, diff)
	}
}

// TestMCPOnlyReads: without --write no program runs; what is not there is an error of the tool.
func TestMCPOnlyReads(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	s := client(t, state, dir)
	tools, err := s.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	reads := map[string]bool{}
	for _, tool := range tools.Tools {
		reads[tool.Name] = tool.Annotations != nil && tool.Annotations.ReadOnlyHint
	}
	if len(reads) != 5 || !reads["findings"] || !reads["source"] || !reads["diff"] || reads["run"] || reads["try"] {
		t.Errorf("%v", reads)
	}
	for _, tool := range []string{"run", "try"} {
		if bad := called(t, s, tool, map[string]any{"command": []string{"touch", "made"}}, nil); !strings.Contains(bad, "--write") {
			t.Errorf("%s: %q", tool, bad)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("a program was run")
	}
	trace, err := filepath.Abs("../../explain/testdata/traces/pytorch-2.11")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"findings", map[string]any{"trace": "none.log"}, "no such file"},
		{"findings", map[string]any{"trace": "-"}, "standard input"},
		{"findings", map[string]any{"kind": "other"}, "kind is"},
		{"source", map[string]any{"trace": trace, "finding": "break-0"}, "no finding"},
		{"diff", map[string]any{"old": "nothing", "new": "nothing"}, "nothing"},
	} {
		if bad := called(t, s, c.tool, c.args, nil); !strings.Contains(bad, c.want) || strings.Contains(bad, "\n") {
			t.Errorf("%s %v: %q", c.tool, c.args, bad)
		}
	}
	var list struct {
		Findings []found
		LeftOut  int `json:"left_out"`
	}
	bad := called(t, s, "findings", map[string]any{"trace": trace, "limit": 1000}, &list)
	if bad != "" || len(list.Findings) != 50 || list.LeftOut == 0 {
		t.Errorf("%s: %d findings, %d left out", bad, len(list.Findings), list.LeftOut)
	}
}
