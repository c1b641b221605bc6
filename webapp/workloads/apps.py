from django.apps import AppConfig


class WorkloadsConfig(AppConfig):
    name = "webapp.workloads"
    label = "workloads"
