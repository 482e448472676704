import { describe, expect, it } from 'vitest';
import { commandOf, neighbour } from './keys';

const press = (key: string, held: Partial<KeyboardEvent> = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...held,
});

describe('commandOf', () => {
  it('reads digits as groups, 0 as the tenth', () => {
    expect(commandOf(press('1'), 10)).toEqual({ type: 'group', group: 0 });
    expect(commandOf(press('0'), 10)).toEqual({ type: 'group', group: 9 });
    expect(commandOf(press('5'), 4)).toBeNull();
  });

  it('undoes and redoes with Ctrl and with Cmd', () => {
    expect(commandOf(press('z', { ctrlKey: true }), 4)).toEqual({ type: 'undo' });
    expect(commandOf(press('Z', { metaKey: true, shiftKey: true }), 4)).toEqual({ type: 'redo' });
    expect(commandOf(press('1', { ctrlKey: true }), 4)).toBeNull();
    expect(commandOf(press('Enter', { metaKey: true }), 4)).toEqual({ type: 'submit' });
    expect(commandOf(press('Enter'), 4)).toBeNull();
  });

  it('leaves single letters and digits alone where they are turned off', () => {
    for (const key of ['1', 'r', '?']) {
      expect(commandOf(press(key), 4, true)).not.toBeNull();
      expect(commandOf(press(key), 4, false)).toBeNull();
    }
    expect(commandOf(press('Escape'), 4, false)).toEqual({ type: 'escape' });
  });
});

describe('neighbour', () => {
  it('follows the columns and stops at the edges', () => {
    expect(neighbour(0, 'ArrowDown', 6, 24)).toBe(6);
    expect(neighbour(20, 'ArrowDown', 6, 24)).toBe(20);
    expect(neighbour(0, 'ArrowLeft', 6, 24)).toBe(0);
    expect(neighbour(3, 'End', 6, 24)).toBe(23);
    expect(neighbour(3, 'ArrowLeft', 6, 24, true)).toBe(4);
  });
});
