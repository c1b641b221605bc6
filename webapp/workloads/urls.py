from django.urls import path

from webapp.workloads.views import detail, list, submit

app_name = "workloads"
urlpatterns = [
    path("", list.index, name="list"),
    path("t/<slug:team_slug>/new/", submit.new, name="new"),
    path("t/<slug:team_slug>/plan/", submit.plan, name="plan"),
    path("t/<slug:team_slug>/submit/", submit.submit, name="submit"),
    path("w/<slug:uid>/", detail.detail, name="detail"),
    path("w/<slug:uid>/status/", detail.status, name="status"),
    path("w/<slug:uid>/status.json", detail.status_json, name="status_json"),
    path("w/<slug:uid>/slices/", detail.slices, name="slices"),
    path("w/<slug:uid>/timeline/", detail.timeline, name="timeline"),
    path("w/<slug:uid>/manifest.yaml", detail.manifest, name="manifest"),
    path("w/<slug:uid>/log", detail.log, name="log"),
    path("w/<slug:uid>/driver.log", detail.log_download, name="log_download"),
    path("w/<slug:uid>/code.zip", detail.code_download, name="code_download"),
    path("w/<slug:uid>/clone/", submit.clone, name="clone"),
    path("w/<slug:uid>/stop/", detail.stop, name="stop"),
    path("w/<slug:uid>/delete/", detail.delete, name="delete"),
]
