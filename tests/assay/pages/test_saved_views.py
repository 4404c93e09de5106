"""Searches kept under a name: saved from a list, found again on it, of one person only."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from assay.accounts import saved_views
from assay.accounts.models import ListPage, Role, SavedView
from assay.accounts.services import join, local_user, main_project
from experiments.errors import Refusal
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory

FAST = {"page": "runs", "name": "fast ones", "q": "ttft.p99<500ms", "columns": "ttft.p99,goodput"}
ADDRESS = "/runs?q=ttft.p99%3C500ms&columns=ttft.p99%2Cgoodput.ratio"


def test_a_search_is_kept_with_its_columns_and_found_on_the_list(
    lab: Laboratory, somebody: Client
) -> None:
    response = somebody.post("/views", FAST)

    assert response["Location"] == ADDRESS
    text = page(somebody, "/runs")
    assert f'href="{ADDRESS.replace("&", "&amp;")}"' in text
    assert "fast ones" in text
    assert 'aria-current="true">fast ones' in page(somebody, ADDRESS)
    assert "fast ones" not in page(somebody, "/studies")


def test_a_view_of_the_same_name_is_replaced(lab: Laboratory, somebody: Client) -> None:
    somebody.post("/views", FAST)
    somebody.post("/views", {**FAST, "q": "state:failed"})

    assert [view.query for view in SavedView.objects.all()] == ["state:failed"]


def test_a_view_is_deleted(lab: Laboratory, somebody: Client) -> None:
    somebody.post("/views", FAST)

    somebody.post("/views", {"delete": SavedView.objects.get().pk})

    assert not SavedView.objects.exists()
    assert "No view yet" in page(somebody, "/views")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "   "}, "name: 0 characters"),
        ({"name": "x" * 81}, "name: 81 characters"),
        ({"page": "models"}, "page: models"),
        ({"q": "x" * 1001}, "query: 1001 characters"),
    ],
)
def test_a_view_that_cannot_be_kept_is_refused_by_field(
    changes: dict[str, str], says: str, lab: Laboratory, somebody: Client
) -> None:
    response = somebody.post("/views", {**FAST, **changes})

    assert response.status_code == 422
    text = response.content.decode()
    assert says in text
    assert "Allowed" in text
    assert not SavedView.objects.exists()


def test_nobody_sees_or_deletes_the_views_of_others(lab: Laboratory, somebody: Client) -> None:
    somebody.post("/views", FAST)
    ada = get_user_model().objects.create_user("ada")
    join(main_project().team, ada, Role.viewer)
    other = Client()
    other.force_login(ada)

    assert "fast ones" not in page(other, "/views")
    assert "fast ones" not in page(other, "/runs")
    other.post("/views", {"delete": SavedView.objects.get().pk})
    assert SavedView.objects.get().user == local_user()


def test_a_person_keeps_a_bounded_number(db: None) -> None:
    user = local_user()
    for number in range(saved_views.MOST):
        saved_views.save_view(user.pk, ListPage.runs, name=f"v{number}", query="", columns=[])

    with pytest.raises(Refusal, match="50 views"):
        saved_views.save_view(user.pk, ListPage.runs, name="more", query="", columns=[])
    saved_views.save_view(user.pk, ListPage.runs, name="v0", query="new", columns=[])
    assert SavedView.objects.get(name="v0").query == "new"
