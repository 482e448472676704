import { describe, expect, it } from 'vitest';
import type { Link } from '../../api/types';
import { csvOf, workOf } from './words';

const LINK = {
  campaign_finished: false,
  access: 'open',
  places: 0,
  finished: 1,
  at_work: 0,
  left: 0,
} as Link;

describe('words of links', () => {
  it('tell how a link is going', () => {
    expect(workOf(LINK)).toBe('1 assignment finished');
    // Nobody is at work after the end.
    expect(workOf({ ...LINK, at_work: 3, campaign_finished: true })).toBe('1 assignment finished');
    expect(workOf({ ...LINK, places: 20, finished: 3, at_work: 1, left: 2 })).toBe(
      '3 of 20 assignments finished, 1 person at work, 2 started and left',
    );
    expect(workOf({ ...LINK, access: 'listed', finished: 0, addresses: 2, used: 1 })).toBe(
      '0 assignments finished, 1 of 2 addresses used',
    );
  });

  it('write files that no spreadsheet takes for formulas', () => {
    expect(
      csvOf([
        ['person', 'address'],
        ['=1+1', 'a,"b"'],
        ['@x', 'https://x/a/b'],
      ]),
    ).toBe('person,address\r\n\'=1+1,"a,""b"""\r\n\'@x,https://x/a/b\r\n');
  });
});
