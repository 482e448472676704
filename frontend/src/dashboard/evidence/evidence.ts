/** What answers say of two images, in words. */
import type { Neighbour } from '../../api/types';

type Counts = Pick<Neighbour, 'together' | 'apart' | 'annotators'>;

/** "3 together · 1 apart", or that nobody was ever asked. */
export function evidenceText({ together, apart }: Counts, votes = false): string {
  if (together + apart === 0) return 'never shown together: inferred';
  const [same, different] = pairWords(votes);
  return `${together} ${same} · ${apart} ${different}`;
}

/** "In 4 answers of 3 annotators: 3 together, 1 apart." */
export function evidenceSentence({ together, apart, annotators }: Counts, votes = false): string {
  const answers = together + apart;
  if (answers === 0) {
    return `No answer contains both images yet. Their distance is inferred${votes ? '' : ' from the images that each was grouped with'}.`;
  }
  const [same, different] = pairWords(votes);
  return `In ${count(answers, 'answer')} from ${count(annotators, 'annotator')}: ${together} ${same}, ${apart} ${different}.`;
}

/** What two images of an answer are: in groups, or by votes. */
export function pairWords(votes: boolean): [together: string, apart: string] {
  return votes ? ['same', 'different'] : ['together', 'apart'];
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
