module github.com/wardroom/wardroom/scripts/console

go 1.26.0

require github.com/evanw/esbuild v0.28.2

require golang.org/x/sys v0.41.0 // indirect
