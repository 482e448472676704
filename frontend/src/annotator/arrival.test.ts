import { describe, expect, it } from 'vitest';
import { arrivalOf, opening, withoutToken } from './arrival';

const entry = (assignment_id: string, worker_id: string) =>
  arrivalOf({
    link: 'l',
    channel: 'mturk',
    entry: JSON.stringify({ assignment_id, hit_id: 'H', worker_id, turk_submit_to: 'https://m' }),
    place: `place of ${assignment_id.slice(1)}-${worker_id.slice(1)}`,
  });

describe('arrivals', () => {
  it('keep two assignments of one person, and two persons on one, apart', () => {
    const places = [entry('A1', 'W1'), entry('A2', 'W1'), entry('A1', 'W2')].map(
      (one) => one.place,
    );
    expect(new Set(places).size).toBe(3);
    expect(entry('A1', 'W1').place).toBe(places[0]);
  });

  it('are kept under what the server says, without ids of platforms', () => {
    expect(entry('A1', 'W1').place).toBe('l:place of 1-1');
  });

  it('behind links are kept as they always were', () => {
    expect(arrivalOf({ link: 'l', channel: 'link' })).toMatchObject({ place: 'l', given: null });
  });

  it('behind links that name people are kept apart for each of them', () => {
    const named = arrivalOf({ link: 'l', channel: 'link', place: 'p' });
    expect(named).toMatchObject({ place: 'l:p', given: null, isNamed: true });
    expect(arrivalOf({ link: 'l', channel: 'link' }).isNamed).toBe(false);
  });

  it('say to the server what the address says, a token only while it is fresh', () => {
    expect(opening(entry('A1', 'W1'), 0)).toEqual({
      path: '/sessions/mturk',
      body: {
        link: 'l',
        assignment_id: 'A1',
        hit_id: 'H',
        worker_id: 'W1',
        turk_submit_to: 'https://m',
      },
    });
    const given = JSON.stringify({ participant: 'p', study: 's', session: 'x', token: 'jwt' });
    const signed = arrivalOf({ link: 'l', channel: 'prolific', entry: given });
    expect(opening(signed, 5_000).body['token']).toBe('jwt');
    expect(opening(signed, 120_000).body['token']).toBe('');
  });

  it('leave no token in the address', () => {
    const address = 'https://a.test/a/prolific/l?SESSION_ID=x&prolific_token=e.y.J&lang=de';
    expect(withoutToken(address)).toBe('https://a.test/a/prolific/l?SESSION_ID=x&lang=de');
  });
});
