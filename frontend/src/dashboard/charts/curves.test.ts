import { expect, test } from 'vitest';
import type { Model, Progress } from '../../api/types';
import { CLUSTERS, curvesOf } from './curves';

function aModel(version: number, n_answers: number, metrics: Record<string, number>): Model {
  return {
    version,
    round: version,
    n_answers,
    created_at: '',
    metrics,
    has_insight: false,
    has_memberships: false,
    has_labels: false,
    no_agreement: false,
    has_settled: false,
  };
}

const OUTLOOK: Progress['outlook'] = {
  answers: 100,
  agreement: 0.02,
  agreement_error: 0.01,
  neighbours: 0.1,
  neighbours_error: 0.03,
};
const MODELS = [
  aModel(1, 60, { control_agreement: 0.5, control_agreement_error: 0.04, dimensions: 3 }),
  aModel(2, 120, { control_agreement: 0.55, neighbour_stability: 0.7 }),
  aModel(3, 120, { control_agreement: 0.6, neighbour_stability: 0.8 }),
];

test('curves are drawn for what the models have figures of', () => {
  const curves = curvesOf({ models: MODELS, outlook: OUTLOOK });
  expect(curves.map(({ title }) => title)).toEqual([
    'Agreement with unseen answers',
    'Stability of neighbours',
  ]);
  const [agreement] = curves[0]!.series;
  expect(agreement!.points).toEqual([
    { x: 60, y: 0.5, error: 0.04 },
    { x: 120, y: 0.6, error: null },
  ]);
});

test('the dashed end is what the next answers would bring', () => {
  const [agreement, stability] = curvesOf({ models: MODELS, outlook: OUTLOOK });
  expect(agreement!.series[0]!.ahead).toEqual({ x: 220, y: 0.62, error: 0.01 });
  expect(stability!.series[0]!.ahead).toEqual({ x: 220, y: 0.9, error: 0.03 });
  const unknown = { ...OUTLOOK, agreement: null, neighbours: null };
  const curves = curvesOf({ models: MODELS, outlook: unknown });
  expect(curves.flatMap(({ series }) => series).some(({ ahead }) => ahead)).toBe(false);
});

test('the number of clusters is no share', () => {
  const models = [aModel(1, 60, { clusters: 7, certain_share: 0.4 })];
  const curves = curvesOf({ models, outlook: OUTLOOK });
  expect(curves.map(({ title, unit }) => [title, unit])).toEqual([
    [CLUSTERS, 'number'],
    ['Images placed with certainty', 'share'],
  ]);
});

test('models that label by votes have curves of their own', () => {
  const metrics = { expected_right: 0.9, held_out_auc: 0.8, votes_per_image: 2 };
  const models = [{ ...aModel(1, 60, metrics), has_labels: true }];
  const curves = curvesOf({ models, outlook: OUTLOOK });
  expect(curves.map(({ title }) => title)).toEqual([
    'Labels expected to be right',
    'Classifier on unseen votes',
    'Votes per image',
  ]);
  const groups = curvesOf({ models: [aModel(1, 60, { held_out_auc: 0.8 })], outlook: OUTLOOK });
  expect(groups.map(({ title }) => title)).toEqual(['AUC on held-out grids']);
});

test('there is nothing to draw before the first model', () => {
  expect(curvesOf({ models: [], outlook: OUTLOOK })).toEqual([]);
});
