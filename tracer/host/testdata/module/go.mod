module example.com/mod

go 1.26

replace example.com/other => ./deep
