// Command sbom prints the bill of materials of a Go binary in CycloneDX: the modules that are built in, as
// the binary itself names them.
//
//	go run ./deploy/sbom BINARY VERSION
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

type bill struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "sbom BINARY VERSION")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(binary, version string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	b := bill{
		Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata: metadata{component{
			Type: "application", Name: info.Main.Path, Version: version, PURL: "pkg:golang/" + info.Main.Path + "@" +
				version,
			Properties: []property{{"go", info.GoVersion}},
		}},
		Components: []component{{Type: "library", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" +
			info.GoVersion[len("go"):]}},
	}
	for _, m := range info.Deps {
		b.Components = append(b.Components, library(m))
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return out.Encode(&b)
}

func library(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	return component{
		Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version,
		Properties: []property{{"go:sum", m.Sum}},
	}
}
