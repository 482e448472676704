import { expect, it } from 'vitest';
import {
  columnsSeen,
  duration,
  groupsAt,
  numberText,
  placeText,
  symbolOf,
  type TraceEvent,
  votesText,
} from './replay';

const trace: TraceEvent[] = [
  [0, 'o'],
  [100, 'p', 0, 0, 1],
  [200, 'p', 1, 1],
  [300, 'u'],
  [400, 'r'],
  [500, 's', 2, 2, 2],
  [600, 'c'],
];

it('shows the groups at any moment', () => {
  const at = (milliseconds: number) => groupsAt(trace, 3, milliseconds);
  expect(at(50)).toEqual([-1, -1, -1]);
  expect(at(100)).toEqual([0, 0, -1]);
  expect(at(250)).toEqual([0, 1, -1]);
  expect(at(300)).toEqual([0, 0, -1]);
  expect(at(400)).toEqual([0, 1, -1]);
  expect(at(500)).toEqual([2, 2, 2]);
  expect(at(1e6)).toEqual([-1, -1, -1]);
});

it('lasts as long as the answer took', () => {
  expect(duration(trace, 900)).toBe(900);
  expect(duration(trace, null)).toBe(600);
});

it('calls votes by their names, and groups by their numbers', () => {
  const choices = ['yes', 'no', 'unsure'];
  expect([-1, 0, 2].map((group) => placeText(group, choices))).toEqual([
    ', not ticked',
    ', yes',
    ', unsure',
  ]);
  expect([-1, 0, 1].map((group) => symbolOf(group, choices))).toEqual(['', '✓', '✕']);
  expect(votesText([0, 1, 1, -1], choices)).toBe('1 yes, 2 no, 0 unsure');
  expect([-1, 1].map((group) => placeText(group, []))).toEqual(['', ', group 2']);
  const names = ['with the others', 'odd one out'];
  expect([-1, 1].map((group) => placeText(group, [], names))).toEqual(['', ', odd one out']);
  expect(symbolOf(0, [])).toBe('');
});

it('has the columns and numbers of groups that the annotator saw', () => {
  expect(columnsSeen({ columns: 6, device: null })).toBe(6);
  expect(columnsSeen({ columns: 6, device: { width: 1440 } })).toBe(6);
  expect(columnsSeen({ columns: 6, device: { width: 390 } })).toBe(4);
  expect(columnsSeen({ columns: 3, device: { width: 390 } })).toBe(3);
  expect([-1, 0, 1].map((group) => numberText(group, [7, 8]))).toEqual(['', '1', '2']);
  expect(numberText(0, [null, 0]), 'with the others, and no colour').toBe('');
});
