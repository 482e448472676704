import { expect, it } from 'vitest';
import { LONGEST_TRACE, Trace } from './trace';

it('keeps events in order, begins a description once, and goes on after a reload', () => {
  const trace = new Trace();
  trace.add(5, 'p', 2, 0, 3);
  trace.add(9, 'd', 2);
  trace.add(11, 'd', 2);
  const later = new Trace(trace.events);
  later.add(20, 'o');
  expect(later.events).toEqual([
    [5, 'p', 2, 0, 3],
    [9, 'd', 2],
    [20, 'o'],
  ]);
});

it('does not grow without end', () => {
  const trace = new Trace();
  for (let k = 0; k < LONGEST_TRACE + 10; k++) trace.add(k, 'u');
  expect(trace.events).toHaveLength(LONGEST_TRACE);
});
