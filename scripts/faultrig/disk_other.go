//go:build !linux

package main

func mountDisk(string, int) (*disk, error) { return nil, errNoDisk }

func (d *disk) unmount() error { return nil }

func (d *disk) free() (uint64, error) { return 0, errNoDisk }
