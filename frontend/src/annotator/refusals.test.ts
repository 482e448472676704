import { describe, expect, it } from 'vitest';
import { ApiError, problemOf } from '../api/errors';
import { isPassing, refusalOf } from './refusals';

describe('refusals', () => {
  it('are for good, or for a while that grows', () => {
    const before = new ApiError('took_part_before', 403, 'Once.');
    expect(refusalOf(before)).toMatchObject({
      title: 'refused_before',
      sentence: 'Once.',
      wait: null,
    });
    const silent = new ApiError('platform_silent', 503, 'Silent.');
    expect([0, 1, 2, 9].map((tries) => refusalOf(silent, tries)?.wait)).toEqual([15, 30, 60, 60]);
    expect(refusalOf(new ApiError('assignment_taken', 409, 'Taken.'))?.wait).toBe(20);
  });

  it('say what is wrong with an address, and where its person goes back to', () => {
    const missing = { code: 'id_missing', detail: 'Go back.', reason: '“id” is missing.' };
    expect(refusalOf(problemOf(403, missing))).toMatchObject({
      title: 'bad_address_title',
      text: 'id_missing_text',
      reason: '“id” is missing.',
      back: null,
    });
    const body = { code: 'link_full', detail: 'Full.', return_address: 'https://x.test/?id=1' };
    expect(refusalOf(problemOf(403, body))).toMatchObject({
      reason: null,
      back: 'https://x.test/?id=1',
    });
  });

  it('know a refusal by its status, and leave all else alone', () => {
    expect(refusalOf(new ApiError('something_new', 403, 'No.'))?.title).toBe('refused_title');
    expect(refusalOf(new ApiError('stale_draft', 409, 'Stale.'))).toBeNull();
    expect(refusalOf(new Error('bug'))).toBeNull();
  });

  it('do not hammer a platform that is silent', () => {
    expect(isPassing(new ApiError('platform_silent', 503, ''))).toBe(false);
    expect(isPassing(new ApiError('http_502', 502, ''))).toBe(true);
    expect(isPassing(new ApiError('network', 0, ''))).toBe(true);
  });
});
