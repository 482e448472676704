import { expect, test } from 'vitest';
import type { AnnotatorInsight, AnnotatorScore } from '../../api/types';
import { barsOf, COLUMNS, columnsOf, joined, linkToPlay, playedFrom, sortedWork } from './work';

function aScore(annotator: number, changes: Partial<AnnotatorScore> = {}): AnnotatorScore {
  return {
    annotator,
    n_answers: 1,
    gold: null,
    repeat: null,
    consensus: null,
    simulated: false,
    n_one_group: 0,
    seconds: null,
    hasty: false,
    verdict: 'good',
    warned_at: null,
    stopped_at: null,
    left_out_at: null,
    asked_again_at: null,
    asked_again: 0,
    asked_again_open: 0,
    reviewed_at: null,
    reason: '',
    ...changes,
  };
}

const TOLD: AnnotatorInsight = {
  annotator: 2,
  n_answers: 4,
  preference: [1],
  used: [0.9],
  used_error: [0.1],
  n_groups: 2.5,
  detail: 0.4,
  carelessness: 0.1,
  agreement: 0.7,
  n_repeats: 0,
  consistency: null,
};
const SCORES = [
  aScore(0, { seconds: 30 }),
  aScore(1, { verdict: 'chance' }),
  aScore(2, { n_answers: 4, seconds: 50 }),
];
const who = (work: ReturnType<typeof joined>) => work.map(({ score }) => score.annotator);
const column = (id: string) => COLUMNS.find((one) => one.id === id);

test('what is known from answers and from the model stands in one row', () => {
  const work = joined(SCORES, [TOLD]);
  expect(work.map(({ estimates }) => estimates?.n_groups ?? null)).toEqual([null, null, 2.5]);
});

test('suspect ones come first, a column sorts, and what is not known comes last', () => {
  const work = joined(SCORES, [TOLD]);
  expect(who(sortedWork(work, undefined))).toEqual([1, 2, 0]);
  expect(who(sortedWork(work, column('seconds')))).toEqual([2, 0, 1]);
  expect(who(sortedWork(work, column('agreement')))).toEqual([2, 0, 1]);
});

test('a link from elsewhere opens somebody’s work', () => {
  const link = new URL(linkToPlay('c', 12), 'https://here.test');
  expect(playedFrom(link.hash)).toBe(12);
  expect(playedFrom('')).toBeNull();
  expect(playedFrom('#play-all')).toBeNull();
});

test('votes have no groups, fine or coarse', () => {
  expect(columnsOf(false)).toBe(COLUMNS);
  const names = columnsOf(true).map(({ name }) => name);
  expect(names).toEqual(['Grids', 'Others', 'Gold', 'Repeats', 'Seconds', 'All the same']);
});

test('preferred and used attributes are shown where the model knows them', () => {
  const attribute = {
    index: 0,
    name: '',
    share: 1,
    overall: false,
    ordered: true,
    columns: [0],
    low: [],
    middle: [],
    high: [],
    low_images: [],
    high_images: [],
    clusters: [],
    example: [],
    parts: [],
  };
  const names = (annotators: AnnotatorInsight[], attributes = [attribute]) =>
    barsOf({ attributes, annotators }).map(({ name }) => name);
  expect(names([TOLD])).toEqual(['Prefers', 'Used']);
  expect(names([{ ...TOLD, used: [], used_error: [] }])).toEqual(['Prefers']);
  expect(names([TOLD], [])).toEqual([]);
  expect(barsOf(null)).toEqual([]);
});
