"""The list of workloads: filters, order, pages, and rows that stay live."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.accounts.http import PageRequest
from webapp.workloads.filters import WorkloadFilter
from webapp.workloads.models import Workload

PAGE_SIZE = 25


@require_GET
def index(request: PageRequest) -> HttpResponse:
    found = WorkloadFilter(request.GET, user=request.user)
    page = Paginator(found.rows(), PAGE_SIZE).get_page(request.GET.get("page"))
    teams = found.teams()
    context = {
        "filter": found,
        "page": page,
        "teams": teams,
        "rows": [(workload, workload.latest_reason()) for workload in page.object_list],
        "any_at_all": bool(page.object_list) or Workload.objects.visible_to(request.user).exists(),
        "topics": [f"team:{team.slug}" for team in teams][:50],
    }
    # Live updates and filters want the rows alone; a browser without JavaScript gets the page around them.
    wants_rows = request.htmx and request.htmx.target == "workload-rows"
    return render(request, "workloads/_rows.html" if wants_rows else "workloads/list.html", context)
