/** The curves of a campaign's models over answers, and what the next answers would bring. */
import type { Progress } from '../../api/types';
import { metricName } from '../metrics';
import { PALETTE } from '../../lib/palette';
import type { Point, Series } from '../../lib/scale';

type LearningProgress = Pick<Progress, 'models' | 'outlook'>;

export interface Curve {
  title: string;
  about: string;
  /** What its values are. */
  unit: 'share' | 'number';
  series: Series[];
}

interface Plan {
  title: string;
  about: string;
  unit?: Curve['unit'];
  metrics: string[];
  /** Of models that label by votes, or of the others; of both where it is not told. */
  votes?: boolean;
}

export const CLUSTERS = 'Effective number of clusters';

const PLANS: Plan[] = [
  {
    title: 'Agreement with unseen answers',
    about:
      'Share of images that a model fitted without them places where the annotator did. Random grids are equally hard in all rounds; grids of later rounds are harder.',
    metrics: ['control_agreement', 'agreement'],
  },
  {
    title: 'Pairs of held-out grids predicted',
    about:
      'Together or apart, in grids that the model has not seen. The majority rate is the score for always choosing the more common of the two.',
    metrics: ['held_out_accuracy', 'held_out_balanced_accuracy', 'held_out_majority_rate'],
  },
  {
    title: 'AUC on held-out grids',
    about: 'How often a pair put together is nearer than a pair kept apart: 50 % is chance.',
    metrics: ['held_out_auc'],
    votes: false,
  },
  {
    title: 'Stability of neighbours',
    about:
      'Share of the ten nearest neighbours that the last model of the previous round also had.',
    metrics: ['neighbour_stability'],
  },
  {
    title: CLUSTERS,
    about:
      'As the model counts them. The number settles when more answers separate nothing further.',
    unit: 'number',
    metrics: ['clusters'],
  },
  {
    title: 'Stability of clusters',
    about: 'Share of all images that stay in the same cluster as in the previous model.',
    metrics: ['memberships_kept'],
  },
  {
    title: 'Images placed with certainty',
    about:
      'Share of all images whose cluster has a probability of 90 % or more according to the model.',
    metrics: ['certain_share'],
  },
  {
    title: 'Labels expected to be right',
    about:
      'Share of all images according to the model’s own probabilities: how sure it is of its labels.',
    metrics: ['expected_right'],
  },
  {
    title: 'Classifier on unseen votes',
    about:
      'How often it gives a higher probability to an image that people vote yes on than to one they vote no on (AUC), without having seen the votes on either: 50 % is chance.',
    metrics: ['held_out_auc'],
    votes: true,
  },
  {
    title: 'Votes per image',
    about: 'Votes for yes or no, averaged over all images of the collection.',
    unit: 'number',
    metrics: ['votes_per_image'],
  },
  {
    title: 'Contested images',
    about: 'Images whose label is less than 90 % sure.',
    unit: 'number',
    metrics: ['contested'],
  },
  {
    title: 'Locality',
    about:
      'How close the images in the last round’s grids are to each other: 1 is like random images, less is more similar.',
    unit: 'number',
    metrics: ['locality_of_last_round'],
    votes: false,
  },
];

/** Those that the models have figures for. */
export function curvesOf(progress: LearningProgress): Curve[] {
  const label = progress.models.some(({ has_labels }) => has_labels);
  const plans = PLANS.filter(({ votes = label }) => votes === label);
  return plans
    .map(({ title, about, unit = 'share', metrics }): Curve => ({
      title,
      about,
      unit,
      series: metrics
        .map((metric, k) => seriesOf(progress, metric, PALETTE[k] ?? ''))
        .filter(({ points }) => points.length > 0),
    }))
    .filter(({ series }) => series.length > 0);
}

function seriesOf({ models, outlook }: LearningProgress, metric: string, colour: string): Series {
  const points = models.flatMap(({ n_answers, metrics }) => {
    const value = metrics[metric];
    return value === undefined
      ? []
      : [{ x: n_answers, y: value, error: metrics[`${metric}_error`] ?? null }];
  });
  // A new model from the same answers replaces the earlier one.
  const newest = [...new Map(points.map((point) => [point.x, point])).values()].sort(
    // Answers that were left out make a later model one of fewer.
    (one, other) => one.x - other.x,
  );
  const series = { name: metricName(metric), colour, points: newest };
  const ahead = aheadOf(metric, newest, outlook);
  return ahead ? { ...series, ahead } : series;
}

/** What the next answers would make of a metric, where that is known. */
function aheadOf(
  metric: string,
  points: readonly Point[],
  outlook: LearningProgress['outlook'],
): Point | undefined {
  const last = points.at(-1);
  if (!last) return undefined;
  const x = last.x + outlook.answers;
  if (metric === 'neighbour_stability' && outlook.neighbours !== null) {
    return { x, y: 1 - outlook.neighbours, error: outlook.neighbours_error };
  }
  // The rise is told from random grids, and holds for these.
  if (metric === 'control_agreement' && outlook.agreement !== null) {
    return { x, y: Math.min(1, last.y + outlook.agreement), error: outlook.agreement_error };
  }
  return undefined;
}
