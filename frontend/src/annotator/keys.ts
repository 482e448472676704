/** What a key press means on all kinds of task. */

export type Command =
  | { type: 'undo' | 'redo' | 'escape' | 'large' | 'all' | 'rest' | 'help' | 'submit' }
  | { type: 'group'; group: number }
  | { type: 'move'; key: Arrow };

export type Arrow = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown' | 'Home' | 'End';

type Press = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>;

const ARROWS = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End']);

/** `singles`: whether single letters and digits are shortcuts (WCAG 2.1.4: they can be turned off). */
export function commandOf(press: Press, maxGroups: number, singles = true): Command | null {
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  if (press.altKey) return null;
  if (press.ctrlKey || press.metaKey) {
    if (key === 'z') return { type: press.shiftKey ? 'redo' : 'undo' };
    if (key === 'y') return { type: 'redo' };
    if (key === 'Enter') return { type: 'submit' };
    return key === 'a' ? { type: 'all' } : null;
  }
  if (key === 'Escape' || key === 'Delete' || key === 'Backspace') return { type: 'escape' };
  if (key === ' ') return { type: 'large' };
  if (ARROWS.has(key)) return { type: 'move', key: key as Arrow };
  if (!singles) return null;
  if (/^[0-9]$/.test(key)) {
    // The tenth group is under 0, as on the keyboard.
    const group = (Number(key) + 9) % 10;
    return group < maxGroups ? { type: 'group', group } : null;
  }
  if (key === '?') return { type: 'help' };
  return key === 'r' ? { type: 'rest' } : null;
}

/** Index of the image that an arrow leads to; the same one at the edge. */
export function neighbour(
  index: number,
  key: Arrow,
  columns: number,
  count: number,
  rightToLeft = false,
): number {
  const forward = rightToLeft ? -1 : 1;
  const steps = {
    ArrowLeft: -forward,
    ArrowRight: forward,
    ArrowUp: -columns,
    ArrowDown: columns,
  };
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  const next = index + steps[key];
  return next >= 0 && next < count ? next : index;
}

/** Typing into a field is not meant for the task. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  );
}

/** Whether a dialog is over the task. */
export function isCovered(): boolean {
  return document.querySelector('dialog[open]') !== null;
}

/** Whether a key press is not meant for the task, or was answered already. */
export function isElsewhere({ target, defaultPrevented }: KeyboardEvent): boolean {
  return defaultPrevented || isTyping(target) || isCovered();
}

/** Whether to take the focus unasked: within a frame only when the person is in it. */
export function mayTakeFocus(): boolean {
  return window.parent === window || document.hasFocus();
}

/** The image that has the keyboard's focus, if any. */
export function focusedImage(): number | null {
  return imageOf(document.activeElement);
}

/** The image that an element belongs to, if any. */
export function imageOf(element: Element | null): number | null {
  const image = element?.closest<HTMLElement>('[data-image]')?.dataset['image'];
  return image === undefined ? null : Number(image);
}
