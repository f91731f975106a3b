"""How good a method is: which labels it may see, its scores, and their means over draws."""
