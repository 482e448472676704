import { describe, expect, it } from 'vitest';
import type { ChannelOptions } from '../../api/types';
import { PLATFORMS } from './platforms.fixture';
import { learnPlatforms, postingNoun, postingsOf } from './platforms.svelte';
import { answersWanted, groupsOf, hourly, whatFor, whoseWork, workOf } from './words';

describe('what the page says', () => {
  it('tells one answer from many', () => {
    expect([1, 9].map(answersWanted)).toEqual([
      '1 answer is still needed',
      '9 answers are still needed',
    ]);
  });

  it('tells what became of the places, and leaves out what is none', () => {
    expect(workOf({ submitted: 2, approved: 3, accepted: 1, timed_out: 1 })).toBe(
      '5 submitted, 1 at work, 1 returned',
    );
    expect(workOf({})).toBe('');
  });

  it('names payments by what they are for', () => {
    expect(whatFor({ kind: 'bonus', rule: 'extra' })).toBe('Extra grids');
    expect(whatFor({ kind: 'bonus', rule: 'of a later version' })).toBe('Bonus');
    expect(whatFor({ kind: 'screen_out', rule: 'screen_out' })).toBe('Screened out after practice');
  });

  it('knows a study from a HIT', () => {
    learnPlatforms(PLATFORMS);
    expect(postingsOf('prolific', 1)).toBe('1 study');
    expect(postingsOf('mturk', 2)).toBe('2 tasks (HITs)');
    expect(postingNoun('prolific')).toBe('Study');
    expect(postingsOf('elsewhere', 2)).toBe('2 postings');
  });

  it('shows numbers of annotators, and of strangers the end of an id', () => {
    expect(whoseWork({ annotator: 0, external_id: 'x' })).toBe('Annotator 0');
    expect(whoseWork({ annotator: null, external_id: '3T6ZM3QZEOB12345678' })).toBe(
      'Submission …12345678',
    );
  });

  it('reckons the pay of an hour', () => {
    expect(hourly(120, 6)).toBe(1200);
    expect(hourly(0, 6)).toBeNull();
  });
});

describe('groups of settings', () => {
  it('hold every setting once, also ones that came later', () => {
    const properties = { title: {}, countries: {}, approve: {}, minutes_allowed: {}, new_one: {} };
    const channel = { settings: { properties } } as unknown as ChannelOptions;
    const groups = groupsOf(channel);
    expect(groups.flatMap(({ fields }) => fields).sort()).toEqual(Object.keys(properties).sort());
    expect(groups.at(-1)).toEqual({ title: 'Time', fields: ['minutes_allowed', 'new_one'] });
  });
});
