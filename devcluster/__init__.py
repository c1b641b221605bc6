"""A small, separate program that speaks the Kubernetes API on loopback and plays KubeRay and GKE
behind it.
"""
