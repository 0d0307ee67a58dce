//go:build lean

package table

import (
	"errors"
	"os"
)

// errLean refuses Parquet and Arrow in a lean build. Their libraries are a quarter of what a full build
// compiles, so a quick first build omits them.
var errLean = errors.New(
	"this program was built with -tags lean, without Parquet and Arrow: go install ./cmd/slkstream")

func openParquet(*os.File, Columns) (*Source, error) { return nil, errLean }
func openArrow(*os.File, Columns) (*Source, error)   { return nil, errLean }

func (o *Output) beginParquet() (encoder, error) { return nil, errLean }
func (o *Output) beginArrow() (encoder, error)   { return nil, errLean }
