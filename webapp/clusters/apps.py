from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "webapp.clusters"
    label = "clusters"
