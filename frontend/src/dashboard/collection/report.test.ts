import { expect, it } from 'vitest';
import { itemOf } from './items';
import { asCsv } from './report';

it('writes a report that no spreadsheet takes for formulas', () => {
  const bad = itemOf('=cmd().png', 1, () => Promise.reject(new Error()));
  Object.assign(bad, { state: 'rejected', note: 'Not an image, "really".' });
  expect(asCsv([bad])).toBe(
    'file,outcome,reason\r\n\'=cmd().png,rejected,"Not an image, ""really""."',
  );
});
