module github.com/google/renameio

go 1.26.0
