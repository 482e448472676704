import { describe as suite, expect, it } from 'vitest';
import * as g from './grouping';

const images = [17, 4, 99, 8];
const start = g.emptyGrouping(images, 3);

suite('assigning', () => {
  it('moves an image between groups and leaves the old value as it was', () => {
    const one = g.assign(start, [4], 0);
    const two = g.assign(one, [4], 2);
    expect(two.groups).toEqual([-1, 2, -1, -1]);
    expect(one.groups).toEqual([-1, 0, -1, -1]);
    expect(start.groups).toEqual([-1, -1, -1, -1]);
    expect(g.groupOf(two, 4)).toBe(2);
    expect(g.imagesOf(two, 2)).toEqual([4]);
    expect(g.countLeft(two)).toBe(3);
  });

  it('takes an image out again', () => {
    expect(g.assign(g.assign(start, [4], 0), [4], g.LEFT).groups).toEqual(start.groups);
  });

  it.each([
    ['an unknown image', 5, 0],
    ['an unknown group', 4, 3],
    ['the group it is in', 4, -1],
  ])('changes nothing for %s', (_, image, group) => {
    expect(g.assign(start, [image], group)).toBe(start);
  });
});

suite('many at once', () => {
  it('is one step', () => {
    const all = g.assign(g.assign(start, [17, 8], 0), [4, 99], 1);
    expect(all.groups).toEqual([0, 1, 1, 0]);
    expect(g.undo(all).groups).toEqual([0, -1, -1, 0]);
    expect(g.assign(all, [17, 8], 0)).toBe(all);
  });
});

suite('two windows or devices', () => {
  const base = { groups: [0, -1, -1, -1], descriptions: ['', '', ''] };

  it('keep what each of them did', () => {
    const mine = { groups: [0, 1, -1, -1], descriptions: ['red', '', ''] };
    const theirs = { groups: [0, -1, 2, -1], descriptions: ['', 'round', ''] };
    expect(g.merge(base, mine, theirs)).toEqual({
      groups: [0, 1, 2, -1],
      descriptions: ['red', 'round', ''],
    });
  });

  it('let mine stand where both changed the same, and take out what either took out', () => {
    const mine = { groups: [1, -1, -1, -1], descriptions: [] };
    expect(g.merge(base, mine, { groups: [2, -1, -1, 0], descriptions: [] }).groups).toEqual([
      1, -1, -1, 0,
    ]);
    const same = { groups: base.groups, descriptions: [] };
    expect(g.merge(base, same, { groups: [-1, -1, -1, -1], descriptions: [] }).groups[0]).toBe(-1);
  });

  it('can be undone here', () => {
    const taken = g.replaced(start, { groups: [1, 1, -1, -1], descriptions: ['', 'red'] });
    expect(taken.groups).toEqual([1, 1, -1, -1]);
    expect(taken.descriptions[1]).toBe('red');
    expect(g.undo(taken).groups).toEqual(start.groups);
  });
});

suite('undo and redo', () => {
  const done = g.assign(g.assign(start, [17], 0), [4], 1);

  it('go back and forth through every step', () => {
    const back = g.undo(g.undo(done));
    expect(back.groups).toEqual(start.groups);
    expect(g.undo(back)).toBe(back);
    const again = g.redo(g.redo(back));
    expect(again.groups).toEqual(done.groups);
    expect(g.redo(again)).toBe(again);
  });

  it('forget undone steps once something else is done', () => {
    const other = g.assign(g.undo(done), [8], 2);
    expect(g.redo(other)).toBe(other);
  });

  it('bring back all that was cleared at once, and keep descriptions', () => {
    const cleared = g.describe(g.clear(done), 0, 'red');
    expect(g.countLeft(cleared)).toBe(4);
    expect(g.undo(cleared).groups).toEqual(done.groups);
    expect(g.undo(cleared).descriptions[0]).toBe('red');
    expect(g.clear(start)).toBe(start);
  });
});

suite('drafts', () => {
  it('go on where they were', () => {
    const draft = { groups: [0, -1, 2, 2], descriptions: ['red'] };
    const resumed = g.fromDraft(images, 3, draft);
    expect(resumed.groups).toEqual(draft.groups);
    expect(resumed.descriptions).toEqual(['red', '', '']);
    expect(resumed.past).toEqual([]);
    const past = [start.groups, [0, 0]];
    expect(g.fromDraft(images, 3, { ...draft, past }).past).toEqual([start.groups]);
  });

  it.each([
    ['none', null],
    ['one of another grid', { groups: [0], descriptions: [] }],
    ['one with more groups', { groups: [0, 1, 2, 3], descriptions: [] }],
  ])('are ignored: %s', (_, draft) => {
    expect(g.fromDraft(images, 3, draft)).toEqual(start);
  });
});

suite('submitting', () => {
  const grouped = g.assign(g.assign(g.assign(start, [17], 0), [4], 0), [8], 2);

  it('takes at least two grouped images', () => {
    expect(g.missing(start, true)).toEqual([{ kind: 'images' }]);
    expect(g.missing(g.assign(start, [4], 0), false)).toEqual([{ kind: 'images' }]);
    expect(g.missing(grouped, false)).toEqual([]);
  });

  it('takes a description of each used group where they are required', () => {
    const described = g.describe(g.describe(grouped, 0, 'red'), 2, '  ');
    expect(g.missing(described, true)).toEqual([{ kind: 'description', group: 2 }]);
    expect(g.missing(g.describe(described, 2, 'round'), true)).toEqual([]);
  });

  it('sends leftovers, and only descriptions of used groups', () => {
    const described = g.describe(g.describe(g.describe(grouped, 0, ' red '), 1, 'x'), 2, 'round');
    expect(g.toAnswer(described)).toEqual({
      images,
      groups: [0, 0, -1, 2],
      descriptions: ['red', '', 'round'],
    });
    expect(g.toAnswer(start).descriptions).toEqual([]);
  });
});
