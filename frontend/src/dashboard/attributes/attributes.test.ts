import { expect, test } from 'vitest';
import { byShare, clusterTitle, exampleGroups } from './attributes';

test('the attribute that most answers are about comes first', () => {
  const attributes = [{ share: 0.2 }, { share: 0.5 }];
  expect(byShare(attributes)).toEqual([{ share: 0.5 }, { share: 0.2 }]);
  expect(attributes[0]).toEqual({ share: 0.2 });
});

test('an example grid falls into the groups of an answer, in their order', () => {
  const image = (position: number, group: number) => ({
    image: position,
    url: '',
    filename: '',
    group,
  });
  const groups = exampleGroups([image(7, 2), image(3, 0), image(5, 2)]);
  expect(groups.map(({ group, images }) => [group, images.map(({ image }) => image)])).toEqual([
    [0, [3]],
    [2, [7, 5]],
  ]);
  expect(exampleGroups([])).toEqual([]);
});

test('clusters are called by their words, or numbered', () => {
  expect(clusterTitle(['owl', 'round', 'brown'], 0)).toBe('owl, round');
  expect(clusterTitle([], 1)).toBe('cluster 2');
});
