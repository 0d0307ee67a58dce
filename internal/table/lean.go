//go:build lean

package table

import (
	"errors"
	"os"
)

// errLean is what a build for a quick first start says of Parquet and Arrow, whose libraries are a quarter of
// what a whole build compiles.
var errLean = errors.New(
	"this program was built with -tags lean, without Parquet and Arrow: go install ./cmd/slkstream")

func openParquet(*os.File, Columns) (Source, error) { return nil, errLean }
func openArrow(*os.File, Columns) (Source, error)   { return nil, errLean }

func (o *Output) beginParquet() (encoder, error) { return nil, errLean }
func (o *Output) beginArrow() (encoder, error)   { return nil, errLean }
