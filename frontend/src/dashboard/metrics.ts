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

export interface Metric {
  name: string;
  value: string;
}

/** The metrics with their standard errors: "0.712 ± 0.008". */
export function metricsOf(metrics: Record<string, number>): Metric[] {
  return Object.entries(metrics)
    .filter(([name]) => !(name.endsWith('_error') && name.slice(0, -6) in metrics))
    .map(([name, value]) => {
      const error = metrics[`${name}_error`];
      return {
        name: metricName(name),
        value: metricValue(value) + (error === undefined ? '' : ` ± ${metricValue(error)}`),
      };
    });
}

export function metricName(name: string): string {
  return NAMES[name] ?? name.replaceAll('_', ' ');
}

export function metricValue(value: number | null): string {
  if (value === null) return '–';
  if (Number.isInteger(value) && Math.abs(value) > 1) return value.toFixed(0);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(3);
}

/** What the next answers would buy: sentences, none while it is not known. */
export function outlookSentences(outlook: Progress['outlook']): string[] {
  const { answers, agreement, agreement_error, neighbours, neighbours_error } = outlook;
  const sentences: string[] = [];
  if (neighbours !== null && neighbours_error !== null) {
    sentences.push(
      `The next ${answers} answers would change about ${points(neighbours)} % ` +
        `(± ${points(neighbours_error)}) of the nearest neighbours.`,
    );
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
