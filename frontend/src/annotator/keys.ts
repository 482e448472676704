/** What a key press means on both kinds of task. */

export type Command =
  | { type: 'undo' | 'redo' }
  | { type: 'remove' }
  | { type: 'group'; group: number }
  | { type: 'move'; key: Arrow };

export type Arrow = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown' | 'Home' | 'End';

type Press = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>;

const ARROWS = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End']);

export function commandOf(press: Press, maxGroups: number): Command | null {
  const { key } = press;
  if (press.altKey) return null;
  if (press.ctrlKey || press.metaKey) {
    if (key.toLowerCase() === 'z') return { type: press.shiftKey ? 'redo' : 'undo' };
    return key.toLowerCase() === 'y' ? { type: 'redo' } : null;
  }
  if (/^[0-9]$/.test(key)) {
    // The tenth group is under 0, as on the keyboard.
    const group = (Number(key) + 9) % 10;
    return group < maxGroups ? { type: 'group', group } : null;
  }
  if (['Escape', 'Delete', 'Backspace'].includes(key)) return { type: 'remove' };
  return ARROWS.has(key) ? { type: 'move', key: key as Arrow } : null;
}

/** Index of the image that an arrow leads to; the same one at the edge. */
export function neighbour(index: number, key: Arrow, columns: number, count: number): number {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  const next = index + steps[key];
  return next >= 0 && next < count ? next : index;
}

/** Typing into a field is not meant for the task. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

/** The image that has the keyboard's focus, if any. */
export function focusedImage(): number | null {
  const image = document.activeElement?.closest<HTMLElement>('[data-image]')?.dataset['image'];
  return image === undefined ? null : Number(image);
}
