/** What all kinds of task do with the keyboard. */
import { tick } from 'svelte';
import type { Board } from './board.svelte';
import type { Grouping } from './grouping';
import { commandOf, focusedImage, imageOf, isCovered, isElsewhere, neighbour } from './keys';
import type { Large } from './large.svelte';
import type { Submission } from './submission';
import { isRightToLeft } from './texts';

/** What all kinds of task need besides what they show. */
export interface TaskProps {
  board: Board;
  submission: Submission;
  /** What this browser keeps is kept under it. */
  place: string;
  singles: boolean;
  showHelp: () => void;
  /** Known group of an image, once practice has been checked. */
  truthOf?: (image: number) => number | null;
}

/** Whether a key moves the focus: from then on the keyboard, not a pointer, says what it is on. */
function leadsOn(event: KeyboardEvent): boolean {
  return event.key === 'Tab' || commandOf(event, 0)?.type === 'move';
}

/** Less than this, in pixels, is no move of the mouse: a hand on the table. */
const TREMOR = 5;

/** Milliseconds from image to image while a digit is held, so that eyes can follow. */
const PACE = 400;

/** Whether a pointer was used since the last set came; nobody knows that of the first one. */
let pointerUsed = true;

/** Where the mouse is, and where it was when the keyboard or a new grid came: for all grids. */
let mouse = { x: -TREMOR, y: -TREMOR };
let rest = mouse;

function imageAt({ x, y }: typeof mouse): number | null {
  return imageOf(document.elementFromPoint(x, y));
}

/** The keyboard of one task. */
export class TaskKeys {
  /** What said last which image is meant: the focus, or where the mouse is. */
  private by: 'keyboard' | 'mouse' | null = null;
  /** The image that the mouse was pressed on last and has not left since. */
  private done: number | null = null;
  /** When the last digit was obeyed, in milliseconds. */
  private sortedAt = 0;

  constructor(
    private readonly props: () => TaskProps,
    private readonly large: Large,
    private readonly root: () => HTMLElement,
    private readonly submit: () => void,
  ) {
    // Those who needed no pointer for the last set go on without a Tab to the first image.
    if (!pointerUsed) this.by = 'keyboard';
    pointerUsed = false;
    rest = mouse;
  }

  readonly onpointerdown = ({ pointerType }: PointerEvent): void => {
    pointerUsed = true;
    if (!isCovered()) this.by = pointerType === 'mouse' ? 'mouse' : null;
  };

  readonly onpointermove = ({ pointerType, clientX: x, clientY: y }: PointerEvent): void => {
    if (pointerType !== 'mouse') return;
    mouse = { x, y };
    // In a dialog, it says nothing about the images below.
    if (isCovered()) rest = mouse;
    if (Math.hypot(x - rest.x, y - rest.y) > TREMOR) {
      this.by = 'mouse';
      pointerUsed = true;
    }
    if (this.done !== null && this.done !== imageAt(mouse)) this.done = null;
  };

  readonly onpointerup = ({ pointerType, clientX: x, clientY: y }: PointerEvent): void => {
    if (pointerType === 'mouse') this.done = imageAt({ x, y });
  };

  readonly onkeydown = (event: KeyboardEvent): void => {
    if (leadsOn(event)) this.byKeyboard();
    if (!this.props().submission.busy && this.pressed(event)) event.preventDefault();
  };

  private byKeyboard(): void {
    this.by = 'keyboard';
    rest = mouse;
  }

  /** Does what the key says; true when it was meant for the task. */
  private pressed(event: KeyboardEvent): boolean {
    if (isElsewhere(event)) return false;
    const { board, singles, showHelp } = this.props();
    const command = commandOf(event, board.campaign.max_groups, singles);
    if (command === null) return false;
    const isDigit = command.type === 'group';
    if (isDigit && this.isTooSoon(event)) return true;
    const image = focusedImage() ?? (isDigit ? this.firstOne : null);
    const focused = this.by === 'keyboard' ? image : null;
    const before = board.current;
    let next = image;
    switch (command.type) {
      case 'undo':
      case 'redo':
        board[command.type]();
        if (focused !== null) next = changedIn(before, board.current) ?? image;
        break;
      case 'submit':
        if (!event.repeat) this.submit();
        return true;
      case 'help':
        showHelp();
        break;
      case 'all':
        board.chooseLeft();
        break;
      case 'rest':
        if (board.active === null) return false;
        board.rest(board.active);
        break;
      case 'escape':
        if (event.key === 'Escape' && this.large.hide()) break;
        if (event.key !== 'Escape' && image === null) return false;
        board.escape(focused);
        break;
      case 'large':
        if (image === null) return false;
        this.byKeyboard();
        this.large.show(image, true);
        break;
      case 'group':
        // In bins, where images leave their place, the focus never goes along.
        if (image !== null && (focused !== null || board.active === null))
          next = board.nextAfter(image);
        board.sendTo(command.group, this.by === 'mouse' ? this.pointed : focused);
        if (image !== null && board.groupOf(image) !== command.group) next = image;
        break;
      case 'move':
        return image !== null && moveFocus(this.root(), image, command.key);
    }
    if (next !== null) void this.refocus(next);
    return true;
  }

  /** Whether a held digit repeats faster than eyes follow, or would be about the mouse again. */
  private isTooSoon({ repeat, timeStamp }: KeyboardEvent): boolean {
    const leadsOn = this.by === 'keyboard' && !this.props().board.hasSeveral;
    if (repeat && (!leadsOn || timeStamp - this.sortedAt < PACE)) return true;
    this.sortedAt = timeStamp;
    return false;
  }

  /** The first image to sort for those who use no pointer and have not moved the focus yet. */
  private get firstOne(): number | null {
    const isFree = !document.activeElement?.closest('button, a');
    return this.by === 'keyboard' && isFree ? this.props().board.firstLeft : null;
  }

  /** The image under the mouse; after a click on it, a digit is about the clicks to come. */
  private get pointed(): number | null {
    const image = imageAt(mouse);
    return image === this.done ? null : image;
  }

  /** After images moved: keeps the focus on the one that had it. */
  private async refocus(image: number): Promise<void> {
    await tick();
    this.root().querySelector<HTMLElement>(`[data-image="${image}"]`)?.focus();
  }
}

/** The first image whose group is another one. */
function changedIn(before: Grouping, after: Grouping): number | undefined {
  return after.images.find((_, k) => before.groups[k] !== after.groups[k]);
}

export function moveFocus(
  root: HTMLElement,
  image: number,
  key: Parameters<typeof neighbour>[1],
): boolean {
  // Gaps count as places, but cannot have the focus.
  const tiles = [...root.querySelectorAll<HTMLElement>('[data-image], [data-gap]')];
  const from = tiles.findIndex((tile) => tile.dataset['image'] === String(image));
  const around = tiles[from]?.closest<HTMLElement>('.grid, .images');
  if (!around) return false;
  const columns = getComputedStyle(around).gridTemplateColumns.split(' ').length;
  const step = (index: number, by: typeof key) =>
    neighbour(index, by, columns, tiles.length, isRightToLeft());
  let to = step(from, key);
  const on = isRightToLeft() ? ['ArrowLeft', 'ArrowRight'] : ['ArrowRight', 'ArrowLeft'];
  const further = key === 'Home' ? on[0] : key === 'End' ? on[1] : key;
  while (tiles[to]?.dataset['image'] === undefined) {
    const next = step(to, further as typeof key);
    if (next === to) return true;
    to = next;
  }
  tiles[to]?.focus();
  return true;
}
