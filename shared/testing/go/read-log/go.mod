module annals.example/read-log

go 1.24

require golang.org/x/mod v0.22.0
