"""What acts on the stored objects by itself: KubeRay's operator, the scheduler, GKE's autoscaler, the kubelet."""
