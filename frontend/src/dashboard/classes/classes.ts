/** Labels of campaigns with classes, in words and figures. */
import type { Classified, ClassQuality, ClassVoter } from '../../api/types';
import { countsText, type Filter, partOf } from '../labelled/labelled';

export type Tab = 'surest' | 'contested';

export interface ClassFilter extends Filter<Tab> {
  /** Only images with this label; null: all. */
  label: string | null;
}

/** The query of a part of the list. */
export function queryOf({ tab, label, asked }: ClassFilter, after: string | null) {
  return {
    ...partOf(asked, after),
    order: tab,
    label: label ?? undefined,
    contested: tab === 'contested' ? true : undefined,
  };
}

/** "cat", "even; three", or that it has no label. */
export function labelText(labels: readonly string[]): string {
  return labels.length > 0 ? labels.join('; ') : 'no label';
}

/** "3 cat · 1 dog · 1 unsure", those that most people chose first. */
export function votesText(
  { votes, answers, unsure }: Pick<Classified, 'votes' | 'answers' | 'unsure'>,
  names: readonly string[],
  several: boolean,
): string {
  const counts = votes
    .map((count, k) => [count, names[k] ?? ''] as const)
    .sort(([a], [b]) => b - a);
  return countsText([
    [several ? answers : 0, answers === 1 ? 'answer' : 'answers'],
    ...counts,
    [unsure, 'unsure'],
  ]);
}

export interface Share {
  readonly number: number;
  readonly name: string;
  readonly share: number;
}

/** The classes by their probability for an image, the likeliest first. */
export function distribution(
  { probability }: Pick<Classified, 'probability'>,
  names: readonly string[],
): Share[] {
  return probability
    .map((share, number) => ({ number, name: names[number] ?? '', share }))
    .sort((a, b) => b.share - a.share);
}

export interface Confused {
  readonly of: string;
  readonly as: string;
  readonly share: number;
}

/** Which class somebody most often takes for which other one; null where nothing stands out. */
export function mostConfused(
  { confusion }: Pick<ClassVoter, 'confusion'>,
  names: readonly string[],
): Confused | null {
  const pairs = (confusion ?? []).flatMap((row, of) =>
    row.flatMap((share, as) =>
      as === of ? [] : [{ of: names[of] ?? '', as: names[as] ?? '', share }],
    ),
  );
  const [most] = pairs.sort((a, b) => b.share - a.share);
  return most && most.share >= 0.15 ? most : null;
}

/** What is known of the labels on known answers. */
export function goldSentence({ n_images, right }: ClassQuality['gold']): string {
  if (n_images === 0) return 'No image has a known answer yet.';
  if (right === null) return `Only ${n_images} images have a known answer, too few to judge.`;
  return `${(100 * right).toFixed(1)} % of the labels of ${n_images} images with a known answer are right.`;
}
