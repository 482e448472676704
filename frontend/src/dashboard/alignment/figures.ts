/** How well features predict held-out grids, for chart and table. */
import type { Alignment, AttributeFigures, Score } from '../../api/types';

export interface Prediction {
  name: string;
  raw: Score | null;
  aligned: Score | null;
  used: boolean;
}

export interface Reference {
  name: string;
  auc: number;
  about: string;
}

export function aucText(score: Score | null | undefined): string {
  if (!score) return '–';
  const error = score.error > 0 ? ` ± ${score.error.toFixed(2)}` : '';
  return score.auc.toFixed(2) + error;
}

export function predictionsOf(items: Alignment[]): Prediction[] {
  return items.flatMap(({ features, figures, used }) =>
    figures ? [{ name: features, raw: figures.raw, aligned: figures.aligned, used: !!used }] : [],
  );
}

/** What features are compared with: by the newest alignment that has figures. */
export function referencesOf(items: Alignment[]): Reference[] {
  const figures = items
    .filter((item) => item.figures)
    .toSorted((one, other) => (one.finished_at ?? '').localeCompare(other.finished_at ?? ''))
    .at(-1)?.figures;
  if (!figures) return [];
  const references = [{ name: 'Chance', auc: 0.5, about: 'Features that say nothing.' }];
  if (figures.campaign)
    references.push({
      name: 'Campaign',
      auc: figures.campaign.auc,
      about: 'The campaign’s own model, for images that it was shown in other grids.',
    });
  if (figures.people)
    references.push({
      name: 'People',
      auc: figures.people.auc,
      about: 'Half of the annotators, for the answers of the others about the same pairs.',
    });
  return references;
}

export function attributeName({ attribute, low, high }: AttributeFigures): string {
  const words = [low[0], high[0]].filter(Boolean).join(' – ');
  return words || `Attribute ${attribute + 1}`;
}

/** Attributes of all alignments, by number, with the figures of each that has them. */
export function attributesOf(items: Alignment[]): { name: string; scores: (Score | null)[] }[] {
  const known = new Map<number, string>();
  for (const { figures } of items)
    for (const each of figures?.by_attribute ?? []) known.set(each.attribute, attributeName(each));
  const shown = items.filter(({ figures }) => figures);
  return [...known]
    .toSorted(([one], [other]) => one - other)
    .map(([attribute, name]) => ({
      name,
      scores: shown.map(
        ({ figures }) =>
          figures?.by_attribute.find((each) => each.attribute === attribute)?.aligned ?? null,
      ),
    }));
}

/** The left end of the chart: scores below chance are shown, too. */
export function leastShown(predictions: Prediction[]): number {
  const all = predictions.flatMap(({ raw, aligned }) => [raw?.auc ?? 1, aligned?.auc ?? 1]);
  return Math.min(0.45, Math.floor(Math.min(...all, 1) * 20) / 20);
}
