"""The domain: what TPU slices are, what a request becomes, and what was seen of it. Standard library only."""
