import { describe, expect, it } from 'vitest';
import { columnsIn, rowsInView } from './rows';

describe('a long list', () => {
  it('draws what is in view and a little around it', () => {
    expect(rowsInView(300, 900, 100, 1000)).toEqual({ first: 0, end: 10 });
    expect(rowsInView(-50_000, 900, 100, 1000)).toEqual({ first: 496, end: 513 });
    expect(rowsInView(-99_500, 900, 100, 1000)).toEqual({ first: 991, end: 1000 });
  });

  it('draws nothing of a list that is far away or empty', () => {
    expect(rowsInView(5000, 900, 100, 1000)).toEqual({ first: 0, end: 0 });
    expect(rowsInView(0, 900, 100, 0)).toEqual({ first: 0, end: 0 });
    expect(rowsInView(-500_000, 900, 100, 1000)).toEqual({ first: 1000, end: 1000 });
  });

  it('has a column at any width', () => {
    expect(columnsIn(50, 100, 8)).toBe(1);
    expect(columnsIn(324, 100, 8)).toBe(3);
  });
});
