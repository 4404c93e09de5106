"""Steps of a review that more than one flow takes, on the page of the review."""

from playwright.sync_api import Page, expect

SIGNED_BY = "SELECT username FROM review_signoff JOIN auth_user ON auth_user.id = by_id"


def accept_every_gap(page: Page) -> None:
    reasons = page.get_by_label("Accepted, because")
    while left := reasons.count():
        reasons.first.fill("the statement does not rest on it")
        page.keyboard.press("Enter")
        expect(reasons).to_have_count(left - 1)


def answer_every_question(page: Page) -> None:
    forms = page.locator(".asked form:has(select)")
    while left := forms.count():
        form = forms.first
        form.locator("select").select_option("holds")
        form.get_by_label("Note").fill("read against the statement")
        page.keyboard.press("Enter")
        expect(forms).to_have_count(left - 1)
