/** What both kinds of task do with the keyboard. */
import type { Board } from './board.svelte';
import { commandOf, focusedImage, isTyping, neighbour } from './keys';
import { isRightToLeft } from './texts';

export interface TaskView {
  readonly board: Board;
  readonly root: HTMLElement;
  readonly singles: boolean;
  /** Whether the keyboard, not a pointer, moved the focus last. */
  readonly byKeyboard: boolean;
  showLarge(image: number): void;
  showHelp(): void;
  /** Whether a large view was there to be hidden. */
  hideLarge(): boolean;
  /** After images moved: keeps the focus on one that had it. */
  refocus(image: number): void;
}

/** Whether a key moves the focus: from then on the keyboard, not a pointer, says what it is on. */
export function leadsOn(event: KeyboardEvent): boolean {
  return event.key === 'Tab' || commandOf(event, 0)?.type === 'move';
}

/** Does what the key says; true when it was meant for the task. */
export function pressed(event: KeyboardEvent, view: TaskView): boolean {
  if (isTyping(event.target) || document.querySelector('dialog[open]')) return false;
  const { board } = view;
  const command = commandOf(event, board.campaign.max_groups, view.singles);
  if (command === null) return false;
  const image = focusedImage();
  const focused = view.byKeyboard ? image : null;
  switch (command.type) {
    case 'undo':
    case 'redo':
      board[command.type]();
      break;
    case 'help':
      view.showHelp();
      break;
    case 'all':
      board.chooseLeft();
      break;
    case 'rest':
      if (board.active === null) return false;
      board.rest(board.active);
      break;
    case 'escape':
      if (event.key === 'Escape' && view.hideLarge()) break;
      if (event.key !== 'Escape' && image === null) return false;
      board.escape(focused);
      break;
    case 'large':
      if (image === null) return false;
      view.showLarge(image);
      break;
    case 'group':
      board.sendTo(command.group, focused);
      break;
    case 'move':
      return image !== null && moveFocus(view.root, image, command.key);
  }
  if (image !== null) view.refocus(image);
  return true;
}

function moveFocus(
  root: HTMLElement,
  image: number,
  key: Parameters<typeof neighbour>[1],
): boolean {
  const tiles = [...root.querySelectorAll<HTMLElement>('[data-image]')];
  const from = tiles.findIndex((tile) => tile.dataset['image'] === String(image));
  const around = tiles[from]?.parentElement;
  if (!around) return false;
  const columns = getComputedStyle(around).gridTemplateColumns.split(' ').length;
  tiles[neighbour(from, key, columns, tiles.length, isRightToLeft())]?.focus();
  return true;
}
