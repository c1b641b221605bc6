from django.apps import AppConfig


class ClassesConfig(AppConfig):
    name = "webapp.classes"
    label = "classes"
