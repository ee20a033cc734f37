// Command genexport writes the archive that lets the interpreter type-check
// programs without a Go toolchain: indexed export data of the native packages
// and the source of the generic ones.
//
// Usage: genexport -list packages.txt -o export.zip
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"flag"
	"fmt"
	"go/build"
	"go/token"
	"go/types"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/gcexportdata"
)

func main() {
	list := flag.String("list", "packages.txt", "list of packages")
	out := flag.String("o", "export.zip", "archive to write")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("genexport: ")
	text, err := os.ReadFile(*list)
	check(err)
	var native, source []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "#") || f[0] == "unsafe":
		case slices.Contains(f[1:], "source"):
			source = append(source, f[0])
		default:
			native = append(native, f[0])
		}
	}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	add(z, "VERSION", []byte(runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH+"\n"))
	for _, f := range exports(native) {
		add(z, f.name, f.data)
	}
	for _, p := range source {
		addSource(z, p)
	}
	check(z.Close())
	check(os.WriteFile(*out, buf.Bytes(), 0o666))
}

type file struct {
	name string
	data []byte
}

// exports converts the compiler's export data of each package to the indexed
// form without positions, which is small and fast to read.
func exports(pkgs []string) []file {
	cmd := exec.Command("go", append([]string{
		"list", "-e", "-export", "-f",
		"{{.ImportPath}} {{if .GoFiles}}{{or .Export `broken`}}{{end}}",
	}, pkgs...)...)
	cmd.Stderr = os.Stderr
	list, err := cmd.Output()
	check(err)
	var files []file
	for line := range strings.Lines(string(list)) {
		path, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			log.Printf("%s: not written yet, left out", path)
			continue
		}
		if name == "broken" {
			log.Fatalf("%s does not build", path)
		}
		files = append(files, file{"export/" + path, indexed(path, name)})
	}
	return files
}

func indexed(path, name string) []byte {
	f, err := os.Open(name)
	check(err)
	defer f.Close()
	r, err := gcexportdata.NewReader(f) //nolint:staticcheck // go list gives archives; Read alone does not open them in this version
	check(err)
	// A map of its own for each package: what it refers to is written whole.
	pkg, err := gcexportdata.Read(r, token.NewFileSet(), map[string]*types.Package{}, path)
	check(err)
	var buf bytes.Buffer
	check(gcexportdata.Write(&buf, nil, pkg))
	return buf.Bytes()
}

// addSource adds the files of a package that the interpreter runs from source,
// or our replacement where the package is made of runtime internals.
func addSource(z *zip.Writer, path string) {
	name := strings.ReplaceAll(path, "/", "_") + ".go"
	if data, err := os.ReadFile(filepath.Join("overlay", name+".txt")); err == nil {
		add(z, "source/"+path+"/"+name, data)
		return
	}
	p, err := build.Import(path, "", 0)
	check(err)
	for _, name := range p.GoFiles {
		data, err := os.ReadFile(filepath.Join(p.Dir, name))
		check(err)
		add(z, "source/"+path+"/"+name, data)
	}
}

func add(z *zip.Writer, name string, data []byte) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	w, err := z.CreateHeader(h)
	check(err)
	_, err = w.Write(data)
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(fmt.Errorf("%w", err))
	}
}
