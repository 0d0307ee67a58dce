//go:build lean

package table

import (
	"errors"
	"io"
	"os"
)

// errLean refuses Parquet and Arrow in a lean build. Their libraries are a quarter of what a full build
// compiles, so a quick first build omits them.
var errLean = errors.New(
	"this program was built with -tags lean, without Parquet and Arrow: go install ./cmd/slkstream")

func openParquet(*os.File, Reading) (*Source, error) { return nil, errLean }
func openArrow(*os.File, Reading) (*Source, error)   { return nil, errLean }

func beginParquet(io.Writer, []Column) (encoder, error) { return nil, errLean }
func beginArrow(io.Writer, []Column) (encoder, error)   { return nil, errLean }
