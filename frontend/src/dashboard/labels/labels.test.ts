import { describe, expect, it } from 'vitest';
import type { AnnotatorQuality, LabelQuality } from '../../api/types';
import { concernsFirst } from '../labelled/labelled';
import {
  beyondChance,
  goldSentence,
  partsOf,
  qualityWords,
  queryOf,
  sureness,
  votesText,
} from './labels';

const QUALITY: LabelQuality = {
  version: 2,
  features: 'features',
  has_classifier: true,
  n_images: 30,
  n_yes: 10,
  n_contested: 2,
  votes_per_image: 1.5,
  expected_right: 0.93,
  expected_balanced: 0.91,
  gain_of_next_grid: 1.25,
  enough: null,
  reliability: [],
  gold: { n_yes: 0, n_no: 0, labels: null, classifier: null },
  annotators: [],
};

function aVoter(annotator: number, n_votes: number, sensitivity: number, specificity: number) {
  return {
    annotator,
    n_votes,
    yes_share: 0.5,
    sensitivity,
    specificity,
    quality: {},
  } as AnnotatorQuality;
}

describe('the list', () => {
  it('asks for the surest yes, for what is contested, or for the surest no', () => {
    expect(queryOf({ tab: 'ranked', asked: null }, null)).toEqual({
      order: 'likeliest',
      limit: 48,
    });
    expect(queryOf({ tab: 'contested', asked: true }, null)).toEqual({
      order: 'contested',
      contested: true,
      limit: 48,
      asked: true,
    });
    expect(queryOf({ tab: 'no', asked: null }, 'x')).toEqual({
      order: 'unlikeliest',
      label: 'no',
      limit: 48,
      after: 'x',
    });
  });

  it('says how many images each part has', () => {
    expect(partsOf(QUALITY).map(({ count }) => count)).toEqual([30, 2, 20]);
  });
});

describe('an image', () => {
  it('has its votes in words, without those that there are none of', () => {
    expect(votesText({ yes: 3, no: 1, unsure: 1 })).toBe('3 yes · 1 no · 1 unsure');
    expect(votesText({ yes: 0, no: 2, unsure: 0 })).toBe('2 no');
    expect(votesText({ yes: 0, no: 0, unsure: 0 })).toBe('no votes');
  });

  it('is as sure as its label is likely', () => {
    expect(sureness({ label: 'no', probability: 0.25 })).toBe(0.75);
  });
});

describe('annotators', () => {
  const guesser = aVoter(1, 80, 0.55, 0.5);

  it('are marked when they seem to guess, not before there are votes to tell', () => {
    expect(qualityWords(guesser)).toBe('looks like guessing');
    expect(qualityWords({ ...guesser, n_votes: 19 })).toBe('too few votes to say');
    expect(qualityWords(aVoter(2, 80, 0.2, 0.1))).toBe('votes the opposite');
    expect(qualityWords(aVoter(3, 80, 0.9, 0.9))).toBe('');
  });

  it('come with those to look at first, and who said little last', () => {
    const all = [aVoter(0, 80, 0.9, 0.9), guesser, aVoter(2, 3, 0.1, 0.1)];
    expect(concernsFirst(all, beyondChance).map(({ annotator }) => annotator)).toEqual([1, 0, 2]);
  });
});

it('known answers are told, and whether they are enough', () => {
  const none = { labels: null, classifier: null };
  expect(goldSentence({ n_yes: 0, n_no: 0, ...none })).toContain('No image has a known answer');
  expect(goldSentence({ n_yes: 1, n_no: 4, ...none })).toContain('too few');
  const scores = { accuracy: 1, auc: 1, average_precision: 1, brier: 0, precision: [], recall: [] };
  expect(goldSentence({ n_yes: 4, n_no: 4, labels: scores, classifier: null })).toContain(
    '4 yes, 4 no. Results of the labels',
  );
});
