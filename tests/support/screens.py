"""Screens that people work on, and what can be wrong with a page on one of them."""

import os
from pathlib import Path

from playwright.sync_api import Page

Size = tuple[int, int]
# Sizes in CSS pixels: a desk, and the same at 200 and 400 %.
DESK: list[Size] = [(720, 450), (1440, 900), (360, 225)]
PHONE: list[Size] = [(390, 844), (320, 640), (844, 390)]
# Whether something else lies over the middle of an element.
COVERED = """
one => {
    const {left, top, width, height} = one.getBoundingClientRect();
    const seen = document.elementFromPoint(left + width / 2, top + height / 2);
    return !(seen && (one.contains(seen) || seen.contains(one) || one.labels?.[0]?.contains(seen)));
}
"""
# What is wrong with the page as it stands: one line for each problem.
_FAULTS = (
    """
() => {
    const covered = """
    + COVERED
    + """;
    const [width, height] = [innerWidth, innerHeight];
    const faults = [];
    const name = one => one.ariaLabel || one.textContent.trim().slice(0, 40) || one.outerHTML;
    const isShown = one => one.checkVisibility({visibilityProperty: true})
        && !one.closest('[inert], .visually-hidden');
    const isInside = ({left, top, right, bottom}) =>
        left > -1 && top > -1 && right < width + 1 && bottom < height + 1;
    const isCut = one => one.scrollWidth > one.clientWidth + 1 && !one.querySelector('img');
    const pen = document.createElement('canvas').getContext('2d');
    const isCutPlaceholder = one => {
        const [style, own] = [getComputedStyle(one, '::placeholder'), getComputedStyle(one)];
        const room = one.clientWidth - parseFloat(own.paddingLeft) - parseFloat(own.paddingRight);
        pen.font = `${own.fontWeight} ${style.fontSize} ${own.fontFamily}`;
        return pen.measureText(one.placeholder).width > room + 1;
    };
    if (document.documentElement.scrollWidth > width) faults.push('wider than the screen');
    const dialog = [...document.querySelectorAll('dialog[open]')].at(-1);
    const questions = [...document.querySelectorAll('.confirm')];
    const focused = document.activeElement;
    // A page without a script has just been opened: nobody was anywhere on it.
    const isLost = focused === document.body && document.querySelector('.annotator');
    if (isLost || (dialog && !dialog.contains(focused)))
        faults.push(`the focus is at ${focused.nodeName}`);
    if (dialog && !isInside(dialog.getBoundingClientRect())) faults.push('the dialog is cut off');
    if (dialog && dialog.scrollWidth > dialog.clientWidth) faults.push('the dialog is too narrow');
    for (const one of questions)
        if (one.scrollWidth > one.clientWidth) faults.push('the question is too narrow');
    const places = [document.scrollingElement, ...document.querySelectorAll('dialog, .side, .list')]
        .map(one => [one, one.scrollTop]);
    const kinds = 'button, input, select, textarea, a[href]';
    for (const one of (dialog ?? document).querySelectorAll(kinds)) {
        if (!isShown(one)) continue;
        one.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
        if (!isInside(one.getBoundingClientRect())) faults.push(`beyond the edge: ${name(one)}`);
        else if (covered(one)) faults.push(`covered: ${name(one)}`);
        if (one.matches('button, a') && getComputedStyle(one).textOverflow !== 'ellipsis'
            && isCut(one)) faults.push(`cut off: ${name(one)}`);
        if (one.placeholder && !one.value && isCutPlaceholder(one))
            faults.push(`cut off: ${one.placeholder}`);
    }
    for (const [one, top] of places) one.scrollTop = top;
    return faults;
}
"""
)


def resize(page: Page, size: Size) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.wait_for_timeout(100)


def faults(page: Page) -> list[str]:
    """What is wider than the screen, beyond its edge, covered or cut off, and a focus that is
    lost. Every button and field is looked at after scrolling to it."""
    found: list[str] = page.evaluate(_FAULTS)
    return found


def picture(page: Page, name: str) -> None:
    """For people to look at, where LIKEWISE_LOOK names a folder."""
    if folder := os.environ.get("LIKEWISE_LOOK"):
        page.screenshot(path=Path(folder) / f"{name}.png")
