from django.urls import path

from webapp.classes import views

app_name = "classes"
urlpatterns = [
    path("", views.index, name="list"),
    path("new/", views.new, name="new"),
    path("<slug:name>/", views.edit, name="edit"),
    path("<slug:name>/delete/", views.delete, name="delete"),
]
