import { describe, expect, it } from 'vitest';
import type { ClassVoter } from '../../api/types';
import { concernsFirst } from '../labelled/labelled';
import { distribution, goldSentence, labelText, mostConfused, queryOf, votesText } from './classes';

const names = ['cat', 'dog', 'neither'];
const aVoter = (annotator: number, n_votes: number, right: number): ClassVoter => ({
  annotator,
  n_votes,
  right,
  confusion: null,
  sensitivity: null,
  specificity: null,
  quality: {},
});

describe('an image', () => {
  it('has its labels in words', () => {
    expect([labelText(['cat', 'dog']), labelText([])]).toEqual(['cat; dog', 'no label']);
  });

  it('has its votes in words, the most frequent first', () => {
    const votes = { votes: [1, 3, 0], answers: 4, unsure: 1 };
    expect(votesText(votes, names, false)).toBe('3 dog · 1 cat · 1 unsure');
    expect(votesText(votes, names, true)).toBe('4 answers · 3 dog · 1 cat · 1 unsure');
    expect(votesText({ votes: [0, 0, 0], answers: 0, unsure: 0 }, names, false)).toBe('no votes');
    expect(votesText({ votes: [0, 0, 0], answers: 1, unsure: 0 }, names, true)).toBe('1 answer');
  });

  it('has a distribution over the classes, the likeliest first', () => {
    const shares = distribution({ probability: [0.2, 0.7, 0.1] }, names);
    expect(shares.map(({ name, number }) => [name, number])).toEqual([
      ['dog', 1],
      ['cat', 0],
      ['neither', 2],
    ]);
  });
});

describe('an annotator', () => {
  it('takes one class for another', () => {
    const confusion = [
      [0.9, 0.1, 0],
      [0.3, 0.6, 0.1],
      [0, 0, 1],
    ];
    expect(mostConfused({ confusion }, names)).toEqual({ of: 'dog', as: 'cat', share: 0.3 });
    expect(mostConfused({ confusion: [[1, 0]] }, names)).toBeNull();
    expect(mostConfused({ confusion: null }, names)).toBeNull();
  });

  it('comes first who is right least often, and last with few votes', () => {
    const voters = [aVoter(0, 50, 0.9), aVoter(1, 3, 0.1), aVoter(2, 50, 0.5)];
    const first = concernsFirst(voters, ({ right }) => right);
    expect(first.map(({ annotator }) => annotator)).toEqual([2, 0, 1]);
  });
});

describe('the list', () => {
  it('asks for what is chosen', () => {
    expect(queryOf({ tab: 'contested', label: 'cat', asked: null }, null)).toMatchObject({
      order: 'contested',
      contested: true,
      label: 'cat',
      asked: undefined,
    });
  });
});

it('says what known answers tell', () => {
  const gold = { classifier_right: null, by_class: [], confusion: null };
  expect(goldSentence({ ...gold, n_images: 0, right: null })).toMatch(/^No image/);
  expect(goldSentence({ ...gold, n_images: 2, right: null })).toMatch(/too few/);
  expect(goldSentence({ ...gold, n_images: 20, right: 0.95 })).toMatch(/^95.0 % .* 20 images/);
});
