import { describe, expect, it } from 'vitest';
import { likely, outlook, tilesOf } from './labelled';

const GOING_ON = { enough: null, gain_of_next_grid: 1.25 };

describe('the outlook', () => {
  const enough = '95.2% of the labels are expected to be right; 95.0% were asked for.';

  it('is what the next grid sets right, while more is asked', () => {
    expect(outlook(GOING_ON, 'running', true)).toBe(
      'The next grid is expected to correct 1.3 labels.',
    );
    expect(outlook(GOING_ON, 'finished', true)).toContain('not because the labels are good enough');
    expect(outlook(GOING_ON, 'finished', false)).toContain('When this model was made');
  });

  it('is why the campaign has ended by itself', () => {
    expect(outlook({ ...GOING_ON, enough }, 'finished', true)).toBe(
      `The campaign has ended automatically: ${enough}`,
    );
    expect(outlook({ ...GOING_ON, enough }, 'running', true)).toContain('Good enough');
  });
});

it('a probability is never rounded to certainty', () => {
  expect([likely(0.97), likely(0.9999), likely(0.001), likely(1), likely(null)]).toEqual([
    '97 %',
    '> 99 %',
    '< 1 %',
    '100 %',
    '–',
  ]);
});

it('figures of both forms follow those of a form', () => {
  const quality = {
    ...GOING_ON,
    version: 1,
    n_contested: 1200,
    votes_per_image: 1.5,
    expected_right: 0.931,
    expected_balanced: 0.9,
  };
  const own: [string, string, string] = ['Images', '30', '3 classes'];
  const tiles = tilesOf(quality, [own], 'all classes', ['Answers per image', 'of people']);
  expect(tiles[0]).toBe(own);
  expect(tiles.slice(1).map(([, figure]) => figure)).toEqual(['93.1 %', '1,200', '1.5', '1.3']);
  expect(tiles[1]?.[2]).toBe('of all; 90.0 % if all classes count equally');
});
