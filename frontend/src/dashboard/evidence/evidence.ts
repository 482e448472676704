/** What answers say of two images, in words. */
import type { Neighbour } from '../../api/types';

type Counts = Pick<Neighbour, 'together' | 'apart' | 'annotators'>;

/** "3 together · 1 apart", or that nobody was ever asked. */
export function evidenceText({ together, apart }: Counts): string {
  if (together + apart === 0) return 'never shown together: inferred';
  return `${together} together · ${apart} apart`;
}

/** "In 4 answers of 3 annotators: 3 together, 1 apart." */
export function evidenceSentence({ together, apart, annotators }: Counts): string {
  const answers = together + apart;
  if (answers === 0) {
    return 'No answer so far had both images: their distance is inferred from what each was grouped with.';
  }
  return `In ${count(answers, 'answer')} of ${count(annotators, 'annotator')}: ${together} together, ${apart} apart.`;
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
