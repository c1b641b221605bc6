from django.urls import include, path

from webapp import health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("", include("webapp.workloads.urls")),
    path("accounts/", include("webapp.accounts.urls")),
    path("classes/", include("webapp.classes.urls")),
    path("live/", include("webapp.workloads.streams")),
    path("ui/", include("webapp.ui.urls")),
]
handler400 = "webapp.ui.views.bad_request"
handler403 = "webapp.ui.views.forbidden"
handler404 = "webapp.ui.views.not_found"
handler500 = "webapp.ui.views.server_error"
