// Command gensimd writes the assembly of torch/internal/simd: matrix tiles,
// packing, vector loops and those of 16-bit formats, once for AVX2 and once for AVX-512.
//
// Usage: gensimd -part tile|pack|vec|wino|half|random -o FOLDER
package main

import (
	"flag"
	"fmt"
	goformat "go/format"
	"log"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

var parts = map[string]func(g *generator){
	"tile":   tiles,
	"pack":   packs,
	"vec":    vectors,
	"wino":   winograd,
	"half":   halves,
	"random": random,
}

// tables are what some parts add to their declarations.
var tables = map[string]func() string{"tile": tileTables, "half": halfTables}

func main() {
	part := flag.String("part", "", "which file to write")
	out := flag.String("o", ".", "folder to write to")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("gensimd: ")
	if err := write(*part, *out); err != nil {
		log.Fatal(err)
	}
}

// write generates one part: assembly and its declarations.
func write(part, dir string) error {
	emit, ok := parts[part]
	if !ok {
		return fmt.Errorf("no part named %q", part)
	}
	g := &generator{Context: build.NewContext()}
	emit(g)
	file, err := g.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	cfg := printer.Config{Name: "cmd/gensimd", Argv: []string{"cmd/gensimd", "-part", part}, Pkg: "simd"}
	base := filepath.Join(dir, "zz_"+part+"_amd64")
	for name, p := range map[string]printer.Printer{base + ".s": printer.NewGoAsm(cfg), base + ".go": printer.NewStubs(cfg)} {
		text, err := p.Print(file)
		if err != nil {
			return err
		}
		if list := tables[part]; list != nil && filepath.Ext(name) == ".go" {
			if text, err = goformat.Source(append(text, list()...)); err != nil {
				return err
			}
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
