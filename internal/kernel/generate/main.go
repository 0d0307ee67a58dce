// Command generate writes the assembly of package kernel: AVX2 and AVX-512 through avo, NEON as text. It is a
// module of its own so that the product does not depend on avo. Run it by go generate ./internal/kernel.
// Package kernel documents each operation.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/buildtags"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(directory string) error {
	for _, v := range []vector{avx2, avx512} {
		file, err := v.file()
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		config := printer.Config{Name: "internal/kernel/generate", Pkg: "kernel"}
		if err := print(filepath.Join(directory, v.name+"_amd64.s"), printer.NewGoAsm(config), file); err != nil {
			return err
		}
		if err := print(filepath.Join(directory, v.name+"_amd64.go"), printer.NewStubs(config), file); err != nil {
			return err
		}
	}
	assembly, declarations := generateNEON()
	if err := os.WriteFile(filepath.Join(directory, "neon_arm64.s"), []byte(assembly), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "neon_arm64.go"), []byte(declarations), 0o644)
}

// file builds every routine of a vector width.
func (v vector) file() (*ir.File, error) {
	v.Context, v.stores = build.NewContext(), new(int)
	v.Constraint(buildtags.Any(buildtags.Opt(buildtags.Term("amd64"))))
	constants := v.constants()
	for _, rows := range []int{v.rows, 1} {
		for _, columns := range []int{v.columns, 1} {
			v.strip(rows, columns)
		}
	}
	for _, name := range []string{dot, squaredDistance, difference} {
		v.dot(name)
	}
	v.axpy()
	v.scale()
	v.exp(constants)
	v.threeQuarterPower(constants)
	v.softmax(constants)
	v.addRows()
	v.relax(constants)
	for _, classes := range []int{v.classes, 1} {
		for _, vectors := range []int{v.vectors, 1} {
			v.accumulate(classes, vectors)
		}
	}
	v.groupMinima()
	v.below(false)
	v.below(true)
	v.widen()
	v.narrow()
	v.largest(constants)
	v.narrowBytes()
	v.codeProduct()
	v.codeProducts()
	v.prefetch()
	v.multiplyAdds()
	v.transpose()
	file, err := v.Result()
	if err != nil {
		return nil, err
	}
	return file, pass.Compile.Execute(file)
}

// print writes the output of printer p for file to path.
func print(path string, p printer.Printer, file *ir.File) error {
	text, err := p.Print(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, bytes.TrimLeft(text, "\n"), 0o644)
}
