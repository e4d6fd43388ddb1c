package main

func Example() {
	main()
	// Output:
	// Loaded 41 statements about 14 nodes.
	// Films with Toshirō Mifune and Takashi Shimura:
	//   Rashomon (1950)
	//   Seven Samurai (1954)
}
