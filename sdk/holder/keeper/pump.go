package keeper

// pump carries the output from the terminal into the ring until the last slave is closed.
func (k *Keeper) pump() {
	buf := make([]byte, batch)
	for {
		n, err := k.term.read(buf)
		if err != nil {
			return
		}
		k.ring.put(buf[:n])
	}
}
