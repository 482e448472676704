/** Sentences on what is kept of who people were. */
import type { Forgotten, KnownPeople } from '../../api/types';

function people(n: number): string {
  return n === 1 ? '1 person' : `${n.toLocaleString('en')} people`;
}

/** What is kept, of how many, and until when. */
export function keptText({ people: n, unsettled, until }: KnownPeople): string {
  if (n === 0) return 'No identities are stored.';
  const kept = `The platform id, the name on your list, or the answers to your questions, of ${people(n)} is stored.`;
  const open =
    unsettled > 0
      ? ` ${unsettled.toLocaleString('en')} of them still have open work or payments.`
      : '';
  const end =
    until === null ? '' : ` They are forgotten automatically after ${until.slice(0, 10)}.`;
  return `${kept}${open}${end} Answers to grids are stored by number only and are kept.`;
}

export function forgottenText({ forgotten, kept }: Forgotten): string {
  const rest =
    kept > 0 ? ` ${people(kept)} stay stored until their work and payments are settled.` : '';
  return `${people(forgotten)} forgotten.${rest}`;
}
