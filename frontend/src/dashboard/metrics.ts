/** Names and figures of model metrics, for people. */
import type { Progress } from '../api/types';

const NAMES: Record<string, string> = {
  held_out_accuracy: 'accuracy on held-out grids',
  held_out_majority_rate: 'majority rate',
  held_out_balanced_accuracy: 'balanced accuracy',
  held_out_auc: 'AUC',
  locality_of_last_round: 'locality of the last round',
  agreement: 'unseen placements predicted',
  control_agreement: 'unseen placements predicted, random grids',
  neighbour_stability: 'neighbours kept since the previous round',
  dimensions: 'dimensions',
  clusters: 'effective number of clusters',
  memberships_kept: 'images that kept their cluster',
  certain_share: 'images placed with 90 % or more',
  expected_right: 'labels expected to be right',
  expected_balanced: 'the same, with yes and no weighted equally',
  gain_of_next_grid: 'labels the next grid is expected to correct',
  votes_per_image: 'votes per image',
  yes_share: 'images labelled yes',
  contested: 'contested images',
};

/** Shares of images, pairs, labels or neighbours: shown in per cent. */
const SHARES = new Set([
  'held_out_accuracy',
  'held_out_majority_rate',
  'held_out_balanced_accuracy',
  'held_out_auc',
  'agreement',
  'control_agreement',
  'neighbour_stability',
  'memberships_kept',
  'certain_share',
  'expected_right',
  'expected_balanced',
  'yes_share',
]);
/** Shares of neighbours that the next answers change: below the first, more answers are hardly
 * worth their money; above the second, the map is not settled (docs/user-guide.md, Watch). */
const SETTLED = 0.05;
const UNSETTLED = 0.15;

export interface Metric {
  name: string;
  value: string;
}

/** The metrics with their standard errors: "71.2 % ± 0.8 %". */
export function metricsOf(metrics: Record<string, number>): Metric[] {
  return Object.entries(metrics)
    .filter(([name]) => !(name.endsWith('_error') && name.slice(0, -6) in metrics))
    .map(([name, value]) => {
      const error = metrics[`${name}_error`];
      return {
        name: metricName(name),
        value: figure(name, value) + (error === undefined ? '' : ` ± ${figure(name, error)}`),
      };
    });
}

export function metricName(name: string): string {
  return NAMES[name] ?? name.replaceAll('_', ' ');
}

function figure(name: string, value: number): string {
  if (SHARES.has(name)) return `${points(value)} %`;
  if (Number.isInteger(value) && Math.abs(value) > 1) return value.toFixed(0);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(3);
}

/** Whether there are enough answers; '' while it is not known. */
export function verdictOf({ answers, neighbours }: Progress['outlook'], state = 'running'): string {
  if (neighbours === null) return '';
  const share = `${points(neighbours)} %`;
  const verdict =
    neighbours <= SETTLED
      ? 'Good enough? Yes, more answers would change little'
      : neighbours <= UNSETTLED
        ? 'Good enough? Nearly'
        : 'Good enough? Not yet';
  const change = state === 'finished' ? 'another' : 'the next';
  return `${verdict}: ${change} ${answers} answers would change about ${share} of the nearest neighbours.`;
}

/** What the next answers would buy: sentences, none while it is not known. */
export function outlookSentences(outlook: Progress['outlook'], state = 'running'): string[] {
  const { agreement, agreement_error, neighbours_error } = outlook;
  const verdict = verdictOf(outlook, state);
  const sentences: string[] = verdict ? [verdict] : [];
  if (verdict && neighbours_error !== null) {
    sentences.push(`The standard error of this share is ${points(neighbours_error)} %.`);
  }
  if (agreement !== null && agreement_error !== null) {
    sentences.push(
      `They would predict ${points(agreement)} (± ${points(agreement_error)}) more of 100 unseen ` +
        'placements.',
    );
  }
  return sentences;
}

function points(share: number): string {
  return (100 * share).toFixed(1);
}
