/** Names and figures of model metrics, for people. */

const NAMES: Record<string, string> = {
  held_out_accuracy: 'accuracy on held-out grids',
  held_out_majority_rate: 'majority rate',
  held_out_balanced_accuracy: 'balanced accuracy',
  held_out_auc: 'AUC',
  locality_of_last_round: 'locality of the last round',
};

export function metricName(name: string): string {
  return NAMES[name] ?? name.replaceAll('_', ' ');
}

export function metricValue(value: number | null): string {
  if (value === null) return '–';
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(3);
}
