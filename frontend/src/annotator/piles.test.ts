import { describe, expect, it } from 'vitest';
import * as g from './grouping';
import { freeGroup, lend, pilesOf } from './piles';

const images = [17, 4, 99, 8];
const start = g.emptyGrouping(images, 3);

/** Groups [0, 1, 1, -1]. */
const some = g.assign(g.assign(start, [17], 0), [4, 99], 1);

function merged(grouping: g.Grouping, from: number, into: number): g.Grouping {
  return lend(g.assign(grouping, g.imagesOf(grouping, from), into), from, into);
}

describe('piles', () => {
  it('hold what can be seen of the groups in use', () => {
    expect(pilesOf(some, new Set([99]))).toEqual([
      { group: 0, images: [17] },
      { group: 1, images: [4] },
    ]);
    expect(pilesOf(some, new Set([17, 99]))).toEqual([{ group: 1, images: [4] }]);
    expect(pilesOf(start, new Set())).toEqual([]);
  });

  it('are split into an empty group, preferably one without old words', () => {
    expect(freeGroup(some)).toBe(2);
    expect(freeGroup(g.describe(start, 0, 'red'))).toBe(1);
    expect(freeGroup(g.describe(some, 2, 'old'))).toBe(2);
    expect(freeGroup(g.assign(some, [8], 2))).toBeNull();
  });
});

describe('words of groups that become one', () => {
  const described = g.describe(some, 1, ' red ');

  it('are those of the group that stays, if it has any', () => {
    const both = g.describe(described, 0, 'blue');
    expect(merged(both, 1, 0).descriptions[0]).toBe('blue');
    expect(merged(both, 1, 0).lent).toEqual([]);
  });

  it('are those of the group that went into it otherwise, and are undone with the step', () => {
    const one = merged(described, 1, 0);
    expect(g.toAnswer(one)).toMatchObject({ groups: [0, 0, 0, -1], descriptions: ['red'] });
    const back = g.undo(one);
    expect(back.groups).toEqual(some.groups);
    expect(back.descriptions).toEqual(['', ' red ', '']);
    expect(g.redo(back).descriptions).toEqual(['red', ' red ', '']);
  });

  it('stay if they were changed since, and if they were the same before', () => {
    const changed = g.describe(merged(described, 1, 0), 0, 'dark red');
    expect(g.undo(changed).descriptions[0]).toBe('dark red');
    const equal = g.describe(described, 0, 'red');
    expect(g.undo(merged(equal, 1, 0)).descriptions[0]).toBe('red');
    const later = g.undo(g.undo(g.assign(merged(described, 1, 0), [8], 2)));
    expect(later.descriptions[0]).toBe('');
  });

  it('are known of after a reload', () => {
    const one = merged(described, 1, 0);
    const again = g.fromDraft(images, 3, JSON.parse(JSON.stringify(one)) as g.Draft);
    expect(g.undo(again).descriptions[0]).toBe('');
  });

  it('are none where neither has any', () => {
    expect(merged(some, 1, 0).descriptions).toEqual(['', '', '']);
  });
});
